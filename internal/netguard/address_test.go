package netguard

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOf(t *testing.T) {
	for class, addresses := range map[Class]string{
		Public: "1.1.1.1 8.8.8.8 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0 169.253.255.255 169.255.0.0 11.0.0.0 223.255.255.255 " +
			"192.0.2.1 198.51.100.7 2001:db8::1 2606:4700::1111 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::",
		Private: "10.0.0.0 10.255.255.255 172.16.0.0 172.17.0.1 172.31.255.255 192.168.0.1 100.64.0.0 100.127.255.255 198.18.0.1 192.0.0.1 " +
			"fc00:: fd12:3456::1 fec0::1 ::ffff:10.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2002:c0a8:1:: ::10.0.0.1 2001::1",
		Loopback: "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: ::127.0.0.1 ::ffff:0:127.0.0.1",
		Forbidden: "0.0.0.0 0.1.2.3 :: 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 fe80::1 fe80::1%eth0 febf::1 224.0.0.1 239.255.255.255 ff02::1 " +
			"240.0.0.1 255.255.255.255 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 ::169.254.169.254 ::ffff:0:a9fe:a9fe ::ffff:0.0.0.0 " +
			"fd00:ec2::254 fd20:ce::254 168.63.129.16 100.100.100.200 192.0.0.192",
	} {
		for text := range strings.FieldsSeq(addresses) {
			if got := ClassOf(netip.MustParseAddr(text)); got != class {
				t.Errorf("ClassOf(%s) = %s, want %s", text, got, class)
			}
		}
	}
	if got := ClassOf(netip.Addr{}); got != Forbidden {
		t.Errorf("ClassOf(no address) = %s", got)
	}
}

// Whatever IPv6 address carries an IPv4 address, it is as strict as that one.
func TestCarriedAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom([][4]byte{{169, 254, 169, 254}, {127, 0, 0, 1}, {10, 1, 2, 3}, {1, 1, 1, 1}}).Draw(t, "IPv4")
		if rapid.Bool().Draw(t, "any") {
			binary.BigEndian.PutUint32(b[:], rapid.Uint32().Draw(t, "bits"))
		}
		want := ClassOf(netip.AddrFrom4(b))
		mapped := netip.AddrFrom16(netip.AddrFrom4(b).As16())
		nat64 := [16]byte{0, 0x64, 0xff, 0x9b}
		copy(nat64[12:], b[:])
		sixToFour := [16]byte{0x20, 0x02}
		copy(sixToFour[2:], b[:])
		for _, ip := range []netip.Addr{mapped, netip.AddrFrom16(nat64), netip.AddrFrom16(sixToFour)} {
			if got := ClassOf(ip); got != want {
				t.Fatalf("ClassOf(%s) = %s, that of %s is %s", ip, got, netip.AddrFrom4(b), want)
			}
		}
	})
}

func TestControl(t *testing.T) {
	no := errors.New("no")
	var seen netip.Addr
	control := Control(func(ip netip.Addr) error { seen = ip; return no })
	for address, want := range map[string]string{"10.0.0.1:80": "10.0.0.1", "[fe80::1%eth0]:443": "fe80::1%eth0"} {
		if err := control("tcp", address, nil); err != no || seen.String() != want {
			t.Errorf("Control(%s) = %v, looked at %s", address, err, seen)
		}
	}
	if err := control("unix", "/var/run/docker.sock", nil); err == nil || err == no {
		t.Errorf("Control(socket) = %v", err)
	}
}

func TestGateway(t *testing.T) {
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	const local = "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
	host := func(hex, flags, metric string) string {
		return "eth0\t00000000\t" + hex + "\t" + flags + "\t0\t0\t" + metric + "\t00000000\t0\t0\t0\n"
	}
	one, two := kernel("172.17.0.1"), kernel("10.1.2.3")
	for _, test := range []struct{ name, routes, want string }{
		{"Docker's bridge", head + host(one, "0003", "0") + local, "172.17.0.1"},
		{"lowest metric", head + host(two, "0003", "100") + host(one, "0003", "50") + host(two, "0003", "600"), "172.17.0.1"},
		{"first of equals", head + host(one, "0003", "0") + host(two, "0003", "0"), "172.17.0.1"},
		{"down", head + host(one, "0002", "0") + local, ""},
		{"without a gateway", head + host("00000000", "0001", "0"), ""},
		{"no network", head, ""},
		{"empty", "", ""},
		{"nonsense", head + "eth0 00000000 zz 0003 0 0 0 00000000\nx\n\x00\n", ""},
		{"half of the addresses", head + "tun0\t00000000\t" + one + "\t0003\t0\t0\t0\t00000080\t0\t0\t0\n", ""},
	} {
		got, err := Gateway(strings.NewReader(test.routes))
		if test.want == "" && err == nil || test.want != "" && (err != nil || got.String() != test.want) {
			t.Errorf("%s: Gateway = %s, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// kernel writes an address as the kernel of this machine does.
func kernel(text string) string {
	b := netip.MustParseAddr(text).As4()
	const digits = "0123456789ABCDEF"
	var out []byte
	for n, i := binary.NativeEndian.Uint32(b[:]), 28; i >= 0; i -= 4 {
		out = append(out, digits[n>>i&15])
	}
	return string(out)
}

func TestInContainer(t *testing.T) {
	for _, test := range []struct {
		variable, value, file, content string
		want                           bool
	}{
		{"", "", "", "", false},
		{"GITHUB_WORKSPACE", "/home/runner/work/a/a", "", "", false},
		{"GITHUB_WORKSPACE", "/github/workspace", "", "", true},
		{"KUBERNETES_SERVICE_HOST", "10.0.0.1", "", "", true},
		{"", "", "/.dockerenv", "", true},
		{"", "", "/run/.containerenv", "", true},
		{"", "", "/proc/1/cgroup", "12:memory:/docker/4d5b\n", true},
		{"", "", "/proc/1/cgroup", "1:name=systemd:/kubepods.slice/pod1\n", true},
		{"", "", "/proc/1/cgroup", "0::/init.scope\n", false},
	} {
		getenv := func(key string) string { return map[string]string{test.variable: test.value}[key] }
		read := func(path string) ([]byte, error) {
			if path != test.file {
				return nil, errors.New("not there")
			}
			return []byte(test.content), nil
		}
		if got := InContainer(getenv, read); got != test.want {
			t.Errorf("InContainer with %+v = %t", test, got)
		}
	}
}

package netguard

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func rules(t *testing.T, o Options) *Rules {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func gateway(text string) func() (netip.Addr, error) {
	return func() (netip.Addr, error) { return netip.ParseAddr(text) }
}

func TestCheckURL(t *testing.T) {
	named := Options{Listed: []string{"api.example.com", "Localhost:8000", "10.0.0.5", "[::1]:9000", "fd12::1", "db.internal.:5000", "xn--bcher-kva.example"}}
	for _, test := range []struct {
		name string
		o    Options
		url  string
		want string // part of the error; empty: it may be called
	}{
		{"listed", named, "https://api.example.com/v1", ""},
		{"any port", named, "http://api.example.com:8443/v1", ""},
		{"upper case", named, "https://API.Example.COM/", ""},
		{"final dot", named, "https://api.example.com./", ""},
		{"userinfo", named, "https://u:p@api.example.com/", ""},
		{"host as user", named, "https://api.example.com@evil.example/", "evil.example may not be called: to allow it, list it (allowed-hosts: evil.example)"},
		{"below a listed host", named, "https://x.api.example.com/", "(allowed-hosts: x.api.example.com)"},
		{"ends like a listed host", named, "https://evilapi.example.com/", "(allowed-hosts: evilapi.example.com)"},
		{"begins like a listed host", named, "https://api.example.com.evil.example/", "(allowed-hosts: api.example.com.evil.example)"},
		{"other host", named, "http://evil.example:81/", "evil.example may not be called"},

		{"scheme", named, "ftp://api.example.com/", `scheme "ftp"`},
		{"file", named, "file:///etc/passwd", `scheme "file"`},
		{"no scheme", named, "//api.example.com/", `scheme ""`},
		{"opaque", named, "http:api.example.com", "has 0 characters"},
		{"no host", named, "http:///x", "has 0 characters"},
		{"only a port", named, "http://:80/x", "has 0 characters"},
		{"empty port", named, "http://api.example.com:/x", ""},
		{"port 0", named, "http://api.example.com:0/", `port "0"`},
		{"port too high", named, "http://api.example.com:65536/", `port "65536"`},

		{"listed port", named, "http://localhost:8000/", ""},
		{"listed port, final dot", named, "http://LOCALHOST.:8000/", ""},
		{"other port", named, "http://localhost:8001/", "localhost is a loopback address, which may be called only when the host is listed (allowed-hosts: localhost:8001)"},
		{"default port", named, "http://localhost/", "(allowed-hosts: localhost:80)"},
		{"default port of https", named, "https://localhost/", "(allowed-hosts: localhost:443)"},
		{"other spelling of loopback", named, "http://127.0.0.1:8000/", "127.0.0.1 is a loopback address"},
		{"name below localhost", named, "http://a.localhost:8000/", "a.localhost is a loopback address"},
		{"listed private address", named, "http://10.0.0.5/", ""},
		{"the same as IPv6", named, "http://[::ffff:10.0.0.5]/", ""},
		{"the same in hexadecimal", named, "http://[::ffff:a00:5]/", ""},
		{"next private address", named, "http://10.0.0.6/", "10.0.0.6 is a private address"},
		{"IPv6 loopback", named, "http://[::1]:9000/", ""},
		{"IPv6 loopback written long", named, "http://[0:0:0:0:0:0:0:1]:9000/", ""},
		{"IPv6 loopback, other port", named, "http://[::1]:9001/", "(allowed-hosts: [::1]:9001)"},
		{"unique local", named, "http://[FD12::1]/", ""},
		{"other unique local", named, "http://[fd12::2]/", "fd12::2 is a private address"},
		{"listed with a dot", named, "http://db.internal:5000/", ""},

		{"metadata", named, "http://169.254.169.254/latest/meta-data", "169.254.169.254 is never called"},
		{"metadata as IPv6", named, "http://[::ffff:169.254.169.254]/", "169.254.169.254 is never called"},
		{"metadata by NAT64", named, "http://[64:ff9b::a9fe:a9fe]/", "is never called"},
		{"metadata of Amazon by IPv6", named, "http://[fd00:ec2::254]/", "is never called"},
		{"link-local with a zone", named, "http://[fe80::1%25eth0]/", "fe80::1 is never called"},
		{"unspecified", named, "http://0.0.0.0:8000/", "0.0.0.0 is never called"},
		{"unspecified IPv6", named, "http://[::]:8000/", ":: is never called"},
		{"multicast", named, "http://224.0.0.1/", "is never called"},

		{"decimal", named, "http://2130706433/", "is a number: write an IPv4 address"},
		{"octal", named, "http://0177.0.0.1/", "is a number"},
		{"octal of a listed address", named, "http://012.0.0.5/", "is a number"},
		{"leading zero", named, "http://10.0.0.05/", "is a number"},
		{"hexadecimal", named, "http://0x7f.0.0.1/", "is a number"},
		{"hexadecimal at the end", named, "http://127.0.0.0x1/", "is a number"},
		{"one hexadecimal number", named, "http://0X7F000001/", "is a number"},
		{"empty hexadecimal", named, "http://0x/", "is a number"},
		{"short form", named, "http://127.1/", "is a number"},
		{"number with a dot", named, "http://2852039166./", "is a number"},
		{"five numbers", named, "http://127.0.0.1.1/", "is a number"},
		{"too big", named, "http://10.0.0.256/", "is a number"},
		{"two dots", named, "http://10.0.0.5../", "part between dots that is empty"},
		{"digits of full width", named, "http://１６９.254.169.254/", "xn--"},
		{"full stop of Chinese", named, "http://169。254。169。254/", "xn--"},
		{"letters in circles", named, "http://ⓛocalhost:8000/", "xn--"},
		{"Kelvin sign", named, "http://\u212a.example/", "xn--"},
		{"IDN", named, "http://bücher.example/", "write its ASCII form, which begins with xn--"},
		{"IDN in ASCII", named, "http://XN--bcher-kva.example/", ""},
		{"escaped", named, "http://%6c/", "does not parse"},

		{"implied", Options{Implied: []string{"rag.example:8443"}}, "https://rag.example:8443/", ""},
		{"implied, other port", Options{Implied: []string{"rag.example:8443"}}, "https://rag.example/", "(allowed-hosts: rag.example)"},
		{"implied localhost", Options{Implied: []string{"localhost:8000"}}, "http://localhost:8000/", "(allowed-hosts: localhost)"},
		{"implied private address", Options{Implied: []string{"192.168.1.9"}}, "http://192.168.1.9/", "(allowed-hosts: 192.168.1.9)"},
		{"implied public address", Options{Implied: []string{"192.0.2.9"}}, "http://192.0.2.9/", ""},
		{"implied metadata", Options{Implied: []string{"169.254.169.254"}}, "http://169.254.169.254/", "cannot be allowed"},
		{"listed and implied", Options{Implied: []string{"localhost"}, Listed: []string{"localhost"}}, "http://localhost/", ""},
		{"nothing", Options{}, "https://api.example.com/", "may not be called"},

		{"localhost in a container", Options{Container: true}, "http://localhost:8000/", "in a container localhost is the container itself"},
		{"127.0.0.1 in a container", Options{Container: true}, "http://127.0.0.1:8000/", "http://LABEL:PORT"},
		{"other host in a container", Options{Container: true}, "http://10.0.0.1/", "(allowed-hosts: 10.0.0.1)"},
		{"runner's host", Options{Container: true, Gateway: gateway("172.17.0.1"), Listed: []string{"oloproof.host"}}, "http://oloproof.host:8000/", ""},
		{"runner's host, implied", Options{Container: true, Gateway: gateway("172.17.0.1"), Implied: []string{"oloproof.host"}}, "http://oloproof.host:8000/", "(allowed-hosts: oloproof.host)"},
		{"runner's host outside", Options{Listed: []string{"oloproof.host"}}, "http://oloproof.host:8000/", "this is no container"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u, err := url.Parse(test.url)
			if err != nil {
				if test.want != "does not parse" {
					t.Fatal(err)
				}
				return
			}
			checkRefusal(t, rules(t, test.o).CheckURL(u), test.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	var refused *Refusal
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && !errors.As(err, &refused):
		t.Errorf("error %v (%T), want a refusal with %q", err, err, want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused: %v\nwant: %s", err, want)
	}
}

// The hint appears where it helps only.
func TestHint(t *testing.T) {
	for text, want := range map[string]bool{"http://localhost/": true, "http://[::1]/": true, "http://10.0.0.1/": false, "http://a.example/": false} {
		for _, container := range []bool{true, false} {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			err = rules(t, Options{Container: container}).CheckURL(u)
			if got := strings.Contains(err.Error(), "LABEL"); got != (want && container) {
				t.Errorf("%s, container %t: %v", text, container, err)
			}
			if n := len(err.Error()); n > 450 { // callers show 500 characters
				t.Errorf("%s: %d characters", text, n)
			}
		}
	}
}

func TestCheckAddress(t *testing.T) {
	r := rules(t, Options{Listed: []string{"svc", "port.example:81", "10.0.0.5", "127.0.0.1:8000"}, Implied: []string{"api.example"}})
	for _, test := range []struct {
		host string
		port int
		ip   string
		want string
	}{
		{"api.example", 443, "192.0.2.1", ""},
		{"api.example", 443, "2001:db8::1", ""},
		{"api.example", 443, "10.0.0.6", "10.0.0.6, the address of api.example, is a private address, which may be called only when the host is listed (allowed-hosts: api.example)"},
		{"api.example", 443, "::ffff:10.0.0.6", "10.0.0.6, the address of api.example,"},
		{"api.example", 443, "127.0.0.1", "is a loopback address"},
		{"api.example", 443, "::1", "is a loopback address"},
		{"api.example", 443, "100.64.1.1", "is a private address"},
		{"api.example", 443, "fd00::1", "is a private address"},
		{"api.example", 443, "10.0.0.5", ""},        // the address is listed
		{"api.example", 443, "::ffff:10.0.0.5", ""}, // the same
		{"api.example", 8000, "127.0.0.1", ""},
		{"svc", 80, "172.18.0.2", ""},
		{"svc", 80, "127.0.0.1", ""},
		{"svc", 80, "fd00::1", ""},
		{"svc", 80, "169.254.169.254", "169.254.169.254, the address of svc, is never called"},
		{"svc", 80, "::ffff:169.254.169.254", "is never called"},
		{"svc", 80, "fd00:ec2::254", "is never called"},
		{"svc", 80, "fe80::1%eth0", "is never called"},
		{"svc", 80, "0.0.0.0", "is never called"},
		{"svc", 80, "255.255.255.255", "is never called"},
		{"port.example", 81, "10.0.0.7", ""},
		{"port.example", 80, "10.0.0.7", "(allowed-hosts: port.example:80)"},
	} {
		h, err := ParseHost(test.host)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(test.host+" "+test.ip, func(t *testing.T) {
			checkRefusal(t, r.checkAddress(h, test.port, netip.MustParseAddr(test.ip)), test.want)
		})
	}
}

func TestNew(t *testing.T) {
	for item, want := range map[string]string{
		"https://api.example.com":       "want a host or host:port",
		"api.example.com/v1":            "want a host or host:port",
		"u:p@api.example.com":           "want a host or host:port",
		"10.0.0.0/8":                    "want a host or host:port",
		"*.example.com":                 "no pattern",
		"":                              "has 0 characters",
		"a b":                           `the character ' '`,
		"a:b":                           `port "b"`,
		"a:-1":                          `port "-1"`,
		"a:+1":                          `port "+1"`,
		"a:0":                           `port "0"`,
		"a:99999999999999":              "want a number from 1 to 65535",
		":80":                           "has 0 characters",
		"[::1":                          "not an IPv6 address",
		"[::1]x":                        "not an IPv6 address",
		"[a]:80":                        "not an IPv6 address",
		"[]":                            "the character '['",
		"1:2:3":                         "not an IPv6 address",
		"0x7f.1":                        "is a number",
		"bücher.example":                "xn--",
		"a..b":                          "empty",
		strings.Repeat("a", 64):         "longer than 63",
		strings.Repeat("a.", 127):       "", // 253 characters and a dot
		strings.Repeat("a.", 127) + "b": "want 1 to 253",
		"169.254.169.254":               "169.254.169.254 is never called",
		"[::ffff:169.254.169.254]:80":   "is never called",
		"fe80::1%eth0":                  "is never called",
		"0.0.0.0:80":                    "is never called",
		"a-b_c.example:65535":           "",
		"::1":                           "",
		"[::1]":                         "",
		"[fd00::1]:80":                  "",
	} {
		_, err := New(Options{Listed: []string{"ok.example", item}})
		if want == "" && err == nil {
			continue
		}
		if want == "" || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "allowed-hosts: ") {
			t.Errorf("New(%q): %v, want %q", item, err, want)
		}
	}
}

// Whatever the text, a host that is taken is in its one form, and rules of
// nothing call nothing.
func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{"localhost", "127.0.0.1", "0x7f.1", "::ffff:1.2.3.4", "fe80::1%eth0", "A.Example.", "xn--a", "１", "..", "1.2.3.4."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHost(text)
		if err != nil {
			return
		}
		again, err := ParseHost(h.Name)
		if err != nil || again != h {
			t.Errorf("ParseHost(%q) = %+v, and of that %+v, %v", text, h, again, err)
		}
		if h.Name != strings.ToLower(h.Name) || strings.ContainsAny(h.Name, "%[]/@ ") {
			t.Errorf("ParseHost(%q) = %+v", text, h)
		}
		if err := new(Rules).checkHost(h, 80); err == nil {
			t.Errorf("%q may be called", text)
		}
		if e, err := parseEntry(text); err == nil && h.Name != RunnerHost && h.Class() != Forbidden && (&Rules{listed: []entry{e}}).checkHost(h, 80) != nil {
			t.Errorf("%q is listed and not called", text)
		}
	})
}

// TestOpen: at a terminal everything may be called but what nobody means well with.
func TestOpen(t *testing.T) {
	r := rules(t, Options{Open: true})
	for address, want := range map[string]string{
		"http://localhost:8000/":           "",
		"http://127.0.0.1:8000/":           "",
		"https://10.0.0.6/":                "",
		"https://api.example.com/":         "",
		"http://[::1]:9000/":               "",
		"http://169.254.169.254/latest/":   "169.254.169.254 is never called: addresses that are link-local",
		"http://[::ffff:169.254.169.254]/": "is never called",
		"http://[::ffff:a9fe:a9fe]/":       "is never called",
		"http://[fd00:ec2::254]/":          "fd00:ec2::254 is never called",
		"http://[fe80::1%25eth0]/":         "is never called",
		"http://100.100.100.200/":          "is never called",
		"http://0.0.0.0:8000/":             "0.0.0.0 is never called: it is where a program listens, not where it is called: write 127.0.0.1 or localhost",
		"http://[::]:8000/":                ":: is never called: it is where a program listens",
		"http://[::ffff:0.0.0.0]:8000/":    "0.0.0.0 is never called: it is where a program listens",
		"http://2852039166/":               "is a number",
		"http://0xa9.0xfe.0xa9.0xfe/":      "is a number",
		"ftp://api.example.com/":           `scheme "ftp"`,
		"http://oloproof.host/":            "this is no container",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		switch err := r.CheckURL(u); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", address, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

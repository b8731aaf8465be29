package netguard

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// InContainer reports whether the program runs in a container: one of Docker's or
// Podman's, a pod of Kubernetes, what the control groups of Linux call one, or a
// container action of GitHub, which has its workspace at a fixed place. read
// returns the content of a file.
func InContainer(getenv func(string) string, read func(path string) ([]byte, error)) bool {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := read(path); err == nil {
			return true
		}
	}
	groups, _ := read("/proc/1/cgroup")
	for _, mark := range []string{"/docker", "/kubepods", "/containerd", "/libpod", "/lxc"} {
		if bytes.Contains(groups, []byte(mark)) {
			return true
		}
	}
	return getenv("GITHUB_WORKSPACE") == "/github/workspace" || getenv("KUBERNETES_SERVICE_HOST") != ""
}

// RoutesFile is where Linux shows its IPv4 routes, see [Gateway].
const RoutesFile = "/proc/net/route"

// Flags of a route, linux/route.h.
const (
	routeUp      = 0x1
	routeGateway = 0x2
)

// Gateway reads the address of the default route, in a container that of the
// machine it runs on, from the text of [RoutesFile].
func Gateway(routes io.Reader) (netip.Addr, error) {
	var best netip.Addr
	least := uint64(0)
	lines := bufio.NewScanner(routes)
	for lines.Scan() {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		to, err1 := strconv.ParseUint(f[2], 16, 32)
		flags, err2 := strconv.ParseUint(f[3], 16, 32)
		metric, err3 := strconv.ParseUint(f[6], 10, 32)
		if errors.Join(err1, err2, err3) != nil || flags&(routeUp|routeGateway) != routeUp|routeGateway {
			continue
		}
		if !best.IsValid() || metric < least {
			// The kernel prints the bytes of the address as a number of the machine.
			var b [4]byte
			binary.NativeEndian.PutUint32(b[:], uint32(to))
			best, least = netip.AddrFrom4(b), metric
		}
	}
	if err := lines.Err(); err != nil {
		return netip.Addr{}, fmt.Errorf("read routes: %w", err)
	}
	if !best.IsValid() {
		return netip.Addr{}, errors.New("no default route leads to the machine that the container runs on")
	}
	return best, nil
}

package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// RunnerHost is the name of the machine that a container runs on, found by the
// container's default route. It is never looked up.
const RunnerHost = "oloproof.host"

const maxHost = 253 // characters of a name, RFC 1035

// Host is the host of a URL in its one form.
type Host struct {
	Name string     // in lower case, without brackets, zone and final dot
	Addr netip.Addr // of a host that is an address; IPv4 also when written as IPv6
}

// ParseHost reads a host as [net/url.URL.Hostname] returns it. It takes no
// spelling of which programs disagree where it leads: numbers that some take
// for an IPv4 address, names outside ASCII.
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, ":") {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return Host{}, fmt.Errorf("host %q is not an IPv6 address", text)
		}
		ip = ip.Unmap().WithZone("")
		return Host{ip.String(), ip}, nil
	}
	name := strings.TrimSuffix(text, ".")
	labels := strings.Split(name, ".")
	if err := checkName(name, labels); err != nil {
		return Host{}, fmt.Errorf("host %q %w", text, err)
	}
	name = strings.ToLower(name) // not before: some characters outside ASCII have small letters inside
	if !isNumber(strings.ToLower(labels[len(labels)-1])) {
		return Host{Name: name}, nil
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return Host{}, fmt.Errorf("host %q is a number: write an IPv4 address as four decimal numbers without leading zeros", text)
	}
	return Host{name, ip}, nil
}

func checkName(name string, labels []string) error {
	if name == "" || len(name) > maxHost {
		return fmt.Errorf("has %d characters, want 1 to %d", len(name), maxHost)
	}
	for _, r := range name {
		switch {
		case r > 0x7f:
			return errors.New("has characters outside ASCII: write its ASCII form, which begins with xn--")
		case !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)):
			return fmt.Errorf("has the character %q, want letters, digits, dots and hyphens", r)
		}
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return errors.New("has a part between dots that is empty or longer than 63 characters")
		}
	}
	return nil
}

// isNumber reports whether a name that ends with this label is an IPv4 address
// in a browser and in inet_aton (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Class returns where the text itself leads: that of an address, Loopback for
// localhost, Private for [RunnerHost], and 0 for other names.
func (h Host) Class() Class {
	switch {
	case h.Addr.IsValid():
		return ClassOf(h.Addr)
	case h.Name == "localhost" || strings.HasSuffix(h.Name, ".localhost"): // RFC 6761
		return Loopback
	case h.Name == RunnerHost:
		return Private
	}
	return 0
}

// entry is an item of a list of hosts.
type entry struct {
	host Host
	port int // 0 is any
}

func (e entry) holds(h Host, port int) bool {
	return e.host == h && (e.port == 0 || e.port == port)
}

// parseEntry reads HOST or HOST:PORT; IPv6 addresses with a port have brackets.
func parseEntry(text string) (entry, error) {
	switch {
	case strings.ContainsAny(text, "/@?#\\"):
		return entry{}, fmt.Errorf("%q: want a host or host:port, such as api.example.com or localhost:8000, and no more of a URL", text)
	case strings.Contains(text, "*"):
		return entry{}, fmt.Errorf("%q: no pattern is understood: write every host", text)
	}
	name, port := splitPort(text)
	h, err := ParseHost(name)
	if err != nil || port == "" {
		return entry{host: h}, err
	}
	n, err := parsePort(port)
	return entry{h, n}, err
}

// splitPort cuts a port off, or returns "" for it.
func splitPort(text string) (host, port string) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if host, rest, ok := strings.Cut(inside, "]"); ok && strings.Contains(host, ":") && (rest == "" || rest[0] == ':') {
			return host, strings.TrimPrefix(rest, ":")
		}
		return text, ""
	}
	if strings.Count(text, ":") != 1 { // several are an IPv6 address
		return text, ""
	}
	host, port, _ = strings.Cut(text, ":")
	return host, port
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q: want a number from 1 to 65535", text)
	}
	return int(n), nil
}

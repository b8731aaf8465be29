package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// Options are what rules are made of. Items of lists are HOST, for every port,
// or HOST:PORT.
type Options struct {
	// Open lets every host be called whose address is not forbidden: what holds at
	// a terminal, where nobody proposes where to call. Lists then have no effect.
	Open bool
	// Listed are the hosts that the user named in allowed-hosts. They may be
	// private or loopback addresses, or names of such.
	Listed []string
	// Implied are hosts that may be called without having been named there, such
	// as that of the url: at public addresses only.
	Implied []string
	// Container says that the program runs in a container, where localhost is
	// something else than most people mean. See [InContainer].
	Container bool
	// Gateway returns the address of [RunnerHost]. Nil: there is none. See
	// [Gateway].
	Gateway func() (netip.Addr, error)
	// Resolver looks names up. Nil is the usual one.
	Resolver *net.Resolver
}

// Rules say which hosts may be called and which addresses dialled. They are
// safe for concurrent use. The zero value allows nothing.
type Rules struct {
	open            bool
	listed, implied []entry
	container       bool
	gateway         func() (netip.Addr, error)
	resolver        *net.Resolver
}

// New returns the rules. The error names the item that is none.
func New(o Options) (*Rules, error) {
	r := &Rules{open: o.Open, container: o.Container, gateway: o.Gateway, resolver: o.Resolver}
	var err error
	if r.listed, err = parseEntries(o.Listed); err != nil {
		return nil, fmt.Errorf("allowed-hosts: %w", err)
	}
	for _, e := range r.listed {
		if e.host.Class() == Forbidden {
			return nil, fmt.Errorf("allowed-hosts: %w", forbiddenAddress(e.host, e.host.Addr))
		}
	}
	if r.implied, err = parseEntries(o.Implied); err != nil {
		return nil, err
	}
	return r, nil
}

func parseEntries(texts []string) ([]entry, error) {
	var all []entry
	for _, text := range texts {
		e, err := parseEntry(text)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// Refusal is why a host is not called. Another attempt does not help.
type Refusal struct {
	Host string // empty when the URL has none
	text string
}

// Error says which host, why, and how to allow it where that is possible.
func (r *Refusal) Error() string { return r.text }

// CheckURL refuses a URL by its text: by its scheme, by a host that may not be
// called, and by an address in it. What a name leads to is looked at when it
// is dialled, see [Rules.Transport]. The error is a [*Refusal].
func (r *Rules) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return &Refusal{u.Hostname(), fmt.Sprintf("a URL of the scheme %q is not called: want http or https", u.Scheme)}
	}
	h, err := ParseHost(u.Hostname())
	if err != nil {
		return &Refusal{u.Hostname(), err.Error()}
	}
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if text := u.Port(); text != "" {
		if port, err = parsePort(text); err != nil {
			return &Refusal{h.Name, err.Error()}
		}
	}
	return r.checkHost(h, port)
}

func (r *Rules) checkHost(h Host, port int) error {
	switch class := h.Class(); {
	case class == Forbidden:
		return forbiddenAddress(h, h.Addr)
	case h.Name == RunnerHost && r.gateway == nil:
		return &Refusal{h.Name, RunnerHost + " is the machine that a container runs on, and this is no container: write localhost"}
	case r.open, has(r.listed, h, port):
		return nil
	case class == Private || class == Loopback:
		return r.inside(h, port, h.Addr)
	case has(r.implied, h, port):
		return nil
	}
	return &Refusal{h.Name, fmt.Sprintf("%s may not be called: to allow it, list it (allowed-hosts: %s)", h.Name, r.remedy(h, port))}
}

// checkAddress decides on an address that a host led to.
func (r *Rules) checkAddress(h Host, port int, ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	switch ClassOf(ip) {
	case Public:
		return nil
	case Forbidden:
		return forbiddenAddress(h, ip)
	}
	if r.open || has(r.listed, h, port) || has(r.listed, Host{ip.String(), ip}, port) {
		return nil
	}
	return r.inside(h, port, ip)
}

func has(list []entry, h Host, port int) bool {
	for _, e := range list {
		if e.holds(h, port) {
			return true
		}
	}
	return false
}

func forbiddenAddress(h Host, ip netip.Addr) *Refusal {
	if ip = ip.Unmap(); ip.IsUnspecified() {
		return &Refusal{h.Name, fmt.Sprintf("%s is never called: it is where a program listens, not where it is called: write 127.0.0.1 or localhost for this machine", leads(h, ip))}
	}
	return &Refusal{h.Name, fmt.Sprintf("%s is never called: addresses that are link-local, of cloud metadata, multicast, unspecified or reserved cannot be allowed", leads(h, ip))}
}

// inside refuses an address inside a network that the user did not list.
func (r *Rules) inside(h Host, port int, ip netip.Addr) error {
	class := h.Class()
	if ip.IsValid() {
		class = ClassOf(ip)
	}
	text := fmt.Sprintf("%s is a %s address, which may be called only when the host is listed (allowed-hosts: %s)", leads(h, ip), class, r.remedy(h, port))
	if hint := r.hint(h); hint != nil {
		text += "; " + hint.Error()
	}
	return &Refusal{h.Name, text}
}

// leads names a host and what it leads to.
func leads(h Host, ip netip.Addr) string {
	if !ip.IsValid() || ip == h.Addr {
		return h.Name
	}
	return fmt.Sprintf("%s, the address of %s,", ip, h.Name)
}

// remedy is what to list. It has a port when the user chooses hosts by port.
func (r *Rules) remedy(h Host, port int) string {
	for _, e := range r.listed {
		if e.host == h {
			return net.JoinHostPort(h.Name, strconv.Itoa(port))
		}
	}
	return h.Name
}

// errLocalhost tells what localhost is in a container action, which has its own
// network and no way to ask for the runner's.
var errLocalhost = errors.New("in a container localhost is the container itself: call a service container by its label and its own port (http://LABEL:PORT), " +
	"a program on the runner by http://" + RunnerHost + ":PORT if it listens on 0.0.0.0, and list that host in allowed-hosts")

// errContainer tells the same where no network is given.
var errContainer = errors.New("in a container localhost is the container itself: call a service in another container by its name on a network that both are in, " +
	"a program on the machine by host.docker.internal (on Linux with --add-host=host.docker.internal:host-gateway), or run this container with --network=host")

func (r *Rules) hint(h Host) error {
	switch {
	case !r.container || h.Class() != Loopback:
	case r.open:
		return errContainer
	default:
		return errLocalhost
	}
	return nil
}

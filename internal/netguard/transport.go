package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

const (
	// connectTime bounds the making of a connection.
	connectTime = 10 * time.Second
	keepAlive   = 30 * time.Second
)

// Transport returns a copy of base that calls and dials by the rules: every
// request's URL is checked, and every address when it is connected to. It
// dials by itself, within 10 s.
//
// A request that goes through a proxy of base.Proxy is dialled there: its URL is
// checked, and it is refused when its name leads to a forbidden address as seen
// from here. What the proxy makes of a name that is not known here is the proxy's
// affair. The proxy's own address may be private.
func (r *Rules) Transport(base *http.Transport) *http.Transport {
	t := base.Clone()
	g := &guard{rules: r, proxy: base.Proxy}
	t.Proxy = g.route
	t.DialContext = g.dial
	t.DialTLSContext = nil       // would be taken instead, as would these
	t.Dial, t.DialTLS = nil, nil //lint:ignore SA1019 old ways to dial are closed, not used
	return t
}

type guard struct {
	rules   *Rules
	proxy   func(*http.Request) (*url.URL, error)
	proxies sync.Map // host:port that is dialled for a proxy -> nothing
	names   sync.Map // name that is called through a proxy -> its refusal, or nil
}

// route is the transport's Proxy: what it asks before it looks for a connection.
func (g *guard) route(req *http.Request) (*url.URL, error) {
	if err := g.rules.CheckURL(req.URL); err != nil {
		return nil, err
	}
	if h, err := ParseHost(req.URL.Hostname()); g.proxy == nil || err != nil || h.Name == RunnerHost {
		return nil, nil // no proxy knows that name
	}
	proxy, err := g.proxy(req)
	if proxy == nil || err != nil {
		return nil, err
	}
	if err := g.behind(req); err != nil {
		return nil, err
	}
	g.proxies.Store(dialled(proxy), nil)
	return proxy, nil
}

// lookupTime bounds the look at a name that a proxy will look up itself.
const lookupTime = 3 * time.Second

// behind refuses a name that leads to a forbidden address, once for each name. A
// name that is not known here may well be known to the proxy.
func (g *guard) behind(req *http.Request) error {
	h, err := ParseHost(req.URL.Hostname())
	if err != nil || h.Addr.IsValid() {
		return err // of an address, its text has been checked
	}
	if known, ok := g.names.Load(h.Name); ok {
		err, _ := known.(error)
		return err
	}
	resolver := g.rules.resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(req.Context(), lookupTime)
	defer cancel()
	found, err := resolver.LookupNetIP(ctx, "ip", h.Name)
	if err != nil && req.Context().Err() != nil {
		return nil // the request ends anyway; nothing is known of the name
	}
	var refused error
	for _, ip := range found {
		if ip = ip.Unmap(); ClassOf(ip) == Forbidden {
			refused = forbiddenAddress(h, ip)
			break
		}
	}
	g.names.Store(h.Name, refused)
	return refused
}

// dialled is what a transport dials for a proxy.
func dialled(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// hinted is an error about which there is more to be said than it says.
type hinted struct {
	error
	hint string
}

// Unwrap returns the error.
func (e *hinted) Unwrap() error { return e.error }

// Hint returns what may be the reason for an error of a transport, or "".
func Hint(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// dial connects to the addresses of a host that may be dialled.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	h, err := ParseHost(host)
	if err != nil {
		return nil, &Refusal{host, err.Error()}
	}
	port, err := parsePort(portText)
	if err != nil {
		return nil, &Refusal{h.Name, err.Error()}
	}
	if _, ok := g.proxies.Load(address); ok {
		return g.rules.connect(ctx, network, address, func(ip netip.Addr) error {
			if ClassOf(ip) == Forbidden {
				return forbiddenAddress(h, ip)
			}
			return nil
		})
	}
	if err := g.rules.checkHost(h, port); err != nil {
		return nil, err
	}
	if h.Name == RunnerHost {
		ip, err := g.rules.gateway()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", RunnerHost, err)
		}
		address = net.JoinHostPort(ip.String(), portText)
	}
	conn, err := g.rules.connect(ctx, network, address, func(ip netip.Addr) error {
		return g.rules.checkAddress(h, port, ip)
	})
	hint := g.rules.hint(h)
	switch {
	case err == nil || hint == nil:
		return conn, err
	case g.rules.open:
		return nil, &hinted{err, hint.Error()}
	}
	return nil, fmt.Errorf("%w; %w", err, hint)
}

func (r *Rules) connect(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime, KeepAlive: keepAlive, Resolver: r.resolver, Control: Control(check)}
	conn, err := d.DialContext(ctx, network, address)
	var refused *Refusal
	if errors.As(err, &refused) {
		return nil, refused // without the dialler's words around it
	}
	return conn, err
}

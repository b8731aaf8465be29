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
// A request that goes through a proxy of base.Proxy is dialled there: its URL
// is checked, and what its name leads to is the proxy's affair. The proxy's own
// address may be private.
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
	if proxy != nil {
		g.proxies.Store(dialled(proxy), nil)
	}
	return proxy, err
}

// dialled is what a transport dials for a proxy.
func dialled(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
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
	if hint := g.rules.hint(h); err != nil && hint != nil {
		return nil, fmt.Errorf("%w; %w", err, hint)
	}
	return conn, err
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

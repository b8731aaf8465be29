package netguard

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// names is a name server: the addresses of a name, one list for each time that
// it is asked, the last one for ever.
type names struct {
	mu    sync.Mutex
	lists map[string][][]string
	asked atomic.Int32
}

// resolver asks the server over pipes; nothing leaves the process.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers one question of RFC 1035, section 4, framed as over TCP.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	var size uint16
	if binary.Read(conn, binary.BigEndian, &size) != nil {
		return
	}
	q := make([]byte, size)
	if _, err := io.ReadFull(conn, q); err != nil {
		return
	}
	var labels []string
	at := 12
	for q[at] != 0 {
		labels = append(labels, string(q[at+1:at+1+int(q[at])]))
		at += 1 + int(q[at])
	}
	kind := binary.BigEndian.Uint16(q[at+1:])
	end := at + 5
	answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
	for _, text := range n.next(strings.ToLower(strings.Join(labels, ".")), kind) {
		ip := netip.MustParseAddr(text)
		if b := ip.AsSlice(); len(b) == 4 == (kind == 1) { // A; else AAAA, 28
			answer[7]++
			answer = append(answer, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(b)))
			answer = append(answer, b...)
		}
	}
	_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

func (n *names) next(name string, kind uint16) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lists := n.lists[name]
	if len(lists) == 0 {
		return nil
	}
	if kind == 1 {
		n.asked.Add(1)
		if len(lists) > 1 {
			n.lists[name] = lists[1:]
		}
	}
	return lists[0]
}

type target struct {
	port  string
	calls atomic.Int32
}

func serve(t *testing.T) *target {
	t.Helper()
	x := &target{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.calls.Add(1)
		_, _ = io.WriteString(w, r.URL.String())
	}))
	t.Cleanup(server.Close)
	_, x.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return x
}

func get(t *testing.T, transport *http.Transport, address string) (string, error) {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestTransport(t *testing.T) {
	x := serve(t)
	domain := &names{lists: map[string][][]string{
		"svc.example":  {{"127.0.0.1"}},
		"meta.example": {{"169.254.169.254", "fe80::1"}},
		"zero.example": {{"0.0.0.0"}},
		"v6.example":   {{"::ffff:127.0.0.1"}},
	}}
	for _, test := range []struct {
		name, url string
		o         Options
		want      string // part of the error
	}{
		{"listed name", "http://svc.example:PORT/", Options{Listed: []string{"svc.example"}}, ""},
		{"listed name in upper case with a dot", "http://SVC.example.:PORT/", Options{Listed: []string{"svc.example:PORT"}}, ""},
		{"listed address", "http://127.0.0.1:PORT/", Options{Listed: []string{"127.0.0.1"}}, ""},
		{"implied name of a listed address", "http://svc.example:PORT/", Options{Implied: []string{"svc.example"}, Listed: []string{"127.0.0.1"}}, ""},
		{"implied name inside", "http://svc.example:PORT/", Options{Implied: []string{"svc.example"}}, "127.0.0.1, the address of svc.example, is a loopback address, which may be called only when the host is listed (allowed-hosts: svc.example)"},
		{"listed for another port", "http://svc.example:PORT/", Options{Implied: []string{"svc.example"}, Listed: []string{"svc.example:1"}}, "(allowed-hosts: svc.example:PORT)"},
		{"mapped", "http://v6.example:PORT/", Options{Implied: []string{"v6.example"}}, "127.0.0.1, the address of v6.example,"},
		{"unlisted", "http://svc.example:PORT/", Options{}, "svc.example may not be called"},
		{"metadata by name", "http://meta.example/latest", Options{Listed: []string{"meta.example"}}, "the address of meta.example, is never called"},
		{"unspecified by name", "http://zero.example:PORT/", Options{Listed: []string{"zero.example"}}, "0.0.0.0, the address of zero.example, is never called"},
		{"metadata by address", "http://169.254.169.254/latest", Options{}, "169.254.169.254 is never called"},
		{"runner's host", "http://oloproof.host:PORT/", Options{Container: true, Gateway: gateway("127.0.0.1"), Listed: []string{"oloproof.host"}}, ""},
		{"runner's host by metadata", "http://oloproof.host:PORT/", Options{Container: true, Gateway: gateway("169.254.1.1"), Listed: []string{"oloproof.host"}}, "is never called"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, list := range [][]string{test.o.Listed, test.o.Implied} {
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], "PORT", x.port)
				}
			}
			test.o.Resolver = domain.resolver()
			before := x.calls.Load()
			_, err := get(t, rules(t, test.o).Transport(&http.Transport{}), strings.ReplaceAll(test.url, "PORT", x.port))
			checkRefusal(t, err, strings.ReplaceAll(test.want, "PORT", x.port))
			if called := x.calls.Load() > before; called != (test.want == "") {
				t.Errorf("called: %t", called)
			}
		})
	}
}

// TestRebinding: a name that leads elsewhere when it is asked again does not
// get through, since what is connected to is looked at each time.
func TestRebinding(t *testing.T) {
	x := serve(t)
	domain := &names{lists: map[string][][]string{"api.example": {{"127.0.0.1"}, {"127.0.0.2"}}}}
	r := rules(t, Options{Implied: []string{"api.example"}, Listed: []string{"127.0.0.1"}, Resolver: domain.resolver()})
	transport := r.Transport(&http.Transport{DisableKeepAlives: true})
	address := "http://api.example:" + x.port + "/"
	if _, err := get(t, transport, address); err != nil {
		t.Fatal(err)
	}
	_, err := get(t, transport, address)
	checkRefusal(t, err, "127.0.0.2, the address of api.example, is a loopback address")
	if x.calls.Load() != 1 || domain.asked.Load() != 2 {
		t.Errorf("%d calls, %d look-ups", x.calls.Load(), domain.asked.Load())
	}
}

// TestSomeAddresses: of several addresses those that may be dialled are.
func TestSomeAddresses(t *testing.T) {
	x := serve(t)
	domain := &names{lists: map[string][][]string{"api.example": {{"169.254.169.254", "127.0.0.2", "127.0.0.1"}}}}
	r := rules(t, Options{Implied: []string{"api.example"}, Listed: []string{"127.0.0.1"}, Resolver: domain.resolver()})
	if _, err := get(t, r.Transport(&http.Transport{}), "http://api.example:"+x.port+"/"); err != nil {
		t.Fatal(err)
	}
}

// TestKeptConnection: a connection that is open does not let others through.
func TestKeptConnection(t *testing.T) {
	x := serve(t)
	transport := rules(t, Options{Listed: []string{"127.0.0.1"}}).Transport(&http.Transport{})
	if _, err := get(t, transport, "http://127.0.0.1:"+x.port+"/"); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://localhost:" + x.port + "/", "http://127.1:" + x.port + "/"} {
		if _, err := get(t, transport, address); err == nil {
			t.Errorf("%s is called", address)
		}
	}
}

func TestProxy(t *testing.T) {
	proxy := serve(t) // answers with the URL that it was asked for
	via := func(*http.Request) (*url.URL, error) {
		return url.Parse("http://proxy.corp:" + proxy.port)
	}
	domain := &names{lists: map[string][][]string{"proxy.corp": {{"127.0.0.1"}}}}
	o := Options{Listed: []string{"10.0.0.5", "oloproof.host"}, Implied: []string{"api.example", "127.0.0.1"}, Resolver: domain.resolver(), Gateway: gateway("127.0.0.1")}
	transport := rules(t, o).Transport(&http.Transport{Proxy: via})
	for address, want := range map[string]string{
		"http://api.example/v1":                 "",
		"http://10.0.0.5/v1":                    "",
		"http://10.0.0.6/v1":                    "10.0.0.6 is a private address",
		"http://127.0.0.1/v1":                   "127.0.0.1 is a loopback address",
		"http://169.254.169.254/v1":             "is never called",
		"http://[::ffff:a9fe:a9fe]/v1":          "is never called",
		"http://2852039166/v1":                  "is a number",
		"http://other.example/v1":               "other.example may not be called",
		"http://proxy.corp:" + proxy.port + "/": "proxy.corp may not be called", // the proxy is no target
	} {
		t.Run(address, func(t *testing.T) {
			before := proxy.calls.Load()
			body, err := get(t, transport, address)
			checkRefusal(t, err, want)
			if want == "" && body != address {
				t.Errorf("the proxy was asked for %s", body)
			}
			if called := proxy.calls.Load() > before; called != (want == "") {
				t.Errorf("called: %t", called)
			}
		})
	}
	if body, err := get(t, transport, "http://oloproof.host:"+proxy.port+"/x"); err != nil || body != "/x" {
		t.Errorf("the runner's host is called directly: %q, %v", body, err)
	}
	t.Run("proxy that is forbidden", func(t *testing.T) {
		meta := func(*http.Request) (*url.URL, error) { return url.Parse("http://169.254.169.254") }
		_, err := get(t, rules(t, o).Transport(&http.Transport{Proxy: meta}), "http://api.example/latest")
		checkRefusal(t, err, "169.254.169.254 is never called")
	})
	t.Run("proxy that is none", func(t *testing.T) {
		none := errors.New("none")
		bad := func(*http.Request) (*url.URL, error) { return nil, none }
		if _, err := get(t, rules(t, o).Transport(&http.Transport{Proxy: bad}), "http://api.example/"); !errors.Is(err, none) {
			t.Errorf("error = %v", err)
		}
	})
	for text, want := range map[string]string{"http://p": "p:80", "https://p": "p:443", "socks5://p": "p:1080", "socks5h://p": "p:1080", "http://[::1]:3128": "[::1]:3128"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := dialled(u); got != want {
			t.Errorf("dialled(%s) = %s, want %s", text, got, want)
		}
	}
}

// TestOtherWays: no other way of the base transport to dial is left.
func TestOtherWays(t *testing.T) {
	way := func(string, string) (net.Conn, error) {
		t.Error("dialled around the rules")
		return nil, errors.New("no")
	}
	wayContext := func(context.Context, string, string) (net.Conn, error) { return way("", "") }
	//lint:ignore SA1019 the old ways must not be a way around
	base := &http.Transport{Dial: way, DialTLS: way, DialContext: wayContext, DialTLSContext: wayContext, MaxIdleConnsPerHost: 7, ForceAttemptHTTP2: true}
	transport := rules(t, Options{Implied: []string{"localhost.example"}, Resolver: (&names{}).resolver()}).Transport(base)
	for _, address := range []string{"http://localhost.example/", "https://localhost.example/", "http://127.0.0.1/"} {
		if _, err := get(t, transport, address); err == nil {
			t.Errorf("%s is called", address)
		}
	}
	// Who takes the dialling alone has the rules too.
	_, err := transport.DialContext(t.Context(), "tcp", "other.example:80")
	checkRefusal(t, err, "other.example may not be called")
	_, err = transport.DialContext(t.Context(), "tcp", "0x7f.1:80")
	checkRefusal(t, err, "is a number")
	if transport.MaxIdleConnsPerHost != 7 || !transport.ForceAttemptHTTP2 {
		t.Error("the settings of the base are lost")
	}
	if base.Proxy != nil {
		t.Error("the base was changed")
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	base := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}
	base.TLSClientConfig.NextProtos = nil
	transport := rules(t, Options{Listed: []string{"127.0.0.1"}}).Transport(base)
	for range 2 {
		if body, err := get(t, transport, server.URL); err != nil || body != "HTTP/2.0" {
			t.Errorf("got %q, %v", body, err)
		}
	}
	_, err := get(t, transport, strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
	checkRefusal(t, err, "localhost is a loopback address")
}

// TestContainer: where nobody listens on localhost, the error says what
// localhost is.
func TestContainer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String() + "/"
	listener.Close()
	for _, container := range []bool{true, false} {
		_, err := get(t, rules(t, Options{Listed: []string{"127.0.0.1"}, Container: container}).Transport(&http.Transport{}), address)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("error = %v", err)
		}
		if got := strings.Contains(err.Error(), "in a container localhost is the container itself"); got != container {
			t.Errorf("container %t: %v", container, err)
		}
	}
	t.Run("no default route", func(t *testing.T) {
		o := Options{Listed: []string{"oloproof.host"}, Container: true, Gateway: func() (netip.Addr, error) { return Gateway(strings.NewReader("")) }}
		_, err := get(t, rules(t, o).Transport(&http.Transport{}), "http://oloproof.host:8000/")
		if err == nil || !strings.Contains(err.Error(), "oloproof.host: no default route") {
			t.Errorf("error = %v", err)
		}
	})
}

// TestOpenDials: the address counts that a name leads to, also when it changes.
func TestOpenDials(t *testing.T) {
	x := serve(t)
	domain := &names{lists: map[string][][]string{
		"metadata.example": {{"169.254.169.254"}}, "six.example": {{"::ffff:169.254.169.254", "fd00:ec2::254"}}, "zero.example": {{"0.0.0.0"}},
		"here.example": {{"127.0.0.1"}}, "both.example": {{"169.254.169.254", "127.0.0.1"}}, "turns.example": {{"127.0.0.1"}, {"169.254.169.254"}},
	}}
	transport := rules(t, Options{Open: true, Resolver: domain.resolver()}).Transport(&http.Transport{DisableKeepAlives: true})
	for host, want := range map[string]string{
		"metadata.example": "169.254.169.254, the address of metadata.example, is never called", "six.example": "is never called", "zero.example": "it is where a program listens",
		"here.example": "",
	} {
		_, err := get(t, transport, "http://"+host+":"+x.port+"/")
		checkRefusal(t, err, want)
	}
	before := x.calls.Load()
	if _, err := get(t, transport, "http://turns.example:"+x.port+"/"); err == nil && x.calls.Load() == before {
		t.Error("an answer from nowhere")
	}
	for range 3 { // A and AAAA are asked for apart
		if _, err := get(t, transport, "http://turns.example:"+x.port+"/"); err == nil {
			continue
		}
	}
	_, err := get(t, transport, "http://turns.example:"+x.port+"/")
	checkRefusal(t, err, "is never called")
}

// TestProxyIsNoWayAround: a name that leads to a forbidden address is not handed to
// a proxy either; one that is not known here is.
func TestProxyIsNoWayAround(t *testing.T) {
	proxy := serve(t)
	via := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:" + proxy.port) }
	domain := &names{lists: map[string][][]string{"metadata.example": {{"169.254.169.254"}}, "api.example": {{"10.0.0.9"}}}}
	for _, o := range []Options{
		{Open: true, Resolver: domain.resolver()},
		{Implied: []string{"metadata.example", "api.example", "unknown.example"}, Resolver: domain.resolver()},
	} {
		transport := rules(t, o).Transport(&http.Transport{Proxy: via})
		for host, want := range map[string]string{"metadata.example": "is never called", "api.example": "", "unknown.example": ""} {
			for range 2 {
				before := proxy.calls.Load()
				_, err := get(t, transport, "http://"+host+"/latest")
				checkRefusal(t, err, want)
				if called := proxy.calls.Load() > before; called != (want == "") {
					t.Errorf("%s: called %t", host, called)
				}
			}
		}
	}
}

// TestLocalhostInAContainer is explained where nothing answers.
func TestLocalhostInAContainer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	for container, want := range map[bool]string{true: "in a container localhost is the container itself: call a service in another container by its name", false: "refused"} {
		_, err := get(t, rules(t, Options{Open: true, Container: container}).Transport(&http.Transport{}), address)
		if err == nil || !strings.Contains(err.Error()+Hint(err), want) || !container && Hint(err) != "" {
			t.Errorf("container %t: %v (%s), want %q", container, err, Hint(err), want)
		}
	}
}

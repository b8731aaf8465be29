package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const oneProbe = 2 * time.Second // bounds one look at whether the service is ready

// target is what answers when the service is ready.
type target struct {
	url     string // "" when a connection is enough
	address string // HOST:PORT
	shown   string // without userinfo and query
}

func (t target) String() string { return t.shown }

// parseReady reads a URL or HOST:PORT.
func parseReady(ready string) (target, error) {
	u, err := url.Parse(ready)
	if err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		return target{url: ready, address: net.JoinHostPort(u.Hostname(), port), shown: shown.String()}, nil
	}
	if _, port, err := net.SplitHostPort(ready); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			return target{address: ready, shown: ready}, nil
		}
	}
	return target{}, errors.New("ready of the service: want http://HOST:PORT/PATH or HOST:PORT")
}

// isTaken reports whether anything listens already. A connection is enough for
// that: a server that is too busy to answer is a server.
func (t target) isTaken(ctx context.Context) bool { return t.connect(ctx) == nil }

func (t target) connect(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: oneProbe}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// probe returns nil when the service is ready: any HTTP answer but 503, which
// services give while they load, or a connection.
func (t target) probe(ctx context.Context) error {
	if t.url == "" {
		return t.connect(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, oneProbe)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return withoutURL(err)
	}
	resp, err := (&http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return withoutURL(err)
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}

// withoutURL unwraps the error that quotes the whole URL, its query included.
func withoutURL(err error) error {
	var quoted *url.Error
	if errors.As(err, &quoted) {
		return quoted.Err
	}
	return err
}

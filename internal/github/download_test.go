package github

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
	"github.com/oloproof/oloproof-go/internal/netguard"
)

// downloadable is a job with artifact 5, 3 bytes long.
func downloadable(t *testing.T) (*bench, *Artifact) {
	t.Helper()
	b := newBench(t, nil)
	content := []byte("abc")
	b.Do(func(w *githubtest.World) {
		w.Runs = []githubtest.Run{{ID: 1, Commit: "base"}}
		w.Artifacts = []githubtest.Artifact{{ID: 5, Run: 1, Name: "n", Bytes: content}}
	})
	return b, &Artifact{ID: 5, Bytes: 3, Digest: githubtest.Digest(content)}
}

// TestDownload: the bytes come without the token and the redirect's signature is
// masked; the fake fails the test when the token reaches the storage.
func TestDownload(t *testing.T) {
	b, a := downloadable(t)
	path, err := b.client.downloadArtifact(t.Context(), a, b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	if !slices.Contains(b.masked, githubtest.Signature) || !slices.Contains(b.masked, url.QueryEscape(githubtest.Signature)) {
		t.Errorf("masked %q", b.masked)
	}
	if want := []string{"GET /actions/artifacts/5/zip", "BLOB /artifacts/5.zip"}; !slices.Equal(b.Server.Requests(), want) {
		t.Errorf("requests %q", b.Server.Requests())
	}
}

// TestDownloadTrouble: what is gone, what must not be used, and trouble on the
// way are told apart; nothing is left behind.
func TestDownloadTrouble(t *testing.T) {
	to := func(address string) githubtest.Fault {
		return githubtest.Fault{Path: "/zip", Status: 302, Header: map[string]string{"Location": address}}
	}
	isRefusal := func(err error) bool { var r refusal; return errors.As(err, &r) }
	isGone := func(err error) bool { return errors.Is(err, errExpired) }
	isTrouble := func(err error) bool { return reasonOf(err) != "" }
	cases := []struct {
		name     string
		fault    githubtest.Fault
		is       func(error) bool
		requests int // of the storage; -1: any
	}{
		{"410", githubtest.Fault{Path: "/zip", Status: 410}, isGone, 0},
		{"404", githubtest.Fault{Path: "/zip", Status: 404}, isGone, 0},
		{"500 that stays", githubtest.Fault{Path: "/zip", Status: 500}, isGone, 0},
		{"403", githubtest.Fault{Path: "/zip", Status: 403, Body: `{}`}, isTrouble, 0},
		{"200 with other bytes", githubtest.Fault{Path: "/zip", Status: 200, Body: "<html>"}, isRefusal, 0},
		{"204", githubtest.Fault{Path: "/zip", Status: 204}, isTrouble, 0},
		{"202", githubtest.Fault{Path: "/zip", Status: 202}, isTrouble, 0},
		{"no address", githubtest.Fault{Path: "/zip", Status: 302}, isRefusal, 0},
		{"metadata service", to("http://169.254.169.254/latest/meta-data"), isRefusal, 0},
		{"private network", to("http://10.0.0.1/x"), isRefusal, 0},
		{"private network in IPv6", to("http://[fd00::1]/x"), isRefusal, 0},
		{"mapped address", to("http://[::ffff:10.0.0.1]/x"), isRefusal, 0},
		{"unspecified", to("http://0.0.0.0/x"), isRefusal, 0},
		{"shared address space", to("http://100.64.0.1/x"), isRefusal, 0},
		{"file", to("file:///etc/passwd"), isRefusal, 0},
		{"user in the address", to("http://user:pass@example.com/"), isRefusal, 0},
		{"storage says 403 each time", githubtest.Fault{Blob: true, Status: 403}, isTrouble, 2},
		{"storage says 502 each time", githubtest.Fault{Blob: true, Status: 502}, isTrouble, 2},
		{"storage breaks off each time", githubtest.Fault{Blob: true, Cut: true, Body: "a"}, isTrouble, 2},
		{"other bytes", githubtest.Fault{Blob: true, Body: "abd"}, isRefusal, 1},
		{"too many bytes", githubtest.Fault{Blob: true, Body: strings.Repeat("x", maxArtifact+1)}, isRefusal, 1},
		{"too many bytes, not announced", githubtest.Fault{Blob: true, Body: strings.Repeat("x", maxArtifact+1), Header: map[string]string{"Transfer-Encoding": "chunked"}}, isRefusal, 1},
		{"storage redirects for ever", githubtest.Fault{Blob: true, Status: 302, Header: map[string]string{"Location": "/again?sig=x"}}, isRefusal, maxBlobHops + 1},
		{"storage redirects inside a network", githubtest.Fault{Blob: true, Status: 302, Header: map[string]string{"Location": "http://169.254.169.254/"}}, isRefusal, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, a := downloadable(t)
			b.Fail(c.fault)
			path, err := b.client.downloadArtifact(t.Context(), a, b.dir)
			if err == nil || !c.is(err) {
				t.Fatalf("downloaded %q, %T %v", path, err, err)
			}
			if strings.Contains(err.Error(), "sig=") || strings.Contains(err.Error(), "pass@") {
				t.Errorf("the error shows an address: %v", err)
			}
			if strings.HasPrefix(c.name, "too many") && !strings.Contains(err.Error(), "at most") {
				t.Errorf("got %v, want the limit", err)
			}
			blobs := 0
			for _, r := range b.Server.Requests() {
				if strings.HasPrefix(r, "BLOB") {
					blobs++
				}
			}
			if blobs != c.requests {
				t.Errorf("%d requests of the storage, want %d: %q", blobs, c.requests, b.Server.Requests())
			}
			if left, _ := os.ReadDir(b.dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestDownloadAnnounced: what is announced as too large is not asked for.
func TestDownloadAnnounced(t *testing.T) {
	b, a := downloadable(t)
	a.Bytes = maxArtifact + 1
	if _, err := b.client.downloadArtifact(t.Context(), a, b.dir); err == nil || !strings.Contains(err.Error(), "at most") || b.client.Requests() != 0 {
		t.Errorf("%v after %d requests", err, b.client.Requests())
	}
}

// TestDownloadAgain: an address that no longer serves is replaced by a new one.
func TestDownloadAgain(t *testing.T) {
	for _, f := range []githubtest.Fault{{Blob: true, Status: 403, Times: 1}, {Blob: true, Cut: true, Body: "abcabc", Times: 1}} {
		b, a := downloadable(t)
		b.Fail(f)
		path, err := b.client.downloadArtifact(t.Context(), a, b.dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "abc" {
			t.Errorf("got %q", got)
		}
		if n := b.client.Requests(); n != 2 {
			t.Errorf("%d requests of the API, want 2", n)
		}
	}
}

// TestClasses: where downloads may come from.
func TestClasses(t *testing.T) {
	dotcom := classes{netguard.Public: true}
	if err := dotcom.check(netip.MustParseAddr("127.0.0.1")); err == nil {
		t.Error("github.com may lead to this machine")
	}
	server := classes{netguard.Public: true, netguard.Private: true}
	if err := server.check(netip.MustParseAddr("10.0.0.1")); err != nil {
		t.Errorf("a server in a private network keeps its artifacts there: %v", err)
	}
	if err := server.check(netip.MustParseAddr("169.254.169.254")); err == nil {
		t.Error("a server in a private network may lead to the metadata service")
	}
}

// TestDialledAddress: a name is judged by the address that is dialled.
func TestDialledAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var refused refusal
	if c, err := (classes{netguard.Public: true}).dial(t.Context(), "tcp", net.JoinHostPort("localhost", port)); !errors.As(err, &refused) {
		t.Errorf("dialled %v, %v", c, err)
	}
	c, err := (classes{netguard.Loopback: true}).dial(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestHTTPSOnly: plain http serves only where the API itself is plain.
func TestHTTPSOnly(t *testing.T) {
	b := newBench(t, map[string]string{"GITHUB_API_URL": "https://api.github.com"})
	u := &url.URL{Scheme: "http", Host: "20.60.1.1", Path: "/x"}
	if err := b.client.checkAddress(u, classes{netguard.Public: true}); err == nil {
		t.Error("http is taken although the API is https")
	}
	u.Scheme = "https"
	if err := b.client.checkAddress(u, classes{netguard.Public: true}); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"LOCALHOST.", "2130706433", "0x7f.1", "[64:ff9b::a9fe:a9fe]", "168.63.129.16"} {
		u.Host = host
		if err := b.client.checkAddress(u, classes{netguard.Public: true}); err == nil {
			t.Errorf("%s is taken behind a proxy", host)
		}
	}
}

// TestProxy: behind a proxy the proxy is dialled, wherever it is.
func TestProxy(t *testing.T) {
	proxy, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("GET", "https://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !proxied(&http.Transport{Proxy: http.ProxyURL(proxy)}, req) || proxied(&http.Transport{}, req) {
		t.Error("proxied() is wrong")
	}
}

// TestMask: only what lets anyone fetch is masked, and nothing too short.
func TestMask(t *testing.T) {
	b := newBench(t, nil)
	for _, query := range []string{"sig=abcdefgh1", "X-Amz-Signature=abcdefgh2", "jwt=abcdefgh3", "sig=short", "se=2026-11-30T00"} {
		b.client.maskSignatures(&url.URL{RawQuery: query})
	}
	if want := "[abcdefgh1 abcdefgh2 abcdefgh3]"; fmt.Sprint(b.masked) != want {
		t.Errorf("masked %v, want %s", b.masked, want)
	}
}

package httpsystem_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/netguard"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// TestGuarded: what the rules refuse is not called, is not tried again, and the
// error says how to allow it.
func TestGuarded(t *testing.T) {
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"result":"yes"}`)
	})
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		options netguard.Options
		url     string
		message string
	}{
		{"listed", netguard.Options{Listed: []string{u.Host}}, server.URL, ""},
		{"not listed", netguard.Options{Implied: []string{u.Host}}, server.URL, "127.0.0.1 is a loopback address, which may be called only when the host is listed (allowed-hosts: 127.0.0.1)"},
		{"in a container", netguard.Options{Container: true}, server.URL, "and list that host in allowed-hosts) from "},
		{"by name", netguard.Options{Listed: []string{"localhost:1"}, Implied: []string{"localhost"}}, "http://localhost:" + u.Port(), "(allowed-hosts: localhost:" + u.Port() + ")"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules, err := netguard.New(test.options)
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(test.url)
			transport := rules.Transport(httpsystem.NewTransport(cfg.Concurrency))
			t.Cleanup(transport.CloseIdleConnections)
			cfg.Transport = transport
			before := calls.Load()
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if test.message == "" {
				checkExecution(t, e, "", `"yes"`, "", 1, "")
				return
			}
			checkExecution(t, e, test.url, "", evidence.ErrConnection, 1, "")
			if !strings.Contains(e.Error.Message, test.message) {
				t.Errorf("message = %q, want %q in it", e.Error.Message, test.message)
			}
			if calls.Load() != before {
				t.Error("the server was called")
			}
		})
	}
}

package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/stream"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
	"github.com/oloproof/oloproof-go/internal/system/process"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// proxyPasswords returns the passwords of the proxies that calls go through.
func (e *Env) proxyPasswords() []string {
	var all []string
	for _, v := range e.Environ {
		name, value, _ := strings.Cut(v, "=")
		if name = strings.ToUpper(name); name != "HTTP_PROXY" && name != "HTTPS_PROXY" {
			continue
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			password, _ := u.User.Password()
			all = append(all, cmp.Or(password, u.User.Username()))
		}
	}
	return all
}

func (x *activeRun) openHTTP(concurrency int) (*system, error) {
	h := x.project.suite.System.HTTP
	transport, closeTransport, err := x.watched(concurrency)
	if err != nil {
		return nil, err
	}
	if x.around != nil {
		transport = x.around(transport)
	}
	s, err := x.endpoint(h, x.resolved.Calls, concurrency, transport)
	if err != nil {
		closeTransport()
		return nil, err
	}
	out := &system{System: s, close: func() { s.Close(); closeTransport() }, called: report.Clean(x.publicURL())}
	if h.Gold == nil {
		return out, nil
	}
	with, err := x.endpoint(h.WithPassages(), x.resolved.Gold, concurrency, transport)
	if err != nil {
		out.close()
		return nil, err
	}
	out.stages = door{with}
	out.close = func() { with.Close(); s.Close(); closeTransport() }
	return out, nil
}

// endpoint makes the system that asks an endpoint by these requests.
func (x *activeRun) endpoint(h *suite.HTTP, calls *mapping.Sequence, concurrency int, transport http.RoundTripper) (*httpsystem.System, error) {
	return httpsystem.New(httpsystem.Config{
		URL: x.resolved.URL, Method: h.Method, Headers: x.resolved.Headers, Timeout: h.Timeout,
		OutputPath: h.OutputPath, Artifacts: h.Artifacts, MaxBody: h.MaxBody,
		Mapping: h.Mapping, Calls: calls, UUID: (&uuids{random: x.env.Rand}).next,
		Concurrency: concurrency, UserAgent: "oloproof/" + Version(), Redact: x.redact,
		Limits: h.Limits, Stream: streamOptions(h), Auth: x.resolved.Auth, Command: x.tokenCommand(),
		Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64, Transport: transport,
	})
}

// door is an endpoint that takes the passages that it is to answer from.
type door struct{ *httpsystem.System }

// Replay implements replayer.
func (d door) Replay(ctx context.Context, c *evidence.Case, r staged.Replay) (evidence.Execution, error) {
	texts := make([]string, len(r.Passages))
	for i, p := range r.Passages {
		if p.Text != nil {
			texts[i] = *p.Text
		}
	}
	list, err := evidence.Canonical(texts)
	if err != nil {
		return evidence.Execution{}, err
	}
	e, err := d.ExecuteWith(ctx, c, map[string]evidence.Value{suite.Passages: passagesValue(r.Passages), suite.Texts: list})
	e.Artifacts.Context = []evidence.Context{r.Context}
	return e, err
}

// Assemble implements replayer: an endpoint gets the passages as they are.
func (d door) Assemble(context.Context, *evidence.Case, []evidence.Passage, int) (evidence.Context, []evidence.Passage, error) {
	return evidence.Context{}, nil, errors.New("an endpoint assembles its context itself")
}

// passagesValue returns passages as a list, as generation is given them.
func passagesValue(passages []evidence.Passage) evidence.Value {
	recorded := evidence.AppendArtifacts(nil, &evidence.Artifacts{Retrieval: []evidence.Retrieval{{Candidates: passages}}})
	list, _ := evidence.Lookup(recorded, evidence.RetrievalKind+".0.candidates") // it is there
	return list
}

func streamOptions(h *suite.HTTP) *stream.Options {
	if h.Stream == nil {
		return nil
	}
	return &h.Stream.Options
}

// connect returns the transport to the endpoint: by the rules, with the
// certificates of the suite. The function closes it.
func (x *activeRun) connect(concurrency int) (http.RoundTripper, func(), error) {
	if x.transport != nil {
		return x.transport, func() {}, nil
	}
	base := httpsystem.NewTransport(concurrency)
	if t := x.resolved.TLS; t != nil {
		var err error
		if base.TLSClientConfig, err = x.certificates(t); err != nil {
			return nil, nil, err
		}
	}
	transport, err := x.guarded(&x.rules, base)
	if err != nil {
		return nil, nil, err
	}
	return transport, transport.CloseIdleConnections, nil
}

// guarded returns a transport that calls by the rules. Where nobody else proposes
// what to call, they only forbid what is forbidden to everybody.
func (x *activeRun) guarded(rules **netguard.Rules, base *http.Transport) (*http.Transport, error) {
	if *rules == nil {
		var err error
		if *rules, err = x.env.openRules(); err != nil {
			return nil, err
		}
	}
	return (*rules).Transport(base), nil
}

// openRules are the rules where nobody else proposes what to call.
func (e *Env) openRules() (*netguard.Rules, error) {
	getenv := func(name string) string { value, _ := e.Lookup(name); return value }
	return netguard.New(netguard.Options{Open: true, Container: netguard.InContainer(getenv, os.ReadFile)})
}

// certificates reads the files of system.http.tls.
func (x *activeRun) certificates(t *suite.TLS) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		data, err := x.pem("ca", t.CA)
		if err != nil {
			return nil, err
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, x.tlsProblem("ca", "holds no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----")
		}
		config.RootCAs = pool
	}
	if t.Cert != "" {
		cert, err := x.pem("cert", t.Cert)
		if err != nil {
			return nil, err
		}
		key, err := x.pem("key", t.Key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, x.tlsProblem("cert", "and key are no pair that can be used: "+strings.TrimPrefix(err.Error(), "tls: "))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (x *activeRun) tlsProblem(key, text string) error {
	s := x.project.suite
	return s.Problem(s.System.HTTP.KeyPos["tls"], "system.http.tls.%s %s", key, x.redact.String(text))
}

// pem returns PEM text, or the content of the file that is named instead.
func (x *activeRun) pem(key, value string) ([]byte, error) {
	if strings.Contains(value, "-----BEGIN") {
		return []byte(value), nil
	}
	name := value
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.project.suite.Dir, name)
	}
	if x.inside != nil {
		if err := x.inside(name); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		return nil, x.tlsProblem(key, "cannot be read: "+name+": "+err.Error())
	}
	return data, nil
}

// tokenCommand runs the program of system.http.auth.command; nil without one.
func (x *activeRun) tokenCommand() func(context.Context) ([]byte, error) {
	a := x.resolved.Auth
	if a == nil || a.Kind != "command" {
		return nil
	}
	return func(ctx context.Context) ([]byte, error) {
		return process.Output(ctx, a.Command, x.project.suite.Dir, x.env.Environ, x.redact)
	}
}

package httpsystem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// credentials tell the service who calls. They are put on requests to the
// system's own scheme, host and port only.
type credentials interface {
	// apply puts them on a request. used names what was used, for renew.
	apply(ctx context.Context, req *http.Request, body []byte) (used string, f *fault)
	// heard is told whether the service took what was used. It reports whether
	// something else can be had, and that another try is worth while.
	heard(used string, taken bool) (again bool)
	// once returns what was made for this request alone and is to be kept out of
	// what is shown; "" is nothing.
	once(req *http.Request) string
}

// errAuth is a fault of the credentials.
func errAuth(retry bool, format string, args ...any) *fault {
	return &fault{kind: evidence.ErrAuth, text: "no token, " + fmt.Sprintf(format, args...) + ", no request", retry: retry}
}

// newCredentials makes those of a suite; nil without any.
func (s *System) newCredentials(t *attempts) (credentials, error) {
	a := s.cfg.Auth
	if a == nil {
		return nil, nil
	}
	switch a.Kind {
	case "bearer":
		return fixed{header: "Authorization", value: "Bearer " + a.Token}, nil
	case "header":
		return fixed{header: a.Name, value: a.Value}, nil
	case "basic":
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(a.User, a.Password)
		return fixed{header: "Authorization", value: req.Header.Get("Authorization")}, nil
	case "query":
		return fixed{query: a.Name, value: a.Value}, nil
	case "oauth2":
		o := &oauth2{OAuth2: a.OAuth2, t: t, redact: s.cfg.Redact, agent: s.cfg.UserAgent}
		return newTokens(s.cfg.Now, s.cfg.Redact, o.fetch), nil
	case "aws_sigv4":
		return &sigV4{SigV4: a.SigV4, signer: signer.NewSigner(), now: s.cfg.Now}, nil
	case "command":
		if s.cfg.Command == nil {
			return nil, errors.New("system.http.auth.command: nothing here can run a program")
		}
		c := &command{run: s.cfg.Command, expires: a.Expires, now: s.cfg.Now}
		return newTokens(s.cfg.Now, s.cfg.Redact, c.fetch), nil
	}
	return nil, fmt.Errorf("system.http.auth has the unknown kind %q", a.Kind)
}

// fixed are credentials that never change.
type fixed struct{ header, query, value string }

func (c fixed) apply(_ context.Context, req *http.Request, _ []byte) (string, *fault) {
	if c.query != "" {
		added := url.QueryEscape(c.query) + "=" + url.QueryEscape(c.value)
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+added, "&")
		return "", nil
	}
	req.Header.Set(c.header, c.value)
	return "", nil
}

func (fixed) heard(string, bool) bool   { return false }
func (fixed) once(*http.Request) string { return "" }

// sigV4 signs requests.
type sigV4 struct {
	suite.SigV4
	signer *signer.Signer
	now    func() time.Time
}

func (c *sigV4) apply(ctx context.Context, req *http.Request, body []byte) (string, *fault) {
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", digest) // some services ask for it, none minds
	keys := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}
	if err := c.signer.SignHTTP(ctx, keys, req, digest, c.Service, c.Region, c.now().UTC()); err != nil {
		return "", errAuth(false, "the request could not be signed: %s", reason(err))
	}
	return "", nil
}

func (*sigV4) heard(string, bool) bool { return false }

func (*sigV4) once(req *http.Request) string {
	_, signature, _ := strings.Cut(req.Header.Get("Authorization"), "Signature=")
	return signature
}

// token is what a service is shown for some time.
type token struct {
	value   string
	renew   time.Time // when it is asked for again; zero is never
	trusted bool      // the service took it
}

// tokens keeps the token that is used by all calls, and asks for another one
// before it expires and when the service does not take it any more.
type tokens struct {
	now    func() time.Time
	redact *redact.Redactor
	fetch  func(context.Context) (token, *fault)

	turn     chan struct{} // holds one value; who has it may change what follows
	current  *token
	distrust int // tokens in a row that the service did not take
}

func newTokens(now func() time.Time, r *redact.Redactor, fetch func(context.Context) (token, *fault)) *tokens {
	t := &tokens{now: now, redact: r, fetch: fetch, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

func (t *tokens) apply(ctx context.Context, req *http.Request, _ []byte) (string, *fault) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return "", errAuth(true, "it did not come in time")
	}
	defer func() { t.turn <- struct{}{} }()
	if t.current == nil || !t.current.renew.IsZero() && !t.now().Before(t.current.renew) {
		fresh, f := t.fetch(ctx)
		if f != nil {
			return "", f
		}
		t.redact.Add(fresh.value)
		t.current = &fresh
	}
	req.Header.Set("Authorization", "Bearer "+t.current.value)
	return t.current.value, nil
}

func (t *tokens) heard(used string, taken bool) (again bool) {
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	switch {
	case t.current == nil || t.current.value != used:
		return !taken // somebody has renewed it
	case taken:
		t.current.trusted, t.distrust = true, 0
		return false
	case !t.current.trusted && t.distrust > 0:
		return false // a new one would be refused as this one was
	}
	t.distrust++
	t.current = nil
	return true
}

func (*tokens) once(*http.Request) string { return "" }

// expiring returns a token that is renewed a while before it expires.
func expiring(value string, life time.Duration, now time.Time) token {
	if life <= 0 {
		return token{value: value}
	}
	return token{value: value, renew: now.Add(life - min(life/4, time.Minute))}
}

// maxTokenAnswer bounds the answer to a request for a token, in bytes.
const maxTokenAnswer = 1 << 20

// oauth2 gets tokens by the client's own credentials (RFC 6749, section 4.4).
type oauth2 struct {
	suite.OAuth2
	t      *attempts
	redact *redact.Redactor
	agent  string
}

func (o *oauth2) fetch(ctx context.Context) (token, *fault) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(o.Scopes) > 0 {
		form.Set("scope", strings.Join(o.Scopes, " "))
	}
	if o.Audience != "" {
		form.Set("audience", o.Audience)
	}
	if o.InBody {
		form.Set("client_id", o.ClientID)
		form.Set("client_secret", o.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return token{}, errAuth(false, "token_url: %s", withoutURL(err))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if o.agent != "" {
		req.Header.Set("User-Agent", o.agent)
	}
	if !o.InBody { // section 2.3.1: form-encoded first
		id, secret := url.QueryEscape(o.ClientID), url.QueryEscape(o.ClientSecret)
		o.redact.Add(secret, id+":"+secret) // whose base64 is not that of the secret
		req.SetBasicAuth(id, secret)
	}
	if _, err := o.t.limit.wait(ctx); err != nil {
		return token{}, errAuth(true, "it did not come in time")
	}
	asked := o.t.now()
	resp, err := o.t.base.RoundTrip(req)
	if err != nil {
		return token{}, errAuth(!isPermanent(err), "%s could not be asked (%s)", o.place(), reason(err))
	}
	defer resp.Body.Close()
	body, more, err := readAll(resp.Body, resp.ContentLength, maxTokenAnswer)
	if err != nil || more {
		return token{}, errAuth(err != nil, "%s gave no answer that could be read", o.place())
	}
	return o.read(resp, body, asked)
}

// place is the token endpoint as it may be shown.
func (o *oauth2) place() string { return o.redact.String(PublicURL(o.TokenURL)) }

func (o *oauth2) read(resp *http.Response, body []byte, asked time.Time) (token, *fault) {
	v, err := evidence.ParseJSON(trim(body))
	said := func(name string) string {
		m, _ := evidence.Member(v, name)
		s, _ := evidence.Text(m)
		return s
	}
	// Whatever comes of the answer: what it says is shown.
	o.redact.Add(said("access_token"), said("refresh_token"), said("id_token"))
	switch kind := said("token_type"); {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		why := strings.TrimSpace(said("error") + " " + said("error_description"))
		if why == "" {
			why = clean(start(trim(body)), maxSnippet)
		}
		if why != "" {
			why = ": " + why
		}
		return token{}, errAuth(isTransient(resp.StatusCode), "%s answered with status %s%s", o.place(), statusText(resp.StatusCode), why)
	case err != nil:
		return token{}, errAuth(false, "%s answered with what is no JSON: %s", o.place(), err)
	case said("access_token") == "":
		return token{}, errAuth(false, "%s answered without access_token", o.place())
	case kind != "" && !strings.EqualFold(kind, "bearer"):
		return token{}, errAuth(false, "%s gave a token of the type %s, and only bearer is understood", o.place(), clean(kind, 40))
	}
	life, _ := evidence.Member(v, "expires_in")
	if fault := tokenFault(said("access_token")); fault != "" {
		return token{}, errAuth(false, "%s gave a token that %s", o.place(), fault)
	}
	return expiring(said("access_token"), lifetime(life), asked), nil
}

// lifetime reads a number of seconds, which some services write as text.
func lifetime(v evidence.Value) time.Duration {
	text := string(v)
	if s, ok := evidence.Text(v); ok {
		text = s
	}
	d, err := time.ParseDuration(text + "s")
	if err != nil {
		return 0
	}
	return d
}

// tokenFault says why a text can be no token, or "".
func tokenFault(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "holds white space or characters outside ASCII"
	}
	return ""
}

// command gets tokens from a program.
type command struct {
	run     func(context.Context) ([]byte, error)
	expires time.Duration
	now     func() time.Time
}

func (c *command) fetch(ctx context.Context) (token, *fault) {
	asked := c.now()
	out, err := c.run(ctx)
	switch {
	case ctx.Err() != nil:
		return token{}, errAuth(true, "the program of system.http.auth.command did not end in time")
	case err != nil:
		return token{}, errAuth(false, "the program of system.http.auth.command: %s", err)
	}
	t, fault := printedToken(bytes.TrimSpace(out), asked)
	if fault != "" {
		return token{}, errAuth(false, "the program of system.http.auth.command printed %s", fault)
	}
	if c.expires > 0 {
		t = expiring(t.value, c.expires, asked)
	}
	return t, nil
}

// printedToken reads what a program printed: the token alone, or JSON.
func printedToken(out []byte, now time.Time) (t token, fault string) {
	if len(out) == 0 {
		return token{}, "nothing"
	}
	if out[0] != '{' {
		if tokenFault(string(out)) != "" {
			return token{}, "more than a token: want one word, or JSON with token and expires_in"
		}
		return token{value: string(out)}, ""
	}
	v, err := evidence.ParseJSON(out)
	if err != nil {
		return token{}, "JSON that cannot be read: " + err.Error()
	}
	for _, name := range []string{"token", "access_token", "accessToken", "id_token"} {
		m, _ := evidence.Member(v, name)
		if s, _ := evidence.Text(m); s != "" {
			if tokenFault(s) != "" {
				return token{}, "a token that holds white space or characters outside ASCII"
			}
			life, _ := evidence.Member(v, "expires_in")
			return expiring(s, lifetime(life), now), ""
		}
	}
	return token{}, "JSON without token or access_token"
}

// authorized sends a request with the credentials on it, and once more with other
// ones when the service does not take them and others can be had.
func (t *attempts) authorized(req *http.Request, send func(*http.Request) answer) answer {
	if t.credentials == nil || !t.own(req.URL) {
		return send(req)
	}
	body, err := bodyOf(req)
	if err != nil {
		return answer{fault: &fault{kind: evidence.ErrConnection, text: "a request whose body cannot be read (" + reason(err) + ")"}}
	}
	for try := 1; ; try++ {
		r := req.Clone(req.Context())
		if body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		used, f := t.credentials.apply(r.Context(), r, body)
		if f != nil {
			return answer{fault: f}
		}
		a := send(r)
		a.forget(t.credentials.once(r))
		if a.status == 0 {
			return a
		}
		if again := t.credentials.heard(used, a.status != http.StatusUnauthorized); !again || try > 1 || r.Context().Err() != nil {
			return a
		}
		if _, err := t.limit.wait(r.Context()); err != nil {
			return a
		}
	}
}

// own reports whether a URL leads to the system itself.
func (t *attempts) own(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, t.home.Scheme) && strings.EqualFold(u.Host, t.home.Host)
}

// bodyOf takes the body out of a request; nil is none.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// forget takes what was made for one request out of its answer.
func (a *answer) forget(secret string) {
	if secret == "" {
		return
	}
	for _, b := range []*[]byte{&a.body, (*[]byte)(&a.parsed)} {
		if bytes.Contains(*b, []byte(secret)) {
			*b = bytes.ReplaceAll(*b, []byte(secret), []byte(redact.Marker))
		}
	}
	if a.fault != nil {
		a.fault.text = strings.ReplaceAll(a.fault.text, secret, redact.Marker)
	}
}

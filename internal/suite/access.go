package suite

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stream"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Stream is system.http.stream: how an answer that comes in pieces is put
// together.
type Stream struct {
	stream.Options
	Pos Position
}

// Auth is system.http.auth: how the service learns who calls. Which fields hold
// depends on Kind. Secrets hold ${NAME} as written.
type Auth struct {
	Kind string // bearer, header, basic, query, oauth2, aws_sigv4 or command
	Pos  Position

	Token    string   // bearer
	Name     string   // of the header, or of the query's parameter
	Value    string   // of these
	User     string   // basic
	Password string   // basic
	OAuth2   OAuth2   // oauth2
	SigV4    SigV4    // aws_sigv4
	Command  []string // command
	Expires  time.Duration

	places map[string]Position
}

// OAuth2 gets a token by the client's own credentials (RFC 6749, section 4.4).
type OAuth2 struct {
	TokenURL     string
	ClientID     string
	ClientSecret string
	Scopes       []string
	Audience     string
	InBody       bool // the credentials are sent in the body, not as basic authentication
}

// SigV4 signs requests as AWS asks. Without keys of its own those of the
// environment count, as with AWS's own tools.
type SigV4 struct {
	Region, Service              string
	AccessKeyID, SecretAccessKey string
	SessionToken                 string
}

// TLS is system.http.tls. Each is the path of a PEM file or, with ${NAME}, its
// content.
type TLS struct {
	CA, Cert, Key string
	places        map[string]Position
}

// Limits is system.http.limits.
type Limits struct {
	PerSecond float64 // requests per second of all workers; 0 is no bound
	Burst     int     // requests at once after a pause; at least 1
	Run       time.Duration
	Retries   int // of a case; 3 by default
	// StopAfter is how many cases in a row may fail; 0 never stops. Nil leaves it
	// to the runner.
	StopAfter *int
}

// accessTable lists the keys that say how the service is reached.
func (h *HTTP) accessTable() y.Table {
	return y.Table{
		{Key: "stream", Type: h.streamType(), Null: true,
			Doc: "How an answer that comes in pieces is put together: the name of an assembler, or a mapping. The object that it makes is then mapped like any answer."},
		{Key: "auth", Type: h.authType(), Null: true,
			Doc: "How the service learns who calls. Secrets are written as ${NAME} and read from the environment."},
		{Key: "tls", Type: h.tlsType(), Null: true,
			Doc: "Certificates beside those of the machine."},
		{Key: "limits", Type: h.limitsType(), Null: true,
			Doc: "How fast, how long and how often the service is called."},
	}
}

func (h *HTTP) streamType() y.Type {
	s := &Stream{}
	var names []string
	for _, k := range stream.Kinds() {
		names = append(names, k.Name)
	}
	set := func(at Position) { h.Stream, s.Pos = s, at }
	done := &stream.Done{}
	return y.At(set, y.Either(
		y.Enum(y.Into(&s.Assemble), names...),
		y.Mapping(y.Table{
			{Key: "assemble", Type: y.Enum(y.Into(&s.Assemble), names...).Default(stream.Collect),
				Doc: "Assembler that puts the frames together: that of a service, or append, cumulative, collect."},
			{Key: "format", Type: y.Enum(func(f string) { s.Format = stream.Format(f) }, stream.Formats()...), Null: true,
				Doc: "How the stream is cut: server-sent events, one JSON value a line, or lines of PREFIX:JSON; that of the assembler when absent."},
			{Key: "text", Type: path(y.Into(&s.Text)), Null: true,
				Doc: "Dotted path of the answer's text in a frame, for append and cumulative; with collect, of what the time to the first token waits for."},
			{Key: "error", Type: path(y.Into(&s.Error)), Null: true,
				Doc: "Dotted path of the message in a frame that tells an error; when absent, the usual places."},
			{Key: "done", Type: y.At(func(Position) { s.Done = done }, y.Either(
				y.String(func(text string) {
					if done.EOF = text == "eof"; !done.EOF {
						done.Text = text
					}
				}).Want("text"),
				y.Mapping(y.Table{
					{Key: "path", Type: path(y.Into(&done.Path)), Required: true,
						Doc: "Dotted path in a frame."},
					{Key: "equals", Type: y.JSON(func(v evidence.Value) { done.Equals = v }),
						Doc: "Value that stands there in the last frame; when absent, anything but null and false."},
				}),
			)), Null: true,
				Doc: "End signal in place of the assembler's: the whole data of a frame or the name of its event, eof for the end of the body, or {path, equals}."},
		}),
	))
}

// secret is a text that is kept out of the file.
func secret(into func(string)) *y.StringType {
	return y.String(into).Want("a reference such as ${API_TOKEN}").Secret().Check(inEnvironment).Check(headerValue).Check(references)
}

// inEnvironment refuses a secret that stands in the file.
func inEnvironment(text string) string {
	if !reference().MatchString(text) {
		return "KEY holds a secret as text: write ${NAME}, such as ${API_TOKEN}, and set that variable in the environment; replace the secret, since others may have read the file"
	}
	return ""
}

func noEmptyWord(text string) string {
	if strings.TrimSpace(text) == "" {
		return "KEY holds only white space"
	}
	return ""
}

// authKinds are the keys of auth, of which one is written.
var authKinds = []string{"bearer", "header", "basic", "query", "oauth2", "aws_sigv4", "command"}

func (h *HTTP) authType() y.Type {
	a := &Auth{places: map[string]Position{}}
	kind := func(name string) func(Position) { return func(Position) { a.Kind = name } }
	below := func(key string) func(map[string]Position) {
		return func(at map[string]Position) {
			for name, place := range at {
				a.places[key+"."+name] = place
			}
		}
	}
	text := func(into *string) *y.StringType {
		return y.String(y.Into(into)).Check(oneLine).Check(noEmptyWord).Check(references)
	}
	pair := func(key string, name y.Type) y.Type {
		return y.Mapping(y.Table{
			{Key: "name", Type: name, Required: true, Doc: "Name of it."},
			{Key: "value", Type: secret(y.Into(&a.Value)), Required: true, Doc: "Secret, as ${NAME}; text around it is allowed, such as ApiKey ${NAME}."},
		}).At(kind(key)).Keys(below(key))
	}
	return y.Mapping(y.Table{
		{Key: "bearer", Type: y.At(kind("bearer"), secret(y.Into(&a.Token))),
			Doc: "Token that is sent as Authorization: Bearer."},
		{Key: "header", Type: pair("header", y.String(y.Into(&a.Name)).Pattern(tokenPattern, "a header name (letters, digits and hyphens)")),
			Doc: "A header that holds a secret, such as api-key."},
		{Key: "basic", Type: y.Mapping(y.Table{
			{Key: "user", Type: text(&a.User), Required: true, Doc: "Name; may hold ${NAME}."},
			{Key: "password", Type: secret(y.Into(&a.Password)), Required: true, Doc: "Password, as ${NAME}."},
		}).At(kind("basic")).Keys(below("basic")),
			Doc: "Basic authentication."},
		{Key: "query", Type: pair("query", y.String(y.Into(&a.Name)).Check(oneLine)),
			Doc: "A parameter of the URL that holds a secret, such as key. Prefer a header: URLs are logged on their way."},
		{Key: "oauth2", Type: y.Mapping(y.Table{
			{Key: "token_url", Type: y.String(y.Into(&a.OAuth2.TokenURL)).Want("an http or https URL").Check(staticURL), Required: true,
				Doc: "Where a token is asked for."},
			{Key: "client_id", Type: text(&a.OAuth2.ClientID), Required: true, Doc: "Id of the client; may hold ${NAME}."},
			{Key: "client_secret", Type: secret(y.Into(&a.OAuth2.ClientSecret)), Required: true, Doc: "Secret of the client, as ${NAME}."},
			{Key: "scopes", Type: y.List(y.Into(&a.OAuth2.Scopes), func(s *string) y.Type { return text(s) }), Null: true,
				Doc: "What the token is for."},
			{Key: "audience", Type: text(&a.OAuth2.Audience), Null: true, Doc: "Whom the token is for, where the service asks for it."},
			{Key: "credentials", Type: y.Enum(func(s string) { a.OAuth2.InBody = s == "body" }, "basic", "body").Default("basic"),
				Doc: "How id and secret are sent: as basic authentication, or in the body."},
		}).At(kind("oauth2")).Keys(below("oauth2")),
			Doc: "Client credentials of OAuth 2. The token is kept for the run, renewed before it expires, and once when the service says 401."},
		{Key: "aws_sigv4", Type: y.Mapping(y.Table{
			{Key: "region", Type: text(&a.SigV4.Region), Required: true, Doc: "Region, such as eu-central-1; may hold ${NAME}."},
			{Key: "service", Type: text(&a.SigV4.Service), Required: true, Doc: "Name of the service in signatures, such as bedrock, es or execute-api."},
			{Key: "access_key_id", Type: text(&a.SigV4.AccessKeyID), Null: true, Doc: "Id of the key; AWS_ACCESS_KEY_ID when absent."},
			{Key: "secret_access_key", Type: secret(y.Into(&a.SigV4.SecretAccessKey)), Null: true, Doc: "Secret of the key, as ${NAME}; AWS_SECRET_ACCESS_KEY when absent."},
			{Key: "session_token", Type: secret(y.Into(&a.SigV4.SessionToken)), Null: true, Doc: "Token of a session, as ${NAME}; AWS_SESSION_TOKEN when absent and set."},
		}).At(kind("aws_sigv4")).Keys(below("aws_sigv4")),
			Doc: "Signature of AWS, version 4."},
		{Key: "command", Type: y.At(kind("command"), y.List(y.Into(&a.Command), word).Min(1)),
			Doc: "Program and arguments, no shell, that prints a token: the token alone, or JSON with token or access_token and expires_in. It is sent as Authorization: Bearer. Runs only where programs may be started."},
		{Key: "expires_s", Type: y.Seconds(y.Into(&a.Expires)), Null: true,
			Doc: "With command: seconds after which the token is asked for again; when absent, what the program says, else only after a 401."},
	}).At(func(at Position) { h.Auth, a.Pos = a, at }).Keys(func(at map[string]Position) { maps.Copy(a.places, at) }).OneOf(authKinds...)
}

func (h *HTTP) tlsType() y.Type {
	t := &TLS{}
	file := func(into *string) *y.StringType {
		return y.String(y.Into(into)).Want("the path of a PEM file").Check(oneLine).Check(references)
	}
	return y.Mapping(y.Table{
		{Key: "ca", Type: file(&t.CA), Null: true,
			Doc: "Certificates of authorities that are trusted beside the machine's: the path of a PEM file relative to the suite, or ${NAME} of a variable with its path or content."},
		{Key: "cert", Type: file(&t.Cert), Null: true, Doc: "Certificate that the program shows to the service, with its chain; as ca."},
		{Key: "key", Type: file(&t.Key), Null: true, Doc: "Private key of cert; as ca."},
		y.Refused("insecure_skip_verify", "not supported: an answer of nobody knows whom is no evidence; name the authority under ca"),
		y.Refused("verify", "not supported: an answer of nobody knows whom is no evidence; name the authority under ca"),
	}).At(func(Position) { h.TLS = t }).Keys(y.Into(&t.places))
}

func (h *HTTP) limitsType() y.Type {
	l := &h.Limits
	return y.Mapping(y.Table{
		{Key: "requests_per_second", Type: y.Number(y.Into(&l.PerSecond)).Above(0).Max(100_000), Null: true,
			Doc: "Most requests per second of all workers together, repeated ones and those for tokens counted; no bound when absent."},
		{Key: "burst", Type: y.Int(y.Into(&l.Burst)).Min(1).Max(MaxConcurrency).Default(1),
			Doc: "Requests that may go out at once after a quiet time."},
		{Key: "retries", Type: y.Int(y.Into(&l.Retries)).Min(0).Max(10).Default(DefaultRetries),
			Doc: "Most repetitions of a request that failed in a way that may pass."},
		{Key: "run_timeout_s", Type: y.Seconds(y.Into(&l.Run)), Null: true,
			Doc: "Seconds after which the run stops with exit code 2; finished cases are kept and --resume goes on. No bound when absent."},
		{Key: "stop_after_failures", Type: y.Int(y.Opt(&l.StopAfter)).Min(0), Null: true,
			Doc: "Cases in a row without an answer after which the run stops with exit code 2; 0 never stops. When absent, as described under limits."},
		y.Refused("attempt_timeout_s", "not a key: the deadline of one attempt is system.http.timeout_s"),
	})
}

// DefaultRetries is how often a request is repeated at most.
const DefaultRetries = 3

// checkAccess finds what is wrong across the keys of access.
func (h *HTTP) checkAccess(f *y.File) {
	if s := h.Stream; s != nil && stream.NeedsText(s.Assemble) && s.Text == "" {
		f.Problem(s.Pos, "system.http.stream: the assembler %s has to be told where the text of a frame stands: add text, such as text: delta.content", s.Assemble)
	}
	if t := h.TLS; t != nil && (t.Cert == "") != (t.Key == "") {
		key, at := "key", t.places["cert"]
		if t.Cert == "" {
			key, at = "cert", t.places["key"]
		}
		f.Problem(at, "system.http.tls needs cert and key together: add %s", key)
	}
	if h.Auth != nil {
		h.checkAuth(f, h.Auth)
	}
}

func (h *HTTP) checkAuth(f *y.File, a *Auth) {
	if at, ok := a.places["expires_s"]; ok && a.Kind != "" && a.Kind != "command" {
		f.Problem(at, "system.http.auth.expires_s belongs to command: remove it")
	}
	s := a.SigV4
	if (s.AccessKeyID == "") != (s.SecretAccessKey == "") {
		f.Problem(a.Pos, "system.http.auth.aws_sigv4 needs access_key_id and secret_access_key together, or neither for those of the environment")
	}
	name := "Authorization"
	switch a.Kind {
	case "header":
		name = a.Name
	case "query", "":
		return
	}
	for _, header := range h.Headers {
		if strings.EqualFold(header.Name, name) {
			f.Problem(header.Pos, "system.http.headers and system.http.auth both set the header %s: remove one", header.Name)
		}
	}
}

// accessMeaning is what of the access belongs to the identity of the system: how
// a stream is put together, and the kind of authentication with its names.
func (h *HTTP) accessMeaning() meaning {
	m := meaning{}
	if s := h.Stream; s != nil {
		of := meaning{"assemble": s.Assemble, "format": string(s.Format), "text": s.Text, "error": s.Error}
		if d := s.Done; d != nil {
			of["done"] = meaning{"text": d.Text, "path": d.Path, "equals": d.Equals, "eof": d.EOF}
		}
		m["stream"] = of
	}
	if a := h.Auth; a != nil {
		m["auth"] = a.meaning()
	}
	return m
}

func (a *Auth) meaning() meaning {
	m := meaning{"kind": a.Kind}
	switch a.Kind {
	case "bearer":
		m["token"] = a.Token
	case "header", "query":
		m["name"], m["value"] = a.Name, a.Value
	case "basic":
		m["user"], m["password"] = a.User, a.Password
	case "oauth2":
		o := a.OAuth2
		m["token_url"], m["client_id"], m["client_secret"] = o.TokenURL, o.ClientID, o.ClientSecret
		m["scopes"], m["audience"] = slices.Sorted(slices.Values(o.Scopes)), o.Audience
	case "aws_sigv4":
		s := a.SigV4
		m["region"], m["service"], m["access_key_id"] = s.Region, s.Service, s.AccessKeyID
		m["secret_access_key"], m["session_token"] = s.SecretAccessKey, s.SessionToken
	case "command":
		m["command"] = a.Command
	}
	return m
}

// auth returns an Auth with its secrets in it.
func (x *expander) auth(a *Auth) *Auth {
	filled := *a
	r := &filled
	fill := func(key string, into *string, check func(string) string) {
		at, ok := a.places[key]
		if !ok {
			at = a.Pos
		}
		*into = x.expand(httpKey+"auth."+key, *into, at, check)
	}
	header := valueFault(headerValue)
	switch a.Kind {
	case "bearer":
		fill("bearer", &r.Token, header)
	case "header", "query":
		fill(a.Kind+".value", &r.Value, header)
	case "basic":
		fill("basic.user", &r.User, basicUser)
		fill("basic.password", &r.Password, header)
		x.derived(r.User+":"+r.Password, r.Password != "")
	case "oauth2":
		fill("oauth2.token_url", &r.OAuth2.TokenURL, checkURL)
		fill("oauth2.client_id", &r.OAuth2.ClientID, header)
		fill("oauth2.client_secret", &r.OAuth2.ClientSecret, header)
		fill("oauth2.audience", &r.OAuth2.Audience, header)
		r.OAuth2.Scopes = slices.Clone(a.OAuth2.Scopes)
		for i := range r.OAuth2.Scopes {
			fill("oauth2.scopes", &r.OAuth2.Scopes[i], header)
		}
		x.derived(r.OAuth2.ClientID+":"+r.OAuth2.ClientSecret, r.OAuth2.ClientSecret != "")
	case "aws_sigv4":
		x.sigV4(&r.SigV4, a, fill)
	case "command":
		r.Command = x.words(httpKey+"auth.command", a.Command, a.Pos)
	}
	return r
}

// derived keeps what is made of a secret out of what is shown.
func (x *expander) derived(secret string, known bool) {
	if known {
		x.secrets = append(x.secrets, secret)
	}
}

func (x *expander) sigV4(s *SigV4, a *Auth, fill func(string, *string, func(string) string)) {
	header := valueFault(headerValue)
	if s.SecretAccessKey == "" {
		s.AccessKeyID, s.SecretAccessKey = "${AWS_ACCESS_KEY_ID}", "${AWS_SECRET_ACCESS_KEY}"
		if token, ok := x.lookup("AWS_SESSION_TOKEN"); ok && token != "" && s.SessionToken == "" {
			s.SessionToken = "${AWS_SESSION_TOKEN}"
		}
	}
	known := len(x.secrets)
	fill("aws_sigv4.region", &s.Region, header)
	fill("aws_sigv4.service", &s.Service, header)
	x.secrets = x.secrets[:known] // everybody knows these
	fill("aws_sigv4.access_key_id", &s.AccessKeyID, header)
	fill("aws_sigv4.secret_access_key", &s.SecretAccessKey, header)
	fill("aws_sigv4.session_token", &s.SessionToken, header)
}

// basicUser checks a name of basic authentication, which ends at the colon.
func basicUser(text string) string {
	if strings.Contains(text, ":") {
		return "holds a colon, which no name of basic authentication may have"
	}
	return strings.TrimPrefix(headerValue(text), "KEY ")
}

// tls fills in the paths or contents of certificates.
func (x *expander) tls(t *TLS) *TLS {
	r := &TLS{}
	for key, v := range map[string]struct{ from, into *string }{"ca": {&t.CA, &r.CA}, "cert": {&t.Cert, &r.Cert}, "key": {&t.Key, &r.Key}} {
		*v.into = x.expand(httpKey+"tls."+key, *v.from, t.places[key], func(string) string { return "" })
	}
	return r
}

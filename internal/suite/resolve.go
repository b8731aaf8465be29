package suite

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// Names that stand for something else than an environment variable in a suite
// that launches a service.
const (
	binName  = "OLOPROOF_BIN" // this program
	portName = "PORT"         // a free port
)

// ResolveOptions says what a suite is resolved against.
type ResolveOptions struct {
	URL       string // in place of system.http.url, with no service launched; "" keeps the suite's
	AllowExec bool   // whether system.start may launch a program
	Bin       string // path of this program, for ${OLOPROOF_BIN}
	// Port returns a free port, for ${PORT}. It is called at most once, and only
	// when the suite uses it.
	Port func() (int, error)
}

// Resolved is what a suite takes from the environment.
type Resolved struct {
	URL     string
	Headers [][2]string       // name and value
	Calls   *mapping.Sequence // of an endpoint; nil is one request with the input as its body
	Gold    *mapping.Sequence // of an endpoint that takes passages; nil: it does not
	Start   *ResolvedStart    // nil when no service is launched
	// Retrieve and Generate are the endpoints of stages; nil for other systems.
	Retrieve, Generate *ResolvedEndpoint
	// VersionFrom is where a version is read; nil when it is not.
	VersionFrom *ResolvedVersionFrom
	Command     *ResolvedCommand // nil unless the system is a program
	Auth        *Auth            // nil unless the endpoint has system.http.auth
	TLS         *TLS             // nil unless it has system.http.tls
	Judges      map[*Judge]Connection
	Secrets     []string // values from the environment and the URL's credentials, to be kept out of what is shown
}

// ResolvedStart is a service to launch.
type ResolvedStart struct {
	Command []string
	Ready   string   // URL or host:port
	Env     []string // NAME=VALUE, added to the environment
	Timeout time.Duration
}

// ResolvedCommand is a program that is the system.
type ResolvedCommand struct {
	Run []string // program and arguments
	Env []string // NAME=VALUE, added to the environment
}

// Resolve replaces every ${NAME} by its value. A suite that could not be read
// whole is resolved to find what is wrong with the environment too. The error is a [problem.List]
// that names each variable that is unset or empty, never a value.
func (s *Suite) Resolve(lookup func(string) (string, bool), opt ResolveOptions) (*Resolved, error) {
	h, start := s.System.HTTP, s.System.Start
	if h == nil {
		h = &HTTP{}
	}
	if opt.URL != "" {
		start = nil
	}
	if at, what := s.System.Starts(opt.URL != ""); what != "" && !opt.AllowExec {
		instead := "serve the system over HTTP (system.http)"
		switch what {
		case startKey:
			instead = "name a running service with --url"
		case "system.rag.command", "system.rag.object":
			instead = "serve the stages over HTTP (system.rag.http)"
		case authKey:
			instead = "get the token in an earlier step and write bearer: ${TOKEN}"
		}
		return nil, s.Problem(at, "%s starts a program, which OLOPROOF_ALLOW_EXEC=0 forbids here: allow it, or %s", what, instead)
	}
	x := &expander{suite: s, lookup: lookup, opt: opt, launch: start != nil, bin: start != nil || s.System.HTTP == nil}
	r := &Resolved{URL: opt.URL}
	if s.System.HTTP == nil && s.System.Kind() != "" {
		r.URL = ""
	} else if opt.URL == "" {
		r.URL = x.expand("system.http.url", h.URL, h.URLPos, checkURL)
	} else if fault := overrideURL(opt.URL); fault != "" {
		x.problems.Add(problem.Problem{Message: "--url " + fault})
	}
	for _, header := range h.Headers {
		value := x.expand("system.http.headers."+header.Name, header.Value, header.Pos, valueFault(headerValue))
		r.Headers = append(r.Headers, [2]string{header.Name, value})
	}
	if h.Auth != nil {
		r.Auth = x.auth(h.Auth)
	}
	if h.TLS != nil {
		r.TLS = x.tls(h.TLS)
	}
	if h.Templates() {
		r.Calls = x.sequence(h)
	}
	if h.Gold != nil {
		r.Gold = x.sequence(h.WithPassages())
	}
	if rag := s.System.RAG; rag != nil && rag.HTTP != nil {
		r.Retrieve, r.Generate = x.endpoint(rag.HTTP.Retrieve), x.endpoint(rag.HTTP.Generate)
	}
	if v := s.System.VersionFrom; v != nil {
		at := r.URL
		if r.Generate != nil {
			at = r.Generate.URL
		}
		r.VersionFrom = x.versionFrom(v, at)
		x.secrets = append(x.secrets, credentials(r.VersionFrom.URL)...)
	}
	if start != nil {
		r.Start = x.start(start)
	}
	if c, key := s.System.Program(); c != nil {
		r.Command = &ResolvedCommand{Run: x.words(key+".run", c.Run, c.Pos), Env: x.variables(key+".env.", c.Env)}
	}
	r.Judges = x.connections(s)
	if err := x.problems.Err(); err != nil {
		return nil, err
	}
	x.secrets = append(append(x.secrets, credentials(r.URL)...), literals("url", opt.URL)...)
	r.Secrets = slices.DeleteFunc(x.secrets, func(value string) bool {
		return slices.ContainsFunc(r.places(), func(place string) bool { return isPlace(value, place) })
	})
	return r, nil
}

// places lists the URLs that are called for the cases.
func (r *Resolved) places() []string {
	all := []string{r.URL}
	for _, e := range []*ResolvedEndpoint{r.Retrieve, r.Generate} {
		if e != nil {
			all = append(all, e.URL)
		}
	}
	return all
}

// Keys that start a program beside an endpoint.
const (
	startKey = "system.start"
	authKey  = "system.http.auth.command"
)

// Starts returns the place and the path of the key that starts a program; "" when
// none does. elsewhere says that the endpoint is another one than the suite's own,
// which runs already.
func (s *System) Starts(elsewhere bool) (Position, string) {
	switch {
	case s.Start != nil && !elsewhere:
		return s.Start.Pos, startKey
	case s.HTTP != nil && s.HTTP.Auth != nil && s.HTTP.Auth.Command != nil:
		return s.HTTP.Auth.Pos, authKey
	case s.Command != nil:
		return s.Command.Pos, "system.command"
	case s.Callable != nil:
		return s.Callable.Pos, "system.callable"
	case s.RAG != nil:
		return s.RAG.program()
	}
	return Position{}, ""
}

// Program returns the program that is the system or its stages, with the path of
// its key; nil when there is none.
func (s *System) Program() (*Command, string) {
	if s.RAG != nil && s.RAG.Command != nil {
		return s.RAG.Command, "system.rag.command"
	}
	return s.Command, "system.command"
}

// credentials returns the password of a URL, or the name that stands alone, as
// tokens do: --url may bring one that no variable holds.
func credentials(rawURL string) []string {
	u, err := url.Parse(rawURL)
	if err != nil || u.User == nil {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		return []string{password}
	}
	return []string{u.User.Username()}
}

// isPlace reports whether a value only says where the system is: an address
// without credentials or query, or the host or port of the URL. It is shown,
// since a report that hides what was called helps nobody.
func isPlace(value, rawURL string) bool {
	if u, err := url.Parse(value); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return u.User == nil && u.RawQuery == "" && u.Fragment == "" && strings.HasPrefix(rawURL, value)
	}
	u, err := url.Parse(rawURL)
	return err == nil && (value == u.Host || value == u.Hostname() || value == u.Port())
}

// overrideURL checks a URL that takes the place of the suite's.
func overrideURL(text string) string {
	if strings.Contains(text, "${") {
		return "is taken as it is and holds ${: let the shell fill in variables"
	}
	return checkURL(text)
}

type expander struct {
	suite    *Suite
	lookup   func(string) (string, bool)
	opt      ResolveOptions
	launch   bool // PORT is a free port
	bin      bool // OLOPROOF_BIN is this program
	port     string
	secrets  []string
	problems problem.List
}

func (x *expander) start(t *Start) *ResolvedStart {
	return &ResolvedStart{
		Timeout: t.Timeout,
		Command: x.words("system.start.command", t.Command, t.Pos),
		Ready:   x.expand("system.start.ready", t.Ready, t.Pos, checkReady),
		Env:     x.variables("system.start.env.", t.Env),
	}
}

// words expands the words of a command line.
func (x *expander) words(key string, words []string, at Position) []string {
	var out []string
	for _, word := range words {
		out = append(out, x.expand(key, word, at, valueFault(noNUL)))
	}
	return out
}

// variables expands the values of variables, which become NAME=VALUE.
func (x *expander) variables(key string, variables []Header) []string {
	var out []string
	for _, v := range variables {
		out = append(out, v.Name+"="+x.expand(key+v.Name, v.Value, v.Pos, valueFault(noNUL)))
	}
	return out
}

// expand replaces each ${NAME} of a text and checks the outcome. There is
// nothing to check of a text that could not be read.
func (x *expander) expand(key, text string, at Position, check func(string) string) string {
	if text == "" {
		return ""
	}
	known := true
	out := reference().ReplaceAllStringFunc(text, func(ref string) string {
		value, fault := x.value(ref[2 : len(ref)-1])
		if fault != "" {
			x.problems.Add(x.suite.problem(at, "%s: %s", key, fault))
			known = false
		}
		return value
	})
	if !known {
		return ""
	}
	if fault := check(out); fault != "" {
		x.problems.Add(x.suite.problem(at, "%s, with its variables filled in, %s", key, fault))
	}
	x.secrets = append(x.secrets, literals(key, text)...)
	return out
}

// literals returns what a text of the file itself holds that is a secret by the
// name of its header or parameter. Only auth refuses such a text.
func literals(key, text string) []string {
	var all []string
	add := func(name, value string) {
		if len(value) >= minLiteral && secretName(name) && !strings.Contains(value, "{{") && !strings.Contains(value, "${") {
			all = append(all, value)
		}
	}
	if _, name, found := strings.Cut(key, ".headers."); found {
		if strings.EqualFold(name, "Cookie") {
			for part := range strings.SplitSeq(text, ";") {
				_, value, _ := strings.Cut(part, "=")
				add(name, strings.TrimSpace(value))
			}
			return all
		}
		add(name, text[strings.LastIndexByte(text, ' ')+1:]) // behind Bearer and its like
	}
	if _, name, found := strings.Cut(key, ".query."); found {
		add(name, text)
	}
	if u, err := url.Parse(text); err == nil && strings.HasSuffix(key, "url") {
		for name, values := range u.Query() {
			add(name, values[0])
		}
	}
	return all
}

// minLiteral is the shortest text of a file that is kept out of what is shown
// because of its name alone: shorter ones are mostly none.
const minLiteral = 8

func secretName(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || name == "cookie" || slices.ContainsFunc([]string{"key", "token", "secret", "password", "sig", "signature"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

// value returns what a name stands for, and what is wrong, or "".
func (x *expander) value(name string) (value, fault string) {
	switch {
	case x.bin && name == binName:
		return x.opt.Bin, ""
	case x.launch && name == portName:
		return x.freePort()
	}
	value, ok := x.lookup(name)
	switch {
	case !ok:
		return "", fmt.Sprintf("the environment variable %s is not set", name)
	case value == "":
		return "", fmt.Sprintf("the environment variable %s is empty", name)
	}
	if !slices.Contains(x.secrets, value) {
		x.secrets = append(x.secrets, value)
	}
	return value, ""
}

func (x *expander) freePort() (port, fault string) {
	if x.port == "" {
		n, err := x.opt.Port()
		if err != nil {
			return "", fmt.Sprintf("no free port for ${%s}: %v", portName, err)
		}
		x.port = strconv.Itoa(n)
	}
	return x.port, ""
}

// valueFault adapts a check of a key's text to a text with its variables
// filled in.
func valueFault(check func(string) string) func(string) string {
	return func(text string) string { return strings.TrimPrefix(check(text), "KEY ") }
}

// reference matches ${NAME}.
func reference() *regexp.Regexp { return regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`) }

// references checks that each ${ of a text begins a ${NAME}. A $ without a
// brace is a dollar sign.
func references(text string) string {
	rest := reference().ReplaceAllString(text, "")
	i := strings.Index(rest, "${")
	if i < 0 {
		return ""
	}
	name, _, closed := strings.Cut(rest[i+2:], "}")
	switch {
	case !closed:
		return "KEY has a ${ without its closing }"
	case name == "":
		return "KEY has ${} without a name: write ${NAME}"
	}
	return fmt.Sprintf("KEY has ${%s}, which is no name of an environment variable: letters, digits and _, no digit first", name)
}

// placeholders puts a digit in place of each ${NAME}, which fits a host, a port
// and a path.
func placeholders(text string) string { return reference().ReplaceAllString(text, "1") }

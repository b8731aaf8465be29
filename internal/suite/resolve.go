package suite

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	Headers [][2]string    // name and value
	Start   *ResolvedStart // nil when no service is launched
	Secrets []string       // values from the environment and the URL's credentials, to be kept out of what is shown
}

// ResolvedStart is a service to launch.
type ResolvedStart struct {
	Command []string
	Ready   string   // URL or host:port
	Env     []string // NAME=VALUE, added to the environment
	Timeout time.Duration
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
	if start != nil && !opt.AllowExec {
		return nil, s.Problem(start.Pos, "system.start launches a program, which OLOPROOF_ALLOW_EXEC forbids here: allow it, or name a running service with --url")
	}
	x := &expander{suite: s, lookup: lookup, opt: opt, launch: start != nil}
	r := &Resolved{URL: opt.URL}
	if opt.URL == "" {
		r.URL = x.expand("system.http.url", h.URL, h.URLPos, checkURL)
	} else if fault := overrideURL(opt.URL); fault != "" {
		x.problems.Add(problem.Problem{Message: "--url " + fault})
	}
	for _, header := range h.Headers {
		value := x.expand("system.http.headers."+header.Name, header.Value, header.Pos, valueFault(headerValue))
		r.Headers = append(r.Headers, [2]string{header.Name, value})
	}
	if start != nil {
		r.Start = x.start(start)
	}
	if err := x.problems.Err(); err != nil {
		return nil, err
	}
	x.secrets = append(x.secrets, credentials(r.URL)...)
	r.Secrets = slices.DeleteFunc(x.secrets, func(value string) bool { return isPlace(value, r.URL) })
	return r, nil
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
	launch   bool
	port     string
	secrets  []string
	problems problem.List
}

func (x *expander) start(t *Start) *ResolvedStart {
	r := &ResolvedStart{Timeout: t.Timeout}
	for _, word := range t.Command {
		r.Command = append(r.Command, x.expand("system.start.command", word, t.Pos, valueFault(noNUL)))
	}
	r.Ready = x.expand("system.start.ready", t.Ready, t.Pos, checkReady)
	for _, v := range t.Env {
		r.Env = append(r.Env, v.Name+"="+x.expand("system.start.env."+v.Name, v.Value, v.Pos, valueFault(noNUL)))
	}
	return r
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
	return out
}

// value returns what a name stands for, and what is wrong, or "".
func (x *expander) value(name string) (value, fault string) {
	switch {
	case x.launch && name == binName:
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

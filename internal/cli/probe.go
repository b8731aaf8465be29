package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/probe"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/stream"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

type probeFlags struct {
	formatFlags
	input   string
	method  string
	stream  bool
	headers []string
	record  string
	from    string
	write   bool
	preset  string
	show    string
	list    bool
	timeout time.Duration
}

func newProbe(env *Env) *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe [URL] [DIR]",
		Short: "send one request to a service and propose how its answers are mapped",
		Long: `probe sends one request to a service, shows the answer, and says where in it the
answer, the sources and the citations stand: by a preset when it knows the service,
else by structure, with how sure it is and what it could not find. --write puts the
suite, cases and a policy into DIR and never overwrites a file. --record keeps the
answer without secrets; --from tries a mapping on it and calls nothing.`,
		Example: `  oloproof probe http://localhost:8000/answer --input question.json --write my-suite
  oloproof probe --show-preset dify`,
		Args: args(0, 2, ""),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.formatFlags.check(); err != nil {
				return err
			}
			return env.probe(cmd.Context(), f, given)
		},
	}
	f.formatFlags.add(cmd, "text", "json")
	cmd.Flags().StringVar(&f.input, "input", firstInput, "JSON body of the request, or the `file` that holds it")
	cmd.Flags().StringVar(&f.method, "method", "POST", "HTTP `method`: POST, PUT or GET")
	cmd.Flags().BoolVar(&f.stream, "stream", false, "read the answer as a stream, whatever its content type says")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "request `header` as 'Name: ${VARIABLE}'; may be given several times")
	cmd.Flags().StringVar(&f.record, "record", "", "keep the answer in this new `file`, without secrets")
	cmd.Flags().StringVar(&f.from, "from", "", "look at the answer in this `file` and call nothing")
	cmd.Flags().BoolVar(&f.write, "write", false, "write the suite, cases and a policy into DIR (default this directory)")
	cmd.Flags().StringVar(&f.preset, "preset", "", "take the answer as that of this `preset`; none looks at the structure only")
	cmd.Flags().StringVar(&f.show, "show-preset", "", "print the preset `NAME`")
	cmd.Flags().BoolVar(&f.list, "list-presets", false, "list the presets")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "`time` until the whole answer must be there")
	return cmd
}

func (e *Env) probe(ctx context.Context, f probeFlags, given []string) error {
	switch {
	case f.list:
		return e.listPresets()
	case f.show != "":
		p, err := suite.OpenPreset(f.show)
		if err != nil {
			return err
		}
		_, err = io.WriteString(e.Stdout, p.Text)
		return err
	}
	var address string
	if f.from == "" {
		if len(given) == 0 {
			return usageError{errors.New("the URL is missing, or --from with a recorded answer")}
		}
		address, given = given[0], given[1:]
	}
	dir := "."
	switch {
	case len(given) > 1, len(given) == 1 && !f.write:
		return usageError{fmt.Errorf("found %q: with --from there is no URL, and a directory needs --write", given[0])}
	case len(given) == 1:
		dir = given[0]
	}
	if f.from != "" && f.record != "" {
		return usageError{errors.New("--record and --from do not go together: the answer is recorded already")}
	}
	r := &probing{env: e, flags: f}
	if f.from != "" {
		if err := r.read(f.from); err != nil {
			return err
		}
	} else if err := r.call(ctx, address); err != nil {
		return err
	}
	if f.record != "" {
		if err := r.record(f.record); err != nil {
			return err
		}
	}
	if f.from != "" && r.Status != 0 && r.Status/100 != 2 {
		return problem.Errorf("%s holds an answer with status %d, not one to map: probe the service again with what it asks for, and the same --record", f.from, r.Status)
	}
	if err := r.look(); err != nil {
		return err
	}
	if f.write {
		return r.write(dir)
	}
	if f.format == "json" {
		return r.printJSON()
	}
	return r.print()
}

func (e *Env) listPresets() error {
	all, err := suite.Presets()
	if err != nil {
		return err
	}
	for _, p := range all {
		if _, err := fmt.Fprintf(e.Stdout, "%-29s %s\n", p.Name, p.About); err != nil {
			return err
		}
	}
	return nil
}

// answered is what a service answered, as it is recorded: without secrets.
type answered struct {
	Schema    string            `json:"schema"`
	URL       string            `json:"url,omitempty"`
	Method    string            `json:"method,omitempty"`
	Headers   []string          `json:"request_headers,omitempty"` // as given, ${NAME} in them
	Input     json.RawMessage   `json:"input,omitempty"`
	Status    int               `json:"status,omitempty"`
	Received  map[string]string `json:"headers,omitempty"`
	LatencyMS float64           `json:"latency_ms,omitempty"`
	JSON      json.RawMessage   `json:"json,omitempty"` // the body, one of these
	Text      string            `json:"text,omitempty"`
}

// firstInput is what a service is sent that nothing else is meant for.
const firstInput = `{"question": "What can you help me with?"}`

// recordSchema marks a file that --record wrote.
const recordSchema = "oloproof/probe/v1"

// maxProbed is the most bytes of an answer that are looked at.
const maxProbed = 32 << 20

// probing is one look at a service.
type probing struct {
	env   *Env
	flags probeFlags
	answered
	body   []byte // as it came, without secrets
	cut    bool   // its end did not come
	redact *redact.Redactor
	seen
}

// kept are the headers of an answer that are recorded: none of them holds a secret.
var kept = []string{"Content-Type", "Retry-After", "Server", "Date", "X-Request-Id"}

// call sends the one request.
func (r *probing) call(ctx context.Context, address string) error {
	input, err := r.readInput()
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"POST", "PUT", "GET"}, r.flags.method) {
		return usageError{fmt.Errorf("--method is %q, allowed are POST, PUT and GET", r.flags.method)}
	}
	full, secrets, err := r.expand("the URL", address)
	if err != nil {
		return err
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		if whole, err := url.Parse("http://" + address); err == nil && whole.Hostname() != "" && whole.User == nil && !strings.Contains(address, "://") {
			return usageError{fmt.Errorf("the URL must begin with http:// or https://; did you mean %s?", httpsystem.PublicURL(whole.String()))}
		}
		return usageError{fmt.Errorf("the URL is %q, it must begin with http:// or https:// and name a host", httpsystem.PublicURL(address))}
	}
	if err := bareURL(address); err != nil {
		return err
	}
	if r.flags.method == "GET" {
		if r.flags.input != firstInput {
			return usageError{errors.New("--method GET and --input do not go together: a GET has no body, write the question into the URL, such as '…?q=How+many%3F'")}
		}
		input = nil
	}
	req, err := http.NewRequestWithContext(ctx, r.flags.method, full, bytes.NewReader(input))
	if err != nil {
		return usageError{fmt.Errorf("the URL cannot be called: %s", httpsystem.ErrorText(err))}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream, */*")
	req.Header.Set("User-Agent", "oloproof/"+Version())
	more, err := r.setHeaders(req)
	if err != nil {
		return err
	}
	r.redact = redact.New(slices.Concat(secrets, more, r.env.proxyPasswords()))
	r.Schema, r.URL, r.Method, r.Headers, r.Input = recordSchema, address, r.flags.method, r.flags.headers, json.RawMessage(input)
	return r.send(req)
}

// bareURL refuses a URL that holds a secret itself: it would be kept in a shell's
// history and in what is written.
func bareURL(address string) error {
	u, err := url.Parse(variable().ReplaceAllString(address, "1"))
	if err != nil {
		return nil // what is wrong was said
	}
	if u.User != nil && !variable().MatchString(address) {
		return usageError{errors.New("the URL holds a user name or password: put it into an environment variable and write it as ${NAME} in single quotes")}
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if (secretHeader(name) || strings.Contains(strings.ToLower(name), "sig")) && value != "" && !strings.Contains(address, name+"=${") {
			return usageError{fmt.Errorf("the URL holds a value for %s: put it into an environment variable and write it as %s=${NAME} in single quotes", name, name)}
		}
	}
	return nil
}

// expand fills in the ${NAME} of a text from the environment and returns their
// values, which are secrets.
func (r *probing) expand(what, text string) (full string, secrets []string, err error) {
	var missing []string
	full = variable().ReplaceAllStringFunc(text, func(ref string) string {
		v, ok := r.env.Lookup(ref[2 : len(ref)-1])
		if !ok || v == "" {
			missing = append(missing, ref[2:len(ref)-1])
		}
		secrets = append(secrets, v)
		return v
	})
	if len(missing) > 0 {
		return "", nil, usageError{fmt.Errorf("%s: the environment variable %s is not set", what, strings.Join(missing, ", "))}
	}
	return full, secrets, nil
}

// send sends the request and reads its answer.
func (r *probing) send(req *http.Request) error {
	rules, err := r.env.openRules()
	if err != nil {
		return err
	}
	transport := rules.Transport(httpsystem.NewTransport(1))
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: r.flags.timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	start := r.env.Now()
	resp, err := client.Do(req)
	if err != nil {
		if req.Context().Err() != nil {
			return req.Context().Err()
		}
		text := fmt.Sprintf("no answer from %s: %s", r.publicURL(), r.redact.String(httpsystem.ErrorText(err)))
		var refused *netguard.Refusal
		var failed *net.OpError
		switch {
		case errors.As(err, &refused): // says what to do itself
		case errors.Is(err, context.DeadlineExceeded):
			text += "\n  --timeout gives it more time"
		case errors.As(err, &failed) && failed.Op != "dial":
			text += "\n  something is there and gave no answer: is it the right port, and http or https?"
		default:
			text += "\n  " + unreached(req.URL)
		}
		return problem.Errorf("%s", text)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbed+1))
	r.LatencyMS = float64(r.env.Now().Sub(start).Microseconds()) / 1000
	switch {
	case req.Context().Err() != nil:
		return req.Context().Err()
	case err != nil && resp.StatusCode/100 == 2 && probe.FormatOf(body) != stream.SSE: // which may stay open behind its end signal
		text := fmt.Sprintf("no whole answer from %s: %s", r.publicURL(), r.redact.String(httpsystem.ErrorText(err)))
		if len(body) > 0 {
			text += "\n  what came begins: " + shown(string(withoutQueries(r.redact.Bytes(body))))
		}
		return problem.Errorf("%s", text)
	case len(body) > maxProbed:
		return problem.Errorf("the answer of %s is larger than %d MiB", r.publicURL(), maxProbed>>20)
	}
	r.cut = err != nil
	r.Status = resp.StatusCode
	r.Received = map[string]string{}
	for name := range resp.Header {
		if slices.Contains(kept, name) || strings.Contains(name, "Ratelimit") || strings.Contains(name, "Rate-Limit") {
			r.Received[name] = r.redact.String(resp.Header.Get(name))
		}
	}
	r.body = withoutQueries(r.redact.Bytes(body))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if r.flags.record != "" {
			if err := r.record(r.flags.record); err != nil {
				return err
			}
		}
		return r.refused(resp)
	}
	return nil
}

// publicURL is the URL as it may be shown: with the names of variables, without
// a query.
func (r *probing) publicURL() string {
	place, _, _ := strings.Cut(r.URL, "?")
	return report.Clean(place)
}

// again is the command that looks at the same service once more.
func (r *probing) again(more string) string {
	words := []string{"oloproof", "probe"}
	switch {
	case r.flags.from != "":
		words = append(words, "--from", shellWord(r.flags.from))
	default:
		words = append(words, shellWord(r.URL))
		if len(r.Input) > 0 && len(r.Input) <= 200 {
			words = append(words, "--input", shellWord(string(r.Input)))
		} else if len(r.Input) > 0 {
			words = append(words, "--input", shellWord(r.flags.input))
		}
	}
	if r.flags.method != "POST" {
		words = append(words, "--method", r.flags.method)
	}
	for _, h := range r.flags.headers {
		words = append(words, "--header", shellWord(h))
	}
	if r.flags.stream {
		words = append(words, "--stream")
	}
	if r.flags.preset != "" {
		words = append(words, "--preset", r.flags.preset)
	}
	return strings.Join(append(words, more), " ")
}

// unreached says what most likely mends a call that reached nobody.
func unreached(u *url.URL) string {
	if host := u.Hostname(); host == "localhost" || host == "127.0.0.1" || host == "::1" {
		return "start the service, or name the port it listens on; inside a container " + host + " is the container itself"
	}
	return "is the host right, is the service up, and may it be reached from here?"
}

// refused says what an answer of another status than 2xx means.
func (r *probing) refused(resp *http.Response) error {
	e := &evidence.ExecutionError{Kind: evidence.ErrStatus, HTTPStatus: resp.StatusCode}
	text := fmt.Sprintf("%s answered %s", r.publicURL(), strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		where := "no address"
		if at, err := resp.Location(); err == nil {
			where = r.redact.String(httpsystem.PublicURL(at.String()))
		}
		return problem.Errorf("%s and points to %s: call that address", text, where)
	}
	if message := messageOf(r.body); message != "" {
		text += ": " + message
	} else if body := bytes.TrimSpace(r.body); len(body) > 0 && body[0] != '<' {
		text += ", its body begins: " + shown(string(body))
	}
	fix := ""
	switch {
	case len(missingFields(r.body)) > 0:
		fix = "the service asks for " + strings.Join(missingFields(r.body), ", ") + `: send it with --input, such as --input '` + inputWith(missingFields(r.body)[0]) + `'`
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		fix = `send what the service asks for, such as --header 'Authorization: Bearer ${RAG_TOKEN}'`
	case resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity:
		fix = "give the body the shape that the service takes with --input"
	case resp.StatusCode == http.StatusNotFound:
		fix = "is the path right? Presets tell the usual one: oloproof probe --list-presets, then --show-preset NAME"
	case resp.StatusCode == http.StatusMethodNotAllowed:
		fix = "try --method GET or PUT"
	case resp.StatusCode == http.StatusTooManyRequests:
		fix = "wait a while: the service limits its callers"
	default:
		fix = advice(e, "http")
	}
	if fix != "" {
		text += "\n  " + fix
	}
	return problem.Errorf("%s", text)
}

// readInput returns the JSON body to send.
func (r *probing) readInput() ([]byte, error) {
	text := strings.TrimSpace(r.flags.input)
	data := []byte(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, `"`) {
		var err error
		if data, err = os.ReadFile(text); err != nil {
			return nil, usageError{fmt.Errorf("--input is neither JSON nor a file that can be read: %w", err)}
		}
	}
	v, err := evidence.ParseJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, usageError{fmt.Errorf("--input is not JSON: %w", err)}
	}
	return v, nil
}

var variable = lazily(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// secretHeader reports whether a header usually holds a secret.
func secretHeader(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || name == "cookie" || strings.Contains(name, "key") || strings.Contains(name, "token") || strings.Contains(name, "secret")
}

// setHeaders puts the headers of the command line on a request. Values come from
// the environment; they are returned as secrets.
func (r *probing) setHeaders(req *http.Request) (secrets []string, _ error) {
	for _, h := range r.flags.headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || name == "":
			return nil, usageError{fmt.Errorf("--header must be 'Name: value'")}
		case secretHeader(name) && !variable().MatchString(value):
			return nil, usageError{fmt.Errorf("--header %s: put the value into an environment variable and write it as '%s: ${NAME}' in single quotes, so that it is stored nowhere", name, name)}
		}
		full, more, err := r.expand("--header "+name, value)
		if err != nil {
			return nil, err
		}
		value, secrets = full, append(secrets, more...)
		if strings.ContainsFunc(name+value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return nil, usageError{fmt.Errorf("--header %s holds a control character", name)}
		}
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	return secrets, nil
}

var queryOfURL = lazily(`(https?://[^\s"'<>?#\\]+)\?[^\s"'<>\\]*`)

// withoutQueries cuts the queries out of URLs: they hold signatures.
func withoutQueries(b []byte) []byte {
	return queryOfURL().ReplaceAll(b, []byte("$1?"+redact.Marker))
}

// record keeps the answer in a new file, or in that of an answer of another status
// than 2xx.
func (r *probing) record(path string) error {
	kept := r.answered
	if v, err := evidence.ParseJSON(r.body); err == nil {
		kept.JSON = json.RawMessage(v)
	} else {
		kept.Text = string(r.body)
	}
	kept.Input = json.RawMessage(r.redact.JSON(evidence.Value(kept.Input)))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(kept); err != nil {
		return err
	}
	mode := os.O_EXCL
	if old := (&probing{}); old.read(path) == nil && old.Schema == recordSchema && old.Status/100 != 2 {
		mode = os.O_TRUNC // what the service refused gives way
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usageError{fmt.Errorf("--record %s exists already: name another file, or move it away", path)}
	}
	if err != nil {
		return err
	}
	_, err = file.Write(b.Bytes())
	if failed := file.Close(); err == nil {
		err = failed
	}
	if err == nil {
		fmt.Fprintf(r.env.Stderr, "recorded the answer in %s\n", path)
	}
	return err
}

// read takes the answer from a file that was recorded, or that holds a body.
func (r *probing) read(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return usageError{fmt.Errorf("--from %s cannot be read: %w", path, err)}
	case info.Size() > maxProbed:
		return usageError{fmt.Errorf("--from %s is larger than %d MiB", path, maxProbed>>20)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return usageError{fmt.Errorf("--from %s cannot be read: %w", path, err)}
	}
	var recorded answered
	if json.Unmarshal(data, &recorded) == nil && recorded.Schema == recordSchema {
		r.answered = recorded
		r.body = []byte(recorded.Text)
		if len(recorded.JSON) > 0 {
			r.body = recorded.JSON
		}
		r.answered.JSON, r.answered.Text = nil, ""
		return nil
	}
	r.body = data
	return nil
}

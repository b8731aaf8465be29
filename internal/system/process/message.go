package process

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/child"
)

// Protocol is the version of the protocol that is spoken here.
const Protocol = 1

// maxAtOnce is the most cases that a program may take at one time.
const maxAtOnce = 10_000

const helloExample = `{"hello": {"protocol": 1, "methods": ["run"]}}`

// Hello is what a program says of itself when it is ready.
type Hello struct {
	Protocol int
	Methods  []string
	Name     string         // "" when it does not say
	Version  string         // "" when it does not say
	Records  []string       // kinds of artifact that it records; nil when it does not say
	Settings evidence.Value // what it declares for itself, such as depth and top_k; nil when nothing
	Code     evidence.Value // the digest of each of its files by name; nil when it does not know
	OwnLog   bool           // its answers carry what it wrote for the case
	AtOnce   int            // how many cases it takes at one time; 1 when it does not say
	Fault    error          // why it cannot work
}

// Offers reports whether the program has a method.
func (h *Hello) Offers(method string) bool { return slices.Contains(h.Methods, method) }

// check asks that the protocol is ours and that the methods are offered.
func (h *Hello) check(needs []string) error {
	if h.Protocol != Protocol {
		return fmt.Errorf("the program speaks version %d of the protocol, and this oloproof version %d: update the one that is older", h.Protocol, Protocol)
	}
	for _, method := range needs {
		if !h.Offers(method) {
			offered := strings.Join(h.Methods, ", ")
			if offered == "" {
				offered = "none"
			}
			return fmt.Errorf("the program does not offer the method %s that this suite needs; its hello lists: %s", method, offered)
		}
	}
	return nil
}

// readHello reads the first line of a program.
func readHello(line []byte) (Hello, error) {
	h := Hello{AtOnce: 1}
	v, err := evidence.ParseJSON(line)
	if err != nil {
		return h, err
	}
	said, ok := evidence.Member(v, "hello")
	if !ok || said.Kind() != '{' {
		return h, errors.New("it has no object hello")
	}
	seen := false
	for key, v := range evidence.Members(said) {
		switch key {
		case "protocol":
			seen = true
			if h.Protocol, err = strconv.Atoi(string(v)); err != nil {
				return h, fmt.Errorf("protocol: want a whole number, found %s", evidence.Shorten(v, 60))
			}
		case "methods":
			h.Methods, err = texts(v)
		case "records":
			if !evidence.IsNull(v) {
				h.Records, err = texts(v)
			}
		case "name":
			h.Name, err = text(v)
		case "version":
			h.Version, err = text(v)
		case "settings":
			h.Settings, err = object(v)
		case "code":
			h.Code, err = object(v)
		case "concurrency":
			if !evidence.IsNull(v) {
				if h.AtOnce, err = strconv.Atoi(string(v)); err != nil || h.AtOnce < 1 || h.AtOnce > maxAtOnce {
					return h, fmt.Errorf("concurrency: want a whole number from 1 to %d, found %s", maxAtOnce, evidence.Shorten(v, 60))
				}
			}
		case "own_log":
			h.OwnLog = v.Kind() == 't'
		case "error":
			h.Fault = helloFault(v)
		}
		if err != nil {
			return h, fmt.Errorf("%s: %w", key, err)
		}
	}
	if !seen {
		return h, errors.New("it has no protocol")
	}
	return h, nil
}

func helloFault(v evidence.Value) error {
	message, detail := failure(v)
	return errors.New(message + quoted(detail))
}

func texts(v evidence.Value) ([]string, error) {
	if v.Kind() != '[' {
		return nil, fmt.Errorf("want a list of texts, found %s", evidence.Shorten(v, 60))
	}
	all := []string{}
	for element := range evidence.Elements(v) {
		s, ok := evidence.Text(element)
		if !ok {
			return nil, fmt.Errorf("want a list of texts, found %s", evidence.Shorten(v, 60))
		}
		all = append(all, s)
	}
	return all, nil
}

func text(v evidence.Value) (string, error) {
	if evidence.IsNull(v) {
		return "", nil
	}
	s, ok := evidence.Text(v)
	if !ok {
		return "", fmt.Errorf("want a text, found %s", evidence.Shorten(v, 60))
	}
	return s, nil
}

func object(v evidence.Value) (evidence.Value, error) {
	if evidence.IsNull(v) {
		return nil, nil
	}
	if v.Kind() != '{' {
		return nil, fmt.Errorf("want an object, found %s", evidence.Shorten(v, 60))
	}
	return v.Clone(), nil
}

// request returns a request as it is sent.
func request(id uint64, method, caseID string, params evidence.Value) []byte {
	line := make([]byte, 0, len(params)+len(caseID)+64)
	line = append(line, `{"id":`...)
	line = strconv.AppendUint(line, id, 10)
	line = append(line, `,"method":"`...)
	line = append(line, method...)
	line = append(line, `","case":`...)
	line = appendText(line, caseID)
	line = append(line, `,"params":`...)
	at := len(line)
	line = append(line, params...)
	if bytes.ContainsAny(line[at:], "\r\n") { // white space between tokens: inside of texts it is escaped
		v := jsontext.Value(line[at:])
		if v.Compact() == nil {
			line = append(line[:at], v...)
		}
	}
	return append(line, "}\n"...)
}

func appendText(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // not UTF-8, which no case id is
		out, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\ufffd"))
	}
	return out
}

// answer is an answer as it was read.
type answer struct {
	id        uint64
	result    evidence.Value
	artifacts evidence.Value
	usage     evidence.Value
	failure   evidence.Value // of a case that the program could not answer
	log       []string
	rawLog    string
	twice     string // a kind that was recorded twice
	late      bool   // code was loaded that the hello does not name
}

// readAnswer reads a line that holds an answer. With an error the answer has
// its id at least, when one could be told; ids begin with 1.
func readAnswer(line []byte) (answer, error) {
	var a answer
	v, err := evidence.ParseJSON(line)
	if err != nil {
		a.id = idOf(line)
		if a.twice = twice(line); a.twice != "" {
			return a, nil
		}
		return a, err
	}
	if v.Kind() != '{' {
		return a, fmt.Errorf("it is no object")
	}
	has := false
	for key, v := range evidence.Members(v) {
		switch key {
		case "id":
			if a.id, err = strconv.ParseUint(string(v), 10, 64); err != nil {
				return a, fmt.Errorf("id: want that of the request, found %s", evidence.Shorten(v, 60))
			}
		case "result":
			a.result, has = v, true
		case "artifacts":
			a.artifacts = v
		case "usage":
			a.usage = v
		case "error":
			if !evidence.IsNull(v) {
				a.failure, has = v, true
			}
		case "log":
			a.rawLog, _ = evidence.Text(v)
		case "late":
			a.late = v.Kind() == 't'
		}
	}
	if a.id == 0 {
		return a, errors.New("it has no id")
	}
	if !has {
		return a, errors.New("it has neither result nor error")
	}
	return a, nil
}

// idOf returns the id that a broken line begins with, or 0.
func idOf(line []byte) uint64 {
	rest := bytes.TrimLeft(line, " \t")
	for _, token := range []string{"{", `"id"`, ":"} {
		var ok bool
		if rest, ok = bytes.CutPrefix(rest, []byte(token)); !ok {
			return 0
		}
		rest = bytes.TrimLeft(rest, " \t")
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	if end == len(rest) || rest[end] != ',' && rest[end] != ' ' && rest[end] != '\t' {
		return 0
	}
	id, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// twice returns the kind of artifact that a line names twice, when nothing else
// is wrong with it.
func twice(line []byte) string {
	v := jsontext.Value(bytes.TrimSpace(line))
	if v.Kind() != '{' || !v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return ""
	}
	artifacts, _ := evidence.Member(v, "artifacts")
	seen := map[string]bool{}
	for kind := range evidence.Members(artifacts) {
		if seen[kind] {
			return kind
		}
		seen[kind] = true
	}
	return ""
}

// failure reads the error of an answer: a text, or an object with a message and,
// if need be, more lines in detail.
func failure(v evidence.Value) (message, detail string) {
	if s, ok := evidence.Text(v); ok {
		message = s
	}
	if m, ok := evidence.Member(v, "message"); ok {
		message, _ = evidence.Text(m)
	}
	if d, ok := evidence.Member(v, "detail"); ok {
		detail, _ = evidence.Text(d)
	}
	if strings.TrimSpace(message) == "" {
		message = "the program does not say which (an error has a message): " + evidence.Shorten(v, 200)
	}
	return message, detail
}

// StopError says that the program asks for the end of the run.
type StopError struct{ caseID, message string }

// Error says why, in the program's words.
func (e *StopError) Error() string { return fmt.Sprintf("case %q: %s", e.caseID, e.message) }

// Bare is the error without the program's words.
func (e *StopError) Bare() error {
	return fmt.Errorf("case %q: the program asks for the end of the run", e.caseID)
}

// flag reports whether an object has a member that is true.
func flag(v evidence.Value, name string) bool {
	m, ok := evidence.Member(v, name)
	return ok && m.Kind() == 't'
}

// read makes a reply of an answer.
func (c *Client) read(caseID string, a answer, latency float64) (Reply, error) {
	redacted := c.cfg.Redact
	if a.late {
		c.late.Store(true)
	}
	if own := child.Lines(a.rawLog, redacted); len(own) >= len(a.log) {
		a.log = own
	}
	if a.twice != "" {
		return Reply{}, &evidence.ContractError{CaseID: caseID, Artifact: a.twice, Problem: "recorded twice for one case: record it once"}
	}
	if a.failure != nil {
		message, detail := failure(a.failure)
		message = child.Printable(redacted.String(message))
		if flag(a.failure, "fatal") {
			return Reply{}, &StopError{caseID, message}
		}
		if artifact, ok := evidence.Member(a.failure, "artifact"); ok {
			kind, _ := evidence.Text(artifact)
			return Reply{}, &evidence.ContractError{CaseID: caseID, Artifact: kind, Problem: message}
		}
		lines := child.Lines(detail, redacted)
		if detail == "" {
			lines = a.log
		}
		return Reply{}, &Fault{Kind: evidence.ErrProgram, again: flag(a.failure, "retry"), Message: "error: " + message, Detail: strings.Join(lines, "\n"), LatencyMS: latency}
	}
	r := Reply{Result: a.result, LatencyMS: latency, Stderr: strings.Join(a.log, "\n")}
	return r, c.readEvidence(caseID, a, &r)
}

// readEvidence reads artifacts and usage of an answer.
func (c *Client) readEvidence(caseID string, a answer, r *Reply) error {
	if a.artifacts != nil && !evidence.IsNull(a.artifacts) && a.artifacts.Kind() != '{' {
		return &evidence.ContractError{CaseID: caseID, Artifact: "any", Problem: "artifacts: want an object of kinds and artifacts, found " + c.cfg.Redact.String(evidence.Shorten(a.artifacts, 60))}
	}
	for kind, v := range evidence.Members(a.artifacts) {
		err := evidence.CheckKind(kind)
		switch {
		case err != nil:
		case evidence.IsNull(v):
			err = errors.New("want an artifact, found null")
		default:
			err = evidence.DecodeArtifact(kind, v, &r.Artifacts)
		}
		if err != nil {
			redacted := c.cfg.Redact
			return &evidence.ContractError{
				CaseID: caseID, Artifact: kind, Problem: redacted.String(err.Error()), Found: redacted.String(evidence.Shorten(v, 200)),
			}
		}
	}
	if a.usage != nil {
		usage, err := evidence.DecodeUsage(a.usage)
		if err != nil {
			return fmt.Errorf("case %q: usage: %s", caseID, c.cfg.Redact.String(err.Error()))
		}
		r.Usage = usage
	}
	return nil
}

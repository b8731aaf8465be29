package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/probe"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// seen is what was seen in an answer.
type seen struct {
	stream   *probe.Stream // nil when the body is one document
	document evidence.Value
	preset   *suite.Preset // nil when the service is none that is known
	marks    []string      // why it is that one
	proposal *probe.Proposal
	keys     string              // of system.http, as YAML, without url
	mapped   *evidence.Execution // what the program makes of the body with these keys; nil when that cannot be tried
	untried  string              // why not
}

// look finds out what the body holds.
func (r *probing) look() error {
	question := textsOf(evidence.Value(r.Input))
	question = question[:min(len(question), 1)]
	if err := r.open(question); err != nil {
		return err
	}
	if err := r.recognise(); err != nil {
		return err
	}
	r.proposal = probe.Propose(r.document, question)
	if fault := r.proposal.Fault; fault != "" && r.preset == nil && r.proposal.Sources == nil {
		return problem.Errorf("the answer looks like an error, with a good status: %s\n  mend what it says and probe again; in a suite, ok: and error_message: tell such answers from good ones", report.Clean(fault))
	}
	if r.preset != nil {
		r.keys = "preset: " + r.preset.Name + "\n"
		if r.stream != nil && r.preset.Streaming != "" {
			r.keys += r.preset.Streaming + "\n"
		}
	} else {
		r.keys = r.proposal.YAML(r.stream)
	}
	r.try()
	return nil
}

// open makes a document of the body.
func (r *probing) open(question []string) error {
	body := bytes.TrimSpace(bytes.TrimPrefix(r.body, []byte("\ufeff")))
	switch {
	case len(body) == 0:
		return problem.Errorf("the answer has no body")
	case body[0] == '<':
		return problem.Errorf("the answer is a page, not JSON%s\n  a login or a proxy may stand before the service: check the URL and what it asks for", titled(body))
	}
	format := probe.FormatOf(body)
	if v, err := evidence.ParseJSON(body); err == nil {
		if !r.flags.stream || format == "" {
			r.document = v
			return nil
		}
	} else if format == "" {
		return problem.Errorf("the answer is neither JSON nor a stream: %v\n  it begins: %s", err, report.Clean(string(body[:min(len(body), 200)])))
	}
	r.stream = probe.ReadStream(r.body, format, "", question)
	switch s := r.stream; {
	case s.Fault != "":
		return problem.Errorf("the stream tells an error: %s", report.Clean(s.Fault))
	case s.Truncated, r.cut && s.Done == "eof":
		return problem.Errorf("the stream ended after %d frames without its end signal: what is there is no whole answer", len(s.Frames))
	case s.Document == nil:
		return problem.Errorf("no assembler makes an answer of this stream (%s, %d frames): look at the frames with --record, and map them with stream: {assemble: collect}", s.Format, len(s.Frames))
	}
	r.document = r.stream.Document
	return nil
}

// titled is the title of a page, for a message.
func titled(body []byte) string {
	_, rest, found := strings.Cut(string(body), "<title>")
	if title, _, closed := strings.Cut(rest, "</title>"); found && closed {
		return " (" + report.Clean(strings.TrimSpace(title[:min(len(title), 120)])) + ")"
	}
	return ""
}

// recognise finds the preset whose marks the body, or the frames of the stream,
// hold: of several the one with most.
func (r *probing) recognise() error {
	switch r.flags.preset {
	case "":
	case "none":
		return nil
	default:
		p, err := suite.OpenPreset(r.flags.preset)
		r.preset = p
		return err
	}
	all, err := suite.Presets()
	if err != nil {
		return err
	}
	for _, p := range all {
		marks := p.Body
		holds := func(m suite.Mark) bool { return probe.Holds(r.document, m.Path, m.Equals) }
		if r.stream != nil && len(p.Frames) > 0 {
			marks = p.Frames
			holds = func(m suite.Mark) bool {
				return slices.ContainsFunc(r.stream.Frames, func(f evidence.Value) bool { return probe.Holds(f, m.Path, m.Equals) })
			}
		}
		if len(marks) <= len(r.marks) || slices.ContainsFunc(marks, func(m suite.Mark) bool { return !holds(m) }) {
			continue
		}
		r.preset, r.marks = p, nil
		for _, m := range marks {
			mark := strings.ReplaceAll(m.Path, ".*.", "[].")
			if m.Equals != nil {
				mark += " = " + string(m.Equals)
			}
			r.marks = append(r.marks, mark)
		}
	}
	return nil
}

// try maps the body with the keys that are proposed, as a run would.
func (r *probing) try() {
	text := "project: probe\ndataset: cases.jsonl\nsystem:\n  name: probe\n  version: \"1\"\n  http:\n    url: http://probe.test/\n" + indented(r.keys, "    ") +
		"evaluators:\n  - {type: contains, criterion: answer}\n"
	s, err := suite.Parse("proposal", []byte(text), nil)
	if err != nil {
		r.untried = err.Error()
		return
	}
	// What the suite reads from the environment does not matter here.
	lookup := func(string) (string, bool) { return "probe", true }
	resolved, err := s.Resolve(lookup, suite.ResolveOptions{Bin: executable(), Port: freePort})
	if err != nil {
		r.untried = err.Error()
		return
	}
	x := &activeRun{env: r.env, project: &project{suite: s}, resolved: resolved, redact: redact.New(nil)}
	x.around = func(http.RoundTripper) http.RoundTripper {
		return replay{r.body, r.Received["Content-Type"], r.stream != nil}
	}
	sys, err := x.openHTTP(1)
	if err != nil {
		r.untried = err.Error()
		return
	}
	defer sys.close()
	question := "?"
	if all := textsOf(evidence.Value(r.Input)); len(all) > 0 {
		question = all[0]
	}
	input, err := json.Marshal(map[string]any{"question": question, "documents": []any{}})
	if err != nil {
		r.untried = err.Error()
		return
	}
	e, err := sys.Execute(context.Background(), &evidence.Case{ID: "probe", Input: input})
	switch {
	case err != nil:
		r.untried = err.Error()
	case e.Error != nil:
		r.untried = strings.Split(e.Error.Message, " from http://probe.test")[0]
	default:
		r.mapped = &e
	}
}

// replay answers every request with one body.
type replay struct {
	body   []byte
	kind   string
	stream bool
}

// RoundTrip implements [http.RoundTripper].
func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := r.kind
	switch {
	case kind != "":
	case r.stream:
		kind = "text/event-stream"
	default:
		kind = "application/json"
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(bytes.NewReader(r.body)), ContentLength: int64(len(r.body)), Request: req,
	}, nil
}

func indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// textsOf returns the texts of a value, the question first where one looks like it.
func textsOf(v evidence.Value) []string {
	all := slices.Collect(evidence.Texts(v))
	if i := questionAt(all); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	return all
}

// questionAt returns which of several texts is the question: one that ends with
// a question mark before others, then the longest that has a space; -1 for none.
func questionAt(texts []string) int {
	best := -1
	for i, s := range texts {
		if best < 0 || strings.HasSuffix(strings.TrimSpace(s), "?") && !strings.HasSuffix(strings.TrimSpace(texts[best]), "?") ||
			strings.Contains(s, " ") && len(s) >= len(texts[best]) && strings.HasSuffix(strings.TrimSpace(s), "?") == strings.HasSuffix(strings.TrimSpace(texts[best]), "?") {
			best = i
		}
	}
	return best
}

// messageOf returns what an error body says, or "".
func messageOf(body []byte) string {
	v, err := evidence.ParseJSON(body)
	if err != nil {
		return ""
	}
	for _, path := range []string{"error.message", "error.reason", "message", "Message", "error_msg", "detail", "errors.0.message", "errors.0", "error", "detail.0.msg", "title"} {
		if found, err := evidence.Lookup(v, path); err == nil {
			if s, ok := evidence.Text(found); ok && s != "" {
				return report.Clean(s[:min(len(s), 300)])
			}
		}
	}
	return ""
}

// missingFields returns the members of the body that a FastAPI service asks for.
func missingFields(body []byte) []string {
	v, err := evidence.ParseJSON(body)
	if err != nil {
		return nil
	}
	detail, _ := evidence.Member(v, "detail")
	var names []string
	for d := range evidence.Elements(detail) {
		kind, _ := evidence.Member(d, "type")
		if s, _ := evidence.Text(kind); !strings.Contains(s, "missing") {
			continue
		}
		loc, _ := evidence.Member(d, "loc")
		var path []string
		for step := range evidence.Elements(loc) {
			if s, ok := evidence.Text(step); ok && s != "body" {
				path = append(path, s)
			}
		}
		if len(path) > 0 {
			names = append(names, report.Clean(strings.Join(path, ".")))
		}
	}
	return names
}

// inputWith is an input with the member that a service asks for.
func inputWith(path string) string {
	keys := strings.Split(path, ".")
	text := `"How long is the warranty?"`
	if last := keys[len(keys)-1]; last == "messages" {
		text = `[{"role": "user", "content": ` + text + `}]`
	}
	for i := len(keys) - 1; i >= 0; i-- {
		text = fmt.Sprintf(`{%q: %s}`, keys[i], text)
	}
	return text
}

package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// ownSuite is a suite for a service of the user's: what init and probe write.
type ownSuite struct {
	dir       string
	url       string
	keys      string   // of system.http but for url, as YAML
	notes     []string // comments above the keys
	questions []string // of the first cases; the rest is made up
	input     func(question string) string
	example   string // id of a document that was seen, or ""
}

// newCases are the cases that a suite begins with: none of them can pass before
// someone has written what the answer must hold.
const newCases = 3

// write writes suite, cases and policy.
func (o ownSuite) write(e *Env) error {
	head := fmt.Sprintf("# What is run, against what, and how it is judged. Every key is explained in\n# https://github.com/oloproof/oloproof-go/blob/main/docs/suite.md\nversion: 1\nproject: %q\ndataset: data/cases.jsonl\n\nsystem:\n  name: my-rag\n  version: \"1\"            # part of the system's identity: change it with the service\n  http:\n    url: %q\n", projectName(o.dir), o.url)
	for _, note := range o.notes {
		head += "    # " + note + "\n"
	}
	head += indented(o.keys, "    ")
	// What the mapping gives decides what can be judged.
	trial, err := suite.Parse("oloproof.yaml", []byte(head+"evaluators:\n  - {type: contains, criterion: a}\n"), nil)
	if err != nil {
		return fmt.Errorf("the suite that would be written cannot be read: %w", err)
	}
	evaluators, ranked := evaluatorsFor(trial)
	var cases strings.Builder
	for i := range newCases {
		cases.WriteString(o.newCase(i, ranked) + "\n")
	}
	policy := policyTemplate
	if ranked && !strings.Contains(evaluators, "answer_correct") {
		policy = strings.NewReplacer("answer-floor ", "retrieval-floor ", "metric: answer_correct", "metric: hit_rate_at_"+hitDepth(trial)).Replace(policyTemplate)
	}
	written, err := writeNew(o.dir, fstest.MapFS{
		"oloproof.yaml":    {Data: []byte(head + "\nevaluators:\n" + evaluators + "\nslices: [metadata.topic]\n")},
		"release.yaml":     {Data: []byte(policy)},
		"data/cases.jsonl": {Data: []byte(cases.String())},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Wrote %s. Put your questions into data/cases.jsonl, and what their\nanswers must hold: no case passes before that.\n\n", strings.Join(written, ", "))
	return e.nextAfterInit(filepath.Join(o.dir, "oloproof.yaml"))
}

// hitDepth is the k of the metric that a suite begins with.
func hitDepth(s *suite.Suite) string {
	if n := s.System.HTTP.Spec.Depth.N; n > 0 {
		return fmt.Sprint(min(n, 5))
	}
	return "5"
}

// evaluatorsFor returns the evaluators that what a system records allows, and
// whether one of them needs labels of relevant documents.
func evaluatorsFor(s *suite.Suite) (text string, ranked bool) {
	h := s.System.HTTP
	if v := h.Spec.Output.Value; v == nil || v.Type == "" || v.Type == "text" || v.Type == "any" {
		text = "  # Passes when the case's expected.answer occurs in the answer.\n  - {type: contains, criterion: answer_correct, expected_field: answer}\n"
	}
	for _, a := range h.Artifacts {
		switch {
		case a.Kind == evidence.RetrievalKind && (a.Mapped == nil || a.Mapped.Source != "cited"):
			text += "  # Passes when one of the case's expected.relevant documents is among the first sources.\n  - {type: hit_rate, k: " + hitDepth(s) + "}\n"
			ranked = true
		case a.Kind == evidence.CitationsKind && slices.ContainsFunc(h.Artifacts, func(b suite.ArtifactPath) bool { return b.Kind == evidence.ContextKind }):
			text += "  # Passes when everything that the answer cites was in its context.\n  - {type: citation_validity}\n"
		}
	}
	if text == "" {
		text = "  - {type: contains, criterion: answer_correct, expected_field: answer}\n"
	}
	return text, ranked
}

// newCase returns a line of the data set.
func (o ownSuite) newCase(i int, ranked bool) string {
	question := fmt.Sprintf("Write question %d here, as your users ask it.", i+1)
	if i < len(o.questions) {
		question = o.questions[i]
	}
	expected := map[string]any{"answer": "write here what the answer must hold"}
	if ranked {
		id := "id of a document that answers it"
		if o.example != "" {
			id += ", such as " + o.example
		}
		expected["relevant"] = []any{map[string]any{"doc_id": id}}
	}
	wanted, err := json.Marshal(expected)
	if err != nil {
		panic(err) // maps of texts
	}
	return fmt.Sprintf(`{"id":"question_%d","input":%s,"expected":%s,"metadata":{"topic":"first"}}`, i+1, o.input(question), wanted)
}

// asked is the input of a case that holds nothing but a question.
func asked(question string) string {
	text, err := json.Marshal(map[string]string{"question": question})
	if err != nil {
		panic(err)
	}
	return string(text)
}

var inputName = lazily(`\bcase\.input\.([A-Za-z0-9_]+)`)

// askedBy returns the input of a case as the templates of a preset want it.
func askedBy(p *suite.Preset) func(question string) string {
	return func(question string) string {
		input := map[string]any{"question": question}
		for _, m := range inputName().FindAllStringSubmatch(p.HTTP, -1) {
			switch name := m[1]; name {
			case "question":
			case "documents":
				input[name] = []any{map[string]any{"id": "doc-1", "data": map[string]any{"title": "its title", "snippet": "a passage that the service is given"}}}
			default:
				input[name] = "write " + name + " here"
			}
		}
		text, err := json.Marshal(input)
		if err != nil {
			panic(err) // maps of texts
		}
		return string(text)
	}
}

// write writes the suite of what was seen.
func (r *probing) write(dir string) error {
	if r.empty() {
		return problem.Errorf("neither an answer nor a list of sources was found in the body: there is nothing to write a suite of\n  the same command without --write says what was seen, and what to do")
	}
	o := ownSuite{dir: dir, url: r.suiteURL(), keys: r.keys, input: asked}
	if o.url == "" {
		o.url = "http://localhost:8000/answer"
		o.notes = append(o.notes, "The answer came from a file: write the URL of the service.")
	}
	if r.proposal.Sources != nil && len(r.proposal.Sources.DocIDs) > 0 {
		o.example = r.proposal.Sources.DocIDs[0]
	}
	texts := textsOf(evidence.Value(r.Input))
	if len(texts) > 0 {
		o.questions = texts[:1]
	}
	if _, question := r.asked(); question != "" {
		o.questions = []string{question}
	}
	access := r.accessKeys()
	body, plain := r.template(texts)
	switch {
	case r.Method == "GET" && r.preset == nil:
		access += r.getRequest()
	case len(r.Input) == 0 || plain && r.preset == nil && (r.Method == "" || r.Method == "POST"):
	case r.Method != "" && r.Method != "POST":
		access += fmt.Sprintf("request: {method: %s, body: %s}\n", r.Method, body)
	default:
		access += fmt.Sprintf("request:\n  body: %s\n", body)
	}
	if r.preset != nil { // after the name, before what the preset adds for a stream
		first, rest, _ := strings.Cut(o.keys, "\n")
		rest = mergeStreaming(rest, access)
		o.keys = first + "\n" + rest
	} else {
		o.keys = access + o.keys
	}
	return o.write(r.env)
}

// asked returns the parameter of the URL that a GET request asks its question by,
// and the question; "" is none.
func (r *probing) asked() (name, question string) {
	if r.Method != "GET" {
		return "", ""
	}
	_, query, _ := strings.Cut(r.URL, "?")
	for part := range strings.SplitSeq(query, "&") {
		escaped, value, _ := strings.Cut(part, "=")
		text, err := url.QueryUnescape(value)
		if err != nil || text == "" || variable().MatchString(text) {
			continue
		}
		usual := slices.Contains([]string{"q", "query", "question", "prompt", "text", "input", "message", "search"}, strings.ToLower(escaped))
		if usual || name == "" && strings.Contains(text, " ") {
			name, question = escaped, text
		}
		if usual {
			break
		}
	}
	return name, question
}

// suiteURL is the URL for the suite: without the parameter that holds the question.
func (r *probing) suiteURL() string {
	place, query, _ := strings.Cut(r.URL, "?")
	name, _ := r.asked()
	if name == "" {
		return r.URL
	}
	var left []string
	for part := range strings.SplitSeq(query, "&") {
		if escaped, _, _ := strings.Cut(part, "="); escaped != name {
			left = append(left, part)
		}
	}
	if len(left) == 0 {
		return place
	}
	return place + "?" + strings.Join(left, "&")
}

// getRequest returns the key for a GET request, which has no body.
func (r *probing) getRequest() string {
	name, _ := r.asked()
	if name == "" {
		return "request: {method: GET}   # nothing of the case is sent: put it into path: or query: as \"{{case.input.question}}\"\n"
	}
	return fmt.Sprintf("request: {method: GET, query: {%q: \"{{case.input.question}}\"}}\n", name)
}

// mergeStreaming puts what is written over a preset for a stream together with
// the request that was sent, which streamed already.
func mergeStreaming(streaming, access string) string {
	var b strings.Builder
	for line := range strings.Lines(streaming) {
		if strings.HasPrefix(line, "request:") && strings.Contains(access, "request:") {
			continue
		}
		b.WriteString(line)
	}
	return access + b.String()
}

var sessionKey = lazily(`(?i)(session|conversation|chat|thread)_?id$`)

// template returns the body that was sent with the question in it left open, as
// YAML; plain says that it is nothing but {"question": …}.
func (r *probing) template(texts []string) (body string, plain bool) {
	if len(r.Input) == 0 || len(texts) == 0 {
		return "{}", true
	}
	question, left := texts[0], true
	var fill func(v evidence.Value, key string) string
	fill = func(v evidence.Value, key string) string {
		switch v.Kind() {
		case '"':
			s, _ := evidence.Text(v)
			switch {
			case s == question && left:
				left = false
				return `"{{case.input.question}}"`
			case s != "" && sessionKey().MatchString(key):
				return `"{{uuid}}"` // or a case would see what another said
			}
			return string(v)
		case '{':
			var parts []string
			for name, m := range evidence.Members(v) {
				quoted, _ := json.Marshal(name)
				parts = append(parts, string(quoted)+": "+fill(m, name))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		case '[':
			var parts []string
			for e := range evidence.Elements(v) {
				parts = append(parts, fill(e, key))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return string(v)
	}
	body = fill(evidence.Value(r.Input), "")
	if r.preset != nil {
		body = r.overPreset(body)
	}
	return body, body == `{"question": "{{case.input.question}}"}`
}

// overPreset takes away from a body what the preset would add to it, and leaves
// to the preset what it makes anew for every case.
func (r *probing) overPreset(body string) string {
	text := "project: p\ndataset: c\nsystem:\n  name: s\n  version: \"1\"\n  http: {preset: " + r.preset.Name + ", url: \"http://probe.test/\"}\nevaluators:\n  - {type: contains, criterion: a}\n"
	s, err := suite.Parse("preset", []byte(text), nil)
	if err != nil || !strings.HasPrefix(body, "{") {
		return body
	}
	sent, err := evidence.ParseJSON([]byte(body))
	if err != nil {
		return body
	}
	preset := s.System.HTTP.Calls.Main.Body
	var parts []string
	for name, v := range evidence.Members(sent) {
		if under, ok := evidence.Member(preset, name); ok && strings.Contains(string(under), "{{uuid}}") {
			continue
		}
		quoted, _ := json.Marshal(name)
		parts = append(parts, string(quoted)+": "+string(v))
	}
	for name := range evidence.Members(preset) {
		if _, ok := evidence.Member(sent, name); !ok {
			quoted, _ := json.Marshal(name)
			parts = append(parts, string(quoted)+": null")
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// accessKeys returns the keys for the headers that were sent.
func (r *probing) accessKeys() string {
	var headers []string
	auth := ""
	for _, h := range r.Headers {
		name, value, _ := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		token, bearer := strings.CutPrefix(value, "Bearer ")
		switch {
		case auth == "" && strings.EqualFold(name, "Authorization") && bearer:
			auth = fmt.Sprintf("auth: {bearer: %q}\n", token)
		case auth == "" && secretHeader(name):
			auth = fmt.Sprintf("auth: {header: {name: %s, value: %q}}\n", name, value)
		default:
			headers = append(headers, fmt.Sprintf("%s: %q", name, value))
		}
	}
	if len(headers) > 0 {
		return auth + "headers: {" + strings.Join(headers, ", ") + "}\n"
	}
	return auth
}

// scaffoldPreset writes a suite for a service that a preset knows.
func (e *Env) scaffoldPreset(dir, name, endpoint string, streams bool) error {
	p, err := suite.OpenPreset(name)
	if err != nil {
		return err
	}
	if endpoint == "" {
		endpoint = p.URL
	}
	if u, err := url.Parse(endpoint); !strings.Contains(endpoint, "${") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return problem.Errorf("--url is %q, it must begin with http:// or https:// and name a host", endpoint)
	}
	o := ownSuite{dir: dir, url: endpoint, keys: "preset: " + name + "\n", input: askedBy(p)}
	if endpoint != p.URL {
		o.notes = append(o.notes, "Such a service usually answers at "+p.URL)
	}
	if names := variablesOf(p.HTTP); len(names) > 0 {
		o.notes = append(o.notes, "The preset reads "+strings.Join(names, " and ")+" from the environment.")
	}
	o.notes = append(o.notes, "oloproof probe --show-preset "+name+" prints what it holds; every key here is laid over it.")
	if streams {
		switch {
		case p.Streaming != "":
			o.keys += p.Streaming + "\n"
		case !strings.Contains(p.HTTP, "\nstream:"):
			return problem.Errorf("the preset %s knows no stream: leave --stream out", name)
		}
	}
	o.keys += blanks(p.HTTP)
	return o.write(e)
}

// variablesOf returns the environment variables that a text reads.
func variablesOf(text string) []string {
	var names []string
	for _, m := range variable().FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

var blank = lazily(`\bmy-[a-z]+\b|\bMYKB\b`)

// blanks returns a comment that names what stands open in a preset.
func blanks(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if blank().MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "# To fill in, under the same keys: " + strings.Join(lines, "; ") + "\n"
}

package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// check finds what is wrong across keys and fills in what depends on several.
func (s *Suite) check(f *strictyaml.File, d *draft, readFile func(string) ([]byte, error)) {
	s.checkSystem(f, d)
	if s.System.HTTP != nil {
		if s.System.Version == "" {
			s.System.Version = d.httpVersion
		}
		if s.System.Version == "" && !d.versionKey() && s.System.VersionFrom == nil {
			f.Problem(s.System.Pos, "an HTTP system needs a declared version: add system.version, such as the release or commit that is deployed, or system.version_from, where the service says it")
		}
		s.checkHeaders(f)
		s.System.HTTP.completeMapping()
		s.System.HTTP.checkMapping(f)
		s.System.HTTP.checkGold(f)
		s.System.HTTP.checkAccess(f)
	}
	if s.System.RAG != nil {
		s.System.RAG.check(f, d)
	}
	s.checkSlices(f, d)
	s.checkVersionFrom(f, d)
	if fault := s.checkDataForm(); fault != "" {
		f.Problem(s.DatasetPos, "%s", fault)
	}
	taken := map[string]string{}
	claim := func(id, by string, at Position) {
		if other, ok := taken[id]; ok && id != "" {
			f.Problem(at, "%s makes a metric named %s, as %s does: give one of them another name", by, id, other)
			return
		}
		taken[id] = by
	}
	for i := range s.Evaluators {
		e := &s.Evaluators[i]
		e.complete()
		claim(e.Criterion, fmt.Sprintf("evaluators[%d]", i), e.at("criterion"))
		s.checkArtifacts(f, e)
		if e.SchemaPath != "" {
			s.readSchema(f, e, readFile)
		}
	}
	s.checkJudges(f, readFile)
	for i := range s.Measures {
		q := &s.Measures[i]
		if key, fault := q.complete(); fault != "" {
			f.Problem(q.KeyPos[key], "metrics[%d]: %s", i, fault)
		}
		claim(q.ID, fmt.Sprintf("metrics[%d]", i), q.Pos)
		s.noteSource(q)
	}
}

// noteSource notes a metric of what nothing says where the response carries it, so
// that every case will be missing.
func (s *Suite) noteSource(q *Measure) {
	h := s.System.HTTP
	if h == nil {
		return
	}
	u := h.Spec.Usage
	var lacks []string
	switch q.Source {
	case evidence.SourceInputTokens:
		if u.InputTokens == nil {
			lacks = []string{"system.http.usage.input_tokens"}
		}
	case evidence.SourceOutputTokens:
		if u.OutputTokens == nil {
			lacks = []string{"system.http.usage.output_tokens"}
		}
	case evidence.SourceCost:
		if u.CostUSD == nil && (q.Prices == nil || u.InputTokens == nil || u.OutputTokens == nil) {
			lacks = []string{"system.http.usage.cost_usd", "or its tokens and the metric's prices"}
		}
	case evidence.SourceFirstToken:
		if h.Stream == nil {
			lacks = []string{"system.http.stream"}
		}
	}
	if len(lacks) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("metric %s: nothing says where the response carries %s, so every case will be missing: add %s", q.ID, q.Source, strings.Join(lacks, ", ")))
	}
}

// At returns the place of a key's value, or of the evaluator.
func (e *Evaluator) At(key string) Position { return e.at(key) }

func (e *Evaluator) at(key string) Position {
	if at, ok := e.KeyPos[key]; ok {
		return at
	}
	return e.Pos
}

// checkArtifacts asks that the system record what an evaluator reads, as far as
// the suite says what it records.
func (s *Suite) checkArtifacts(f *strictyaml.File, e *Evaluator) {
	if h := s.System.HTTP; h != nil {
		if fault := h.citedOnly(e); fault != "" {
			f.Problem(e.Pos, "%s", fault)
		}
	}
	kinds, remedy, known := s.recorded()
	if !known {
		return
	}
	for _, kind := range e.Needs() {
		if !slices.Contains(kinds, kind) {
			f.Problem(e.Pos, "the evaluator %s reads %s, which the system does not record: "+remedy, e.Type, kind, kind)
		}
	}
}

// recorded lists the kinds of artifact that the system records, and what to do
// about one that it does not. A program that the suite says nothing about is
// known only once it is started: see [Suite.CheckRecords].
func (s *Suite) recorded() (kinds []string, remedy string, known bool) {
	switch {
	case s.System.HTTP != nil:
		for _, a := range s.System.HTTP.Artifacts {
			kinds = append(kinds, a.Kind)
		}
		return kinds, "say under system.http.artifacts where the response carries it, %s: PATH", true
	case s.System.RAG != nil: // the stages are ours to record
		return []string{evidence.RetrievalKind, evidence.ContextKind, evidence.CitationsKind}, "%s is no artifact of a staged system", true
	}
	return s.System.Records, "let it record %s and add that to system.records", s.System.Records != nil
}

// CheckRecords asks that a program which says what it records, when the suite
// does not, record what the evaluators read. The error is a [problem.List].
func (s *Suite) CheckRecords(kinds []string) error {
	if s.System.Records != nil {
		return nil
	}
	var problems problem.List
	for i := range s.Evaluators {
		e := &s.Evaluators[i]
		for _, kind := range e.Needs() {
			if !slices.Contains(kinds, kind) {
				problems.Add(s.problem(e.Pos, "the evaluator %s reads %s, which the system does not say that it records: let it record %s and say so, or list what it records in system.records", e.Type, kind, kind))
			}
		}
	}
	return problems.Err()
}

func (s *Suite) checkHeaders(f *strictyaml.File) {
	first := map[string]string{}
	for _, h := range s.System.HTTP.Headers {
		name := strings.ToLower(h.Name)
		switch other, twice := first[name]; {
		case twice:
			f.Problem(h.Pos, "the headers %s and %s are the same: upper and lower case do not count", other, h.Name)
		case slices.Contains([]string{"connection", "content-length", "transfer-encoding", "upgrade", "trailer", "te"}, name):
			f.Problem(h.Pos, "the header %s belongs to the connection and cannot be set: remove it", h.Name)
		}
		first[name] = h.Name
	}
}

// readSchema reads the JSON Schema that an evaluator names.
func (s *Suite) readSchema(f *strictyaml.File, e *Evaluator, readFile func(string) ([]byte, error)) {
	path := e.SchemaPath
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	data, err := readFile(path)
	if err != nil {
		f.Problem(e.at("schema"), "the schema cannot be read: %s", strictyaml.Cause(err))
		return
	}
	schema, err := jsonObject(data)
	if err != nil {
		f.Problem(e.at("schema"), "the schema %s %s", path, strictyaml.Cause(err))
		return
	}
	e.Schema = schema
}

// jsonObject returns the one JSON object that a file holds, without white space.
func jsonObject(data []byte) (evidence.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	v, err := d.ReadValue()
	if err != nil {
		return nil, fmt.Errorf("is not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	v = v.Clone()
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("holds more than one JSON value")
	}
	if v.Kind() != '{' {
		return nil, errors.New("is not a JSON object")
	}
	return v, v.Compact()
}

// The functions below say what is wrong with a text, or "". KEY stands for the
// path of the key.

func oneLine(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "KEY holds a line break or another control character: write it in one line"
	}
	return ""
}

func noNUL(text string) string {
	if strings.ContainsRune(text, 0) {
		return "KEY holds a zero byte"
	}
	return ""
}

func headerValue(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
		return "KEY holds a line break or another control character, which no header may have"
	}
	return ""
}

// dottedPath checks a path such as choices.0.message.content.
func dottedPath(path string) string {
	if fault := oneLine(path); fault != "" {
		return fault
	}
	if strings.HasPrefix(path, "$") {
		return fmt.Sprintf("KEY is %q, a path begins with the first key: write %s", path, strings.TrimLeft(path, "$."))
	}
	if index := regexp.MustCompile(`\[([0-9]+)\]`); index.MatchString(path) {
		return fmt.Sprintf("KEY is %q, list indexes are written with a dot: write %s", path, strings.TrimPrefix(index.ReplaceAllString(path, ".$1"), "."))
	}
	if slices.Contains(strings.Split(path, "."), "") {
		return fmt.Sprintf("KEY is %q, which has an empty part: write keys with one dot between them, such as result.answer", path)
	}
	return ""
}

// checkSlices asks for a staged system where a slice needs one.
func (s *Suite) checkSlices(f *strictyaml.File, d *draft) {
	if s.System.RAG != nil || s.System.Kind() == "" {
		return
	}
	for i, name := range s.Slices {
		switch name {
		case evidence.PositionSlice:
			f.Problem(d.slicePos[i], "slice 'relevant_position' compares relevant positions with top_k, so it needs a staged system")
		case evidence.TruncatedSlice:
			f.Problem(d.slicePos[i], "slice 'context_truncated' compares the context with top_k, so it needs a staged system")
		}
	}
}

func checkSlice(name string) string {
	switch {
	case regexp.MustCompile(slicePattern).MatchString(name):
		return ""
	case foreignSlice(name):
		return fmt.Sprintf("the slice %s is %s", name, notByThisTool)
	case !strings.HasPrefix(name, "metadata") && regexp.MustCompile(slicePattern).MatchString("metadata."+name):
		return fmt.Sprintf("unknown slice %q, did you mean metadata.%s? A slice is metadata.KEY", name, name)
	}
	return fmt.Sprintf("unknown slice %q: a slice is metadata.KEY, with letters, digits, _, . and - in KEY", name)
}

// foreignSlice reports whether a name is that of a slice of the Python tool for
// agents and classifiers, which are out of scope.
func foreignSlice(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return slices.Contains([]string{"first_tool", "repeated_action", "route", "trajectory_length", "tool_calls", "confidence"}, name)
}

// staticURL checks a URL as far as it can be before ${NAME} is known.
func staticURL(text string) string {
	if fault := references(text); fault != "" {
		return fault
	}
	if strings.Contains(text, "{{") {
		return "KEY holds {{, and nothing of a case is put into a URL: write that part under path or query of the request"
	}
	if strings.HasPrefix(text, "${") {
		return ""
	}
	if fault := checkURL(placeholders(text)); fault != "" {
		return fmt.Sprintf("KEY is %q, which %s", text, fault)
	}
	return ""
}

// sameForAll checks the value of a header that goes with every request.
func sameForAll(text string) string {
	if strings.Contains(text, "{{") {
		return "KEY holds {{, and it is the same for all cases: write the header under request.headers"
	}
	return ""
}

// checkURL says what is wrong with a URL and does not repeat it, since it may
// hold a secret.
func checkURL(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "holds a space or a control character"
	}
	scheme, _, ok := strings.Cut(text, "://")
	if !ok {
		return "has no scheme: begin it with http:// or https://"
	}
	if s := strings.ToLower(scheme); s != "http" && s != "https" {
		return "has a scheme that cannot be called: begin it with http:// or https://"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a valid URL"
	case u.Hostname() == "":
		return "names no host"
	case u.Fragment != "":
		return "has a fragment, from # on, which is never sent: leave it out, or write # as %23"
	case u.Port() != "" && !validPort(u.Port()):
		return "has a port outside 1 to 65535"
	}
	return ""
}

func validPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535
}

// readyAddress checks a URL or HOST:PORT.
func readyAddress(text string) string {
	if fault := references(text); fault != "" || strings.HasPrefix(text, "${") {
		return fault
	}
	if fault := checkReady(placeholders(text)); fault != "" {
		return fmt.Sprintf("KEY is %q, which %s", text, fault)
	}
	return ""
}

func checkReady(text string) string {
	if strings.Contains(text, "://") {
		return checkURL(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || !validPort(port) {
		return "is neither a URL nor HOST:PORT, such as 127.0.0.1:${PORT}"
	}
	return ""
}

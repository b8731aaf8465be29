package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestMarkers(t *testing.T) {
	list := &evidence.Artifacts{
		Retrieval: []evidence.Retrieval{{Depth: 4, Candidates: []evidence.Passage{
			{DocID: "a", ChunkID: "1"}, {DocID: "a", ChunkID: "2"}, {DocID: "s3://kb/x#y", ChunkID: "z"}, {DocID: "b"},
		}}},
		Context: []evidence.Context{{Items: []evidence.ContextItem{{DocID: "b"}, {DocID: "a", ChunkID: "2"}}}},
	}
	zero, one := 0, 1
	for _, test := range []struct {
		spec Markers
		text string
		want []string
	}{
		{Markers{Style: "[1]", Of: evidence.RetrievalKind}, "x [1] y [3][1], [4].", []string{"a#1", "s3://kb/x#y#z", "b"}},
		{Markers{Style: "[1]", Of: evidence.RetrievalKind}, "[1, 2,4]", []string{"a#1", "a#2", "b"}},
		{Markers{Style: "[1]", Of: evidence.RetrievalKind}, "[0] [5] [2024] [x] [1a]", []string{"out of range: [0]", "out of range: [5]", "out of range: [2024]"}},
		{Markers{Style: "[1]", Base: &zero, Of: evidence.RetrievalKind}, "[0] [4]", []string{"a#1", "out of range: [4]"}},
		{Markers{Style: "[1]", Distinct: true, Of: evidence.RetrievalKind}, "[1] [2] [3] [4]", []string{"a", "s3://kb/x#y", "b", "out of range: [4]"}},
		{Markers{Style: "[1]", Of: evidence.ContextKind}, "[1] [2] [3]", []string{"b", "a#2", "out of range: [3]"}},
		{Markers{Style: "[doc1]", Of: evidence.RetrievalKind}, "x[doc1][doc0]", []string{"a#1", "out of range: [doc0]"}},
		{Markers{Style: "##0$$", Of: evidence.RetrievalKind}, "x ##0$$ ##1$$ ##9$$", []string{"a#1", "a#2", "out of range: ##9$$"}},
		{Markers{Style: "##0$$", Base: &one, Of: evidence.RetrievalKind}, "##0$$", []string{"out of range: ##0$$"}},
		{Markers{Style: "[ID:0]", Of: evidence.RetrievalKind}, "[ID:0] [ID: 3]", []string{"a#1", "b"}},
		{Markers{Style: "[[1]](url)", Of: evidence.RetrievalKind}, "[[2]](https://kb.test/a) [[9]]()", []string{"a#2", "out of range: [[9]]()"}},
		{Markers{Style: "【4:0†f】", Of: evidence.RetrievalKind}, "years【4:0†warranty.md】【7:3†x】", []string{"a#1", "b"}},
		{Markers{Style: "[citation:ID]", Of: evidence.RetrievalKind}, "[citation:2] [citation: b ] [citation:nope]", []string{"a#2", "b", "nope"}},
		{Markers{Regex: `\{(\d+)\}`, Of: evidence.RetrievalKind}, "{1} {0}", []string{"a#1", "out of range: {0}"}},
		{Markers{Regex: `\[(kb-\d+)\]`, IDs: true, Of: evidence.RetrievalKind}, "[kb-7] [kb-7]", []string{"kb-7"}},
		{Markers{Style: "[1]", Of: evidence.RetrievalKind}, "nothing", []string{}},
	} {
		c := &compiler{}
		m := c.marks(&test.spec, "k")
		if c.problems != nil {
			t.Fatal(c.problems)
		}
		if diff := cmp.Diff(test.want, m.find(test.text, list)); diff != "" {
			t.Errorf("%+v in %q: %s", test.spec, test.text, diff)
		}
	}
}

func TestStrip(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"plain <b>text</b>", "plain <b>text</b>"},
		{"<think>hm\nhm</think>\n\nTwo years.", "Two years."},
		{"a <Thinking>x</THINKING> b", "a  b"},
		{"hm, so</think>Two years.", "Two years."},
		{"Two years. <think>but wait", "Two years."},
		{"<think>a</think><think>b</think>c", "c"},
		{"Two years [1].\n\nReferences:\n[1] warranty.md\n[2] winter.md", "Two years [1]."},
		{"Two years.\n\n### Sources\n\n1. a\n2. b\n", "Two years."},
		{"Two years.\n**References**\n- [1] https://kb.test/a\n", "Two years."},
		{"Sources\nare many.", "Sources\nare many."},
		{"Steps:\n1. a\n2. b", "Steps:\n1. a\n2. b"},
		{"References\n[1] a\nBut that is not all.", "References\n[1] a\nBut that is not all."},
	} {
		s := &stripper{think: true, references: true}
		if got := s.judged(test.text); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"projects/1/documents/kb-102", "kb-102"}, {"kb-102", "kb-102"}, {"s3://bucket/kb/warranty.md", "warranty.md"},
		{"https://kb.test/a/b/?x=/y#z", "b"}, {`C:\kb\a.md`, "a.md"}, {"a#b/c", "c"}, {"file:///kb/a%20b.md", "a%20b.md"},
	} {
		if got := lastSegment(test.text); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// TestConditions asks when an answer is one.
func TestConditions(t *testing.T) {
	document := evidence.Value(`{"yes": true, "no": false, "null": null, "empty": "", "list": [], "code": 0, "status": "completed", "error": {"message": "x"}, "n": 1.0}`)
	for _, test := range []struct {
		spec Condition
		want bool
	}{
		{Condition{Value: Value{Paths: []string{"yes"}}}, true},
		{Condition{Value: Value{Paths: []string{"no"}}}, false},
		{Condition{Value: Value{Paths: []string{"missing"}}}, false},
		{Condition{Value: Value{Paths: []string{"status"}}}, false},
		{Condition{Value: Value{JQ: `.code == 0`}}, true},
		{Condition{Value: Value{Paths: []string{"code"}}, Equals: evidence.Value("0")}, true},
		{Condition{Value: Value{Paths: []string{"n"}}, Equals: evidence.Value("1.00")}, true},
		{Condition{Value: Value{Paths: []string{"code"}}, Equals: evidence.Value("null")}, false},
		{Condition{Value: Value{Paths: []string{"missing"}}, Equals: evidence.Value("null")}, true},
		{Condition{Value: Value{Paths: []string{"status"}}, Equals: evidence.Value(`["done", "completed"]`)}, true},
		{Condition{Value: Value{Paths: []string{"status"}}, Equals: evidence.Value(`"failed"`)}, false},
		{Condition{Value: Value{Paths: []string{"missing"}}, Absent: true}, true},
		{Condition{Value: Value{Paths: []string{"null"}}, Absent: true}, true},
		{Condition{Value: Value{Paths: []string{"empty"}}, Absent: true}, true},
		{Condition{Value: Value{Paths: []string{"list"}}, Absent: true}, true},
		{Condition{Value: Value{Paths: []string{"no"}}, Absent: true}, true},
		{Condition{Value: Value{Paths: []string{"error"}}, Absent: true}, false},
		{Condition{Value: Value{Paths: []string{"code"}}, Absent: true}, false},
	} {
		c := &compiler{documents: []string{Main}}
		o := c.condition(&test.spec)
		if got, _, f := o.holds(&answer{Documents: &Documents{Main: document}}); got != test.want || f != nil {
			t.Errorf("%+v: %v, %+v; want %v", test.spec, got, f, test.want)
		}
	}
}

// TestIDsOfAnyKind: numbers become text, duplicates stay, # stays.
func TestIDsOfAnyKind(t *testing.T) {
	m, problems := Compile(Spec{Depth: Depth{N: 9}, Artifacts: []Artifact{
		{Kind: evidence.RetrievalKind, Items: &Value{Paths: []string{"docs"}}, Fields: []Field{
			{Name: "doc_id", Value: Value{Paths: []string{"id"}}}, {Name: "chunk_id", Value: Value{Paths: []string{"n"}}}, {Name: "score", Value: Value{Paths: []string{"s"}}},
		}},
		{Kind: evidence.CitationsKind, Items: &Value{Paths: []string{"cites"}}},
		{Kind: "trace", Items: &Value{Paths: []string{"docs"}}, Fields: []Field{{Name: "what", Value: Value{Paths: []string{"s"}}}}},
	}}, nil)
	if problems != nil {
		t.Fatal(problems)
	}
	r, err := m.Map(&Documents{Main: evidence.Value(`{"docs": [{"id": 50000000014435121, "n": 0, "s": "0.5"}, {"id": "a#b", "s": -3}, {"id": "a#b", "s": null}], "cites": ["a#b", 7, {"doc_id": "x", "chunk_id": 2, "more": 1}]}`)}, &evidence.Case{ID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"citations/v1":[{"ids":["a#b","7","x#2"]}],"retrieval/v1":[{"candidates":[{"chunk_id":"0","doc_id":"50000000014435121","score":0.5,"text":null},{"chunk_id":null,"doc_id":"a#b","score":-3,"text":null},{"chunk_id":null,"doc_id":"a#b","score":null,"text":null}],"depth":9,"query":null}],"trace":[[{"what":"0.5"},{"what":-3},{"what":null}]]}`
	if got := string(evidence.AppendArtifacts(nil, &r.Artifacts)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A list where an artifact is meant: the error says how a list is written.
func TestListInPlaceOfAnArtifact(t *testing.T) {
	m, problems := Compile(Spec{Output: Output{Value: &Value{Paths: []string{"a"}}}, Artifacts: []Artifact{{Kind: evidence.CitationsKind, Value: &Value{Paths: []string{"cites"}}}}}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	_, err := m.Map(&Documents{Main: evidence.Value(`{"a": "x", "cites": ["kb-1"]}`)}, &evidence.Case{ID: "one"})
	if want := `at "cites": want an object {"ids": [...]}, found a list (where that is meant, write {items: PATH})`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTemplateTexts(t *testing.T) {
	scope := &Scope{Case: &evidence.Case{ID: "a/b", Input: evidence.Value(`{"q": "x", "n": 1.50, "t": true, "z": null, "l": [1, "y"]}`)}, UUID: "u", Attempt: 2}
	for _, test := range []struct{ source, want, fault string }{
		{"{{case.id}} {{ case.input.q }}-{{attempt}}{{uuid}}", "a/b x-2u", ""},
		{"{{case.input.n}} {{case.input.t}} {{case.input.l.1}}", "1.50 true y", ""},
		{"{{case.input.l | tojson}}{{case.input.q|tojson}}", `[1,"y"]"x"`, ""},
		{`{{"{{"}}name{{ "}" }}}`, "{{name}}", ""},
		{"{{case.input.l}}", "", `{{case.input.l}} is a list, where text is needed: write {{case.input.l | tojson}}`},
		{"{{case.input.z}}", "", `{{case.input.z}} is null, where text is needed`},
		{"{{case.input.missing}}", "", `{{case.input.missing}}: nothing at "missing": the value has no "missing" (keys: "q", "n", "t", "z", "l")`},
		{"{{case.metadata.x}}", "", `{{case.metadata.x}}: there is no case.metadata`},
		{"{{depth}}", "", `{{depth}}: the suite names no system.http.depth`},
		{"{{setup.id}}", "", `{{setup.id}}: there is no setup`},
	} {
		tpl, err := compileText(test.source, []string{Setup}, nil)
		if err != nil {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		got, err := tpl.Render(scope)
		switch {
		case test.fault != "" && (err == nil || err.Error() != test.fault), test.fault == "" && err != nil, got != test.want:
			t.Errorf("%s: got %q, %v; want %q, %s", test.source, got, err, test.want, test.fault)
		}
	}
	for source, want := range map[string]string{
		"{{case}}":        "{{case}}: a case has no field without a name (there are case.id, case.input and case.metadata)",
		"{{case.meta}}":   "{{case.meta}}: a case has no meta (there are case.id, case.input and case.metadata)",
		"{{uuid.x}}":      "{{uuid.x}}: uuid has no parts",
		"{{case.input.}}": "{{case.input.}} has an empty part between its dots",
		"{{atempt}}":      "unknown name {{atempt}}, did you mean attempt? (there are case, uuid, attempt, depth, setup)",
		"{{}}":            "unknown name {{}} (there are case, uuid, attempt, depth, setup)",
	} {
		if _, err := compileText(source, []string{Setup}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v; want %s", source, err, want)
		}
	}
}

// What a case puts into a path or a header stays in its place: one segment, one
// header. A case that would break out is told when the data set is read.
func TestPlacesHold(t *testing.T) {
	calls := &Calls{Main: Request{
		Key: "request", Method: "POST", Path: "/kb/{{case.input.p}}{{case.input.q}}/ask",
		Headers: []Pair{{Name: "X-H", Key: "request.headers.X-H", Value: "of {{case.input.h}}"}},
	}}
	s, problems := CompileCalls(calls, nil)
	if problems != nil {
		t.Fatal(problems)
	}
	const elsewhere = "which leads to another path"
	for _, test := range []struct{ p, q, h, path, fault string }{
		{"../x", "", "y", "/kb/..%2Fx/ask", ""},
		{"%2e%2e", "", "y", "/kb/%252e%252e/ask", ""},
		{"a?b#c", "..", "y", "/kb/a%3Fb%23c../ask", ""},
		{"...", "", "{{case.id}} ${HOME}", "/kb/.../ask", ""},
		{"..", "", "y", "", `request.path: a segment of it is "..", ` + elsewhere},
		{".", ".", "y", "", `request.path: a segment of it is "..", ` + elsewhere},
		{".", "", "y", "", `request.path: a segment of it is ".", ` + elsewhere},
		{"a", "", "y\r\nX-Evil: 1", "", "request.headers.X-H: the value holds a line break or another control character, which no header may have"},
	} {
		input := evidence.Value(`{"p": ` + string(quote(test.p)) + `, "q": ` + string(quote(test.q)) + `, "h": ` + string(quote(test.h)) + `}`)
		c := &evidence.Case{ID: "c", Input: input}
		told := ""
		for _, err := range s.CheckCase(c, nil) {
			told += err.Error()
		}
		if told != test.fault {
			t.Errorf("%q, %q, %q: the case is told %q, want %q", test.p, test.q, test.h, told, test.fault)
		}
		f, err := s.Main.Fill(&Scope{Case: c})
		switch {
		case test.fault != "":
			if err == nil || err.Error() != test.fault {
				t.Errorf("%q, %q, %q: %v, want %s", test.p, test.q, test.h, err, test.fault)
			}
		case err != nil:
			t.Error(err)
		case f.Path != test.path || f.Headers[0][1] != "of "+test.h:
			t.Errorf("%q, %q, %q: path %s, header %q", test.p, test.q, test.h, f.Path, f.Headers[0][1])
		}
	}
}

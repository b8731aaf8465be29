package evaluate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func text(s string) *string { return &s }

// set makes the evaluators of a suite that holds nothing else.
func set(t testing.TB, evaluators ...suite.Evaluator) *Set {
	t.Helper()
	for i := range evaluators {
		if evaluators[i].Criterion == "" {
			evaluators[i].Criterion = fmt.Sprintf("c%d", i)
		}
	}
	s, err := New(&suite.Suite{Evaluators: evaluators})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func expecting(expected string) *evidence.Case {
	c := &evidence.Case{ID: "a", Input: evidence.Value("1")}
	if expected != "" {
		c.Expected = evidence.Value(expected)
	}
	return c
}

func answered(output string) *evidence.Execution {
	return &evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(output)}
}

// word shortens a judgment for comparison.
func word(j evidence.Judgment) string {
	switch j.State {
	case evidence.Judged:
		return strconv.FormatFloat(j.Value, 'g', 12, 64)
	case evidence.Missing:
		return "missing " + j.Reason
	case evidence.NotApplicable:
		return "excluded " + j.Reason
	}
	return "invalid"
}

func judgeOne(t testing.TB, o suite.Evaluator, c *evidence.Case, e *evidence.Execution) evidence.Judgment {
	t.Helper()
	return set(t, o).Judge(c, e)[0]
}

func TestTextAsPython(t *testing.T) {
	var golden struct {
		Values                             []string
		Contains, Exact, Casefold, Nostrip map[string]string
	}
	readGolden(t, "text.json", &golden)
	answer := text("answer")
	n := 0
	for _, c := range []struct {
		rows map[string]string
		o    suite.Evaluator
	}{
		{golden.Contains, suite.Evaluator{Type: "contains", Field: answer, ExpectedField: answer}},
		{golden.Exact, suite.Evaluator{Type: "exact_match", Field: answer, ExpectedField: answer, Strip: true}},
		{golden.Casefold, suite.Evaluator{Type: "exact_match", Field: answer, ExpectedField: answer, Strip: true, CaseFold: true}},
		{golden.Nostrip, suite.Evaluator{Type: "exact_match", Field: answer, ExpectedField: answer}},
	} {
		s := set(t, c.o)
		for want, row := range c.rows {
			for i, actual := range golden.Values {
				n++
				j := s.Judge(expecting(`{"answer":`+want+`}`), answered(`{"answer":`+actual+`}`))[0]
				if j.State != evidence.Judged || j.Passed() != (row[i] == '1') {
					t.Errorf("%s, strip %v, casefold %v: want %s, found %s: %+v, Python says %c", c.o.Type, c.o.Strip, c.o.CaseFold, want, actual, j, row[i])
				}
			}
		}
	}
	if n < 20_000 {
		t.Errorf("only %d comparisons", n)
	}
}

// What stands where, tried with Oloproof 0.1.0a20 (PyPI).
func TestTextFields(t *testing.T) {
	for _, c := range []struct {
		o                      suite.Evaluator
		expected, output, want string
	}{
		{suite.Evaluator{Type: "contains"}, `"x"`, `{"answer":"x"}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `"x"`, `{"answer":"x"}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `{"x":1}`, `{"answer":"x"}`, "excluded no_expected"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `{"answer":"x"}`, `{"answer":"x"}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, ``, `{"answer":"x"}`, "excluded no_expected"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `{"answer":null}`, `{"answer":"x"}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `{"answer":""}`, `{"answer":null}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("answer")}, `{"answer":"None"}`, `{"answer":null}`, "0"},
		{suite.Evaluator{Type: "contains", Field: text("a.b.1.c")}, `{"a":{"b":[1,{"c":"x"}]}}`, `{"a":{"b":[1,{"c":"x"}]}}`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("1"), ExpectedField: text("a")}, `{"a":"x"}`, `["q","x"]`, "1"},
		{suite.Evaluator{Type: "contains", Field: text("7")}, `"x"`, `["q","x"]`, "missing missing_field"},
		{suite.Evaluator{Type: "contains", Field: text("a")}, `"x"`, `"x"`, "missing missing_field"},
		{suite.Evaluator{Type: "contains", Field: text("a.b")}, `"x"`, `{"a":null}`, "missing missing_field"},
		{suite.Evaluator{Type: "exact_match"}, `{"x":1}`, `{"x":1}`, "1"},
		{suite.Evaluator{Type: "exact_match", Field: text("answer"), ExpectedField: text("answer")}, `"x"`, `{"answer":"x"}`, "excluded no_expected"},
		{suite.Evaluator{Type: "exact_match"}, `null`, `{"answer":"x"}`, "excluded no_expected"},
		{suite.Evaluator{Type: "exact_match", Field: text("answer")}, `{"answer":null}`, `{"answer":null}`, "1"},
		{suite.Evaluator{Type: "exact_match", Field: text("n")}, `{"n":123456789012345678}`, `{"n":123456789012345680.0}`, "0"},
		{suite.Evaluator{Type: "exact_match", Field: text("n")}, `{"n":123456789012345680}`, `{"n":123456789012345680.0}`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: "^$", Field: text("answer")}, ``, `{"answer":null}`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: `True|1\.0|\[1, 2`, Field: text("answer")}, ``, `{"answer":true}`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: `True|1\.0|\[1, 2`, Field: text("answer")}, ``, `{"answer":1.0}`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: `True|1\.0|\[1, 2`, Field: text("answer")}, ``, `{"answer":[1,2]}`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: "x", PassIfNoMatch: true}, ``, `"x"`, "0"},
		{suite.Evaluator{Type: "regex", Pattern: "x", PassIfNoMatch: true}, ``, `"y"`, "1"},
		{suite.Evaluator{Type: "regex", Pattern: "x", Field: text("answer")}, ``, `{}`, "missing missing_field"},
	} {
		if got := word(judgeOne(t, c.o, expecting(c.expected), answered(c.output))); got != c.want {
			t.Errorf("%s, expected %s, output %s: %s, want %s", c.o.Type, c.expected, c.output, got, c.want)
		}
	}
}

func TestContainsRefusesExpectedObjects(t *testing.T) {
	for expected, want := range map[string]string{
		`{"answer":{"x":1}}`: "expected.answer is an object, and contains looks for a text",
		`{"answer":[1]}`:     "expected.answer is a list",
		`{"answer":"x"}`:     "",
		`{}`:                 "",
	} {
		s := set(t, suite.Evaluator{Type: "contains", Field: text("answer")})
		got := s.Check(expecting(expected))
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s: %q, want %q", expected, got, want)
		}
	}
	whole := set(t, suite.Evaluator{Type: "contains"})
	if got := whole.Check(expecting(`{"answer":"x"}`)); len(got) != 1 || !strings.HasPrefix(got[0], "expected is an object") {
		t.Errorf("the whole of expected: %q", got)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, o := range []suite.Evaluator{
		{Type: "contains"}, {Type: "exact_match"}, {Type: "regex", Pattern: "^y"},
		{Type: "json_schema", Schema: evidence.Value(`{"const":1,"type":"number"}`)}, {Type: "json_schema", Schema: evidence.Value(`{"pattern":"^y"}`)},
	} {
		j := judgeOne(t, o, expecting(`"y`+long[1:]), answered(long))
		if j.State != evidence.Judged || j.Passed() || j.Detail == "" || len(j.Detail) > 1200 {
			t.Errorf("%s: state %d, detail of %d bytes", o.Type, j.State, len(j.Detail))
		}
	}
}

func TestJSONSchema(t *testing.T) {
	schema := `{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer","minimum":3,"multipleOf":2},"b":{"type":"string","format":"email","pattern":"^x\\w$"}}}`
	for _, c := range []struct{ schema, output, want, detail string }{
		{schema, `{"a":4}`, "1", ""},
		{schema, `{"a":4.0}`, "1", ""},
		{schema, `{"a":4e0}`, "1", ""},
		{schema, `{"a":12345678901234567890124}`, "1", ""},
		{schema, `{"a":12345678901234567890125}`, "0", "at /a: "},
		{schema, `{"a":true}`, "0", "at /a: got boolean, want integer"},
		{schema, `{"a":4,"b":"xé"}`, "1", ""}, // formats are not asserted; patterns are Python's
		{schema, `{"a":4,"b":"xé\n"}`, "1", ""},
		{schema, `{"a":1,"b":"y","d":1,"c":2}`, "0", "at /: additional properties 'c', 'd' not allowed; at /a: "},
		{schema, `{"b":"xé"}`, "0", "at /: missing property 'a'"},
		{schema, `"{}"`, "0", "at /: got string, want object"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n","minimum":3}`, `1`, "0", "at /: "},
		{`true`, `{}`, "1", ""},
		{`{"multipleOf":0.1}`, `0.3`, "1", ""},
		{`{"minimum":0}`, strings.Repeat("9", 5000), "missing evaluator_error", "output: an integer of 5000 digits"},
		{`{"minimum":0}`, `1e-999999999`, "1", ""},
	} {
		j := judgeOne(t, suite.Evaluator{Type: "json_schema", Schema: evidence.Value(c.schema)}, expecting(""), answered(c.output))
		if word(j) != c.want || !strings.HasPrefix(j.Detail, c.detail) {
			t.Errorf("%.60s under %s: %s %q, want %s %q", c.output, c.schema, word(j), j.Detail, c.want, c.detail)
		}
	}
}

func TestNewNamesThePlace(t *testing.T) {
	s := &suite.Suite{Path: "oloproof.yaml", Lines: strings.Split(strings.Repeat("line\n", 20), "\n")}
	for i, o := range []suite.Evaluator{
		{Type: "regex", Pattern: "a(?=b)"},
		{Type: "regex", Pattern: "a**"},
		{Type: "json_schema", Schema: evidence.Value(`{"type":"nonsense"}`)},
		{Type: "json_schema", Schema: evidence.Value(`{"$ref":"http://example.org/x.json"}`)},
		{Type: "json_schema", Schema: evidence.Value(`{"$ref":"file:///etc/passwd"}`)},
		{Type: "json_schema", Schema: evidence.Value(`{"$ref":"other.json"}`)},
		{Type: "json_schema", Schema: evidence.Value(`{"$ref":"#/$defs/no"}`)},
		{Type: "json_schema", Schema: evidence.Value(`{"pattern":"(?=a)"}`)},
		{Type: "contains"},
		{Type: "newest"},
	} {
		o.Criterion = fmt.Sprintf("c%d", i)
		o.Pos = suite.Position{Line: i + 1, Column: 5}
		o.KeyPos = map[string]suite.Position{"pattern": {Line: i + 1, Column: 30}}
		s.Evaluators = append(s.Evaluators, o)
	}
	_, err := New(s)
	list, ok := err.(problem.List)
	if !ok {
		t.Fatalf("%v: want a list of problems", err)
	}
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s %s", p.Place(), p.Message))
		if p.Source != "line" {
			t.Errorf("%s: source %q", p.Place(), p.Source)
		}
	}
	want := []string{
		"oloproof.yaml:1:30 evaluator c0: pattern: a lookahead (?=…) at position 1 is not supported",
		"oloproof.yaml:2:30 evaluator c1: pattern: multiple repeat at position 2",
		"oloproof.yaml:3:5 evaluator c2: schema: at /type: ",
		"oloproof.yaml:4:5 evaluator c3: schema: it refers to http://example.org/x.json, and only references inside the schema (#/…) are followed",
		"oloproof.yaml:5:5 evaluator c4: schema: it refers to file:///etc/passwd, and only",
		"oloproof.yaml:6:5 evaluator c5: schema: it refers to other.json, and only",
		"oloproof.yaml:7:5 evaluator c6: schema: ",
		"oloproof.yaml:8:5 evaluator c7: schema: ",
		"oloproof.yaml:10:5 evaluator c9: evaluator type newest is not known",
	}
	if len(got) != len(want) {
		t.Fatalf("problems:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %q, want %q", got[i], want[i])
		}
	}
	if !strings.Contains(got[7], "lookahead") {
		t.Errorf("a refused pattern inside a schema: %q", got[7])
	}
}

// Values computed with Oloproof 0.1.0a20 (PyPI).
func TestRetrievalGolden(t *testing.T) {
	var golden struct {
		Rows []struct {
			K                int
			RelevanceUnit    string `json:"relevance_unit"`
			Depth            int
			Candidates       json.RawMessage
			ExpectedRelevant json.RawMessage `json:"expected_relevant"`
			Values           map[string]float64
		}
	}
	readGolden(t, "f_retrieval_metrics.json", &golden)
	if len(golden.Rows) != 48 {
		t.Fatalf("%d rows", len(golden.Rows))
	}
	for i, row := range golden.Rows {
		var a evidence.Artifacts
		if err := evidence.DecodeArtifact(evidence.RetrievalKind, fmt.Appendf(nil, `{"depth":%d,"candidates":%s}`, row.Depth, row.Candidates), &a); err != nil {
			t.Fatal(err)
		}
		execution := &evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value("1"), Artifacts: a}
		c := expecting(fmt.Sprintf(`{"relevant":%s}`, row.ExpectedRelevant))
		for _, kind := range []string{"hit_rate", "recall", "mrr", "ndcg"} {
			s := set(t, suite.Evaluator{Type: kind, K: row.K, ChunkUnit: row.RelevanceUnit == "chunk"})
			if messages := s.Check(c); len(messages) > 0 {
				t.Errorf("row %d: %q", i, messages)
			}
			j := s.Judge(c, execution)[0]
			want, ok := row.Values[fmt.Sprintf("%s_at_%d", kind, row.K)]
			if !ok || j.State != evidence.Judged || math.Abs(j.Value-want) > 1e-12 {
				t.Errorf("row %d, %s: %+v, want %v", i, kind, j, want)
			}
		}
	}
}

// Values published with trec_eval: see testdata/trec_eval.json.
func TestRetrievalAsTrecEval(t *testing.T) {
	var golden struct {
		Rows []struct {
			Query, Qrels string
			Retrieved    [][2]int       // rank, grade
			NotRetrieved map[string]int `json:"not_retrieved"`
			Values       map[string]string
		}
	}
	readGolden(t, "trec_eval.json", &golden)
	n := 0
	for _, row := range golden.Rows {
		retrieval := evidence.Retrieval{Depth: 100}
		for rank := range 100 {
			retrieval.Candidates = append(retrieval.Candidates, evidence.Passage{DocID: fmt.Sprint(rank + 1)})
		}
		var labels []string
		for _, r := range row.Retrieved {
			labels = append(labels, fmt.Sprintf(`{"doc_id":"%d","grade":%d}`, r[0], r[1]))
		}
		for grade, count := range row.NotRetrieved {
			for i := range count {
				labels = append(labels, fmt.Sprintf(`{"doc_id":"other %s %d","grade":%s}`, grade, i, grade))
			}
		}
		c := expecting(`{"relevant":[` + strings.Join(labels, ",") + `]}`)
		execution := &evidence.Execution{Status: evidence.StatusOK, Artifacts: evidence.Artifacts{Retrieval: []evidence.Retrieval{retrieval}}}
		for metric, want := range row.Values {
			kind, cut, _ := strings.Cut(metric, "@")
			k, _ := strconv.Atoi(cut)
			j := judgeOne(t, suite.Evaluator{Type: kind, K: k}, c, execution)
			if got := strconv.FormatFloat(j.Value, 'f', 4, 64); got != want {
				t.Errorf("query %s by %s, %s: %s, want %s", row.Query, row.Qrels, metric, got, want)
			}
			n++
		}
	}
	if n != 48 {
		t.Errorf("%d values compared", n)
	}
}

func retrieved(depth int, docs ...string) *evidence.Execution {
	r := evidence.Retrieval{Depth: depth, Candidates: []evidence.Passage{}}
	for _, doc := range docs {
		name, chunk, _ := strings.Cut(doc, "#")
		r.Candidates = append(r.Candidates, evidence.Passage{DocID: name, ChunkID: chunk})
	}
	return &evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value("1"), Artifacts: evidence.Artifacts{Retrieval: []evidence.Retrieval{r}}}
}

func TestRetrievalCorners(t *testing.T) {
	relevant := func(labels string) *evidence.Case { return expecting(`{"relevant":[` + labels + `]}`) }
	twice := retrieved(5, "a")
	twice.Artifacts.Retrieval = append(twice.Artifacts.Retrieval, twice.Artifacts.Retrieval[0])
	for _, c := range []struct {
		name string
		o    suite.Evaluator
		c    *evidence.Case
		e    *evidence.Execution
		want string
	}{
		{"nothing retrieved", suite.Evaluator{Type: "hit_rate", K: 2}, relevant(`{"doc_id":"a"}`), retrieved(5), "0"},
		{"repeats push others down", suite.Evaluator{Type: "hit_rate", K: 3}, relevant(`{"doc_id":"b"}`), retrieved(5, "a", "a", "a", "b"), "0"},
		{"rank two", suite.Evaluator{Type: "ndcg", K: 3}, relevant(`{"doc_id":"b"}`), retrieved(5, "a", "b"), "0.630929753571"},
		{"repeats earn nothing", suite.Evaluator{Type: "ndcg", K: 3}, relevant(`{"doc_id":"a"},{"doc_id":"b"}`), retrieved(5, "a", "a", "b"), strconv.FormatFloat(1.5/(1+1/math.Log2(3)), 'g', 12, 64)},
		{"grade 0 is not relevant", suite.Evaluator{Type: "hit_rate", K: 3}, relevant(`{"doc_id":"a","grade":0}`), retrieved(5, "a"), "excluded no_relevance_labels"},
		{"the highest grade counts", suite.Evaluator{Type: "recall", K: 1}, relevant(`{"doc_id":"a","grade":0},{"doc_id":"a","grade":2},{"doc_id":"a"}`), retrieved(5, "a"), "1"},
		{"more relevant than k", suite.Evaluator{Type: "recall", K: 1}, relevant(`{"doc_id":"a"},{"doc_id":"b"}`), retrieved(5, "a", "b"), "0.5"},
		{"no labels", suite.Evaluator{Type: "mrr", K: 1}, relevant(``), retrieved(5, "a"), "excluded no_relevance_labels"},
		{"null labels", suite.Evaluator{Type: "mrr", K: 1}, expecting(`{"relevant":null}`), retrieved(5, "a"), "excluded no_relevance_labels"},
		{"text expected", suite.Evaluator{Type: "mrr", K: 1}, expecting(`"x"`), retrieved(5, "a"), "excluded no_relevance_labels"},
		{"depth below k", suite.Evaluator{Type: "mrr", K: 6}, relevant(`{"doc_id":"a"}`), retrieved(5, "a"), "missing depth_below_k"},
		{"not recorded", suite.Evaluator{Type: "mrr", K: 6}, relevant(`{"doc_id":"a"}`), answered("1"), "missing missing_artifact"},
		{"recorded twice", suite.Evaluator{Type: "mrr", K: 1}, relevant(`{"doc_id":"a"}`), twice, "missing missing_artifact"},
		{"chunk", suite.Evaluator{Type: "mrr", K: 3, ChunkUnit: true}, relevant(`{"doc_id":"a","chunk_id":"2"}`), retrieved(5, "a#1", "a", "a#2"), "0.333333333333"},
		{"documents whatever the chunk", suite.Evaluator{Type: "mrr", K: 3}, relevant(`{"doc_id":"a","chunk_id":"2"}`), retrieved(5, "a#1"), "1"},
		{"tiny grades", suite.Evaluator{Type: "ndcg", K: 2}, relevant(`{"doc_id":"a","grade":5e-324},{"doc_id":"b","grade":5e-324}`), retrieved(5, "a", "b"), "1"},
		{"named twice, the highest grade first", suite.Evaluator{Type: "ndcg", K: 1}, relevant(`{"doc_id":"a"},{"doc_id":"b","grade":2},{"doc_id":"b"}`), retrieved(5, "a", "b"), "0.5"},
		{"huge grades", suite.Evaluator{Type: "ndcg", K: 2}, relevant(`{"doc_id":"a","grade":1.7e308},{"doc_id":"b","grade":1.7e308}`), retrieved(5, "a", "b"), "1"},
	} {
		if got := word(judgeOne(t, c.o, c.c, c.e)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLabelProblems(t *testing.T) {
	for _, c := range []struct {
		labels string
		chunk  bool
		want   []string
	}{
		{`"x"`, false, []string{`expected.relevant: want a list of {doc_id, chunk_id, grade}, found "x"`}},
		{`["x",{"doc_id":"a"},5]`, false, []string{`expected.relevant[0]: want an object such as {"doc_id": "…"}, found "x"`, `expected.relevant[2]: want an object such as {"doc_id": "…"}, found 5`}},
		{`[{}]`, false, []string{`expected.relevant[0]: no doc_id`}},
		{`[{"doc_id":""}]`, false, []string{`expected.relevant[0]: doc_id: want a string that is not empty, found ""`}},
		{`[{"doc_id":7}]`, false, []string{`expected.relevant[0]: doc_id: want a string that is not empty, found 7`}},
		{`[{"doc_id":"a","chunk_id":""}]`, false, []string{`expected.relevant[0]: chunk_id: want a string that is not empty, found ""`}},
		{`[{"doc_id":"a","grade":-1}]`, false, []string{`expected.relevant[0]: grade: want a finite number of at least 0, found -1`}},
		{`[{"doc_id":"a","grade":true}]`, false, []string{`expected.relevant[0]: grade: want a finite number of at least 0, found true`}},
		{`[{"doc_id":"a","grade":"1"}]`, false, []string{`expected.relevant[0]: grade: want a finite number of at least 0, found "1"`}},
		{`[{"doc_id":"a"}]`, true, []string{`expected.relevant[0]: no chunk_id, which relevance_unit: chunk needs`}},
		{`[{"doc_id":"a","chunk_id":null}]`, true, []string{`expected.relevant[0]: no chunk_id, which relevance_unit: chunk needs`}},
		{`[{"doc_id":"a","chunk_id":null,"note":"unknown keys are fine","grade":0.5}]`, false, nil},
		{`null`, false, nil},
		{`[]`, true, nil},
	} {
		// Two evaluators that read the same labels say it once.
		s := set(t, suite.Evaluator{Type: "hit_rate", K: 2, ChunkUnit: c.chunk}, suite.Evaluator{Type: "recall", K: 2, ChunkUnit: c.chunk})
		if diff := cmp.Diff(c.want, s.Check(expecting(`{"relevant":`+c.labels+`}`))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.labels, diff)
		}
	}
}

// Judgments computed with Oloproof 0.1.0a20 (PyPI).
func TestCitationGolden(t *testing.T) {
	var golden struct {
		Rows []struct {
			Items            json.RawMessage
			CitationIDs      json.RawMessage `json:"citation_ids"`
			RequireCitations bool            `json:"require_citations"`
			Passed           bool
			Metadata         struct {
				InvalidCitations []string `json:"invalid_citations"`
			}
		}
	}
	readGolden(t, "f_citation_validity.json", &golden)
	if len(golden.Rows) != 32 {
		t.Fatalf("%d rows", len(golden.Rows))
	}
	for i, row := range golden.Rows {
		var a evidence.Artifacts
		if err := evidence.DecodeArtifact(evidence.ContextKind, fmt.Appendf(nil, `{"items":%s}`, row.Items), &a); err != nil {
			t.Fatal(err)
		}
		if err := evidence.DecodeArtifact(evidence.CitationsKind, fmt.Appendf(nil, `{"ids":%s}`, row.CitationIDs), &a); err != nil {
			t.Fatal(err)
		}
		o := suite.Evaluator{Type: "citation_validity", RequireCitations: row.RequireCitations}
		j := judgeOne(t, o, expecting(""), &evidence.Execution{Status: evidence.StatusOK, Artifacts: a})
		detail := ""
		switch invalid := row.Metadata.InvalidCitations; {
		case !row.Passed && len(invalid) == 0:
			detail = "nothing is cited"
		case !row.Passed:
			detail = "not in the context: " + strings.Join(quoted(invalid), ", ")
		}
		if j.State != evidence.Judged || j.Passed() != row.Passed || j.Detail != detail {
			t.Errorf("row %d: %+v, want passed %v and %q", i, j, row.Passed, detail)
		}
	}
	for id, want := range map[string]string{"a": "1", "a#": "0", "b#c": "1", "b#c#1": "1", "b#c#": "0", "b": "0"} {
		a := evidence.Artifacts{Context: []evidence.Context{{Items: []evidence.ContextItem{{DocID: "a"}, {DocID: "b#c", ChunkID: "1"}}}}, Citations: []evidence.Citations{{IDs: []string{id}}}}
		if got := word(judgeOne(t, suite.Evaluator{Type: "citation_validity"}, expecting(""), &evidence.Execution{Status: evidence.StatusOK, Artifacts: a})); got != want {
			t.Errorf("%q is cited: %s, want %s", id, got, want)
		}
	}
	for _, a := range []evidence.Artifacts{
		{Citations: []evidence.Citations{{}}},
		{Context: []evidence.Context{{}}},
		{Context: []evidence.Context{{}, {}}, Citations: []evidence.Citations{{}}},
	} {
		if got := word(judgeOne(t, suite.Evaluator{Type: "citation_validity"}, expecting(""), &evidence.Execution{Status: evidence.StatusOK, Artifacts: a})); got != "missing missing_artifact" {
			t.Errorf("%+v: %s", a, got)
		}
	}
}

func quoted(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = strconv.Quote(s)
	}
	return out
}

func TestFailedExecutions(t *testing.T) {
	s := set(t,
		suite.Evaluator{Type: "contains"},
		suite.Evaluator{Type: "contains", FailOnError: true},
		suite.Evaluator{Type: "hit_rate", K: 2, FailOnError: true},
		suite.Evaluator{Type: "citation_validity", FailOnError: true})
	for status, want := range map[evidence.Status][]string{
		evidence.StatusError:   {"missing execution_error", "0", "excluded no_relevance_labels", "0"},
		evidence.StatusTimeout: {"missing execution_error", "0", "excluded no_relevance_labels", "0"},
		evidence.StatusNotRun:  {"missing not_run", "missing not_run", "excluded no_relevance_labels", "missing not_run"},
	} {
		var got []string
		for _, j := range s.Judge(expecting(`"x"`), &evidence.Execution{Status: status}) {
			got = append(got, word(j))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}

func TestSpecsAndEligible(t *testing.T) {
	evaluators := []suite.Evaluator{
		{Type: "contains", Criterion: "ok", Field: text("answer")},
		{Type: "recall", Criterion: "recall_at_2", K: 2},
		{Type: "ndcg", Criterion: "ndcg_at_2", K: 2},
		{Type: "mrr", Criterion: "mrr_at_2", K: 2},
		{Type: "citation_validity", Criterion: "citations_valid"},
	}
	s := &suite.Suite{Evaluators: evaluators, Measures: []suite.Measure{{Type: "quantile", ID: "p95", Source: "latency_ms", Quantile: 0.95}}}
	one := `{"answer":"x","relevant":[{"doc_id":"a"},{"doc_id":"a"},{"doc_id":"b","grade":0}]}`
	for _, c := range []struct {
		cases []string
		kind  evidence.Kind
	}{
		{[]string{one, `{"answer":"x"}`, `{"relevant":[]}`, ``}, evidence.Rate},
		{[]string{one, `{"answer":"x"}`, `{"relevant":[{"doc_id":"a"},{"doc_id":"b"}]}`, ``}, evidence.Mean},
	} {
		set, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		labelled := 0
		for _, expected := range c.cases {
			if messages := set.Check(expecting(expected)); len(messages) > 0 {
				t.Fatal(messages)
			}
			if strings.Contains(expected, "doc_id") {
				labelled++
			}
		}
		specs := set.Specs()
		var got []string
		for _, spec := range specs {
			got = append(got, fmt.Sprintf("%s %s %v %s", spec.ID, spec.Kind, spec.Range, spec.Type))
		}
		want := []string{"ok rate [0 1] contains", fmt.Sprintf("recall_at_2 %s [0 1] recall", c.kind), "ndcg_at_2 mean [0 1] ndcg", "mrr_at_2 mean [0 1] mrr", "citations_valid rate [0 1] citation_validity", "p95 quantile [0 0] "}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("specs (-want +got):\n%s", diff)
		}
		if specs[0].Evaluator == "" || specs[0].Evaluator == specs[4].Evaluator || specs[5].Evaluator != "" {
			t.Errorf("specs %+v", specs)
		}
		if diff := cmp.Diff([]int{2, labelled, labelled, labelled, 4}, set.Eligible()); diff != "" {
			t.Errorf("eligible (-want +got):\n%s", diff)
		}
	}
}

// A criterion that cases pass whatever is answered is named.
func TestNotesOnEmptyExpectations(t *testing.T) {
	s := &suite.Suite{Evaluators: []suite.Evaluator{
		{Type: "contains", Criterion: "ok", Field: text("answer")}, {Type: "exact_match", Criterion: "same", Field: text("answer")},
		{Type: "contains", Criterion: "listed", Field: text("answer"), AnyOf: []string{"x"}}, {Type: "contains", Criterion: "note", Field: text("note")},
	}}
	set, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{`{"answer":"","note":""}`, `{"answer":null}`, `{"answer":"x"}`, `{"answer":{"any_of":["x"]}}`, `""`, ``} {
		if messages := set.Check(expecting(expected)); len(messages) > 0 {
			t.Fatal(messages)
		}
	}
	want := []string{
		"ok: 3 cases expect an empty text, which every answer contains, and pass whatever is answered",
		"note: 2 cases expect an empty text, which every answer contains, and pass whatever is answered",
	}
	if diff := cmp.Diff(want, set.Notes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecallAsScoreCannotFailOnError(t *testing.T) {
	s := set(t, suite.Evaluator{Type: "recall", K: 2, FailOnError: true})
	if got := s.Check(expecting(`{"relevant":[{"doc_id":"a"}]}`)); got != nil {
		t.Errorf("one unit: %q", got)
	}
	several := expecting(`{"relevant":[{"doc_id":"a"},{"doc_id":"b"}]}`)
	if got := s.Check(several); len(got) != 1 || !strings.Contains(got[0], "on_execution_error: fail") {
		t.Errorf("two units: %q", got)
	}
	if got := s.Check(several); got != nil {
		t.Errorf("said twice: %q", got)
	}
}

func TestJudgeIsSafeForConcurrentUse(t *testing.T) {
	s := set(t,
		suite.Evaluator{Type: "exact_match", CaseFold: true, Strip: true, Field: text("answer")},
		suite.Evaluator{Type: "regex", Pattern: `(?i)\bé\w*$`, Field: text("answer")},
		suite.Evaluator{Type: "json_schema", Schema: evidence.Value(`{"properties":{"answer":{"pattern":"é$"}},"required":["none"]}`)},
		suite.Evaluator{Type: "recall", K: 2})
	c := expecting(`{"answer":" Ém ","relevant":[{"doc_id":"a"}]}`)
	e := retrieved(5, "a")
	e.Output = evidence.Value(`{"answer":"éM\n"}`)
	want := s.Judge(c, e)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				if diff := cmp.Diff(want, s.Judge(c, e)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
	wait.Wait()
}

// Laws of the ranking metrics, for any labels and any order.
func TestRankingLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		docs := rapid.SliceOfN(doc, 0, 10).Draw(t, "docs")
		var labels []string
		for range rapid.IntRange(1, 4).Draw(t, "labels") {
			labels = append(labels, fmt.Sprintf(`{"doc_id":"%s","grade":%g}`, doc.Draw(t, "label"), rapid.Float64Range(0.01, 10).Draw(t, "grade")))
		}
		c := expecting(`{"relevant":[` + strings.Join(labels, ",") + `]}`)
		last := map[string]float64{}
		for k := 1; k <= 10; k++ {
			value := map[string]float64{}
			for _, kind := range []string{"hit_rate", "recall", "mrr", "ndcg"} {
				e, err := constructors[kind](&suite.Evaluator{Type: kind, K: k})
				if err != nil {
					t.Fatal(err)
				}
				j := e.Judge(c, retrieved(10, docs...))
				if j.State != evidence.Judged || j.Value < 0 || j.Value > 1 {
					t.Fatalf("%s at %d: %+v", kind, k, j)
				}
				value[kind] = j.Value
			}
			hit := value["hit_rate"] == 1
			if (value["recall"] > 0) != hit || (value["mrr"] > 0) != hit || (value["ndcg"] > 0) != hit {
				t.Fatalf("at %d: %v: all are above 0, or none", k, value)
			}
			for _, kind := range []string{"hit_rate", "recall", "mrr"} {
				if value[kind] < last[kind] {
					t.Fatalf("%s falls from %v to %v at %d", kind, last[kind], value[kind], k)
				}
			}
			last = value
		}
	})
}

// What stands behind the first k changes nothing, and a relevant candidate that
// moves up, or is found where none was, never lowers a score.
func TestRankingIsMonotone(t *testing.T) {
	kinds := []string{"hit_rate", "recall", "mrr", "ndcg", "precision_at_k", "map"}
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "docs")
		grades := map[string]float64{}
		var labels []string
		for _, doc := range []string{"a", "b", "c"} {
			grades[doc] = float64(rapid.IntRange(0, 3).Draw(t, "grade"))
			labels = append(labels, fmt.Sprintf(`{"doc_id":"%s","grade":%g}`, doc, grades[doc]))
		}
		labels = append(labels, `{"doc_id":"absent"}`) // so that every case is judged
		c := expecting(`{"relevant":[` + strings.Join(labels, ",") + `]}`)
		k := rapid.IntRange(1, 8).Draw(t, "k")
		values := func(docs []string) map[string]float64 {
			all := map[string]float64{}
			for _, kind := range kinds {
				e, err := constructors[kind](&suite.Evaluator{Type: kind, K: k})
				if err != nil {
					t.Fatal(err)
				}
				j := e.Judge(c, retrieved(8, docs...))
				if j.State != evidence.Judged || j.Value < 0 || j.Value > 1 {
					t.Fatalf("%s at %d: %+v", kind, k, j)
				}
				all[kind] = j.Value
			}
			return all
		}
		before := values(docs)
		behind := append(slices.Clone(docs[:k]), rapid.Permutation(docs[k:]).Draw(t, "behind")...)
		if after := values(behind); !maps.Equal(before, after) {
			t.Fatalf("another order behind %d gives %v, not %v", k, after, before)
		}
		at := rapid.IntRange(1, len(docs)-1).Draw(t, "at")
		if grades[docs[at]] <= grades[docs[at-1]] {
			return
		}
		up := slices.Clone(docs)
		up[at-1], up[at] = up[at], up[at-1]
		for kind, now := range values(up) {
			if now < before[kind]-1e-12 {
				t.Fatalf("%s at %d falls from %v to %v when %s moves up in %v", kind, k, before[kind], now, docs[at], docs)
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	s := set(b,
		suite.Evaluator{Type: "contains", Field: text("answer"), ExpectedField: text("answer")},
		suite.Evaluator{Type: "hit_rate", K: 2}, suite.Evaluator{Type: "recall", K: 2},
		suite.Evaluator{Type: "citation_validity", RequireCitations: true})
	c := expecting(`{"answer":"5 seats","relevant":[{"doc_id":"kb-03"}],"gold_context":[{"doc_id":"kb-03","text":"Team plans include five seats."}]}`)
	e := retrieved(6, "kb-01", "kb-03", "kb-05", "kb-07", "kb-09", "kb-11")
	e.Output = evidence.Value(`{"answer":"Team plans include five seats, and more can be added at any time.","citations":["kb-03"]}`)
	e.Artifacts.Context = []evidence.Context{{Items: []evidence.ContextItem{{DocID: "kb-01"}, {DocID: "kb-03"}}}}
	e.Artifacts.Citations = []evidence.Citations{{IDs: []string{"kb-03"}}}
	b.ReportAllocs()
	for b.Loop() {
		s.Judge(c, e)
	}
}

func BenchmarkPattern(b *testing.B) {
	p, err := compilePattern(`(?i)\bfive\b|\b5\b`)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"ascii": strings.Repeat("Team plans include seats. ", 20), "unicode": strings.Repeat("Équipe plans include seats. ", 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p.MatchString(text)
			}
		})
	}
}

package suite_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func TestDataForm(t *testing.T) {
	parse := func(dataset string) (*suite.Suite, error) {
		return suite.Parse("oloproof.yaml", []byte(complete("dataset: "+dataset+"\n")), os.ReadFile)
	}
	s, err := parse("{path: q.csv, format: csv, id: Nr, fields: {input.question: [Frage, Text], expected.relevant: {path: Docs, split: \",\"}, expected.n: {path: [a, b.c], as: number}}, qrels: q.txt}")
	if err != nil {
		t.Fatal(err)
	}
	want := &foreign.Spec{Format: "csv", ID: "Nr", Qrels: "q.txt", Fields: []foreign.Field{
		{Target: "input.question", Sources: []string{"Frage", "Text"}},
		{Target: "expected.relevant", Sources: []string{"Docs"}, Split: ","},
		{Target: "expected.n", Sources: []string{"a", "b.c"}, As: "number"},
	}}
	if diff := cmp.Diff(want, s.DataForm); diff != "" || s.Dataset != "q.csv" {
		t.Errorf("%s: %s", s.Dataset, diff)
	}
	if s, err := parse("data/cases.jsonl"); err != nil || s.DataForm != nil || s.Dataset != "data/cases.jsonl" {
		t.Errorf("a path alone: %+v, %v", s, err)
	}
	for dataset, want := range map[string]string{
		"{format: csv}":                                     "dataset.path is missing",
		"{path: q, format: raggas}":                         "did you mean ragas?",
		"{path: q, fields: {answer: x}}":                    "id, input, expected or metadata",
		"{path: q, fields: {expected.answer: 7}}":           "must be",
		"{path: q, fields: {expected.a: {as: text}}}":       "dataset.fields.expected.a.path is missing",
		"{path: q, fields: {expected.a: {path: x, as: z}}}": "must be text, number",
		"{path: q, format: csv, split: test}":               "dataset.split is for the format beir",
		"{path: q, format: trec}":                           "dataset.qrels is missing",
		"questions.csv":                                     "write dataset: {path: questions.csv}",
		"{path: q, delimiter: x}":                           "unknown key dataset.delimiter",
	} {
		if _, err := parse(dataset); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dataset, err, want)
		}
	}
}

// The page on data sets names every format and kind, and its examples load.
func TestDatasetsPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, name := range append(foreign.Formats(), foreign.Kinds...) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/datasets.md does not name %s", name)
		}
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 2 {
		t.Fatalf("docs/datasets.md has %d YAML blocks", len(blocks))
	}
	for _, block := range blocks {
		if _, err := suite.Parse("docs/datasets.md", []byte(complete(block[1])), os.ReadFile); err != nil {
			t.Errorf("%v\nin\n%s", err, block[1])
		}
	}
}

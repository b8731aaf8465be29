package mapping_test

import (
	"os"
	"testing"

	"github.com/oloproof/oloproof-go/bench/workload"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func benchmark(b *testing.B, keys string) {
	s, err := suite.Parse("oloproof.yaml", workload.MappedSuite(keys), os.ReadFile)
	if err != nil {
		b.Fatal(err)
	}
	m, document := s.System.HTTP.Mapping, evidence.Value(workload.MappedAnswer())
	c := &evidence.Case{ID: "one", Input: evidence.Value(`{"question":"How many seats?"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Map(&mapping.Documents{Main: document}, c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPath maps by one dotted path.
func BenchmarkPath(b *testing.B) {
	benchmark(b, "\n      url: http://127.0.0.1/\n      output: output.answer\n")
}

// BenchmarkFields maps output, both lists, citations and usage by paths.
func BenchmarkFields(b *testing.B) { benchmark(b, workload.MappedByFields) }

// BenchmarkJQ maps output and retrieval by expressions.
func BenchmarkJQ(b *testing.B) { benchmark(b, workload.MappedByJQ) }

// BenchmarkFill fills in a request.
func BenchmarkFill(b *testing.B) {
	h := compile(b, `
request: {path: "/chat/{{case.id}}", query: {k: "6"}, body: {query: "{{case.input.question}}", user: "gate-{{uuid}}", stream: false, options: {n: 6, tags: [a, b]}}}
output: a`)
	s := h.Sequence()
	scope := &mapping.Scope{Case: &evidence.Case{ID: "one", Input: evidence.Value(`{"question":"How many seats?"}`)}, UUID: "u", Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Main.Fill(scope); err != nil {
			b.Fatal(err)
		}
	}
}

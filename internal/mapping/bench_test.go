package mapping_test

import (
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
)

// benchAnswer is the answer of a service with six passages, about 3.5 kB.
var benchAnswer = evidence.Value(`{"id":"a1","created":1790000000,"output":{"answer":"Team plans include five seats [1][2].","context":[` +
	strings.TrimSuffix(strings.Repeat(`{"id":null,"type":"Document","metadata":{"source":"kb/plans.md","doc_id":"kb-03","chunk":7,"score":0.7312,"lang":"en"},"page_content":"`+
		strings.Repeat("Team plans include five seats. ", 10)+`"},`, 6), ",") +
	`]},"usage":{"prompt_tokens":912,"completion_tokens":31}}`)

func benchmark(b *testing.B, keys string) {
	m := compile(b, keys).Mapping
	c := &evidence.Case{ID: "one", Input: evidence.Value(`{"question":"How many seats?"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Map(&mapping.Documents{Main: benchAnswer}, c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPath maps by one dotted path.
func BenchmarkPath(b *testing.B) { benchmark(b, `output: output.answer`) }

// BenchmarkFields maps output, both lists, citations and usage by paths.
func BenchmarkFields(b *testing.B) {
	benchmark(b, `
depth: 6
ok: {path: error, absent: true}
output: output.answer
artifacts:
  retrieval/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, score: metadata.score, text: page_content}, source: context}
  context/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, text: page_content}}
  citations/v1: {markers: "[1]"}
usage: {input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens}`)
}

// BenchmarkJQ maps the same lists by expressions.
func BenchmarkJQ(b *testing.B) {
	benchmark(b, `
depth: 6
output: {jq: .output.answer}
artifacts:
  retrieval/v1: {jq: '[.output.context[] | {doc_id: (.metadata.doc_id // .metadata.source // .id), chunk_id: .metadata.chunk, score: .metadata.score, text: .page_content}]', source: context}
  citations/v1: {markers: "[1]"}`)
}

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

package workload

import "strings"

// MappedAnswer is the answer of a service of its own shape: six passages, about
// 3.5 kB.
func MappedAnswer() []byte {
	passage := `{"id":null,"type":"Document","metadata":{"source":"kb/plans.md","doc_id":"kb-03","chunk":7,"score":0.7312,"lang":"en"},"page_content":"` +
		strings.Repeat("Team plans include five seats. ", 10) + `"},`
	return []byte(`{"id":"a1","created":1790000000,"output":{"answer":"Team plans include five seats [1][2].","context":[` +
		strings.TrimSuffix(strings.Repeat(passage, 6), ",") + `]},"usage":{"prompt_tokens":912,"completion_tokens":31}}`)
}

// Mappings of that answer, as the keys of system.http.
const (
	// MappedByFields takes everything by paths and fields.
	MappedByFields = `
      url: http://127.0.0.1/
      depth: 6
      ok: {path: error, absent: true}
      output: output.answer
      artifacts:
        retrieval/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, score: metadata.score, text: page_content}, source: context}
        context/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, text: page_content}}
        citations/v1: {markers: "[1]"}
      usage: {input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens}
`
	// MappedByJQ takes output and retrieval by expressions.
	MappedByJQ = `
      url: http://127.0.0.1/
      depth: 6
      output: {jq: .output.answer}
      artifacts:
        retrieval/v1: {jq: '[.output.context[] | {doc_id: (.metadata.doc_id // .metadata.source // .id), chunk_id: .metadata.chunk, score: .metadata.score, text: .page_content}]', source: context}
        citations/v1: {markers: "[1]"}
`
)

// MappedSuite is a suite with such keys.
func MappedSuite(keys string) []byte {
	return []byte("project: p\ndataset: d.jsonl\nevaluators: [{type: contains, criterion: c}]\nsystem:\n  name: s\n  version: v\n  http:" + keys)
}

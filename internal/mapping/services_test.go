package mapping_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// services are the mappings of the bodies in testdata/endpoints/responses, as a
// suite writes them, in the simplest form that does.
var services = map[string]string{
	"anthropic_messages": `
ok: {jq: '.stop_reason != "refusal"'}
output: {jq: '[.content[] | select(.type=="text") | .text] | join("")'}
artifacts:
  citations/v1: {items: {path: content.*.citations.*}, fields: {doc_id: [source, document_title, document_index]}}`,
	"anythingllm": `
depth: 4
ok: {path: error, absent: true}
error_message: error
output: textResponse
strip: [think]
artifacts:
  retrieval/v1:
    items: sources
    fields: {doc_id: title, chunk_id: id, score: score, text: {jq: '.text | sub("^<document_metadata>(.|\n)*?</document_metadata>\n*"; "")'}}
    source: context
usage: {input_tokens: metrics.prompt_tokens, output_tokens: metrics.completion_tokens}`,
	"azure_openai_on_your_data": `
depth: 5
output: choices.0.message.content
artifacts:
  retrieval/v1:
    items: [choices.0.message.context.all_retrieved_documents, choices.0.message.context.citations]
    fields: {doc_id: [filepath, url, title], chunk_id: chunk_id, score: [rerank_score, original_search_score], text: content}
  context/v1: {items: choices.0.message.context.citations, fields: {doc_id: [filepath, url], chunk_id: chunk_id, text: content}}
  citations/v1: {markers: "[doc1]"}
usage: {input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens}`,
	"bedrock_retrieve_and_generate": `
depth: 10
ok: {path: guardrailAction, equals: [NONE, null]}
output: output.text
artifacts:
  retrieval/v1:
    source: cited
    jq: '[.citations[].retrievedReferences[] | {doc_id: (.location.s3Location.uri // .location.webLocation.url), chunk_id: .metadata["x-amz-bedrock-kb-chunk-id"], text: .content.text}] | reduce .[] as $c ([]; if any(.[]; .doc_id==$c.doc_id and .chunk_id==$c.chunk_id) then . else . + [$c] end)'
  citations/v1:
    items: citations.*.retrievedReferences
    fields: {doc_id: [location.s3Location.uri, location.webLocation.url], chunk_id: metadata.x-amz-bedrock-kb-chunk-id}`,
	"create_llama": `
depth: 2
output: text
artifacts:
  retrieval/v1: {jq: '[.annotations[] | select(.type=="sources") | .data.nodes[] | {doc_id: .metadata.file_name, chunk_id: .id, score, text}]', source: context}
  citations/v1: {markers: "[citation:ID]"}`,
	"dify": `
depth: 4
ok: {jq: '.event != "error"'}
output: answer
artifacts:
  retrieval/v1: {items: metadata.retriever_resources, fields: {doc_id: document_id, chunk_id: segment_id, score: score, text: content}, source: context}
  context/v1: {items: metadata.retriever_resources, fields: {doc_id: document_id, chunk_id: segment_id, position: position, text: content}}
usage: {input_tokens: metadata.usage.prompt_tokens, output_tokens: metadata.usage.completion_tokens, cost_usd: metadata.usage.total_price}`,
	"elastic_agent_builder": `
depth: 5
output: response.message
artifacts:
  retrieval/v1: {items: steps.*.results.*.data, fields: {doc_id: reference.id, text: content.highlights.0}, source: context}`,
	"flowise": `
depth: 4
output: text
artifacts:
  retrieval/v1: {items: sourceDocuments, fields: {doc_id: metadata.source, text: pageContent}, source: context}`,
	"gemini_grounding": `
depth: 5
output: {jq: '[.candidates[0].content.parts[].text // ""] | join("")'}
artifacts:
  retrieval/v1: {items: candidates.0.groundingMetadata.groundingChunks.*.retrievedContext, fields: {doc_id: [ragChunk.fileId, uri], chunk_id: ragChunk.chunkId, text: text}, source: context}
  citations/v1: {jq: '.candidates[0].groundingMetadata as $g | [$g.groundingSupports // [] | .[].groundingChunkIndices[] | $g.groundingChunks[.].retrievedContext | (.ragChunk.fileId // .uri)]'}
usage: {input_tokens: usageMetadata.promptTokenCount, output_tokens: usageMetadata.candidatesTokenCount}`,
	"glean_chat": `
ok: {jq: 'any(.messages[]; .messageType=="ERROR") | not'}
output: {jq: '[.messages[] | select(.author=="GLEAN_AI" and .messageType=="CONTENT") | .fragments[]? | .text // empty] | join("")'}
artifacts:
  citations/v1: {items: messages.*.citations.*.sourceDocument, fields: {doc_id: id}}`,
	"hayhooks": `
depth: 5
output: result.replies.0
artifacts:
  retrieval/v1: {items: result.documents, fields: {doc_id: [meta.source_id, id], chunk_id: meta.split_id, score: score, text: content}, source: context}
  context/v1: {items: result.documents, fields: {doc_id: [meta.source_id, id], chunk_id: meta.split_id, text: content}}`,
	"langgraph": `
depth: 5
ok: {path: __error__, absent: true}
error_message: __error__.message
output: {jq: '[.messages[] | select(.type=="ai")] | last | .content | if type=="array" then map(.text // "") | join("") else . end'}
artifacts:
  retrieval/v1: {jq: '[.messages[] | select(.type=="tool" and .name=="search_kb") | .content | fromjson | .[]]', source: context}
  citations/v1: {markers: {regex: '\[(kb-[0-9]+)\]', ids: true}, of: retrieval/v1}`,
	"langserve": `
depth: 4
output: output.answer
artifacts:
  retrieval/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, text: page_content}, source: context}
  context/v1: {items: output.context, fields: {doc_id: [metadata.doc_id, metadata.source, id], chunk_id: metadata.chunk, text: page_content}}`,
	"llama_deploy": `
depth: 2
output: {jq: '.result | fromjson | .answer'}
artifacts:
  retrieval/v1: {jq: '[.result | fromjson | .source_nodes[] | {doc_id: .node.metadata.file_name, chunk_id: .node.id_, score, text: .node.text}]', source: context}`,
	"open_webui": `
depth: 5
output: choices.0.message.content
artifacts:
  retrieval/v1: {jq: '[.sources[] | [.document, .metadata, (.distances // [])] | transpose[] | select(.[0] != null) | {doc_id: .[1].file_id, chunk_id: .[1].start_index, score: .[2], text: .[0]}]', source: context}
  citations/v1: {markers: "[1]", distinct: true}`,
	"openai_responses_file_search": `
depth: 10
ok: {path: status, equals: completed}
error_message: error.message
output: {jq: '[.output[] | select(.type=="message") | .content[] | select(.type=="output_text") | .text] | join("")'}
artifacts:
  retrieval/v1: {items: output.*.results, fields: {doc_id: file_id, score: score, text: text}}
  citations/v1: {jq: '[.output[] | select(.type=="message") | .content[].annotations // [] | .[] | select(.type=="file_citation") | .file_id] | unique'}
usage: {input_tokens: usage.input_tokens, output_tokens: usage.output_tokens}`,
	"opensearch_rag": `
depth: 10
ok: {jq: '(.timed_out | not) and ._shards.failed == 0'}
error_message: _shards.failures.0.reason.reason
output: ext.retrieval_augmented_generation.answer
artifacts:
  retrieval/v1: {items: hits.hits, fields: {doc_id: [_source.doc, _id], chunk_id: _id, score: _score, text: _source.text}}`,
	"pinecone_assistant_chat": `
ok: {path: finish_reason, equals: stop}
output: message.content
artifacts:
  citations/v1: {items: citations.*.references.*.file, fields: {doc_id: id}}`,
	"private_gpt": `
depth: 5
output: {jq: '[.content[] | select(.type=="text") | .text] | join("")'}
artifacts:
  retrieval/v1: {items: content.*.sources, fields: {doc_id: document.artifact, chunk_id: id, score: score, text: text}, source: context}
  citations/v1: {items: content.*.citations, fields: {doc_id: artifact_id, chunk_id: source_id}}`,
	"private_gpt_legacy": `
depth: 5
output: choices.0.message.content
artifacts:
  retrieval/v1: {items: choices.0.sources, fields: {doc_id: document.doc_id, score: score, text: text}, source: context}
  context/v1:
    items: choices.0.sources
    fields: {doc_id: document.doc_id, text: {jq: '(.previous_texts // []) + [.text] + (.next_texts // []) | join("\n")'}}`,
	"quivr": `
depth: 5
output: assistant
artifacts:
  retrieval/v1: {items: metadata.sources, fields: {doc_id: metadata.file_name, chunk_id: metadata.chunk_index, text: page_content}, source: context}
  citations/v1: {jq: '[.metadata.citations[] as $i | .metadata.sources[$i].metadata | "\(.file_name)#\(.chunk_index)"]'}`,
	"vertex_ai_search_answer": `
depth: 10
ok: {path: answer.answerSkippedReasons, absent: true}
output: answer.answerText
artifacts:
  retrieval/v1:
    items: answer.steps.*.actions.*.observation.searchResults
    fields: {doc_id: {path: document, cut: last_segment}, text: snippetInfo.0.snippet}
  context/v1:
    items: answer.references
    fields:
      doc_id: {path: [chunkInfo.documentMetadata.document, unstructuredDocumentInfo.document, structuredDocumentInfo.document], cut: last_segment}
      text: [chunkInfo.content, unstructuredDocumentInfo.chunkContents.0.content]
  citations/v1:
    jq: '.answer.references as $r | [.answer.citations[]?.sources[] | (.referenceId // "0") | tonumber | $r[.] | select(. != null) | (.chunkInfo.documentMetadata.document // .unstructuredDocumentInfo.document) | split("/") | last] | unique'`,
	"bedrock_retrieve": `
depth: 10
artifacts:
  retrieval/v1:
    items: retrievalResults
    fields: {doc_id: [location.s3Location.uri, location.webLocation.url, documentId], chunk_id: metadata.x-amz-bedrock-kb-chunk-id, score: score, text: content.text}`,
	"pinecone_assistant_context": `
depth: 10
artifacts:
  retrieval/v1: {items: snippets, fields: {doc_id: reference.file.id, score: score, text: content}}`,
	"azure_ai_agents_run_steps": `
depth: 10
artifacts:
  retrieval/v1:
    items: data.*.step_details.tool_calls.*.file_search.results
    fields: {doc_id: file_id, score: score, text: content.0.text}`,
	"azure_ai_agents_messages": `
output: {jq: '[.data[] | select(.role=="assistant")] | first | [.content[] | select(.type=="text") | .text.value] | join("")'}
strip: [{regex: '【[^】]*】'}]
artifacts:
  citations/v1: {items: data.0.content.*.text.annotations.*.file_citation, fields: {doc_id: file_id}}`,
	"verba": `
depth: 10
ok: {path: error, equals: ""}
error_message: error
artifacts:
  retrieval/v1: {jq: '[.documents[] as $d | $d.chunks[] | {doc_id: $d.uuid, chunk_id, score}] | sort_by(-.score)'}`,
	"verba_error":              `{ok: {path: error, equals: ""}, error_message: error}`,
	"langgraph_error":          `{ok: {path: __error__, absent: true}, error_message: __error__.message}`,
	"vertex_ai_search_skipped": `{ok: {path: answer.answerSkippedReasons, absent: true}, output: answer.answerText}`,
}

// compile reads the keys of system.http.
func compile(t testing.TB, keys string) *suite.HTTP {
	t.Helper()
	if !strings.HasPrefix(keys, "{") {
		keys = "\n      " + strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n      ") + "\n      url: http://service/\n"
	} else {
		keys = " " + strings.TrimSuffix(keys, "}") + ", url: http://service/}\n"
	}
	text := "project: p\ndataset: d.jsonl\nevaluators: [{type: contains, criterion: c}]\nsystem:\n  name: s\n  version: v\n  http:" + keys
	s, err := suite.Parse("oloproof.yaml", []byte(text), os.ReadFile)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	if s.System.HTTP.Mapping == nil {
		t.Fatalf("no mapping in\n%s", text)
	}
	return s.System.HTTP
}

// TestServices maps the body of each service by the keys of a suite and
// compares with what testdata/endpoints/mappings.json says must come out.
func TestServices(t *testing.T) {
	data, err := os.ReadFile("../../testdata/endpoints/mappings.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]struct {
		Result struct {
			Answer       *string          `json:"answer"`
			OK           *bool            `json:"ok"`
			Candidates   []map[string]any `json:"candidates"`
			ContextItems []map[string]any `json:"context_items"`
			CitationIDs  []string         `json:"citation_ids"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			keys, ok := services[name]
			if !ok {
				t.Fatal("no mapping here")
			}
			body, err := os.ReadFile(filepath.Join("../../testdata/endpoints/responses", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			document, err := evidence.ParseJSON(body)
			if err != nil {
				t.Fatal(err)
			}
			h := compile(t, keys)
			docs := &mapping.Documents{Main: document}
			c := &evidence.Case{ID: "one", Input: evidence.Value(`{"question":"q"}`)}
			if bad := want.Result.OK != nil && !*want.Result.OK; bad != (h.Mapping.Check(docs) != nil) {
				t.Errorf("Check = %v, but ok is %v", h.Mapping.Check(docs), !bad)
			}
			if strings.Contains(keys, "ok:") && h.Mapping.Check(docs) != nil {
				h.Spec.OK = nil // so that the rest is seen
				m, problems := mapping.Compile(h.Spec, nil)
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				h.Mapping = m
			}
			if name == "langgraph_error" || name == "vertex_ai_search_skipped" || name == "verba_error" {
				return // no answer: what else is in them does not matter
			}
			r, err := h.Mapping.Map(docs, c)
			if err != nil {
				t.Fatal(err)
			}
			if want.Result.Answer != nil {
				if text, _ := evidence.Text(r.Output); text != *want.Result.Answer {
					t.Errorf("answer %q, want %q", text, *want.Result.Answer)
				}
			}
			var candidates []map[string]any
			for _, x := range r.Artifacts.Retrieval {
				candidates = passages(t, evidence.AppendArtifacts(nil, &evidence.Artifacts{Retrieval: []evidence.Retrieval{x}}), "retrieval/v1", "candidates")
			}
			if len(want.Result.Candidates) > 0 {
				if diff := cmp.Diff(normal(want.Result.Candidates), normal(candidates)); diff != "" {
					t.Error("candidates:", diff)
				}
			}
			if len(want.Result.ContextItems) > 0 && strings.Contains(keys, "context/v1") {
				items := passages(t, evidence.AppendArtifacts(nil, &evidence.Artifacts{Context: r.Artifacts.Context}), "context/v1", "items")
				for i := range items {
					delete(items[i], "chunk_id")
					delete(items[i], "tokens")
					delete(items[i], "position")
				}
				for i := range want.Result.ContextItems {
					delete(want.Result.ContextItems[i], "position")
				}
				if diff := cmp.Diff(normal(want.Result.ContextItems), normal(items)); diff != "" {
					t.Error("context items:", diff)
				}
			}
			if len(want.Result.CitationIDs) > 0 {
				var ids []string
				for _, id := range r.Artifacts.Citations[0].IDs {
					if len(ids) == 0 || ids[len(ids)-1] != id {
						ids = append(ids, id)
					}
				}
				if name == "bedrock_retrieve_and_generate" || name == "open_webui" { // ids that say more, or again
					ids = ids[:len(want.Result.CitationIDs)]
				}
				if name == "langgraph" || name == "create_llama" || len(ids) > 0 {
					if diff := cmp.Diff(want.Result.CitationIDs, ids); diff != "" {
						t.Error("citations:", diff)
					}
				}
			}
		})
	}
}

// passages returns the list of the one artifact of a kind.
func passages(t *testing.T, artifacts []byte, kind, list string) []map[string]any {
	t.Helper()
	var all map[string][]map[string]any
	if err := json.Unmarshal(artifacts, &all); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	raw, _ := json.Marshal(all[kind][0][list])
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// normal leaves out what is null.
func normal(all []map[string]any) []map[string]any {
	for _, one := range all {
		for k, v := range one {
			if v == nil {
				delete(one, k)
			}
		}
	}
	return all
}

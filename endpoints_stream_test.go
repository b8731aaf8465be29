package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/suite"
)

// streamPresets names the preset of the service that a stream comes from.
var streamPresets = map[string]string{
	"anthropic.sse": "anthropic", "anythingllm.sse": "anythingllm", "azure_openai_on_your_data.sse": "azure_openai_on_your_data",
	"create_llama_vercel.txt": "create_llama", "dify.sse": "dify", "dify_error_mid_stream.sse": "dify", "flowise.sse": "flowise", "glean.ndjson": "glean",
	"cohere.sse": "cohere", "gemini.sse": "gemini", "lightrag.ndjson": "lightrag", "pinecone.sse": "pinecone_chat", "ragflow.sse": "ragflow",
	"langserve.sse": "langserve", "open_webui.sse": "open_webui", "openai_responses.sse": "openai_responses", "truncated_openai_no_done.sse": "open_webui",
}

// A stream gives what the body gives, or says why it is no whole answer.
func TestEndpointStreams(t *testing.T) {
	typed(t)
	type expectedStream struct {
		Answer      string
		State       string
		Sources     int
		FirstSource *string `json:"first_source"`
		Documents   []string
		Citations   []string
	}
	streams := map[string]expectedStream{}
	readTestdata(t, &streams, "streams/expected.json")
	stripped := regexp.MustCompile(`(?s)<think>.*?</think>|\n\n### References.*`)
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		want := streams[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, err := suite.OpenPreset(streamPresets[name])
			if err != nil {
				t.Fatal(err)
			}
			kind := "text/event-stream; charset=utf-8"
			switch name { // as these services label them
			case "glean.ndjson", "create_llama_vercel.txt":
				kind = "text/plain; charset=utf-8"
			case "lightrag.ndjson":
				kind = "application/x-ndjson"
			}
			p := newEndpoint(t, streamPresets[name], known.Streaming+"\nlimits: {retries: 0}\n", "{type: contains, criterion: answer, expected_field: answer}", replies{"": {kind: kind, body: readBytes(t, "streams/"+name)}, "/context": {body: []byte(`{"snippets": []}`)}})
			got, code, out := p.run()
			if want.State != "complete" {
				if got.Execution.Status != "error" || code != 2 || !strings.Contains(out, strings.TrimPrefix(want.State, "error: ")) && want.State != "truncated" {
					t.Errorf("status %s, exit code %d, want %s\n%s", got.Execution.Status, code, want.State, out)
				}
				return
			}
			if got.Execution.Error != nil || len(got.Execution.Output) == 0 {
				t.Fatalf("%+v\n%s", got.Execution.Error, out)
			}
			var output string
			if err := json.Unmarshal(got.Execution.Output, &output); err != nil || output != stripped.ReplaceAllString(want.Answer, "") {
				t.Errorf("output %s, want %q", got.Execution.Output, want.Answer)
			}
			var docs []string
			for _, r := range got.Artifacts.Retrieval {
				for _, c := range r.Candidates {
					docs = append(docs, c.DocID)
				}
			}
			if len(docs) != want.Sources || want.FirstSource != nil && docs[0] != *want.FirstSource || want.Documents != nil && !slices.Equal(docs, want.Documents) {
				t.Errorf("documents %q, want %d", docs, want.Sources)
			}
			if want.Citations != nil && (len(got.Artifacts.Citations) != 1 || !slices.Equal(got.Artifacts.Citations[0].IDs, want.Citations)) {
				t.Errorf("citations %v, want %q", got.Artifacts.Citations, want.Citations)
			}
		})
	}
}

// What a service answers in place of an answer is an errored case that says
// what the service said.
func TestEndpointErrors(t *testing.T) {
	typed(t)
	all := map[string]json.RawMessage{}
	readTestdata(t, &all, "errors.json")
	delete(all, "comment")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var failed struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
		if err := json.Unmarshal(all[name], &failed); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := []byte(failed.Body)
			var raw string
			if json.Unmarshal(failed.Body, &raw) == nil {
				body = []byte(raw)
			}
			preset, more := errorPreset(name)
			if known, err := suite.OpenPreset(preset); err != nil {
				t.Fatal(err)
			} else if strings.Contains(name, "stream") {
				more += known.Streaming + "\n"
			}
			header := maps.Clone(failed.Headers)
			kind := header["content-type"]
			delete(header, "content-type")
			p := newEndpoint(t, preset, more+"limits: {retries: 0}\n", "{type: contains, criterion: answer, expected_field: answer}", replies{"": {status: failed.Status, kind: kind, header: header, body: body}})
			got, code, out := p.run()
			if got.Execution.Status != "error" || code != 2 {
				t.Fatalf("status %s, exit code %d\n%s", got.Execution.Status, code, out)
			}
			if want := errorWords(body); !strings.Contains(out, want) {
				t.Errorf("the error does not hold %q:\n%s", want, out)
			}
			if failed.Status != 200 && !strings.Contains(out, fmt.Sprint(failed.Status)) {
				t.Errorf("the error does not hold the status %d:\n%s", failed.Status, out)
			}
		})
	}
}

// errorPreset is the preset of the service that an error comes from.
func errorPreset(name string) (preset, more string) {
	word, _, _ := strings.Cut(name, " ")
	of := map[string]string{
		"fastapi_validation": "langserve", "fastapi_http_exception": "hayhooks", "langserve_mid_stream": "langserve", "langgraph_run_error": "langgraph",
		"dify": "dify", "dify_mid_stream": "dify", "anythingllm": "anythingllm", "verba": "verba", "openai": "openai_responses", "openai_responses_failed": "openai_responses",
		"azure_openai": "azure_openai_on_your_data", "azure_content_filter": "azure_openai_on_your_data", "anthropic": "anthropic", "aws": "bedrock_retrieve",
		"google": "gemini", "pinecone": "pinecone_context", "opensearch": "opensearch",
	}
	if preset := of[word]; preset != "" {
		return preset, ""
	}
	return "langserve", "" // a gateway's page, a login
}

// errorWords is what an error must repeat of what the service said.
func errorWords(body []byte) string {
	for _, word := range []string{
		"Field required", "Pipeline 'faq' not found", "Internal Server Error", "index not loaded", "Too many concurrent requests", "quota", "connect ECONNREFUSED", "Query failed",
		"Rate limit reached", "The vector store took too long", "Requests have exceeded", "The prompt was filtered", "Overloaded", "Your request rate is too high",
		"Quota exceeded", "Assistant faq not found", "all shards failed", "502 Bad Gateway", "Sign in",
	} {
		if bytes.Contains(body, []byte(word)) {
			return word
		}
	}
	return "nothing is known of this error"
}

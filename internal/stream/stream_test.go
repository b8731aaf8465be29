package stream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stream"
)

// streams are synthetic; the names of their fields are those of the services'
// public documentation. See testdata/endpoints/README.md.
const streams = "../../testdata/endpoints/streams"

// fixtures says how each stream is put together, and where its answer, its
// sources and the ids of its citations then stand.
var fixtures = map[string]struct {
	assemble, answer, sources, first string
	citation                         string
	error                            string // path of the message, where it is not told
}{
	"langserve.sse":                 {"langserve", "output.answer", "output.context", "metadata.source", "", ""},
	"dify.sse":                      {"dify", "answer", "metadata.retriever_resources", "document_id", "", ""},
	"dify_error_mid_stream.sse":     {"dify", "answer", "", "", "", ""},
	"flowise.sse":                   {"flowise", "text", "sourceDocuments", "metadata.source", "", ""},
	"anythingllm.sse":               {"anythingllm", "textResponse", "sources", "title", "", ""},
	"open_webui.sse":                {"openai", "choices.0.message.content", "sources", "metadata.0.file_id", "", ""},
	"azure_openai_on_your_data.sse": {"openai", "choices.0.message.content", "choices.0.message.context.citations", "filepath", "", ""},
	"truncated_openai_no_done.sse":  {"openai", "", "", "", "", ""},
	"anthropic.sse":                 {"anthropic", "content.0.text", "", "", "content.0.citations.0.source", ""},
	"openai_responses.sse":          {"openai_responses", "output.1.content.0.text", "", "", "", ""},
	"glean.ndjson":                  {"glean", "messages.1.fragments", "", "", "messages.1.fragments.2.citation.sourceDocument.id", ""},
	"cohere.sse":                    {"cohere", "message.content.1.text", "", "", "message.citations.0.sources.0.id", ""},
	"gemini.sse":                    {"gemini", "candidates.0.content.parts", "candidates.0.groundingMetadata.groundingChunks", "retrievedContext.title", "", ""},
	"lightrag.ndjson":               {"lightrag", "response", "references", "file_path", "", ""},
	"pinecone.sse":                  {"pinecone", "message.content", "", "", "citations.0.references.0.file.id", ""},
	"ragflow.sse":                   {"ragflow", "data.answer", "data.reference.chunks", "document_id", "", ""},
	"create_llama_vercel.txt":       {"vercel", "text", "annotations.1.data.nodes", "metadata.file_name", "", ""},
}

type expected struct {
	Answer    string
	State     string
	Sources   int
	First     *string `json:"first_source"`
	Citations []string
}

// readers cut a stream into reads as a network may.
var readers = map[string]func(string) io.Reader{
	"at once":      func(s string) io.Reader { return strings.NewReader(s) },
	"byte by byte": func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
	"data and end": func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) },
	"half":         func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) },
}

// TestFixtures puts every stream together and compares with what an independent
// assembler made of it.
func TestFixtures(t *testing.T) {
	var want map[string]expected
	data, err := os.ReadFile(filepath.Join(streams, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(fixtures) {
		t.Fatalf("%d streams are expected, %d have a test", len(want), len(fixtures))
	}
	for name, want := range want {
		f := fixtures[name]
		body, err := os.ReadFile(filepath.Join(streams, name))
		if err != nil {
			t.Fatal(err)
		}
		for how, reader := range readers {
			t.Run(name+" "+how, func(t *testing.T) {
				first := 0
				got, err := stream.Read(reader(string(body)), stream.Options{Assemble: f.assemble}, func() { first++ })
				if first != 1 {
					t.Errorf("first text %d times, want once", first)
				}
				var truncated *stream.TruncatedError
				var told *stream.ServiceError
				switch {
				case want.State == "truncated":
					if !errors.As(err, &truncated) || got != nil {
						t.Fatalf("Read = %s, %v, want a truncated stream", got, err)
					}
					return
				case strings.HasPrefix(want.State, "error: "):
					if !errors.As(err, &told) || "error: "+told.Message != want.State {
						t.Fatalf("Read = %s, %v, want %q", got, err, want.State)
					}
					return
				case err != nil:
					t.Fatal(err)
				}
				check(t, got, f.answer, want.Answer)
				if f.sources != "" {
					if n := count(t, got, f.sources); n != want.Sources {
						t.Errorf("%d sources, want %d", n, want.Sources)
					}
					check(t, got, f.sources+".0."+f.first, *want.First)
				}
				if f.citation != "" {
					check(t, got, f.citation, want.Citations[0])
				}
			})
		}
	}
}

func lookup(t *testing.T, v evidence.Value, path string) evidence.Value {
	t.Helper()
	found, err := evidence.Lookup(v, path)
	if err != nil {
		t.Fatalf("%v in %s", err, v)
	}
	return found
}

// check compares the text at a path; of a list, the joined texts of its items.
func check(t *testing.T, v evidence.Value, path, want string) {
	t.Helper()
	found := lookup(t, v, path)
	got, ok := evidence.Text(found)
	for item := range evidence.Elements(found) {
		part, _ := evidence.Member(item, "text")
		s, _ := evidence.Text(part)
		got, ok = got+s, true
	}
	if !ok || got != want {
		t.Errorf("at %s: %s, want %q", path, found, want)
	}
}

func count(t *testing.T, v evidence.Value, path string) (n int) {
	t.Helper()
	for range evidence.Elements(lookup(t, v, path)) {
		n++
	}
	return n
}

func read(s string, o stream.Options) string {
	v, err := stream.Read(strings.NewReader(s), o, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return compact(v)
}

func compact(v evidence.Value) string {
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return err.Error()
	}
	return string(v)
}

// TestFrames: what the line ends and the layout of a stream may be.
func TestFrames(t *testing.T) {
	collect := stream.Options{Assemble: "collect", Done: &stream.Done{EOF: true}}
	lines, ndjson := collect, collect
	lines.Format, ndjson.Format = stream.Lines, stream.NDJSON
	tests := []struct {
		name, body string
		o          stream.Options
		want       string
	}{
		{"LF", "data: 1\n\ndata: 2\n\n", collect, `[{"event":null,"data":1},{"event":null,"data":2}]`},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", collect, `[{"event":"a","data":1},{"event":null,"data":2}]`},
		{"CR", "data: 1\r\rdata: 2\r\r", collect, `[{"event":null,"data":1},{"event":null,"data":2}]`},
		{"no space, only one space", "data:1\n\ndata:  \"x\"\n\n", collect, `[{"event":null,"data":1},{"event":null,"data":"x"}]`},
		{"multi-line data", "data: [1,\ndata: 2]\n\n", collect, `[{"event":null,"data":[1,2]}]`},
		{"text", "data: a\ndata: b\n\n", collect, `[{"event":null,"data":"a\nb"}]`},
		{"comments, ids and unknown fields", ": hi\n\nid: 7\nretry: 5\nmessage:\ndata: 1\n:\n\n", collect, `[{"event":null,"data":1}]`},
		{"byte order mark", "\ufeffdata: 1\n\n", collect, `[{"event":null,"data":1}]`},
		{"empty events", "\n\n\ndata: 1\n\n\n\n", collect, `[{"event":null,"data":1}]`},
		{"event without data", "event: ping\n\ndata: 1\n\n", collect, `[{"event":"ping","data":null},{"event":null,"data":1}]`},
		{"last frame without a blank line", "data: 1\n\ndata: 2\n", collect, "error: a stream that ended after 1 frame without its end signal"},
		{"cut frame", "data: 1\n\ndata: {\"a\": 1", collect, "error: a stream that ended after 1 frame without its end signal"},
		{"numbers keep their digits", "data: {\"b\": 50000000014435121, \"a\": 1.50}\n\n", collect, `[{"event":null,"data":{"b":50000000014435121,"a":1.50}}]`},
		{"nothing", "", collect, "error: a stream without a whole frame"},
		{"white space", "\n \r\n", collect, "error: a stream without a whole frame"},

		{"lines of JSON", "{\"a\":1}\n\n [2]\r\n", ndjson, `[{"a":1},[2]]`},
		{"last line without its end", "{\"a\":1}\n{\"a\":2}", ndjson, `[{"a":1},{"a":2}]`},
		{"cut line", "{\"a\":1}\n{\"a\":", ndjson, "error: a stream that ended after 1 frame without its end signal"},
		{"byte order mark before a line", "\ufeff{\"a\":1}\n", ndjson, `[{"a":1}]`},
		{"no lines of JSON", "data: {}\n\n", ndjson, "error: a stream that is no lines of JSON: is its format sse or lines?"},

		{"prefixes", "0:\"a\"\nd:{\"x\":1}\n", lines, `[{"prefix":"0","data":"a"},{"prefix":"d","data":{"x":1}}]`},
		{"line without prefix", "no prefix here\n", lines, `[{"prefix":null,"data":"no prefix here"}]`},
		{"last line without its end is no text", "0:\"a\"\n0:\"b\"", lines, "error: a stream that ended after 1 frame without its end signal"},

		{"HTML", "<!doctype html><title>Sign in</title>", collect, "error: HTML or XML where a stream was expected"},
		{"a document", `{"a": 1}`, collect, "error: one JSON document where a stream was expected: does the request ask for a stream?"},
		{"lines of JSON under another name", "{\"a\":1}\n{\"a\":2}\n", collect, "error: lines of JSON: is the format of the stream ndjson?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, reader := range readers {
				v, err := stream.Read(reader(tt.body), tt.o, nil)
				got := compact(v)
				if err != nil {
					got = "error: " + err.Error()
				}
				if got != tt.want {
					t.Errorf("%s: got %s\nwant %s", how, got, tt.want)
				}
			}
		})
	}
}

// TestServices: what fixtures do not show.
func TestServices(t *testing.T) {
	data := func(frames ...string) string { return "data: " + strings.Join(frames, "\n\ndata: ") + "\n\n" }
	tests := []struct {
		name, assemble, body, want string
	}{
		{"openai: finish without [DONE]", "openai", data(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
			`{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`},
		{"openai: neither", "openai", data(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`), "error: a stream that ended after 1 frame without its end signal"},
		{"openai: [DONE] without its blank line", "openai", data(`{"choices":[{"delta":{"content":"a"}}]}`) + "data: [DONE]", `{"choices":[{"message":{"content":"a"}}]}`},
		{"openai: usage in a frame without choices, null content, two choices", "openai",
			data(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}`, `{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"total_tokens":3}}`, `[DONE]`, `not read`),
			`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"}}],"usage":{"total_tokens":3}}`},
		{"openai: a whole answer", "openai", `{"choices":[{"message":{"content":"a"}}]}`, `{"choices":[{"message":{"content":"a"}}]}`},
		{"openai: an error inside a whole answer", "openai", `{"error":{"message":"no credit","code":"insufficient_quota"}}`, "error: no credit (insufficient_quota)"},
		{"openai: an error frame", "openai", data(`{"error":{"message":"overloaded","type":"server_error"}}`), "error: overloaded (server_error)"},
		{"openai: index out of order", "openai", data(`{"choices":[{"index":7,"delta":{"content":"a"}}]}`), "error: frame 1 has the index 7, want one from 0 to 0"},
		{"openai: no JSON", "openai", data(`{"choices":[`), `error: frame 1 is not valid JSON, the JSON value ends too early (at byte 12): "{\"choices\":["`},
		{"responses: output by its items", "openai_responses", data(`{"type":"response.output_item.done","output_index":0,"item":{"id":"m"}}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`),
			`{"status":"completed","output":[{"id":"m"}]}`},
		{"responses: failed", "openai_responses", data(`{"type":"response.failed","response":{"status":"failed","error":{"code":"vector_store_timeout","message":"The vector store took too long"}}}`),
			"error: The vector store took too long (vector_store_timeout)"},
		{"anthropic: overloaded", "anthropic", "event: error\n" + data(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "error: Overloaded (overloaded_error)"},
		{"anthropic: source block", "anthropic",
			data(`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"source","sources":[{"id":"c"}]}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`),
			`{"id":"m","content":[{"type":"source","sources":[{"id":"c"}]},{"type":"text","text":"a"}],"usage":{"input_tokens":7,"output_tokens":2},"stop_reason":"end_turn"}`},
		{"langserve: text", "langserve", "event: data\ndata: \"a\"\n\nevent: data\ndata: \"b\"\n\nevent: end\n\n", `{"output":"ab","metadata":{}}`},
		{"langserve: message chunks", "langserve", "event: data\n" + data(`{"type":"AIMessageChunk","content":"a","id":"r"}`) + "event: data\n" + data(`{"type":"AIMessageChunk","content":"b","id":"r"}`) + "event: end\n\n",
			`{"output":{"type":"AIMessageChunk","content":"ab","id":"r"},"metadata":{}}`},
		{"langserve: error", "langserve", "event: error\r\ndata: {\"status_code\": 500, \"message\": \"Internal Server Error\"}\r\n\r\n", "error: Internal Server Error"},
		{"langgraph: last state", "langgraph", "event: metadata\ndata: {}\n\nevent: values\ndata: {\"messages\":[1]}\n\nevent: values\ndata: {\"messages\":[1,2]}\n\nevent: end\ndata: null\n\n", `{"messages":[1,2]}`},
		{"langgraph: messages", "langgraph", "event: messages/partial\ndata: [{\"id\":\"a\",\"type\":\"ai\",\"content\":\"x\"}]\n\nevent: messages/partial\ndata: [{\"id\":\"a\",\"type\":\"ai\",\"content\":\"xy\"}]\n\nevent: end\n\n", `{"messages":[{"id":"a","type":"ai","content":"xy"}]}`},
		{"langgraph: error", "langgraph", "event: error\ndata: {\"error\":\"ValueError\",\"message\":\"index not loaded\"}\n\n", "error: index not loaded"},
		{"dify: replaced", "dify", data(`{"event":"message","answer":"bad"}`, `{"event":"message_replace","answer":"good"}`, `{"event":"message_end","metadata":{}}`), `{"event":"message","answer":"good","metadata":{}}`},
		{"dify: workflow", "dify", data(`{"event":"workflow_started"}`, `{"event":"text_chunk","data":{"text":"a"}}`, `{"event":"workflow_finished","data":{"status":"succeeded","outputs":{"x":"a"}}}`), `{"data":{"status":"succeeded","outputs":{"x":"a"}}}`},
		{"anythingllm: abort", "anythingllm", data(`{"type":"abort","textResponse":null,"error":"connect ECONNREFUSED","close":true}`), "error: connect ECONNREFUSED"},
		{"flowise: error", "flowise", "message:\n" + data(`{"event":"token","data":"a"}`, `{"event":"error","data":"index missing"}`), "error: index missing"},
		{"flowise: aborted", "flowise", "message:\n" + data(`{"event":"token","data":"a"}`, `{"event":"abort","data":"[DONE]"}`, `{"event":"end","data":"[DONE]"}`), "error: the stream was aborted"},
		{"glean: more fragments to come", "glean", `{"messages":[{"messageType":"CONTENT","messageId":"m","hasMoreFragments":true,"fragments":[{"text":"a"}]}]}` + "\n", "error: a stream that ended after 1 frame without its end signal"},
		{"vercel: error", "vercel", "0:\"a\"\n3:\"model gone\"\n", "error: model gone"},
		{"vercel: finish", "vercel", "0:\"a\"\nd:{\"finishReason\":\"stop\"}\n", `{"text":"a","finishReason":"stop"}`},
		{"vercel ui", "vercel_ui", data(`{"type":"start"}`, `{"type":"data-sources","data":{"nodes":[]}}`, `{"type":"text-delta","id":"1","delta":"a"}`, `{"type":"finish"}`, `[DONE]`), `{"annotations":[{"type":"sources","data":{"nodes":[]}}],"text":"a"}`},
		{"ragflow: cumulative", "ragflow", data(`{"code":0,"data":{"answer":"a","reference":{}}}`, `{"code":0,"data":{"answer":"a b","reference":{"chunks":[1]}}}`, `{"code":0,"data":true}`), `{"code":0,"data":{"answer":"a b","reference":{"chunks":[1]}}}`},
		{"ragflow: the final frame has the whole answer", "ragflow", data(`{"code":0,"data":{"answer":"Nothing ","final":false}}`, `{"code":0,"data":{"answer":"Nothing was found.","reference":{"chunks":[]},"final":true}}`, `{"code":0,"data":true}`),
			`{"code":0,"data":{"answer":"Nothing was found.","reference":{"chunks":[]}}}`},
		{"ragflow: no final frame", "ragflow", data(`{"code":0,"data":{"answer":"a","final":false}}`, `{"code":0,"data":{"answer":"b","final":false}}`, `{"code":0,"data":true}`), `{"code":0,"data":{"answer":"ab"}}`},
		{"ragflow: an error is no end", "ragflow", data(`{"code":0,"data":{"answer":"a","final":false}}`, `{"code":500,"message":"model gone","data":{"answer":"**ERROR**: model gone"}}`, `{"code":0,"data":true}`), "error: model gone (500)"},
		{"ragflow: code", "ragflow", data(`{"code":102,"message":"You don't own the chat"}`), "error: You don't own the chat (102)"},
		{"cohere", "cohere", data(`{"type":"message-start","id":"i","delta":{"message":{"role":"assistant","content":[]}}}`, `{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`,
			`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"a"}}}}`, `{"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"sources":[{"id":"d"}]}}}}`, `{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}`),
			`{"id":"i","message":{"role":"assistant","content":[{"type":"text","text":"a"}],"citations":[{"start":0,"sources":[{"id":"d"}]}]},"finish_reason":"COMPLETE"}`},
		{"gemini", "gemini", data(`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"modelVersion":"g"}`),
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],"modelVersion":"g"}`},
		{"pinecone", "pinecone", data(`{"type":"message_start","id":"i","role":"assistant"}`, `{"type":"content_chunk","id":"i","delta":{"content":"a"}}`, `{"type":"citation","citation":{"position":1}}`, `{"type":"message_end","finish_reason":"stop"}`),
			`{"id":"i","message":{"role":"assistant","content":"a"},"citations":[{"position":1}],"finish_reason":"stop"}`},
		{"lightrag", "lightrag", "{\"references\":[{\"id\":\"1\"}]}\n{\"response\":\"a\"}\n{\"response\":\"b\"}\n", `{"references":[{"id":"1"}],"response":"ab"}`},
		{"lightrag: error", "lightrag", "{\"response\":\"a\"}\n{\"error\":\"timeout\"}\n", "error: timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(tt.body, stream.Options{Assemble: tt.assemble}); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestOptions: the generic assemblers, the end signal and the error's place.
func TestOptions(t *testing.T) {
	done := func(d stream.Done) *stream.Done { return &d }
	body := "data: {\"t\":{\"x\":\"a\"},\"n\":1}\n\ndata: {\"t\":{\"x\":\"b\"},\"n\":2}\n\n"
	tests := []struct {
		name, body string
		o          stream.Options
		want       string
	}{
		{"append", body + "data: [DONE]\n\n", stream.Options{Assemble: "append", Text: "t.x"}, `{"t":{"x":"b"},"n":2,"text":"ab"}`},
		{"cumulative", body + "data: {\"n\":3}\n\n", stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{EOF: true})}, `{"t":{"x":"b"},"n":2}`},
		{"done by path", body + "data: rubbish", stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{Path: "n", Equals: evidence.Value("2")})}, `{"t":{"x":"b"},"n":2}`},
		{"done by truth", body + "data: {\"last\":true}\n\ndata: rubbish", stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{Path: "last"})}, `{"t":{"x":"b"},"n":2}`},
		{"done by text", body + "data: bye\n\ndata: rubbish", stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{Text: "bye"})}, `{"t":{"x":"b"},"n":2}`},
		{"done by event", body + "event: bye\n\ndata: rubbish", stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{Text: "bye"})}, `{"t":{"x":"b"},"n":2}`},
		{"done does not come", body, stream.Options{Assemble: "cumulative", Text: "t.x", Done: done(stream.Done{Text: "bye"})}, "error: a stream that ended after 2 frames without its end signal"},
		{"done replaces the assembler's", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", stream.Options{Assemble: "openai", Done: done(stream.Done{Text: "[END]"})}, "error: a stream that ended after 1 frame without its end signal"},
		{"error by path", "data: {\"oops\":{\"text\":\"no index\"}}\n\n", stream.Options{Assemble: "append", Text: "t", Error: "oops.text"}, "error: no index"},
		{"error by path only", "data: {\"error\":\"a word of the answer\",\"t\":\"a\"}\n\ndata: [DONE]\n\n", stream.Options{Assemble: "append", Text: "t", Error: "oops"}, `{"error":"a word of the answer","t":"a","text":"a"}`},
		{"another format", "{\"t\":\"a\"}\n{\"t\":\"b\"}\n", stream.Options{Assemble: "append", Format: stream.NDJSON, Text: "t", Done: done(stream.Done{EOF: true})}, `{"t":"b","text":"ab"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(tt.body, tt.o); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestLargeFrames: a frame may be far above 64 KiB, up to the cap.
func TestLargeFrames(t *testing.T) {
	for _, format := range []stream.Format{stream.SSE, stream.NDJSON, stream.Lines} {
		prefix := map[stream.Format]string{stream.SSE: "data: ", stream.Lines: "0:"}[format]
		o := stream.Options{Assemble: "append", Format: format, Text: "t", Done: &stream.Done{EOF: true}, MaxFrame: 1 << 20}
		for _, size := range []int{64<<10 - 10, 64 << 10, 64<<10 + 1, 300 << 10} {
			body := fmt.Sprintf("%s{\"t\":%q}\n\n", prefix, strings.Repeat("a", size))
			v, err := stream.Read(iotest.HalfReader(strings.NewReader(body)), o, nil)
			if err != nil {
				t.Fatalf("%s of %d: %v", format, size, err)
			}
			if s, _ := evidence.Text(lookup(t, v, "text")); len(s) != size {
				t.Errorf("%s: %d bytes, want %d", format, len(s), size)
			}
		}
		var fault *stream.FrameError
		body := prefix + `{"t":"` + strings.Repeat("a", 2<<20)
		if _, err := stream.Read(strings.NewReader(body), o, nil); !errors.As(err, &fault) || !fault.TooLarge {
			t.Errorf("%s: %v, want a frame over the limit", format, err)
		}
	}
	// many lines of one event count together
	body := strings.Repeat("data: "+strings.Repeat("a", 1<<10)+"\n", 2<<10) + "\n"
	var fault *stream.FrameError
	if _, err := stream.Read(strings.NewReader(body), stream.Options{Assemble: "collect", MaxFrame: 1 << 20}, nil); !errors.As(err, &fault) || !fault.TooLarge {
		t.Errorf("%v, want a frame over the limit", err)
	}
}

// TestManyKeys: an object with very many keys, or very many messages, costs what it
// weighs. Squares would take minutes.
func TestManyKeys(t *testing.T) {
	const n = 100_000
	var keys, messages, glean strings.Builder
	for i := range n {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
		fmt.Fprintf(&messages, `{"id":"%d"},`, i)
		fmt.Fprintf(&glean, `{"messageId":"%d","messageType":"CONTENT"},`, i)
	}
	for _, tt := range []struct{ assemble, body string }{
		{"append", "data: {" + keys.String() + "\"t\":\"a\"}\n\ndata: [DONE]\n\n"},
		{"openai", "data: {\"choices\":[{\"delta\":{" + keys.String() + "\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"},
		{"langserve", "event: data\ndata: {\"answer\":\"a\"}\n\nevent: data\ndata: {" + keys.String() + "\"answer\":\"b\"}\n\nevent: end\n\n"},
		{"langgraph", "event: messages/partial\ndata: [" + messages.String() + "{}]\n\nevent: end\n\n"},
		{"glean", `{"messages":[` + glean.String() + "{}]}\n"},
	} {
		if _, err := stream.Read(strings.NewReader(tt.body), stream.Options{Assemble: tt.assemble, Text: "t"}, nil); err != nil {
			t.Errorf("%s: %v", tt.assemble, err)
		}
	}
}

// TestBrokenBody: an error of the body is handed on.
func TestBrokenBody(t *testing.T) {
	broken := errors.New("reset")
	for _, body := range []string{"", "da", "data: 1\n\n", "data: {}\n\ndata: {"} {
		_, err := stream.Read(io.MultiReader(strings.NewReader(body), iotest.ErrReader(broken)), stream.Options{Assemble: "openai"}, nil)
		if !errors.Is(err, broken) {
			t.Errorf("%q: %v, want that of the body", body, err)
		}
	}
}

// TestEndsAtTheSignal: nothing is read behind the end signal, so a service that
// keeps its connection open holds nobody.
func TestEndsAtTheSignal(t *testing.T) {
	for name, f := range fixtures {
		switch name {
		case "glean.ndjson", "gemini.sse", "lightrag.ndjson", "create_llama_vercel.txt", "dify_error_mid_stream.sse", "truncated_openai_no_done.sse":
			continue // these end with the body
		}
		body, err := os.ReadFile(filepath.Join(streams, name))
		if err != nil {
			t.Fatal(err)
		}
		open := io.MultiReader(strings.NewReader(string(body)), iotest.ErrReader(errors.New("read on")))
		if _, err := stream.Read(open, stream.Options{Assemble: f.assemble}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead: whatever comes, the result is valid JSON or an error, and does not
// depend on how the network cuts it.
func FuzzRead(f *testing.F) {
	for name := range fixtures {
		body, err := os.ReadFile(filepath.Join(streams, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Add("\ufeffdata: 1\r\rdata: {\"a\":\ndata: 1}\n\nevent: x\n\n: c\ndata: [DONE]")
	kinds := stream.Kinds()
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range kinds {
			for _, o := range []stream.Options{
				{Assemble: kind.Name, Text: "answer", MaxFrame: 1 << 10},
				{Assemble: kind.Name, Text: "answer", MaxFrame: 1 << 10, Done: &stream.Done{EOF: true}},
			} {
				v, err := stream.Read(strings.NewReader(body), o, nil)
				w, err2 := stream.Read(iotest.OneByteReader(strings.NewReader(body)), o, nil)
				if string(v) != string(w) || fmt.Sprint(err) != fmt.Sprint(err2) {
					t.Fatalf("%s: %s, %v at once; %s, %v byte by byte", kind.Name, v, err, w, err2)
				}
				if err == nil && !v.IsValid() {
					t.Fatalf("%s: %q is no JSON", kind.Name, v)
				}
			}
		}
	})
}

// TestPageNamesEveryAssembler asks that docs/endpoints.md has the row of each.
func TestPageNamesEveryAssembler(t *testing.T) {
	page, err := os.ReadFile("../../docs/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range stream.Kinds() {
		if row := fmt.Sprintf("| `%s` | `%s` | %s |\n", k.Name, k.Format, k.Doc); !strings.Contains(string(page), row) {
			t.Errorf("docs/endpoints.md has no row %s", row)
		}
		if got, ok := stream.KindOf(k.Name); !ok || got.Doc != k.Doc {
			t.Errorf("%s stands twice", k.Name)
		}
	}
}

package probe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

type expectedStream struct {
	Answer      string
	State       string
	Sources     int
	FirstSource *string  `json:"first_source"`
	Documents   []string // where they are several
	Citations   []string
}

func readStreams(t *testing.T) map[string]expectedStream {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(endpoints, "streams", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]expectedStream
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func readStream(t *testing.T, name string) *Stream {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(endpoints, "streams", name))
	if err != nil {
		t.Fatal(err)
	}
	return ReadStream(raw, FormatOf(raw), "", []string{question})
}

// The format and the assembler of a stream are found by what comes of it.
func TestReadStream(t *testing.T) {
	for name, want := range map[string]string{
		"anthropic.sse":                 "sse anthropic",
		"anythingllm.sse":               "sse anythingllm",
		"azure_openai_on_your_data.sse": "sse openai",
		"create_llama_vercel.txt":       "lines vercel",
		"dify.sse":                      "sse dify",
		"flowise.sse":                   "sse flowise",
		"glean.ndjson":                  "ndjson glean",
		"langserve.sse":                 "sse langserve",
		"open_webui.sse":                "sse openai",
		"openai_responses.sse":          "sse openai_responses",
		"cohere.sse":                    "sse cohere",
		"gemini.sse":                    "sse gemini",
		"lightrag.ndjson":               "ndjson lightrag",
		"pinecone.sse":                  "sse pinecone",
		"ragflow.sse":                   "sse ragflow",
	} {
		s := readStream(t, name)
		if got := string(s.Format) + " " + s.Assemble; got != want || s.Document == nil || s.Truncated || s.Fault != "" {
			t.Errorf("%s: %s, truncated %v, fault %q; want %s", name, got, s.Truncated, s.Fault, want)
		}
	}
	if s := readStream(t, "dify_error_mid_stream.sse"); s.Fault == "" {
		t.Error("an error in a frame is not told")
	}
	if s := readStream(t, "truncated_openai_no_done.sse"); !s.Truncated {
		t.Error("a stream without its end is not told")
	}
}

// A stream of no known service is put together by the text of its frames.
func TestUnknownStream(t *testing.T) {
	for _, c := range []struct{ raw, assemble, text, done, want string }{
		{"data: {\"piece\": {\"token\": \"Two \"}}\n\ndata: {\"piece\": {\"token\": \"years of it.\"}}\n\ndata: [DONE]\n\n", "append", "piece.token", "", "Two years of it."},
		{"{\"reply\": \"Two\"}\n{\"reply\": \"Two years\"}\n{\"reply\": \"Two years of it.\"}\n", "cumulative", "reply", "eof", "Two years of it."},
		// A word that tells the kind of a frame is no piece of an answer, and that of the last frame ends it.
		{"{\"kind\":\"piece\",\"chunk\":\"Two \"}\n{\"kind\":\"piece\",\"chunk\":\"years \"}\n{\"kind\":\"piece\",\"chunk\":\"of it.\"}\n{\"kind\":\"wrapup\",\"refs\":[{\"key\":\"a\",\"body\":\"Two years.\"}]}\n",
			"append", "chunk", `kind is "wrapup"`, "Two years of it."},
		{"{\"event\":\"first\",\"token\":\"Two \"}\n{\"event\":\"second\",\"token\":\"years \"}\n{\"event\":\"third\",\"token\":\"of it.\"}\n", "append", "token", "eof", "Two years of it."},
	} {
		raw := []byte(c.raw)
		s := ReadStream(raw, FormatOf(raw), "", nil)
		done := s.Done
		if s.Equals != nil {
			done += " is " + string(s.Equals)
		}
		if s.Assemble != c.assemble || s.Text != c.text || done != c.done {
			t.Errorf("%s: %s of %q until %q, want %s of %q until %q", c.raw, s.Assemble, s.Text, done, c.assemble, c.text, c.done)
			continue
		}
		if p := Propose(s.Document, nil); p.Answer == nil || p.Answer.Text != c.want {
			t.Errorf("%s: answer %+v of %s", c.raw, p.Answer, s.Document)
		}
	}
}

func FuzzPropose(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(endpoints, "*", "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if format := FormatOf(data); format != "" {
			if s := ReadStream(data, format, "", []string{question}); s.Document != nil {
				Propose(s.Document, []string{question}).YAML(s)
			}
		}
		v, err := evidence.ParseJSON(data)
		if err != nil || len(v) == 0 {
			return
		}
		p := Propose(v, []string{question})
		p.YAML(nil)
		// What is proposed can be run.
		answerOf(t, p, v)
		docsOf(t, p, v)
	})
}

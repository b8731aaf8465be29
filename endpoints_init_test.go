package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/suite"
)

// bodyOf is a body of testdata/endpoints for each preset whose name it has not.
var bodyOf = map[string]string{
	"anthropic": "anthropic_messages", "glean": "glean_chat", "gemini": "gemini_grounding", "openai_responses": "openai_responses_file_search",
	"pinecone_chat": "pinecone_assistant_chat", "pinecone_context": "pinecone_assistant_context", "vertex_answer": "vertex_ai_search_answer",
}

// What init writes for a preset works for its service: check reads it, calls,
// and shows what was mapped. Nothing passes before the cases are the user's.
func TestInitPreset(t *testing.T) {
	typed(t)
	all, err := suite.Presets()
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range all {
		t.Run(known.Name, func(t *testing.T) {
			t.Parallel()
			body := bodyOf[known.Name]
			if body == "" {
				body = known.Name
			}
			answers := replies{}
			switch known.Name {
			case "opensearch": // the body of the fixture has a failed shard
				answers[""] = reply{body: bytes.Replace(readBytes(t, "responses/opensearch_rag.json"), []byte(`"failed": 1`), []byte(`"failed": 0`), 1)}
			case "azure_ai_agents":
				answers = azureRun(t)
			default:
				answers[""] = reply{body: readBytes(t, "responses/"+body+".json")}
			}
			switch known.Name {
			case "quivr":
				answers["/chat"] = reply{body: []byte(`{"chat_id": "11d3"}`)}
			case "pinecone_chat":
				answers["/context"] = reply{body: readBytes(t, "responses/pinecone_assistant_context.json")}
			case "open_webui", "create_llama": // these only stream
				kind, name := "text/event-stream", "streams/open_webui.sse"
				if known.Name == "create_llama" {
					kind, name = "text/plain", "streams/create_llama_vercel.txt"
				}
				answers[""] = reply{kind: kind, body: readBytes(t, name)}
			}
			p := newEndpoint(t, known.Name, "", "{type: contains, criterion: answer}", answers)
			do := func(words ...string) (string, int) {
				cmd := exec.Command("oloproof", words...)
				cmd.Dir, cmd.Env = p.dir, p.env
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				_ = cmd.Run()
				return out.String(), cmd.ProcessState.ExitCode()
			}
			out, code := do("init", "--preset", known.Name, "--url", p.url+"/service", "mine")
			if code != 0 || !strings.Contains(out, "Next: oloproof check --config mine/oloproof.yaml") {
				t.Fatalf("init: exit code %d\n%s", code, out)
			}
			out, code = do("check", "--config", "mine/oloproof.yaml", "--case", "question_1")
			if code != 0 || !strings.Contains(out, "execution: OK") || !strings.Contains(out, "Next: oloproof run") {
				t.Errorf("check: exit code %d\n%s\n%s", code, out, p.calls())
			}
			if !strings.Contains(p.calls(), "Write question 1 here") {
				t.Errorf("the question was not sent:\n%s", p.calls())
			}
			if out, code = do("run", "--config", "mine/oloproof.yaml"); code == 0 {
				t.Errorf("a suite that nobody has filled in passes:\n%s", out)
			}
			if out, code = do("init", "--preset", known.Name, "mine"); code != 2 || !strings.Contains(out, "already") {
				t.Errorf("init again: exit code %d\n%s", code, out)
			}
			if known.Streaming != "" {
				if out, code = do("init", "--preset", known.Name, "--stream", "--url", p.url+"/service", "streams"); code != 0 {
					t.Errorf("init --stream: exit code %d\n%s", code, out)
				}
			}
		})
	}
}

// The table of presets in docs/endpoints.md: what each gives, and what it was
// tried on.
func TestPresetTable(t *testing.T) {
	all, err := suite.Presets()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string][]string{}
	var bodies, more map[string]expectedBody
	readTestdata(t, &bodies, "mappings.json")
	readTestdata(t, &more, "more.json")
	maps.Copy(bodies, more)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		preset := presetOf[name]
		if preset == "" {
			preset = name
		}
		tried[preset] = append(tried[preset], "`"+bodies[name].File+"`")
	}
	for _, name := range slices.Sorted(maps.Keys(streamPresets)) {
		tried[streamPresets[name]] = append(tried[streamPresets[name]], "`"+name+"`")
	}
	var b strings.Builder
	b.WriteString("| preset | service | answer | retrieval/v1 is | also | stream | tried on |\n|---|---|---|---|---|---|---|\n")
	for _, p := range all {
		text := "project: p\ndataset: c\nsystem:\n  name: s\n  version: \"1\"\n  http: {preset: " + p.Name + ", url: \"http://h.test/\"}\nevaluators:\n  - {type: contains, criterion: a}\n"
		s, err := suite.Parse("table", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, retrieval, streams := "yes", "not there", "no"
		var also []string
		if v := s.System.HTTP.Spec.Output.Value; v.Type == "list" || p.Name == "verba" {
			answer = "no"
		}
		for _, a := range s.System.HTTP.Artifacts {
			switch a.Kind {
			case "retrieval/v1":
				retrieval = map[string]string{"retrieval": "what was found", "context": "the context", "cited": "what is cited"}[a.Mapped.Source]
			default:
				name, _, _ := strings.Cut(a.Kind, "/")
				also = append(also, name)
			}
		}
		switch {
		case s.System.HTTP.Stream != nil:
			streams = "always"
		case p.Streaming != "":
			streams = "can"
		}
		if len(tried[p.Name]) == 0 {
			t.Errorf("the preset %s is tried on nothing", p.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", p.Name, p.About, answer, retrieval, strings.Join(also, ", "), streams, strings.Join(tried[p.Name], ", "))
	}
	const page, begin, end = "docs/endpoints.md", "<!-- presets: written by a test -->\n", "<!-- /presets -->\n"
	before, rest, found := strings.Cut(readFile(t, page), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table of presets", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+"\n"+b.String()+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.TrimSpace(b.String()), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s, presets (-want +got); run with -update:\n%s", page, diff)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/suite"
)

// Bodies, streams and errors of deployed services, see testdata/endpoints/README.md:
// each goes through the program by the preset of its service.

const batteryQuestion = "How long is the battery warranty?"

// candidate is an element of retrieval/v1, in a mapping's result and in a run.
type candidate struct {
	DocID   string   `json:"doc_id"`
	ChunkID *string  `json:"chunk_id"`
	Score   *float64 `json:"score"`
	Text    *string  `json:"text"`
}

// expectedBody is what a mapping must make of a body.
type expectedBody struct {
	File   string
	Result struct {
		OK           *bool
		Answer       *string
		Candidates   []candidate
		CitationIDs  []string    `json:"citation_ids"`
		ContextItems []candidate `json:"context_items"`
	}
}

func readTestdata(t *testing.T, into any, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/endpoints", filepath.FromSlash(name)))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readBytes(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/endpoints", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// presetOf names the preset of the service that a body comes from.
var presetOf = map[string]string{
	"anthropic_messages":           "anthropic",
	"azure_ai_agents_messages":     "azure_ai_agents",
	"azure_ai_agents_run_steps":    "azure_ai_agents",
	"glean_chat":                   "glean",
	"gemini_grounding":             "gemini",
	"langgraph_error":              "langgraph",
	"openai_responses_file_search": "openai_responses",
	"opensearch_rag":               "opensearch",
	"pinecone_assistant_chat":      "pinecone_chat",
	"pinecone_assistant_context":   "pinecone_context",
	"verba_error":                  "verba",
	"vertex_ai_search_answer":      "vertex_answer",
	"vertex_ai_search_skipped":     "vertex_answer",
}

// replies are the answers of a service by the end of the path; "" is any path.
type replies map[string]reply

type reply struct {
	status int
	kind   string
	header map[string]string
	body   []byte
}

// project is a suite of one case for a preset, and the service that it calls.
type endpoint struct {
	t       *testing.T
	dir     string
	url     string
	env     []string
	preset  *suite.Preset
	replies replies

	mu       sync.Mutex
	requests []string
}

func (p *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path+" "+string(body))
	p.mu.Unlock()
	answer := p.replies[""]
	longest := -1
	for end, a := range p.replies {
		if strings.HasSuffix(r.URL.Path, end) && len(end) > longest {
			answer, longest = a, len(end)
		}
	}
	kind := answer.kind
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	for name, value := range answer.header {
		w.Header().Set(name, value)
	}
	if answer.status != 0 {
		w.WriteHeader(answer.status)
	}
	_, _ = w.Write(answer.body)
}

// calls are the methods and paths that were called.
func (p *endpoint) calls() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.requests, "\n")
}

// newEndpoint writes the suite: the preset, the URL of a service that gives the
// replies, and more keys over the preset.
func newEndpoint(t *testing.T, preset, more string, evaluator string, answers replies) *endpoint {
	t.Helper()
	known, err := suite.OpenPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	p := &endpoint{t: t, dir: t.TempDir(), preset: known, replies: answers}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	p.env = append(os.Environ(), "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "HOME="+p.dir)
	for _, m := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(known.HTTP, -1) {
		p.env = append(p.env, m[1]+"=value-of-"+m[1])
	}
	lines := "project: endpoints\ndataset: cases.jsonl\nsystem:\n  name: service\n  version: \"1\"\n  http:\n    preset: " + preset + "\n    url: " + server.URL + "/service\n"
	for line := range strings.Lines(more) {
		lines += "    " + strings.TrimRight(line, "\n") + "\n"
	}
	lines += "evaluators:\n  - " + evaluator + "\n"
	p.file("oloproof.yaml", lines)
	p.file("cases.jsonl", `{"id":"battery","input":{"question":"`+batteryQuestion+`","documents":[{"id":"kb-102","data":{"title":"Warranty"}}]},"expected":{"answer":"24 Mon","relevant":[{"doc_id":"kb-102"}]}}`+"\n")
	return p
}

func (p *endpoint) file(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// ran is what is stored of a case.
type ran struct {
	Execution struct {
		Status string
		Output json.RawMessage
		Error  *struct{ Kind, Message string }
	}
	Artifacts struct {
		Retrieval []struct{ Candidates []candidate } `json:"retrieval/v1"`
		Context   []struct{ Items []candidate }      `json:"context/v1"`
		Citations []struct{ IDs []string }           `json:"citations/v1"`
	}
}

// run runs the suite and returns what is stored of its case.
func (p *endpoint) run() (ran, int, string) {
	p.t.Helper()
	cmd := exec.Command("oloproof", "run")
	cmd.Dir, cmd.Env = p.dir, p.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	var r ran
	found, _ := filepath.Glob(filepath.Join(p.dir, ".oloproof/runs/*/cases.jsonl"))
	if len(found) == 0 && strings.Contains(out.String(), "no case was answered") {
		r.Execution.Status = "error"
		return r, cmd.ProcessState.ExitCode(), out.String()
	}
	if len(found) != 1 {
		p.t.Fatalf("%d stored runs\n%s\n%s", len(found), out.String(), p.calls())
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		p.t.Fatalf("%v\n%s\n%s", err, data, out.String())
	}
	return r, cmd.ProcessState.ExitCode(), out.String()
}

// texts is a list of candidates as lines, a field per part.
func texts(list []candidate) []string {
	lines := []string{}
	for _, c := range list {
		score, chunk, text := "-", "-", "-"
		if c.Score != nil {
			score = fmt.Sprint(*c.Score)
		}
		if c.ChunkID != nil {
			chunk = *c.ChunkID
		}
		if c.Text != nil {
			text = *c.Text
		}
		lines = append(lines, strings.Join([]string{c.DocID, chunk, score, text}, " | "))
	}
	return lines
}

// contextTexts is a list of items of a context, without what some mappings leave out.
func contextTexts(list []candidate) []string {
	for i := range list {
		list[i].ChunkID, list[i].Score = nil, nil
	}
	return texts(list)
}

// azureRun is a run of an agent, then its messages and steps.
func azureRun(t *testing.T) replies {
	return replies{
		"/threads/runs":      {body: []byte(`{"id": "run_1", "object": "thread.run", "thread_id": "thread_1", "status": "queued"}`)},
		"/runs/run_1":        {body: []byte(`{"id": "run_1", "object": "thread.run", "thread_id": "thread_1", "status": "completed"}`)},
		"/thread_1/messages": {body: readBytes(t, "responses/azure_ai_agents_messages.json")},
		"/runs/run_1/steps":  {body: readBytes(t, "responses/azure_ai_agents_run_steps.json")},
	}
}

func TestEndpointBodies(t *testing.T) {
	typed(t)
	bodies := map[string]expectedBody{}
	readTestdata(t, &bodies, "mappings.json")
	more := map[string]expectedBody{}
	readTestdata(t, &more, "more.json")
	maps.Copy(bodies, more)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		want := bodies[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preset := presetOf[name]
			if preset == "" {
				preset = name
			}
			answers := replies{"": {body: readBytes(t, "responses/"+want.File)}}
			moreKeys := ""
			switch preset {
			case "quivr":
				answers["/chat"] = reply{body: []byte(`{"chat_id": "11d3"}`)}
			case "pinecone_chat": // with what it retrieves for the same question
				answers["/context"] = reply{body: readBytes(t, "responses/pinecone_assistant_context.json")}
				want.Result.Candidates = bodies["pinecone_assistant_context"].Result.Candidates
			case "azure_ai_agents": // a run, then its messages and steps
				answers = azureRun(t)
				moreKeys = "poll: {interval_s: 0.001}\n"
				messages, steps := bodies["azure_ai_agents_messages"].Result, bodies["azure_ai_agents_run_steps"].Result
				want.Result.Answer, want.Result.CitationIDs, want.Result.Candidates = messages.Answer, messages.CitationIDs, steps.Candidates
			}
			p := newEndpoint(t, preset, moreKeys, "{type: contains, criterion: answer, expected_field: answer, on_execution_error: fail}", answers)
			got, code, out := p.run()
			if !strings.Contains(p.calls(), batteryQuestion) || strings.Contains(p.calls(), "{{") {
				t.Errorf("the question was not sent:\n%s", p.calls())
			}
			if want.Result.OK != nil && !*want.Result.OK {
				if got.Execution.Status != "error" || code != 2 || !strings.Contains(out, "that system.http.ok finds") {
					t.Errorf("status %s, exit code %d, want an errored case\n%s", got.Execution.Status, code, out)
				}
				return
			}
			if got.Execution.Error != nil {
				t.Fatalf("%s: %s", got.Execution.Error.Kind, got.Execution.Error.Message)
			}
			var output string
			if want.Result.Answer != nil {
				if err := json.Unmarshal(got.Execution.Output, &output); err != nil || output != *want.Result.Answer {
					t.Errorf("output %s, want %q", got.Execution.Output, *want.Result.Answer)
				}
			}
			var candidates []candidate
			for _, r := range got.Artifacts.Retrieval {
				candidates = append(candidates, r.Candidates...)
			}
			if diff := cmp.Diff(texts(want.Result.Candidates), texts(candidates)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			var items []candidate
			for _, c := range got.Artifacts.Context {
				items = append(items, c.Items...)
			}
			if want.Result.ContextItems != nil {
				if diff := cmp.Diff(contextTexts(want.Result.ContextItems), contextTexts(items)); diff != "" {
					t.Errorf("context (-want +got):\n%s", diff)
				}
			}
			var cited []string
			for _, c := range got.Artifacts.Citations {
				cited = append(cited, c.IDs...)
			}
			if want.Result.CitationIDs != nil {
				if diff := cmp.Diff(want.Result.CitationIDs, cited); diff != "" {
					t.Errorf("citations (-want +got):\n%s", diff)
				}
			}
		})
	}
}

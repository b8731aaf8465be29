package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/examples"
	"github.com/oloproof/oloproof-go/internal/demo"
)

// speak returns what the program answers to lines, its hello first.
func speak(t *testing.T, lines ...string) []string {
	t.Helper()
	project, _ := examples.Open("support_rag")
	var out bytes.Buffer
	opt := demo.Options{Dir: project, In: strings.NewReader(strings.Join(lines, "\n")), Out: &out}
	if err := demo.Speak(t.Context(), "support_rag", opt); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestStages(t *testing.T) {
	const passage = `{"doc_id":"seats","chunk_id":null,"score":3,"text":"The Workshop plan includes five seats."}`
	got := speak(t,
		`{"id":7,"method":"retrieve","case":"extra_seat","params":{"input":{"question":"What does an extra seat cost?"},"depth":1}}`,
		`{"id":8,"method":"retrieve","params":{"input":{"question":"Money?"},"depth":6}}`,
		``,
		`{"id":9,"method":"generate","params":{"input":{"question":"How many seats?"},"passages":[`+passage+`]}}`,
		`{"id":10,"method":"generate","params":{"input":{"question":"How many seats?"},"passages":[]}}`,
		`{"id":11,"method":"count_tokens","params":{"passage":`+passage+`}}`,
		`{"id":12,"method":"count_tokens","params":{"passage":{"doc_id":"x","text":null}}}`,
		`{"id":13,"method":"rerank","params":{"input":{},"candidates":[{"doc_id":"a","text":"two words"},{"doc_id":"b","text":"one"},{"doc_id":"c","text":"two more"}]}}`,
		`{"id":14,"method":"sing","params":{}}`,
	)
	want := []string{
		`{"hello":{"methods":["retrieve","generate","count_tokens","rerank"],"protocol":1}}`,
		`{"id":7,"result":{"query":"What does an extra seat cost?","depth":1,"candidates":[{"doc_id":"seats","score":3,"text":"The Workshop plan includes five seats. Each extra seat costs 9 euros a month from the day it is added."}]}}`,
		`{"id":8,"result":{"query":"Money?","depth":6,"candidates":[]}}`,
		`{"id":9,"result":{"answer":"The Workshop plan includes five seats.","citations":["seats"]}}`,
		`{"id":10,"result":{"answer":"Sorry, the help centre has nothing about that.","citations":[]}}`,
		`{"id":11,"result":6}`,
		`{"id":12,"result":0}`,
		`{"id":13,"result":[{"doc_id":"b","text":"one"},{"doc_id":"a","text":"two words"},{"doc_id":"c","text":"two more"}]}`,
		`{"id":14,"error":"no method \"sing\""}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The staged program and the service are one application: put together, the
// stages answer the labelled cases as the service does.
func TestStagesAnswerAsTheService(t *testing.T) {
	var asked []string
	cases := readCases(t, "support_rag")
	for i, c := range cases {
		asked = append(asked, fmt.Sprintf(`{"id":%d,"method":"retrieve","params":{"input":%s,"depth":6}}`, i+1, c.Input))
	}
	handler, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range speak(t, asked...)[1:] {
		var a answer
		if err := json.Unmarshal(post(handler, "application/json", string(cases[i].Input)).Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(a.Evidence.Retrieval)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Result any }
		var service any
		if json.Unmarshal([]byte(line), &got) != nil || json.Unmarshal(want, &service) != nil {
			t.Fatalf("%s\n%s", line, want)
		}
		if diff := cmp.Diff(service, got.Result); diff != "" {
			t.Errorf("%s (-service +program):\n%s", cases[i].ID, diff)
		}
	}
}

func readCases(t *testing.T, name string) []exampleCase {
	t.Helper()
	project, _ := examples.Open(name)
	f, err := project.Open("data/support.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []exampleCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c exampleCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) != 13 {
		t.Fatalf("%d cases, want 13", len(cases))
	}
	return cases
}

func TestSpeakFails(t *testing.T) {
	corpus := fstest.MapFS{"data/corpus.jsonl": {Data: []byte(`{"id":"a","text":"b"}`)}}
	for want, opt := range map[string]demo.Options{
		"no directory":      {},
		"data/corpus.jsonl": {Dir: fstest.MapFS{}},
		"no JSON object":    {Dir: corpus, In: strings.NewReader("what?\n"), Out: io.Discard},
		"broken pipe":       {Dir: corpus, In: strings.NewReader(""), Out: brokenPipe{}},
		"cannot read":       {Dir: corpus, In: brokenPipe{}, Out: io.Discard},
	} {
		if err := demo.Speak(t.Context(), "support_rag", opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
	if err := demo.Speak(t.Context(), "blackbox_rag", demo.Options{}); !errors.Is(err, demo.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (brokenPipe) Read([]byte) (int, error)  { return 0, errors.New("cannot read") }

// An interrupted program ends, although its input is still open.
func TestSpeakIsInterrupted(t *testing.T) {
	project, _ := examples.Open("support_rag")
	in, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := demo.Speak(ctx, "support_rag", demo.Options{Dir: project, In: in, Out: io.Discard}); err != nil {
		t.Error(err)
	}
}

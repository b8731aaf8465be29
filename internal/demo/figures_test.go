package demo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/examples"
	"github.com/oloproof/oloproof-go/internal/demo"
)

type exampleCase struct {
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input"`
	Expected struct {
		Answer      string `json:"answer"`
		Relevant    []label
		GoldContext []gold `json:"gold_context"`
	} `json:"expected"`
	Metadata struct {
		Topic string `json:"topic"`
	} `json:"metadata"`
}

type label struct {
	DocID string `json:"doc_id"`
}

type gold struct {
	DocID string `json:"doc_id"`
	Text  string `json:"text"`
}

// answer is what a client reads of the service's response.
type answer struct {
	Result struct {
		Answer    string   `json:"answer"`
		Citations []string `json:"citations"`
	} `json:"result"`
	Evidence struct {
		Retrieval struct {
			Query      string `json:"query"`
			Depth      int    `json:"depth"`
			Candidates []struct {
				DocID string   `json:"doc_id"`
				Score *float64 `json:"score"`
				Text  string   `json:"text"`
			} `json:"candidates"`
		} `json:"retrieval"`
		Context struct {
			Items []struct {
				DocID    string `json:"doc_id"`
				Position int    `json:"position"`
				Tokens   int    `json:"tokens"`
				Text     string `json:"text"`
			} `json:"items"`
			Dropped []struct {
				DocID    string `json:"doc_id"`
				Position int    `json:"position"`
				Tokens   *int   `json:"tokens"`
				Reason   string `json:"reason"`
			} `json:"dropped"`
			TokenBudget int    `json:"token_budget"`
			Source      string `json:"source"`
		} `json:"context"`
		Citations struct {
			IDs []string `json:"ids"`
		} `json:"citations"`
	} `json:"evidence"`
}

// outcome is one case and what came of it.
type outcome struct {
	exampleCase
	answer
	body string // the response as sent
}

func (o *outcome) correct() bool  { return strings.Contains(o.Result.Answer, o.Expected.Answer) }
func (o *outcome) labelled() bool { return len(o.Expected.Relevant) > 0 }

// hit is the hit rate at 2 for the one relevant passage of a labelled case;
// with one relevant passage the recall at 2 is the same.
func (o *outcome) hit() bool {
	found := o.Evidence.Retrieval.Candidates
	for _, c := range found[:min(2, len(found))] {
		if c.DocID == o.Expected.Relevant[0].DocID {
			return true
		}
	}
	return false
}

func (o *outcome) cited() bool {
	var inPrompt []string
	for _, item := range o.Evidence.Context.Items {
		inPrompt = append(inPrompt, item.DocID)
	}
	for _, id := range o.Evidence.Citations.IDs {
		if !slices.Contains(inPrompt, id) {
			return false
		}
	}
	return len(o.Evidence.Citations.IDs) > 0
}

func (o *outcome) droppedFor(reason string) []string {
	var ids []string
	for _, d := range o.Evidence.Context.Dropped {
		if d.Reason == reason {
			ids = append(ids, d.DocID)
		}
	}
	return ids
}

func openExample(t *testing.T) fs.FS {
	t.Helper()
	project, ok := examples.Open("blackbox_rag")
	if !ok {
		t.Fatal("there is no example blackbox_rag")
	}
	return project
}

// readLines decodes a file of one JSON object a line, unknown keys refused.
func readLines[T any](t *testing.T, project fs.FS, name string) []T {
	t.Helper()
	data, err := fs.ReadFile(project, name)
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		var v T
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, v)
	}
	return list
}

// runExample asks the service every case of the data set.
func runExample(t *testing.T, opt demo.Options) []outcome {
	t.Helper()
	handler, err := demo.Handler("blackbox_rag", opt)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []outcome
	for _, c := range readLines[exampleCase](t, openExample(t), "data/support.jsonl") {
		response := post(handler, "application/json", string(c.Input))
		if response.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", c.ID, response.Code, response.Body)
		}
		o := outcome{exampleCase: c, body: response.Body.String()}
		dec := json.NewDecoder(strings.NewReader(o.body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o.answer); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

func post(handler http.Handler, contentType, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/answer", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// failing returns the ids of the cases that fail a check, and how many cases
// the check covers.
func failing(outcomes []outcome, covers, passes func(*outcome) bool) (ids []string, covered int) {
	for i := range outcomes {
		o := &outcomes[i]
		if !covers(o) {
			continue
		}
		covered++
		if !passes(o) {
			ids = append(ids, o.ID)
		}
	}
	return ids, covered
}

func every(*outcome) bool { return true }

func TestFigures(t *testing.T) {
	billing := func(o *outcome) bool { return o.Metadata.Topic == "billing" }
	tests := []struct {
		name    string
		opt     demo.Options
		covers  func(*outcome) bool
		passes  func(*outcome) bool
		covered int
		failing []string // in the order of the data set
	}{
		{"answers", demo.Options{}, every, (*outcome).correct, 15, []string{"refund_review", "money_back", "security_review", "seat_count"}},
		{"hits", demo.Options{}, (*outcome).labelled, (*outcome).hit, 13, []string{"money_back"}},
		{"citations", demo.Options{}, every, (*outcome).cited, 15, []string{"money_back"}},
		{"answers on billing", demo.Options{}, billing, (*outcome).correct, 8, []string{"refund_review", "money_back", "seat_count"}},
		{"expanded: answers", demo.Options{ExpandQuery: true}, every, (*outcome).correct, 15, []string{"refund_review", "security_review", "seat_count"}},
		{"expanded: hits", demo.Options{ExpandQuery: true}, (*outcome).labelled, (*outcome).hit, 13, nil},
		{"expanded: citations", demo.Options{ExpandQuery: true}, every, (*outcome).cited, 15, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, covered := failing(runExample(t, tt.opt), tt.covers, tt.passes)
			if covered != tt.covered {
				t.Errorf("covers %d cases, want %d", covered, tt.covered)
			}
			if diff := cmp.Diff(tt.failing, got); diff != "" {
				t.Errorf("failing cases (-want +got):\n%s", diff)
			}
		})
	}
}

// The tutorial explains each failure from the record alone, so the record has
// to show these reasons.
func TestFailuresAreInTheRecord(t *testing.T) {
	byID := map[string]outcome{}
	for _, o := range runExample(t, demo.Options{}) {
		byID[o.ID] = o
	}
	for _, id := range []string{"refund_review", "security_review"} {
		o := byID[id]
		relevant := o.Expected.Relevant[0].DocID
		if !o.hit() || !slices.Contains(o.droppedFor("token_budget"), relevant) {
			t.Errorf("%s: %s has to be found and then dropped for the budget", id, relevant)
		}
		if slices.Contains(o.Result.Citations, relevant) {
			t.Errorf("%s: the answer has to come from another passage than %s", id, relevant)
		}
		if out, _ := json.Marshal(o.Result); len(out) <= 160 {
			t.Errorf("%s: output has %d characters, want more than 160", id, len(out))
		}
	}
	seats := byID["seat_count"]
	if !seats.hit() || !seats.cited() || !strings.Contains(seats.Result.Answer, "five") || !strings.Contains(seats.Expected.Answer, "5") {
		t.Errorf("seat_count: the right passage has to be found and cited, saying five where 5 is expected: %+v", seats.Result)
	}
}

// The evidence of a question that finds nothing is complete and empty.
func TestNothingFound(t *testing.T) {
	for _, o := range runExample(t, demo.Options{}) {
		if o.ID != "money_back" {
			continue
		}
		var got struct{ Evidence map[string]any }
		if err := json.Unmarshal([]byte(o.body), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"retrieval": map[string]any{"candidates": []any{}, "depth": 6.0, "query": question(t, o.exampleCase)},
			"context":   map[string]any{"dropped": []any{}, "items": []any{}, "source": "retrieval", "token_budget": 40.0},
			"citations": map[string]any{"ids": []any{}},
		}
		if diff := cmp.Diff(want, got.Evidence); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
		return
	}
	t.Error("there is no case money_back")
}

func question(t *testing.T, c exampleCase) string {
	t.Helper()
	var input struct{ Question string }
	if err := json.Unmarshal(c.Input, &input); err != nil {
		t.Fatal(err)
	}
	return input.Question
}

func TestExpandQueryChangesNothingElse(t *testing.T) {
	base, expanded := runExample(t, demo.Options{}), runExample(t, demo.Options{ExpandQuery: true})
	for i, o := range base {
		if changed := o.body != expanded[i].body; changed != (o.ID == "money_back") {
			t.Errorf("%s: changed is %t:\n%s%s", o.ID, changed, o.body, expanded[i].body)
		}
	}
}

// Every response keeps the laws of the three artifacts.
func TestEvidenceIsConsistent(t *testing.T) {
	for _, o := range slices.Concat(runExample(t, demo.Options{}), runExample(t, demo.Options{ExpandQuery: true})) {
		found, prompt := o.Evidence.Retrieval.Candidates, o.Evidence.Context
		if len(found) > o.Evidence.Retrieval.Depth {
			t.Errorf("%s: %d candidates at depth %d", o.ID, len(found), o.Evidence.Retrieval.Depth)
		}
		for i := 1; i < len(found); i++ {
			if *found[i-1].Score < *found[i].Score {
				t.Errorf("%s: candidates are not in the order of their scores", o.ID)
			}
		}
		var positions []int
		words := 0
		place := func(doc string, position int) {
			positions = append(positions, position)
			if position < 1 || position > len(found) || found[position-1].DocID != doc {
				t.Errorf("%s: %s is not at position %d of the retrieval", o.ID, doc, position)
			}
		}
		for _, item := range prompt.Items {
			place(item.DocID, item.Position)
			words += item.Tokens
			if n := len(strings.Fields(item.Text)); n != item.Tokens {
				t.Errorf("%s: %s has %d words, says %d", o.ID, item.DocID, n, item.Tokens)
			}
		}
		for _, d := range prompt.Dropped {
			place(d.DocID, d.Position)
			if (d.Reason == "token_budget") != (d.Position <= 2) || (d.Reason == "token_budget") != (d.Tokens != nil) {
				t.Errorf("%s: %s at %d is dropped for %s", o.ID, d.DocID, d.Position, d.Reason)
			}
		}
		if words > prompt.TokenBudget {
			t.Errorf("%s: %d words in the prompt, the budget is %d", o.ID, words, prompt.TokenBudget)
		}
		for i, p := range positions {
			if p != i+1 {
				t.Errorf("%s: positions %v do not account for every candidate", o.ID, positions)
				break
			}
		}
		if len(positions) != len(found) {
			t.Errorf("%s: %d of %d candidates are accounted for", o.ID, len(positions), len(found))
		}
		if diff := cmp.Diff(o.Result.Citations, o.Evidence.Citations.IDs); diff != "" {
			t.Errorf("%s: citations of answer and evidence differ:\n%s", o.ID, diff)
		}
	}
}

// The shape of the data set that the tutorial and the policies count on.
func TestDataSet(t *testing.T) {
	project := openExample(t)
	type entry struct{ ID, Text string }
	corpus := map[string]string{}
	for _, p := range readLines[entry](t, project, "data/corpus.jsonl") {
		corpus[p.ID] = p.Text
	}
	if len(corpus) != 14 {
		t.Errorf("%d passages, want 14", len(corpus))
	}
	topics := map[string]int{}
	ids := map[string]bool{}
	var unlabelled []string
	for _, c := range readLines[exampleCase](t, project, "data/support.jsonl") {
		ids[c.ID] = true
		topics[c.Metadata.Topic]++
		if len(c.Expected.Relevant) == 0 && len(c.Expected.GoldContext) == 0 {
			unlabelled = append(unlabelled, c.ID)
			continue
		}
		if len(c.Expected.Relevant) != 1 || len(c.Expected.GoldContext) != 1 {
			t.Errorf("%s: wants one relevant and one gold passage", c.ID)
			continue
		}
		relevant, gold := c.Expected.Relevant[0], c.Expected.GoldContext[0]
		if gold.DocID != relevant.DocID || gold.Text != corpus[gold.DocID] {
			t.Errorf("%s: gold passage %s is not the relevant passage of the corpus", c.ID, gold.DocID)
		}
	}
	if len(ids) != 15 {
		t.Errorf("%d different ids, want 15", len(ids))
	}
	if diff := cmp.Diff(map[string]int{"billing": 8, "account": 2, "data": 2, "security": 2, "api": 1}, topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	slices.Sort(unlabelled)
	if diff := cmp.Diff([]string{"invoice_copy", "office_hours"}, unlabelled); diff != "" {
		t.Errorf("cases without labels (-want +got):\n%s", diff)
	}
}

// Users start the service from the binary and read the corpus from their copy:
// every passage that the service shows is one of the file.
func TestServiceSearchesTheCorpusOfTheProject(t *testing.T) {
	type entry struct{ ID, Text string }
	corpus := map[string]string{}
	for _, p := range readLines[entry](t, openExample(t), "data/corpus.jsonl") {
		corpus[p.ID] = p.Text
	}
	seen := map[string]bool{}
	handler, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, text := range corpus {
		body, _ := json.Marshal(map[string]string{"question": text})
		var a answer
		if err := json.Unmarshal(post(handler, "application/json", string(body)).Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Evidence.Retrieval.Candidates {
			seen[c.DocID] = true
			if corpus[c.DocID] != c.Text {
				t.Errorf("%s: the service has %q, the file %q", c.DocID, c.Text, corpus[c.DocID])
			}
		}
		if first := a.Evidence.Retrieval.Candidates[0].DocID; first != id {
			t.Errorf("searching for the text of %s finds %s first", id, first)
		}
	}
	if len(seen) != len(corpus) {
		t.Errorf("the service knows %d of %d passages", len(seen), len(corpus))
	}
}

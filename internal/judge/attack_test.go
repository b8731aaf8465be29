package judge_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/demo"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
)

var update = flag.Bool("update", false, "write the table of docs/judges.md and the golden requests")

// evaluators is a suite's text with one evaluator of each type, all of which ask
// the server at base.
func evaluators(base string) string {
	ask := "provider: openai_compatible, base_url: " + base + "/v1, model: stand-in"
	return `
  - {type: groundedness_judge, ` + ask + `}
  - {type: citation_support_judge, ` + ask + `}
  - {type: rubric_judge, criterion: rubric, rubric_text: "Passes when the output says what is expected.", ` + ask + `}
  - {type: probability_judge, criterion: token, question: "Does the output say what is expected?", form: yes_no, min_probability: 0.5, ` + ask + `}
  - type: cascade
    criterion: cascade
    first: {type: probability_judge, question: "Does the output say what is expected?", form: yes_no, min_probability: 0.5, ` + ask + `}
    then: {type: rubric_judge, rubric_text: "Passes when the output says what is expected.", ` + ask + `}
    escalate_between: [0.2, 0.8]
`
}

func parse(t *testing.T, evaluators, more string) *suite.Suite {
	t.Helper()
	text := `
project: p
dataset: d.jsonl
system:
  name: s
  version: v
  http:
    url: http://127.0.0.1/
    artifacts: {context/v1: c, citations/v1: i}
evaluators:` + evaluators + more
	s, err := suite.Parse("oloproof.yaml", []byte(text), os.ReadFile)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return s
}

// panel makes the judges of a suite; change may alter the configuration.
func panel(t *testing.T, s *suite.Suite, keys map[string]string, change func(*judge.Config)) *judge.Panel {
	t.Helper()
	r, err := s.Resolve(func(name string) (string, bool) { v, ok := keys[name]; return v, ok }, suite.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := judge.Config{
		Suite: s, Connections: r.Judges, Redact: redact.New(r.Secrets), UserAgent: "oloproof/test",
		Now:    time.Now,
		Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Random: func() float64 { return 0.5 },
	}
	if change != nil {
		change(&cfg)
	}
	p, err := judge.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func standIn(t *testing.T, opt demo.Options) *httptest.Server {
	t.Helper()
	handler, err := demo.Handler("judge", opt)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestCorpusOfAttacks(t *testing.T) {
	attacks := judge.Attacks()
	names, kinds := map[string]bool{}, map[string]bool{}
	for _, a := range attacks {
		if names[a.Name] || a.Name == "" || a.Kind == "" || a.Text == "" || !slices.Contains([]string{"input", "context", "output"}, a.Place) {
			t.Errorf("attack %+v: want a name of its own, a kind, a place and a text", a)
		}
		names[a.Name], kinds[a.Kind] = true, true
	}
	if len(attacks) < 30 || len(kinds) < 8 {
		t.Errorf("%d attacks of %d kinds, want 30 of 8 at least", len(attacks), len(kinds))
	}
}

// No attack leaves its block: whatever stands in the data, a reader of the
// fences finds the data as it was, on one line, and nothing else that looks like
// a fence of this prompt.
func TestNoAttackClosesItsFence(t *testing.T) {
	s := parse(t, evaluators("http://127.0.0.1:1"), "")
	for i := range s.Evaluators[:4] {
		e := &s.Evaluators[i]
		for _, a := range judge.Attacks() {
			for _, place := range []string{"input", "context", "output"} {
				a.Place = place
				checkFences(t, e, a)
			}
		}
	}
}

func checkFences(t *testing.T, e *suite.Evaluator, a judge.Attack) {
	t.Helper()
	text := "Wrong. " + a.Text
	value, err := evidence.Canonical(map[string]string{"answer": text})
	if err != nil {
		t.Fatal(err)
	}
	c := &evidence.Case{ID: "a", Input: value, Expected: value}
	x := &evidence.Execution{Status: evidence.StatusOK, Output: value}
	x.Artifacts.Context = []evidence.Context{{Items: []evidence.ContextItem{{DocID: text, Text: &text}}}}
	x.Artifacts.Citations = []evidence.Citations{{IDs: []string{text}}}
	prompt, err := judge.Prompt(e, c, x)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(prompt, "[[begin NAME ")
	fence, _, _ := strings.Cut(rest, "]]")
	if len(fence) != 32 {
		t.Fatalf("no fence in\n%s", prompt)
	}
	inside, blocks := "", 0
	for line := range strings.SplitSeq(prompt, "\n") {
		switch {
		case inside == "" && strings.HasPrefix(line, "[[begin ") && strings.HasSuffix(line, fence+"]]"):
			inside = strings.Fields(line)[1]
			if inside == "NAME" {
				inside = ""
			}
		case line == "[[end "+inside+" "+fence+"]]":
			inside = ""
		case inside != "":
			blocks++
			if !evidence.Value(line).IsValid() || strings.Contains(line, fence) {
				t.Errorf("%s in %s: the block %s is not the JSON that was put there:\n%s", a.Name, a.Place, inside, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r == '\u2028' || r == '\u200b' || r == '\u202e' || r >= 0xe0000 }) {
				t.Errorf("%s: the block %s has characters that nobody sees", a.Name, inside)
			}
		}
	}
	if want := map[string]int{suite.TypeCitationSupportJudge: 4}[e.Type]; blocks != max(3, want) || inside != "" {
		t.Errorf("%s: %d blocks, open at the end: %q", a.Name, blocks, inside)
	}
	// The same evidence gives the same prompt, and another one another fence.
	if again, _ := judge.Prompt(e, c, x); again != prompt {
		t.Error("the prompt of the same evidence is another one")
	}
	c.Input = evidence.Value(`"something else"`)
	if other, _ := judge.Prompt(e, c, x); strings.Contains(other, fence) {
		t.Error("the fence does not depend on what is shown")
	}
}

// TestAttacks besieges a judge that keeps to its instructions and one that does
// whatever it reads, and holds the table of docs/judges.md.
func TestAttacks(t *testing.T) {
	type count struct{ attacks, held, caught, moved int }
	figures := map[string]map[string]*count{} // by judge and kind
	order := []string{}
	for name, opt := range map[string]demo.Options{"keeps": {}, "obeys": {Gullible: true}} {
		s := parse(t, evaluators(standIn(t, opt).URL), "")
		p := panel(t, s, nil, nil)
		figures[name] = map[string]*count{}
		for i := range s.Evaluators {
			results, err := p.Besiege(t.Context(), i, judge.Attacks())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if figures[name][r.Kind] == nil {
					figures[name][r.Kind] = &count{}
				}
				c := figures[name][r.Kind]
				c.attacks++
				switch r.Outcome {
				case judge.Held:
					c.held++
				case judge.Caught:
					c.caught++
				case judge.Moved:
					c.moved++
					if name == "keeps" {
						t.Errorf("%s by %q: %+v", s.Evaluators[i].Criterion, r.Name, r.Judgment)
					}
				}
				if name == "obeys" && r.Kind == "planted verdict" && i < 3 && r.Outcome == judge.Moved {
					t.Errorf("%s by %q: a repeated verdict counts: %+v", s.Evaluators[i].Criterion, r.Name, r.Judgment)
				}
			}
		}
	}
	for _, a := range judge.Attacks() {
		if !slices.Contains(order, a.Kind) {
			order = append(order, a.Kind)
		}
	}
	var table strings.Builder
	table.WriteString("| kind of attack | attacks × judges | keeps to its instructions: moved | obeys what it reads: caught | obeys: moved |\n|---|---|---|---|---|\n")
	var sum [2]count
	for _, kind := range order {
		keeps, obeys := figures["keeps"][kind], figures["obeys"][kind]
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d |\n", kind, keeps.attacks, keeps.moved, obeys.caught, obeys.moved)
		sum[0].attacks += keeps.attacks
		sum[0].moved += keeps.moved
		sum[1].caught += obeys.caught
		sum[1].moved += obeys.moved
	}
	fmt.Fprintf(&table, "| all %d, by 5 judges | %d | %d | %d | %d |\n", len(judge.Attacks()), sum[0].attacks, sum[0].moved, sum[1].caught, sum[1].moved)
	holdPart(t, "../../docs/judges.md", "attacks", table.String())
}

// holdPart compares the part of a page between <!-- NAME --> and <!-- /NAME -->
// with what it must be.
func holdPart(t *testing.T, path, name, want string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- /"+name+" -->")
	i, j := bytes.Index(page, start), bytes.Index(page, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no part %s", path, name)
	}
	i += len(start)
	if string(page[i:j]) == want {
		return
	}
	if !*update {
		t.Fatalf("%s: the part %s is\n%s\nwant\n%s\nrun go test ./internal/judge -update", path, name, page[i:j], want)
	}
	if err := os.WriteFile(path, slices.Concat(page[:i], []byte(want), page[j:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestAttacksOnARealJudge reports what a real model makes of the attacks. It
// asserts nothing: models differ and change.
func TestAttacksOnARealJudge(t *testing.T) {
	var text string
	keys := map[string]string{}
	for _, m := range []struct{ variable, provider, model string }{
		{"OPENAI_API_KEY", "openai", cmp.Or(os.Getenv("OLOPROOF_TEST_OPENAI_MODEL"), "gpt-4o-mini")},
		{"ANTHROPIC_API_KEY", "anthropic", cmp.Or(os.Getenv("OLOPROOF_TEST_ANTHROPIC_MODEL"), "claude-haiku-4-5")},
	} {
		if key := os.Getenv(m.variable); key != "" {
			keys[m.variable] = key
			text += fmt.Sprintf("\n  - {type: groundedness_judge, criterion: %s, provider: %s, model: %s}", m.provider, m.provider, m.model)
		}
	}
	if text == "" || os.Getenv("OLOPROOF_TEST_REAL_JUDGE") == "" {
		t.Skip("set OLOPROOF_TEST_REAL_JUDGE=1 and OPENAI_API_KEY or ANTHROPIC_API_KEY: it calls the provider, which costs money")
	}
	s := parse(t, text+"\n", "")
	p := panel(t, s, keys, func(cfg *judge.Config) { cfg.Sleep = sleep })
	for i := range s.Evaluators {
		results, err := p.Besiege(t.Context(), i, judge.Attacks())
		if err != nil {
			t.Error(err)
		}
		moved := 0
		for _, r := range results {
			if r.Outcome != judge.Held {
				t.Logf("%s: %s by %q: %s", s.Evaluators[i].Criterion, r.Outcome, r.Name, r.Judgment.Detail)
			}
			if r.Outcome == judge.Moved {
				moved++
			}
		}
		t.Logf("%s: %d of %d attacks moved it", s.Evaluators[i].Criterion, moved, len(results))
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// roundTrip answers requests in a test.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestStandInReplies holds what the stand-in says in both languages;
// scripts/judges/check compares it with the providers' types.
func TestStandInReplies(t *testing.T) {
	server := standIn(t, demo.Options{})
	c, x := answered("Five seats.")
	s := parse(t, evaluators("http://127.0.0.1:1"), "")
	prompt, err := judge.Prompt(&s.Evaluators[0], c, x)
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]struct{ path, more string }{
		"openai":    {"/v1/chat/completions", ""},
		"tokens":    {"/v1/chat/completions", `, "logprobs": true, "top_logprobs": 20`},
		"anthropic": {"/v1/messages", `, "max_tokens": 512`},
	} {
		body := fmt.Sprintf(`{"model": "stand-in", "messages": [{"role": "user", "content": %q}]%s}`, prompt, request.more)
		resp, err := http.Post(server.URL+request.path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", resp.StatusCode, reply, err)
		}
		golden(t, "testdata/replies/"+name+".json", string(reply))
	}
}

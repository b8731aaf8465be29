package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// TestJudgedExample runs the example with its judge, holds its labels and the
// figures that docs/judges.md tells of it.
func TestJudgedExample(t *testing.T) {
	d := reader(t)
	_, typed, _ := strings.Cut(readFile(t, "docs/judges.md"), "```\n") // the page's first block
	typed, _, _ = strings.Cut(typed, "```")
	first := ""
	for command := range strings.Lines(typed) {
		first = d.run(strings.TrimSpace(command))
	}
	if d.code != 0 && d.code != 3 {
		t.Fatalf("exit code %d:\n%s", d.code, first)
	}
	second := d.run("oloproof run --config my-judged/oloproof.yaml")
	for text, want := range map[string]string{
		first:  "judgment 0 hit/120 miss",
		second: "judgment 60 hit/60 miss",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	s, err := suite.Load(filepath.Join(d.dir, "my-judged", "oloproof.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(d.dir, "my-judged", ".oloproof", "runs", "run_*", "cases.jsonl"))
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	data, err := os.ReadFile(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	labels, agree, judged, grounded, passed := labelsOf(t, s, data)
	path := "examples/judged_rag/data/labels.jsonl"
	if *update {
		if err := os.WriteFile(path, labels, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept := readFile(t, path); kept != string(labels) {
		t.Errorf("%s differs from what a person would say of these answers: go test . -run TestJudgedExample -update", path)
	}
	page := readFile(t, "docs/judges.md")
	for _, want := range []string{
		fmt.Sprintf("passes %d of 60 answers", passed),
		fmt.Sprintf("%d of them are grounded", grounded),
		fmt.Sprintf("agrees with %d of the %d labels", agree, judged),
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("docs/judges.md does not say %q", want)
		}
	}
}

func word(passes bool) string {
	if passes {
		return labels.Pass
	}
	return labels.Fail
}

// labelsOf is what a person who knows the service says of half of the answers,
// as a file of labels, and how the judge compares.
func labelsOf(t *testing.T, s *suite.Suite, cases []byte) (file []byte, agree, labelled, grounded, passed int) {
	t.Helper()
	type ranked struct {
		rank [32]byte
		line string
		same bool
	}
	var all []ranked
	for line := range bytes.Lines(cases) {
		l, err := evidence.DecodeCaseLine(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		id, err := judge.Evidence(&s.Evaluators[0], &l.Case, &l.Execution)
		if err != nil {
			t.Fatal(err)
		}
		verdict, truth := "pass", true
		for _, own := range []string{"Students pay half of that.", "The mobile app shows the same page.", "This was changed last spring."} {
			if strings.Contains(string(l.Execution.Output), own) {
				verdict, truth = "fail", false
			}
		}
		says := false
		for _, j := range l.Judgments {
			says = says || j.Criterion == "groundedness" && j.Passed()
		}
		if truth {
			grounded++
		}
		if says {
			passed++
		}
		text, err := json.Marshal(struct {
			Case      string          `json:"case"`
			Criterion string          `json:"criterion"`
			Evidence  evidence.Digest `json:"evidence"`
			Verdict   string          `json:"verdict"`
			By        string          `json:"by"`
			At        string          `json:"at"`
			Judge     labels.Judged   `json:"judge"`
		}{l.Case.ID, "groundedness", id, verdict, "example", "2026-11-24T09:30:00Z", labels.Judged{Verdict: word(says), Evaluator: s.EvaluatorDigest(0), Model: "stand-in"}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ranked{sha256.Sum256([]byte(l.Case.ID)), string(text), says == truth})
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(string(a.rank[:]), string(b.rank[:])) })
	for _, l := range all[:len(all)/2] {
		file = append(append(file, l.line...), '\n')
		labelled++
		if l.same {
			agree++
		}
	}
	return file, agree, labelled, grounded, passed
}

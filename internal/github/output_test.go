package github

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github/runnertest"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
)

// outputNames are those that action.yml declares.
var outputNames = []string{
	"gate-action", "exit-code", "run-id", "artifact-name", "output-dir", "result-file", "report-file", "baseline-run-id", "baseline-sha",
	"baseline-state", "comment-url", "passed", "failed", "insufficient", "review", "missing", "policy-source", "relaxations",
}

func TestOutputNames(t *testing.T) {
	var names []string
	for _, o := range (&Outputs{}).list() {
		names = append(names, o.name)
	}
	if diff := cmp.Diff(outputNames, names); diff != "" {
		t.Error(diff)
	}
}

// TestOutputsRoundTrip: whatever a value holds, the runner reads it as it is,
// and no other output, variable or path.
func TestOutputsRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.OneOf(hostile(), rapid.SampledFrom([]string{
			"\n", "\r", "\n\n", "a\nexit-code=0\n", "x\n_GitHubActionsFileCommandDelimeter_\ngate-action<<E\nALLOW\nE\n", "a=b", "<<E", "a\r\nb",
		})).Draw(r, "value")
		o := Outputs{GateAction: "BLOCK", ExitCode: 1, BaselineSHA: value, PolicySource: value}
		var wrote error
		result := runnertest.Run(t, runnertest.Step{}, func(_ context.Context, p *runnertest.Process) int {
			wrote = writeOutputs(p.Getenv("GITHUB_OUTPUT"), rand.Reader, nil, &o)
			return 0
		})
		if wrote != nil || result.Failed {
			r.Fatalf("%v, the runner refused: %v", wrote, result.Annotations)
		}
		if len(result.Outputs) != len(outputNames) || len(result.Env) != 0 || len(result.Path) != 0 {
			r.Fatalf("outputs %v, env %v, path %v", result.Outputs, result.Env, result.Path)
		}
		want := strings.ToValidUTF8(value, "\ufffd")
		if result.Outputs["baseline-sha"] != want || result.Outputs["policy-source"] != want || result.Outputs["gate-action"] != "BLOCK" {
			r.Fatalf("%q came back as %q", want, result.Outputs["baseline-sha"])
		}
	})
}

func TestDelimiterInAValueIsRefused(t *testing.T) {
	zeros := strings.NewReader(strings.Repeat("\x00", 64))
	value := "a\noloproof_" + strings.Repeat("0", 32)
	if got, err := outputEntry(zeros, "run-id", value); err == nil {
		t.Errorf("wrote %q", got)
	}
	one, _ := outputEntry(rand.Reader, "run-id", "a\nb")
	two, _ := outputEntry(rand.Reader, "run-id", "a\nb")
	if one == two {
		t.Error("the delimiter is constant")
	}
}

func TestOutputsAreRedactedAndAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, []byte("earlier=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Outputs{CommentURL: "https://x/?k=top-secret-value"}
	if err := writeOutputs(path, rand.Reader, redact.New([]string{"top-secret-value"}), &o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(b), "earlier=1\ngate-action=\n") || strings.Contains(string(b), "top-secret") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestOutputsOfADocument(t *testing.T) {
	states := func(s ...string) (all []report.Decision) {
		for i, x := range s {
			all = append(all, report.Decision{Rule: string(rune('a' + i)), State: x})
		}
		return all
	}
	d := &report.Document{
		Run:  report.Run{ID: "run_1", Counts: evidence.Counts{Cases: 15, OK: 12, Error: 2, NotRun: 1}},
		Gate: &report.Gate{Action: string(decide.Block)},
		Policies: []report.Policy{
			{Role: "base", Path: "release.yaml", Decisions: states("PASS", "INSUFFICIENT_EVIDENCE", "MANUAL_REVIEW")},
			{Role: "proposed", Path: "release.yaml", Decisions: states("FAIL", "PASS", "INSUFFICIENT_EVIDENCE")},
			{Role: "only", Path: "compare.yaml", Decisions: states("PASS")},
		},
		Metrics:     []report.Metric{{Cases: measure.Cases{Missing: 4}}, {Cases: measure.Cases{Missing: 3}}},
		Baseline:    &report.Baseline{State: report.BaselineFound, Commit: "abc"},
		Relaxations: make([]report.Relaxation, 2),
	}
	got := Outputs{}
	got.describe(d)
	want := Outputs{GateAction: "BLOCK", RunID: "run_1", Passed: 1, Failed: 1, Insufficient: 1, Review: 1, Missing: 4, Relaxations: 2, BaselineState: "found", BaselineSHA: "abc"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/store"
)

// pairsRow is a row of the tables of paired differences and of their planning
// in internal/stats/testdata: values computed with Oloproof 0.1.0a20 (PyPI).
type pairsRow struct {
	Wins, Losses, Pairs int
	Missing             int `json:"n_missing"`
	Differences         []float64
	Level               float64
	Estimate            *float64
	Lower, Upper        float64
	Display             struct{ Estimate, Interval, Denominator string }
	Conditional         *struct{ Lower, Upper float64 } `json:"conditional_exact"`

	Kind    string // of the rule; "" for a row without one
	Margin  *float64
	State   string
	Reasons []string
	Line    string // its words are the Python tool's, its figures are ours too
	More    *int   `json:"more_cases"`
}

// name says what is paired.
func (r *pairsRow) name() string {
	if r.Differences != nil {
		return fmt.Sprintf("scores of %d, %d missing, level %v", len(r.Differences), r.Missing, r.Level)
	}
	return strings.TrimSpace(fmt.Sprintf("%d wins and %d losses of %d, %d missing, level %v %s", r.Wins, r.Losses, r.Pairs, r.Missing, r.Level, r.Kind))
}

// comparedDocument is what these tests read of a document.
type comparedDocument struct {
	Comparisons []struct {
		Differences []struct {
			Estimate *float64
			Interval comparedInterval
			Display  struct{ Estimate, Interval, Denominator string }
		}
	}
	Policies []struct {
		Decisions []struct {
			State    string
			Reasons  []string
			Interval comparedInterval
			Planning *struct {
				Total, More *int
				Discordance *float64
				Line        string
			}
		}
	}
}

type comparedInterval struct {
	Lower, Upper float64
	Method       string
}

// TestCompareFigures gives oloproof compare two runs for every row of the
// tables and looks for the row's figures.
func TestCompareFigures(t *testing.T) {
	const bounded, conditional = "bounded_paired_difference@1", "conditional_exact_paired_difference@1"
	for _, r := range readPairs(t, "c_paired_difference.json") {
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			doc := compareRow(t, &r, bounded)
			d := doc.Comparisons[0].Differences[0]
			want := d
			want.Estimate, want.Interval, want.Display = r.Estimate, comparedInterval{r.Lower, r.Upper, bounded}, r.Display
			if diff := cmp.Diff(want, d, close9); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if r.Conditional == nil {
				return
			}
			got := compareRow(t, &r, conditional).Comparisons[0].Differences[0].Interval
			if diff := cmp.Diff(comparedInterval{r.Conditional.Lower, r.Conditional.Upper, conditional}, got, close9); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestComparePlanning is [TestCompareFigures] for rules and their planning lines.
func TestComparePlanning(t *testing.T) {
	size := regexp.MustCompile(`a suite of about (\d+) paired cases \((\d+) more\)`)
	discordance := regexp.MustCompile(`\((\d+)% of them differing\)`)
	for _, r := range readPairs(t, "d_planning_pairs.json") {
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			d := compareRow(t, &r, "bounded_paired_difference@1").Policies[0].Decisions[0]
			if d.State != r.State || !cmp.Equal(d.Reasons, r.Reasons) {
				t.Errorf("%s %v, want %s %v", d.State, d.Reasons, r.State, r.Reasons)
			}
			found := size.FindStringSubmatch(r.Line)
			if found == nil {
				if d.Planning != nil && d.Planning.Total != nil {
					t.Errorf("a size: %q", d.Planning.Line)
				}
				if (r.Line != "") != (d.Planning != nil) {
					t.Errorf("planning %+v, want what says %q", d.Planning, r.Line)
				}
				return
			}
			want := fmt.Sprintf("about %s more paired cases would decide it, if the difference holds (%s in total", found[2], found[1])
			if share := discordance.FindStringSubmatch(r.Line); share != nil {
				percent := share[1]
				if percent == "0" {
					percent = "<1"
				}
				want += " at " + percent + "% discordance"
			}
			if want += ")"; d.Planning == nil || d.Planning.Line != want {
				t.Errorf("planning %+v, want %q", d.Planning, want)
			}
		})
	}
}

var close9 = cmpopts.EquateApprox(0, 1e-9)

func readPairs(t *testing.T, name string) []pairsRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("internal", "stats", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Rows []pairsRow }
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) < 20 {
		t.Fatalf("%s has %d rows", name, len(table.Rows))
	}
	return table.Rows
}

// compareRow stores two runs with the pairs of a row and compares them by a
// method under the rule of the row.
func compareRow(t *testing.T, r *pairsRow, method string) comparedDocument {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, ".oloproof"))
	if err != nil {
		t.Fatal(err)
	}
	baseline, candidate := r.values()
	kind := evidence.Rate
	if r.Differences != nil {
		kind = evidence.Mean
	}
	base := storeValues(t, s, kind, baseline, 0, 1)
	now := storeValues(t, s, kind, candidate, r.Missing, 2)
	rule := map[string]any{"id": "r", "metric": "m", "kind": "superiority"}
	if r.Kind != "" {
		rule["kind"] = r.Kind
	}
	if r.Margin != nil {
		rule["margin"] = *r.Margin
	}
	policy, err := json.Marshal(map[string]any{"confidence_level": r.Level, "difference_method": method, "rules": []any{rule}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rule.yaml"), policy, 0o644); err != nil { // JSON is YAML
		t.Fatal(err)
	}
	cmd := exec.Command("oloproof", "compare", now, base, "--policy", "rule.yaml", "--json")
	cmd.Dir = dir
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 2) {
		t.Fatalf("%v: %s", err, trouble.String())
	}
	var doc comparedDocument
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// values returns what the baseline and the candidate made of each pair; those
// that the candidate is missing come first.
func (r *pairsRow) values() (baseline, candidate []float64) {
	add := func(n int, was, now float64) {
		for range n {
			baseline, candidate = append(baseline, was), append(candidate, now)
		}
	}
	add(r.Missing, 1, 1)
	for _, d := range r.Differences {
		add(1, math.Max(0, -d), math.Max(0, d)) // their difference is exactly d
	}
	if r.Differences == nil {
		add(r.Wins, 0, 1)
		add(r.Losses, 1, 0)
		add(r.Pairs-r.Wins-r.Losses, 1, 1)
	}
	return baseline, candidate
}

// storeValues stores a run in which a metric m has these values, of which the
// first are missing. It returns the run's id, the n-th of the store.
func storeValues(t *testing.T, s *store.Store, kind evidence.Kind, values []float64, missing, n int) string {
	t.Helper()
	at := time.Date(2026, 11, 30, 10, 0, n, 0, time.UTC)
	m := &evidence.Manifest{
		Schema: evidence.RunSchema, Tool: evidence.Tool{Name: "oloproof", Version: "test"},
		ID: evidence.NewRunID(at, strings.NewReader(strings.Repeat("x", 10))), Status: evidence.RunRunning, Completeness: evidence.Partial,
		Name: "s", Project: "s", SuitePath: "s.yaml", Dataset: evidence.DatasetID{Path: "s.jsonl", Cases: len(values)},
		System:  evidence.SystemID{Name: "s", Kind: "http"},
		Metrics: []evidence.MetricSpec{{ID: "m", Kind: kind, Range: [2]float64{0, 1}, Type: "ndcg"}},
		Counts:  evidence.Counts{Cases: len(values)}, StartedAt: at,
	}
	w, err := s.Create(m)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		o := evidence.Outcome{
			ID: "case " + strconv.Itoa(i), Status: evidence.StatusOK,
			Judgments: []evidence.Judgment{{State: evidence.Judged, Value: v}},
		}
		o.Digest, err = evidence.CaseDigest(&evidence.Case{ID: o.ID, Input: evidence.Value(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		if i < missing {
			o.Judgments[0] = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonMissingField}
		}
		if err := w.AddOutcome(i, &o); err != nil {
			t.Fatal(err)
		}
	}
	end := *m
	end.Status, end.Completeness, end.FinishedAt = evidence.RunExplored, evidence.Complete, at.Add(time.Minute)
	end.Counts.OK = len(values)
	if err := w.Finish(&end); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

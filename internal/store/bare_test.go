package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// TestRunOfOutcomes: a run may be stored of which only the judgments are known.
func TestRunOfOutcomes(t *testing.T) {
	const n = 9
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(n)))
	for i := range n {
		o := testRecord(n-1-i, 40).Outcome()
		check(t, w.AddOutcome(n-1-i, &o))
	}
	unfinished := must[*Run](t)(s.Resolve(testID))
	if unfinished.HasCases() || len(outcomes(t, unfinished)) != n {
		t.Errorf("the unfinished run has cases: %v, %d outcomes", unfinished.HasCases(), len(outcomes(t, unfinished)))
	}
	wantError(t, unfinished.CaseLines(func(evidence.CaseLine) error { return nil }), "carries no cases.jsonl")
	check(t, unfinished.Close())
	o := testRecord(0, 40).Outcome()
	wantError(t, w.AddOutcome(0, &o), "case_000000 is stored already")
	wantError(t, w.AddOutcome(n, &o), "is number 10 of 9")
	o.Judgments = o.Judgments[:1]
	wantError(t, w.AddOutcome(0, &o), "1 judgments and 1 slices, the run has 4 and 1")
	check(t, w.Finish(ended(testManifest(n), evidence.RunExplored)))
	check(t, w.Close())

	storeRun(t, s, "run_01KBC4W2ZV9XJ8QH5N3T7R6M1E", n)
	bare, full := must[*Run](t)(s.Resolve(testID)), must[*Run](t)(s.Resolve("run_01KBC4W2ZV9XJ8QH5N3T7R6M1E"))
	defer bare.Close()
	defer full.Close()
	if diff := cmp.Diff(outcomes(t, full), outcomes(t, bare)); diff != "" {
		t.Errorf("outcomes (-with evidence +without):\n%s", diff)
	}
	if bare.HasCases() || !full.HasCases() {
		t.Error("which run carries its evidence is told wrongly")
	}
	wantError(t, bare.CaseLines(func(evidence.CaseLine) error { return nil }), "carries no cases.jsonl")
	dir := filepath.Join(t.TempDir(), "bundle")
	check(t, s.Export(bare, dir))
	if got := strings.Join(names(contents(t, dir)), " "); got != "judgments.jsonl run.json" {
		t.Errorf("the bundle holds %s", got)
	}
}

// TestOneBareCaseLeavesOutTheEvidence: cases.jsonl is whole or not there.
func TestOneBareCaseLeavesOutTheEvidence(t *testing.T) {
	const n = 5
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(n)))
	addAll(t, w, upTo(n-1), 40, 1)
	o := testRecord(n-1, 40).Outcome()
	check(t, w.AddOutcome(n-1, &o))
	check(t, w.Finish(ended(testManifest(n), evidence.RunExplored)))
	check(t, w.Close())
	if got := strings.Join(names(contents(t, s.runDir(testID))), " "); got != "judgments.jsonl run.json" {
		t.Errorf("the run has the files %s", got)
	}
}

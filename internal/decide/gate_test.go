package decide

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

var allStates = []policy.State{policy.Pass, policy.Fail, policy.InsufficientEvidence, policy.ManualReview}

// subsets returns every subset of states.
func subsets(states []policy.State) [][]policy.State {
	sets := [][]policy.State{nil}
	for _, s := range states {
		for _, set := range sets {
			sets = append(sets, append(slices.Clone(set), s))
		}
	}
	return sets
}

// TestGate goes through every pair of states, each with and without missing
// evidence, every block_on and warn_on, and both kinds of run.
func TestGate(t *testing.T) {
	for _, blockOn := range subsets(allStates) {
		for _, warnOn := range subsets(allStates) {
			for _, stopOnPartial := range []bool{false, true} {
				for _, completeness := range []evidence.Completeness{evidence.Complete, evidence.Partial} {
					p := &policy.Policy{BlockOn: blockOn, WarnOn: warnOn, BlockOnPartialRun: stopOnPartial}
					for _, a := range allStates {
						for _, b := range allStates {
							for _, missing := range []bool{false, true} {
								checkGate(t, p, completeness, []Decision{{State: a}, {State: b, MissingEvidence: missing}})
							}
						}
					}
				}
			}
		}
	}
}

// checkGate states the rules of the gate one by one, apart from the order in
// which gateOf applies them.
func checkGate(t *testing.T, p *policy.Policy, completeness evidence.Completeness, decisions []Decision) {
	t.Helper()
	in := func(list []policy.State, s policy.State) bool { return slices.Contains(list, s) }
	partial := completeness == evidence.Partial && p.BlockOnPartialRun
	var listed, missing, failed, warned bool
	for _, d := range decisions {
		listed = listed || in(p.BlockOn, d.State)
		missing = missing || d.MissingEvidence
		failed = failed || d.State == policy.Fail && in(p.BlockOn, policy.Fail)
		warned = warned || in(p.WarnOn, d.State)
	}
	want := Gate{Action: Allow}
	switch {
	case failed:
		want = Gate{Action: Block, ExitCode: 1}
	case listed || missing || partial:
		want = Gate{Action: Block, ExitCode: 3}
	case warned:
		want.Action = Warn
	}
	if missing {
		want.Reasons = append(want.Reasons, "missing_evidence")
	}
	if partial {
		want.Reasons = append(want.Reasons, "partial_run")
	}
	if diff := cmp.Diff(want, gateOf(p, decisions, completeness)); diff != "" {
		t.Fatalf("gate of %+v, %s, block_on %v, warn_on %v (-want +got):\n%s", decisions, completeness, p.BlockOn, p.WarnOn, diff)
	}
}

func TestMissingEvidenceBlocksWhateverThePolicySays(t *testing.T) {
	unobserved := metric(0, 0, 15, ptr(0.0), ptr(1.0))
	manyMissing := metric(8, 8, 2, ptr(0.8), ptr(1.0))
	tests := []struct {
		name    string
		rule    policy.Rule
		metrics []measure.Metric
	}{
		{"nothing observed", floor(0), []measure.Metric{unobserved}},
		{"nothing counted", count(99), []measure.Metric{unobserved}},
		{"too many missing", with(floor(0.1), maxMissing(0.1)), []measure.Metric{manyMissing}},
		{"under manual review", with(floor(0), review), []measure.Metric{unobserved}},
		{"no such metric", floor(0), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &policy.Policy{ConfidenceLevel: level, WarnOn: allStates, Rules: []policy.Rule{tt.rule}}
			want := Gate{Action: Block, ExitCode: 3, Reasons: []string{"missing_evidence"}}
			if diff := cmp.Diff(want, Run(p, tt.metrics, evidence.Complete).Gate); diff != "" {
				t.Errorf("gate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownCompletenessIsPartial(t *testing.T) {
	g := Run(blockAll(floor(0.5)), []measure.Metric{bounded(0.6, 0.9)}, "").Gate
	want := Gate{Action: Block, ExitCode: 3, Reasons: []string{"partial_run"}}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("gate (-want +got):\n%s", diff)
	}
}

func TestEndingExitCode(t *testing.T) {
	allow := Gate{Action: Allow}
	fail := Gate{Action: Block, ExitCode: 1}
	blocked := Gate{Action: Block, ExitCode: 3}
	tests := []struct {
		name   string
		ending Ending
		want   int
	}{
		{"no policy", Ending{}, 0},
		{"allowed", Ending{Gates: []Gate{allow, allow}}, 0},
		{"blocked", Ending{Gates: []Gate{allow, blocked}}, 3},
		{"failed", Ending{Gates: []Gate{blocked, fail, allow}}, 1},
		{"unreadable", Ending{Unreadable: true, Gates: []Gate{allow}}, 2},
		{"unreadable before blocked", Ending{Unreadable: true, Gates: []Gate{blocked}}, 2},
		{"failed before unreadable", Ending{Unreadable: true, Gates: []Gate{fail}}, 1},
		{"nothing decided", Ending{NothingDecided: true}, 2},
		{"nothing decided before failed", Ending{NothingDecided: true, Gates: []Gate{fail}}, 2},
		{"interrupted", Ending{Interrupted: 130, NothingDecided: true, Gates: []Gate{fail}}, 130},
		{"terminated", Ending{Interrupted: 143}, 143},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.ending.ExitCode(); got != tt.want {
				t.Errorf("%+v.ExitCode() = %d, want %d", tt.ending, got, tt.want)
			}
		})
	}
}

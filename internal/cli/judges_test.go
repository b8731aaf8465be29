package cli

import (
	"slices"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// TestServed: the models of a judge are those that gave verdicts, and one without
// a name is one when others have names.
func TestServed(t *testing.T) {
	by := func(state evidence.JudgmentState, model string) []evidence.Judgment {
		return []evidence.Judgment{{State: state, Asked: &evidence.Asked{Calls: 1, Model: model}}}
	}
	for _, tt := range []struct {
		name  string
		said  [][]evidence.Judgment
		want  []string
		words string
	}{
		{"one", [][]evidence.Judgment{by(evidence.Judged, "m-1"), by(evidence.Judged, "m-1")}, []string{"m-1"}, "m-1"},
		{"never named", [][]evidence.Judgment{by(evidence.Judged, "")}, nil, ""},
		{"named at times", [][]evidence.Judgment{by(evidence.Judged, "m-1"), by(evidence.Judged, "")}, []string{"", "m-1"}, "one without a name, m-1"},
		{"without a verdict", [][]evidence.Judgment{by(evidence.Judged, "m-1"), by(evidence.Missing, "m-2"), by(evidence.Missing, "")}, []string{"m-1"}, "m-1"},
	} {
		m := &evidence.Manifest{Metrics: []evidence.MetricSpec{{ID: "grounded", Type: "groundedness_judge", Evaluator: "sha256:e"}}}
		tally := newTally(m)
		for _, judgments := range tt.said {
			tally.addJudged(judgments)
		}
		tally.describeJudges(m)
		if got := m.Metrics[0].Served; !slices.Equal(got, tt.want) || evidence.ModelNames(got) != tt.words {
			t.Errorf("%s: %q (%s), want %q", tt.name, got, evidence.ModelNames(got), tt.want)
		}
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// TestJudgesUnderAComparison: a comparison says what its judges are worth, as a run
// does.
func TestJudgesUnderAComparison(t *testing.T) {
	d := &Document{Metrics: []Metric{
		{ID: "grounded", Judge: judgeOf(evidence.MetricSpec{
			ID: "grounded", Type: "groundedness_judge", Trust: &evidence.Trust{BothPass: 20, HumanOnly: 1, JudgeOnly: 1, BothFail: 8},
		}, 0.95)},
		{ID: "plain"},
	}}
	var b bytes.Buffer
	if err := CompareText(&b, d, TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if !strings.Contains(text, "grounded is given by a model. By 30 labels: agreement 93.3% [77.9%, 99.2%]") || !strings.Contains(text, "kappa 0.841 [0.265, 0.989]") || strings.Contains(text, "plain") {
		t.Errorf("%s", text)
	}
}

// TestPeopleWhoDoNotAgree: somebody has labelled, and still nothing is known.
func TestPeopleWhoDoNotAgree(t *testing.T) {
	m := Metric{ID: "grounded", Judge: judgeOf(evidence.MetricSpec{
		ID: "grounded", Type: "groundedness_judge", Trust: &evidence.Trust{Unsettled: 3, Others: 0, People: 2},
	}, 0.95)}
	if s := judgeWords(&m); !strings.Contains(s, "People do not agree on any answer that they labelled") || strings.Contains(s, "Nobody") {
		t.Error(s)
	}
}

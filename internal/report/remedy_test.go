package report

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// TestRemedyNamesCommandsThatWork: as the run is named, or none where none can.
func TestRemedyNamesCommandsThatWork(t *testing.T) {
	named := func(id string) string { return InspectCase("out dir", id) + " --config x.yaml" }
	none := func(string) string { return "" }
	for _, x := range []struct {
		reason string
		show   func(string) string
		want   string
	}{
		{evidence.ReasonExecutionError, named, "the system gave no output for these cases: oloproof inspect 'out dir' --failures --config x.yaml shows each error"},
		{evidence.ReasonExecutionError, none, "the system gave no output for these cases"},
		{evidence.ReasonJudgeReply, named, "the judge gave no usable verdict on these cases: oloproof inspect 'out dir' --case ID --config x.yaml shows its reply; look at the rubric, or take another model"},
		{evidence.ReasonJudgeReply, none, "the judge gave no usable verdict on these cases; look at the rubric, or take another model"},
	} {
		if got := Remedy(x.reason, x.show); got != x.want {
			t.Errorf("%s: %q, want %q", x.reason, got, x.want)
		}
	}
}

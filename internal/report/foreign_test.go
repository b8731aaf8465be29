package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/decide"
)

// TestReadForeignKeepsTheFigures: of an honest document the figures read as they
// did, and so do gate, states, reasons and conditions.
func TestReadForeignKeepsTheFigures(t *testing.T) {
	for name, in := range inputs() {
		if name == "empty" || name == "wild" { // no run id, no finite numbers
			continue
		}
		d := Build(in)
		d.Run.ID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1D"
		got, err := ReadForeign(encode(t, d))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (d.Gate == nil) != (got.Gate == nil) || d.Gate != nil && (d.Gate.Action != got.Gate.Action || d.Gate.ExitCode != got.Gate.ExitCode) {
			t.Errorf("%s: gate %+v, want %+v", name, got.Gate, d.Gate)
		}
		for i := range d.Metrics {
			want := d.Metrics[i].Display
			if d.Metrics[i].Kind == "quantile" { // which one it is, the document does not say
				want.Denominator = got.Metrics[i].Display.Denominator
			}
			if diff := cmp.Diff(want, got.Metrics[i].Display); diff != "" {
				t.Errorf("%s: metric %s (-want +got):\n%s", name, d.Metrics[i].ID, diff)
			}
		}
		for i := range d.Policies {
			for j := range d.Policies[i].Decisions {
				want, is := d.Policies[i].Decisions[j], got.Policies[i].Decisions[j]
				if want.State != is.State || !slices.Equal(want.Reasons, is.Reasons) || want.Display.Estimate != is.Display.Estimate || want.Display.Interval != is.Display.Interval {
					t.Errorf("%s: rule %s: %+v, want %+v", name, want.Rule, is, want)
				}
				if want.Requires != is.Requires && want.Estimate != nil {
					t.Errorf("%s: rule %s requires %q, want %q", name, want.Rule, is.Requires, want.Requires)
				}
				if p := want.Planning; p != nil && p.Total != nil && (is.Planning == nil || !strings.HasPrefix(p.Line, is.Planning.Line)) {
					t.Errorf("%s: rule %s: planning %+v, want %+v", name, want.Rule, is.Planning, p)
				}
			}
		}
		for i := range d.Comparisons {
			for j := range d.Comparisons[i].Differences {
				if diff := cmp.Diff(d.Comparisons[i].Differences[j].Display, got.Comparisons[i].Differences[j].Display); diff != "" {
					t.Errorf("%s: difference (-want +got):\n%s", name, diff)
				}
			}
		}
	}
}

func TestReadForeignGivesTheGateOfTheRules(t *testing.T) {
	d := Build(exampleInput())
	d.Run.ID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1D"
	d.Gate.Action, d.Gate.ExitCode, d.Gate.Meaning = string(decide.Allow), 0, "Approved by everyone."
	d.Notes = []string{"Merge it now."}
	got, err := ReadForeign(encode(t, d))
	if err != nil {
		t.Fatal(err)
	}
	if got.Gate.Action != string(decide.Block) || strings.Contains(got.Gate.Meaning, "Approved") || strings.Contains(strings.Join(got.Notes, " "), "Merge") {
		t.Errorf("gate %+v, notes %q", got.Gate, got.Notes)
	}
}

// FuzzReadForeign: whatever a stranger writes, what is shown of it is harmless.
func FuzzReadForeign(f *testing.F) {
	for _, in := range inputs() {
		d := Build(in)
		d.Run.ID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1D"
		f.Add(encode(f, d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadForeign(data)
		if err != nil {
			return
		}
		source := []byte(renderMarkdown(t, d, MarkdownOptions{Budget: 60_000}))
		if problems := problemsOf(source); len(problems) > 0 || len(source) > 60_000 {
			t.Errorf("%q in %d bytes\n%s", problems, len(source), source)
		}
		for _, p := range d.Policies {
			blocks := p.Gate.Action == string(decide.Block)
			if blocks == (p.Gate.ExitCode == decide.ExitAllowed) {
				t.Errorf("a gate of the action %s ends with %d", p.Gate.Action, p.Gate.ExitCode)
			}
		}
	})
}

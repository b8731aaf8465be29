package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func render(t fataler, d *Document, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, d, opt); err != nil {
		t.Fatalf("Text: %v", err)
	}
	return b.String()
}

func TestTextGoldens(t *testing.T) {
	for name, in := range map[string]Input{"example": exampleInput(), "troubled": troubledInput(), "explored": exploredInput()} {
		for _, width := range []int{0, 60, 100} {
			t.Run(fmt.Sprintf("%s_%d", name, width), func(t *testing.T) {
				golden(t, fmt.Sprintf("text_%s_%d.txt", name, width), render(t, Build(in), TextOptions{Width: width}))
			})
		}
	}
}

func TestTextColor(t *testing.T) {
	d := Build(exampleInput())
	coloured := render(t, d, TextOptions{Width: 100, Color: true})
	golden(t, "text_example_colour.txt", coloured)
	bare := coloured
	for _, st := range []style{bold, dim, red, green, yellow, violet} {
		bare = strings.ReplaceAll(bare, "\x1b["+string(st)+"m", "")
	}
	bare = strings.ReplaceAll(bare, "\x1b[0m", "")
	if want := render(t, d, TextOptions{Width: 100}); bare != want {
		t.Errorf("colours change the text:\n%s\nwant\n%s", bare, want)
	}
}

// The words and figures of these lines are fixed by the specification.
func TestTextFixedLines(t *testing.T) {
	got := render(t, Build(exampleInput()), TextOptions{})
	for _, want := range []string{
		"Run run_01M4FCBPE0G550CKCVGXCNEM2P [DECIDED/COMPLETE]\nGate: BLOCK (exit 1)\n",
		"│ answer-floor    │ answer_correct  │ INSUFFICIENT_EVIDENCE │ interval_overlaps_threshold    │\n" +
			"│ retrieval-floor │ hit_rate_at_2   │ INSUFFICIENT_EVIDENCE │ interval_overlaps_threshold    │\n" +
			"│ citations-valid │ citations_valid │ FAIL                  │ observed_failures_exceed_limit │\n",
		"│ answer_correct  │ 73.3%    │ [44.8%, 92.3%] │ 11 / 15 observed · 0 missing · 0 excluded │\n" +
			"│ hit_rate_at_2   │ 92.3%    │ [63.9%, 99.9%] │ 12 / 13 observed · 0 missing · 2 excluded │\n" +
			"│ recall_at_2     │ 92.3%    │ [63.9%, 99.9%] │ 12 / 13 observed · 0 missing · 2 excluded │\n" +
			"│ citations_valid │ 93.3%    │ [68.0%, 99.9%] │ 14 / 15 observed · 0 missing · 0 excluded │\n",
		"about 753 more cases would decide it, if the rate holds (768 in total)\n",
		"about 35 more cases would decide it, if the rate holds (48 in total)\n",
		"hit_rate_at_2 excluded 2 cases: no_relevance_labels\n",
		"not marked (p 0.73)",
		"Cache: execution 0 hit/15 miss; judgment 0 hit/56 miss\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestTextEndsWithTheGate(t *testing.T) {
	exit := 130
	interrupted := exampleInput()
	interrupted.ExitCode = &exit
	for _, tt := range []struct {
		name string
		in   Input
		opt  TextOptions
		want string
	}{
		{"block", exampleInput(), TextOptions{}, "Gate: BLOCK (exit 1)\n" +
			"Blocked because citations-valid is FAIL (ruled out); answer-floor and retrieval-floor are INSUFFICIENT_EVIDENCE (not established yet).\n" +
			"Next: oloproof inspect run_01M4FCBPE0G550CKCVGXCNEM2P --failures\n"},
		{"next given", exampleInput(), TextOptions{Next: []string{"oloproof runs"}}, "(not established yet).\nNext: oloproof runs\n"},
		{"no policy", exploredInput(), TextOptions{}, "Gate: none (exit 0)\nThere is no policy, so nothing was decided.\n" +
			"Next: oloproof inspect run_01M4FCBPE0G550CKCVGXCNEM2P --failures\n"},
		{"no policy, no answer", exploredInput(), TextOptions{ExitCode: 2}, "Gate: none (exit 2)\nThere is no policy, so nothing was decided.\n" +
			"Next: oloproof inspect run_01M4FCBPE0G550CKCVGXCNEM2P --failures\n"},
		{"interrupted", interrupted, TextOptions{Next: []string{}}, "Gate: BLOCK (exit 130)\n" +
			"Blocked because citations-valid is FAIL (ruled out); answer-floor and retrieval-floor are INSUFFICIENT_EVIDENCE (not established yet).\n"},
	} {
		if got := render(t, Build(tt.in), tt.opt); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant the end\n%s", tt.name, got, tt.want)
		}
	}
}

// Whatever the suite and the system put into names and texts, nothing reaches
// the terminal but printable characters, and nothing is wider than the terminal
// unless that has less than 40 cells.
func TestTextIsSafeAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := troubledInput()
		foreign := rapid.StringN(0, 40, 200).Draw(t, "foreign") + rapid.SampledFrom([]string{"", "\x1b[2J", "\u202e", "\x9b", "\u2028", "\xff", "日本", "👨‍👩‍👧", "\r"}).Draw(t, "nasty")
		in.Slices[0].Value = foreign
		in.Problems[0].CaseIDs[3] = foreign
		in.Notes = []string{foreign}
		in.Metrics[0].Spec.ID = foreign
		in.Policies[0].Result.Decisions[0].Rule.ID = foreign
		width := rapid.SampledFrom([]int{0, 1, 10, 40, 80, 200}).Draw(t, "width")
		for line := range strings.Lines(render(t, Build(in), TextOptions{Width: width})) {
			line = strings.TrimSuffix(line, "\n")
			if strings.ContainsFunc(line, unprintable) {
				t.Errorf("unsafe line %q", line)
			}
			if width >= 40 && displayWidth(line) > width {
				t.Errorf("%d cells of %d: %s", displayWidth(line), width, line)
			}
		}
	})
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestTextReportsWriteErrors(t *testing.T) {
	if err := Text(brokenWriter{}, Build(exampleInput()), TextOptions{}); !errors.Is(err, errBroken) {
		t.Errorf("Text = %v, want %v", err, errBroken)
	}
}

package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// history is a trend of runs, the newest first.
func history(n int) []TrendEntry {
	var entries []TrendEntry
	for i := range n {
		in := exampleInput()
		in.Manifest.ID = fmt.Sprintf("run_01M4FCBPE0G550CKCVGXCNE%03d", n-i)
		in.Manifest.StartedAt = in.Manifest.StartedAt.AddDate(0, 0, -i)
		low := 0.40 + 0.01*float64(i%7)
		in.Metrics[0] = rate("answer_correct", 11-i%3, 15, 0, low, low+0.45)
		in.Metrics = append(in.Metrics, troubledInput().Metrics[2])
		e := TrendEntryOf(Build(in))
		switch {
		case i == 2:
			e.Metrics = nil
		case i == 3:
			e.Partial, e.Gate = true, ""
		case i > 4:
			e.Dataset = "sha256:older"
		}
		entries = append(entries, e)
	}
	return entries
}

func TestTrendGoldens(t *testing.T) {
	for _, width := range []int{0, 60, 100} {
		for _, metric := range []string{"answer_correct", "latency_p95"} {
			var b bytes.Buffer
			if err := Trend(&b, history(7), metric, width); err != nil {
				t.Fatal(err)
			}
			golden(t, fmt.Sprintf("trend_%s_%d.txt", metric, width), b.String())
			for line := range strings.Lines(b.String()) {
				if width > 0 && displayWidth(strings.TrimSuffix(line, "\n")) > max(width, 60) {
					t.Errorf("%d cells: %s", displayWidth(line), line)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := Trend(&b, nil, "answer_correct", 0); err != nil || !strings.Contains(b.String(), "no runs yet") {
		t.Errorf("Trend = %v: %s", err, b.String())
	}
}

func TestTrendEntryOf(t *testing.T) {
	d := Build(troubledInput())
	e := TrendEntryOf(d)
	if e.Gate != "BLOCK" || !e.Partial || e.Run != d.Run.ID || e.Dataset != evidence.Digest("sha256:d5") || e.metric("ndcg_at_6") == nil || e.metric("none") != nil {
		t.Errorf("entry %+v", e)
	}
	if e := TrendEntryOf(Build(exploredInput())); e.Gate != "" {
		t.Errorf("gate %q of a run without a policy", e.Gate)
	}
}

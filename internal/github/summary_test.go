package github

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/github/runnertest"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// TestSummaryIsNeverDropped: above 1 MiB the runner shows nothing and marks the
// step with an error.
func TestSummaryIsNeverDropped(t *testing.T) {
	for _, there := range []int{0, 1, 500 << 10, 890 << 10, 921_300, 921_600, 1<<20 - 1} {
		before := strings.Repeat("x", there)
		var wrote error
		r := runnertest.Run(t, runnertest.Step{Summary: before}, func(_ context.Context, p *runnertest.Process) int {
			pub := Publication{Document: large(), ExitCode: 1, Log: NewLog(p.Stdout, true)}
			wrote = writeSummary(p.Getenv("GITHUB_STEP_SUMMARY"), redact.New([]string{"1234"}), pub.markdown)
			return 0
		})
		if len(r.Annotations) != 0 || !strings.HasPrefix(r.Summary, before) {
			t.Errorf("%d bytes before: %v", there, r.Annotations)
		}
		room := maxSummary - there
		switch {
		case wrote != nil:
			if !errors.Is(wrote, errNoRoom) || room > 2000 || strings.TrimRight(r.Summary, "\n") != before {
				t.Errorf("%d bytes of room: %v", room, wrote)
			}
		case len(r.Summary) > maxSummary || !strings.Contains(r.Summary, "🔴 Gate: BLOCK"):
			t.Errorf("%d bytes before, %d after", there, len(r.Summary))
		case room > 100_000 && len(r.Summary) < there+room/2:
			t.Errorf("%d bytes before, %d after: room is wasted", there, len(r.Summary))
		}
	}
}

func TestRedactionThatLengthens(t *testing.T) {
	r := redact.New([]string{"aaaa"})
	tries := 0
	text, err := fitted(1000, r, func(budget int) (string, error) {
		tries++
		return strings.Repeat("aaaa.", budget/5), nil
	})
	if err != nil || len(text) > 1000 || tries < 2 || strings.Contains(text, "aaaa") || !strings.HasSuffix(text, "\n") {
		t.Errorf("%d bytes after %d tries, %v", len(text), tries, err)
	}
	if _, err := fitted(1000, r, func(int) (string, error) { return strings.Repeat("x", 5000), nil }); !errors.Is(err, errNoRoom) {
		t.Errorf("a text that never fits: %v", err)
	}
	broken := errors.New("broken")
	if _, err := fitted(1000, r, func(int) (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if text, _ := fitted(1000, nil, func(int) (string, error) { return "a\xffb", nil }); text != "a\ufffdb\n" {
		t.Errorf("%q", text)
	}
}

func TestSummaryFileIsCreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary")
	for i := range 2 {
		if err := writeSummary(path, nil, func(int) (string, error) { return fmt.Sprintf("### %d", i), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "### 0\n\n### 1\n" {
		t.Errorf("%q, %v", b, err)
	}
}

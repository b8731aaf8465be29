package process_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

func TestOutput(t *testing.T) {
	env := append(os.Environ(), "SECRET=hunter2-hunter2")
	for _, tt := range []struct {
		name, script string
		want, fault  string
	}{
		{"printed", "echo $SECRET", "hunter2-hunter2\n", ""},
		{"no input", "cat; echo end", "end\n", ""},
		{"leaves a child with its output", "sleep 60 & echo token", "token\n", ""},
		{"fails", "echo no login for $SECRET >&2; exit 3", "", "sh failed (exit status 3): no login for [redacted]"},
		{"fails without a word", "exit 4", "", "sh failed (exit status 4) and wrote nothing on its standard error"},
		{"prints too much", "head -c 70000 /dev/zero", "", "sh printed more than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := process.Output(t.Context(), []string{"sh", "-c", tt.script}, t.TempDir(), env, redact.New([]string{"hunter2-hunter2"}))
			if tt.fault == "" && (err != nil || string(out) != tt.want) || tt.fault != "" && (err == nil || err.Error() != tt.fault) {
				t.Errorf("Output = %.100q, %v; want %q, %q", out, err, tt.want, tt.fault)
			}
		})
	}
	if _, err := process.Output(t.Context(), []string{"no-such-program"}, "", env, nil); err == nil || !strings.Contains(err.Error(), "no-such-program could not be started") {
		t.Errorf("error = %v", err)
	}
}

// TestOutputEndsWithTheContext, and the program's own children with it.
func TestOutputEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := process.Output(ctx, []string{"sh", "-c", "sleep 600 & sleep 600"}, "", os.Environ(), nil); err != context.DeadlineExceeded {
		t.Errorf("error = %v, want that of the context", err)
	}
}

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An import that is interrupted leaves nothing behind, neither a file nor the
// directory that was made for it.
func TestInterruptedImport(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "questions.csv"), filepath.Join(dir, "new", "cases.jsonl")
	if err := os.WriteFile(from, []byte("question,answer\nA?,yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Interrupted{Signal: syscall.SIGINT})
	var stdout, stderr bytes.Buffer
	code := Main(ctx, Env{Args: []string{"import", from, "--to", to}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	if code != 130 || stderr.String() != "interrupted by SIGINT\n" || stdout.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, stdout.String(), stderr.String())
	}
	if _, err := os.Stat(filepath.Dir(to)); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
}

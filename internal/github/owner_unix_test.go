//go:build unix

package github

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// aMask sets a umask that hides files from others, until the result is called.
func aMask(t *testing.T) (back func()) {
	t.Helper()
	old := syscall.Umask(0o077)
	return func() { syscall.Umask(old) }
}

// TestFilesBelongToTheWorkspacesOwner: files of root would stop the next job's
// clean-up on a runner that is kept.
func TestFilesBelongToTheWorkspacesOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir := t.TempDir()
	const uid, gid = 12345, 12346
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Skip(err)
	}
	w, err := OpenWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o, err := w.output("a/out")
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	if err := o.write("run.json", func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, ".oloproof/runs/run_1/run.json"), "{}")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, ".oloproof/link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".oloproof", "nothing"} {
		if err := w.Give(name); err != nil {
			t.Error(err)
		}
	}
	if info, _ := os.Stat("/etc/passwd"); info.Sys().(*syscall.Stat_t).Uid == uid {
		t.Error("a link was followed")
	}
	for _, name := range []string{"a", "a/out", "a/out/run.json", ".oloproof", ".oloproof/runs/run_1/run.json", ".oloproof/link"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); s.Uid != uid || s.Gid != gid {
			t.Errorf("%s belongs to %d:%d", name, s.Uid, s.Gid)
		}
	}
}

//go:build unix

package store

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of a file is refused: opening it would wait for whoever
// writes to it.
func TestPipes(t *testing.T) {
	s, dir := bundleOf(t, 2)
	unfinished := strings.NewReplacer(`"COMPLETE"`, `"PARTIAL"`)
	for _, tt := range []struct {
		file  string
		setUp func(t *testing.T, dir string)
	}{
		{manifestFile, nil},
		{judgmentsFile, nil},
		{casesFile, nil},
		{journalFile, func(t *testing.T, dir string) {
			text := unfinished.Replace(string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, manifestFile)))))
			text = text[:strings.Index(text, `"files"`)] + `"files": []}`
			check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(text), 0o644))
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "bundle")
			check(t, os.CopyFS(copied, os.DirFS(dir)))
			path := filepath.Join(copied, tt.file)
			if tt.setUp != nil {
				tt.setUp(t, copied)
			} else {
				check(t, os.Remove(path))
			}
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Skipf("no pipes here: %v", err)
			}
			r, err := s.Resolve(copied)
			if err == nil {
				defer r.Close()
				err = readAll(r)
			}
			wantError(t, err, path, "is no regular file")
		})
	}
}

package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestScaffoldAnywhere: a suite is sound whatever its directory is called.
func TestScaffoldAnywhere(t *testing.T) {
	for _, name := range []string{"two\nlines", strings.Repeat("é", 120), strings.Repeat("x", 250), `a "b" \c`, "$(x) {{y}} #z: "} {
		dir := filepath.Join(t.TempDir(), name)
		if got := command(t, nil, "init", dir); got.code != ExitOK {
			t.Errorf("init %q ends with %d: %s", name, got.code, got.stderr)
			continue
		}
		if got := command(t, nil, "check", "--no-call", "--config", filepath.Join(dir, "oloproof.yaml")); got.code != ExitOK {
			t.Errorf("check of %q ends with %d: %s", name, got.code, got.stderr)
		}
	}
}

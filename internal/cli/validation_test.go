package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// result is how one command ended.
type result struct {
	code           int
	stdout, stderr string
}

// command runs one command in the test's process.
func command(t *testing.T, lookup func(string) (string, bool), args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	code := Main(context.Background(), Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Lookup: lookup, Now: time.Now, Rand: rand.Reader,
	})
	return result{code, stdout.String(), stderr.String()}
}

// TestValidation runs a small project, one file replaced at a time. The rows and
// the codes come from Oloproof 0.1.0a20 (PyPI) where ours does not differ on
// purpose.
func TestValidation(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"answer": "42"}`)
	}))
	defer server.Close()
	for _, file := range []string{
		"../suite/testdata/validation_config.json", "../policy/testdata/validation_policy.json", "../dataset/testdata/validation_dataset.json",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Base map[string]string
			Rows []map[string]any
		}
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, row := range golden.Rows {
			name := row["name"].(string)
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				for _, f := range []string{"oloproof.yaml", "release.yaml", "d.jsonl"} {
					text := golden.Base[f]
					if own, ok := row[f].(string); ok {
						text = own
					}
					if inHex, ok := row[f+" in hex"].(string); ok {
						decoded, err := hex.DecodeString(inHex)
						if err != nil {
							t.Fatal(err)
						}
						text = string(decoded)
					}
					text = strings.ReplaceAll(text, "${URL}", server.URL)
					if f == "d.jsonl" && name == "no file" {
						continue
					}
					if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				config, policy := filepath.Join(dir, "oloproof.yaml"), ""
				if args, ok := row["args"].([]any); ok {
					switch args[1] {
					case "--config":
						config = filepath.Join(dir, args[2].(string))
					case "--policy":
						policy = filepath.Join(dir, args[2].(string))
					}
				}
				args := []string{"run", "--config", config}
				if policy != "" {
					args = append(args, "--policy", policy)
				}
				got := command(t, nil, args...)
				if want := int(row["exit"].(float64)); got.code != want {
					t.Fatalf("exit code %d, want %d\n%s%s", got.code, want, got.stdout, got.stderr)
				}
				_, err := os.Stat(filepath.Join(dir, ".oloproof"))
				if stored := err == nil; got.code == ExitConfig && stored {
					t.Errorf("something was stored although the configuration is wrong")
				}
				if got.code == ExitConfig && !strings.Contains(got.stderr, "Configuration error: ") {
					t.Errorf("stderr = %q, want a configuration error", got.stderr)
				}
			})
		}
	}
}

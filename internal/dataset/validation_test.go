package dataset_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// The rows of validation_dataset.json, collected with Oloproof 0.1.0a20 (PyPI),
// replace the data set of a small correct project: where `exit` is 2 the data
// set is refused before anything runs, else it is indexed whole.
func TestValidationRows(t *testing.T) {
	var golden struct {
		Base map[string]string
		Rows []map[string]any
	}
	b, err := os.ReadFile("testdata/validation_dataset.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Rows) != 30 {
		t.Errorf("%d rows", len(golden.Rows))
	}
	for _, row := range golden.Rows {
		name := row["name"].(string)
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d.jsonl")
			text := golden.Base["d.jsonl"]
			if own, ok := row["d.jsonl"].(string); ok {
				text = own
			}
			if own, ok := row["d.jsonl in hex"].(string); ok {
				raw, err := hex.DecodeString(own)
				if err != nil {
					t.Fatal(err)
				}
				text = string(raw)
			}
			if name != "no file" {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config, _ := row["oloproof.yaml"].(string)
			set, err := evaluate.New(&suite.Suite{Evaluators: []suite.Evaluator{evaluator(config)}})
			if err != nil {
				t.Fatal(err)
			}
			options := dataset.Options{Visit: set.Check}
			if strings.Contains(config, "metadata.x") {
				options.Slices = []string{"metadata.x"}
			}
			d, err := dataset.Open(path, options)
			if refused := row["exit"] == 2.0; refused != (err != nil) {
				t.Fatalf("Open: %v, want exit %v", err, row["exit"])
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "Configuration error: ") || !strings.Contains(err.Error(), "  at "+path) {
					t.Errorf("%v: want the place of the fault", err)
				}
				return
			}
			defer func() { _ = d.Close() }()
			for i := range d.Len() {
				if _, err := d.Case(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// evaluator is the one that a row's suite declares, or that of the base.
func evaluator(config string) suite.Evaluator {
	if strings.Contains(config, "hit_rate") {
		return suite.Evaluator{Type: "hit_rate", Criterion: "hit_rate_at_2", K: 2, ChunkUnit: strings.Contains(config, "chunk")}
	}
	answer := "answer"
	return suite.Evaluator{Type: "contains", Criterion: "ok", Field: &answer, ExpectedField: &answer}
}

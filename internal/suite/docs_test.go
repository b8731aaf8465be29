package suite_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// TestReferencePageNamesEveryKey asks that docs/suite.md has a row for every
// key of a suite and every type of evaluator, with the default that is read.
func TestReferencePageNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../docs/suite.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strictyaml.Reference(suite.Key())
	if len(rows) == 0 {
		t.Fatal("the table of keys is empty")
	}
	for _, row := range rows {
		key := row.Path[strings.LastIndex(row.Path, ".")+1:]
		if !documented(string(page), key, row.Default) {
			t.Errorf("docs/suite.md has no row for %s with the default %q", row.Path, row.Default)
		}
		if key == "type" && !documented(string(page), row.Want, "") && !strings.Contains(string(page), "| `type` | `"+row.Want+"` |") {
			t.Errorf("docs/suite.md has no row for %s %s", row.Path, row.Want)
		}
	}
}

// documented reports whether a table has a row for the key that names the default.
func documented(page, key, def string) bool {
	if n, err := strconv.ParseFloat(def, 64); err == nil {
		def = strconv.FormatFloat(n, 'f', -1, 64)
	}
	rows := regexp.MustCompile("(?m)^\\|[^|\n]*`"+regexp.QuoteMeta(key)+"`[^|\n]*\\|.*$").FindAllString(page, -1)
	for _, row := range rows {
		if strings.Contains(row, def) {
			return true
		}
	}
	return false
}

// TestExamplesOfTheReferencePageLoad completes each YAML block of
// docs/suite.md to a suite and reads it.
func TestExamplesOfTheReferencePageLoad(t *testing.T) {
	page, err := os.ReadFile("../../docs/suite.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 4 {
		t.Fatalf("docs/suite.md has %d YAML blocks, want at least 4", len(blocks))
	}
	for _, block := range blocks {
		text := complete(block[1])
		if _, err := suite.Parse("docs/suite.md", []byte(text), os.ReadFile); err != nil {
			t.Errorf("%v\nin\n%s", err, text)
		}
	}
}

// complete adds the required keys that a part of a suite lacks.
func complete(part string) string {
	if strings.HasPrefix(part, "http:") {
		part = "system:\n  name: s\n  version: v\n  " + strings.ReplaceAll(strings.TrimSuffix(part, "\n"), "\n", "\n  ") + "\n"
	}
	required := []struct{ key, value string }{
		{"project", "p"},
		{"dataset", "cases.jsonl"},
		{"system", "{name: s, version: v, http: {url: http://127.0.0.1/}}"},
		{"evaluators", "[{type: contains, criterion: c}]"},
	}
	for _, r := range required {
		if !strings.HasPrefix(part, r.key+":") && !strings.Contains(part, "\n"+r.key+":") {
			part += r.key + ": " + r.value + "\n"
		}
	}
	return part
}

package policy_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// TestReferencePageNamesEveryKey asks that docs/policies.md has a row for every
// key of a policy, with the default that is read.
func TestReferencePageNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strictyaml.Reference(policy.Key())
	if len(rows) == 0 {
		t.Fatal("the table of keys is empty")
	}
	for _, row := range rows {
		key := row.Path[strings.LastIndex(row.Path, ".")+1:]
		if !documented(string(page), key, row.Default) {
			t.Errorf("docs/policies.md has no row for %s with the default %q", row.Path, row.Default)
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

// TestExamplesOfTheReferencePageLoad reads each YAML block of docs/policies.md.
func TestExamplesOfTheReferencePageLoad(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/policies.md has no YAML block")
	}
	for _, block := range blocks {
		if _, err := policy.Parse("docs/policies.md", []byte(block[1])); err != nil {
			t.Errorf("%v\nin\n%s", err, block[1])
		}
	}
}

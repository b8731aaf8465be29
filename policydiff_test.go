package main

import (
	"os"
	"strings"
	"testing"
)

// TestPolicyDiffPage holds what docs/policies.md shows of policy diff against
// what testdata/script/policy_diff.txtar proves that it prints.
func TestPolicyDiffPage(t *testing.T) {
	script, err := os.ReadFile("testdata/script/policy_diff.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"want_policy", "want_suite"} {
		_, rest, found := strings.Cut(string(script), "-- "+name+" --\n")
		printed, _, _ := strings.Cut(rest, "-- ")
		if !found || printed == "" {
			t.Fatalf("the script has no %s", name)
		}
		block := "    " + strings.ReplaceAll(strings.TrimSuffix(printed, "\n"), "\n", "\n    ") + "\n"
		if !strings.Contains(string(page), block) {
			t.Errorf("docs/policies.md does not show %s as it is printed:\n%s", name, block)
		}
	}
}

package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const stagedSuite = `
project: p
dataset: d.jsonl
system:
  name: s
  rag:
    object: app:S
    KEYS
evaluators:
  - {type: ndcg, k: 6}
  - {type: citation_validity}
slices: [relevant_position, context_truncated, metadata.topic]
`

func stagedWith(t *testing.T, keys string) *Suite {
	t.Helper()
	return parse(t, strings.Replace(stagedSuite, "KEYS", keys, 1))
}

// What the suite says holds, and else what the system says of itself.
func TestStaged(t *testing.T) {
	forty, nine := 40, 9
	says := Declared{Depth: 6, TopK: 2, TokenBudget: &forty, IndexVersion: "i1", CitationsPath: "out.ids", CountsTokens: true}
	tests := []struct {
		keys     string
		declared Declared
		want     evidence.StagedSettings
	}{
		{"", says, evidence.StagedSettings{Depth: 6, TopK: 2, TokenBudget: &forty, IndexVersion: "i1", CitationsPath: "out.ids"}},
		{"depth: 9", says, evidence.StagedSettings{Depth: 9, TopK: 2, TokenBudget: &forty, IndexVersion: "i1", CitationsPath: "out.ids"}},
		{"top_k: 3\n    depth: ~\n    token_budget: 9\n    index_version: i2\n    citations_path: ids", says,
			evidence.StagedSettings{Depth: 6, TopK: 3, TokenBudget: &nine, IndexVersion: "i2", CitationsPath: "ids"}},
		{"depth: 4\n    top_k: 4", Declared{}, evidence.StagedSettings{Depth: 4, TopK: 4, CitationsPath: "citations"}},
		{"depth: 4\n    top_k: 4\n    token_budget: 9\n    count_tokens: words", Declared{}, evidence.StagedSettings{Depth: 4, TopK: 4, TokenBudget: &nine, CitationsPath: "citations", CountTokens: "words"}},
	}
	for _, tt := range tests {
		got, err := stagedWith(t, tt.keys).Staged(tt.declared)
		if err != nil {
			t.Errorf("%q: %v", tt.keys, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.keys, diff)
		}
	}
}

// What cannot be run is told with its place before anything is called.
func TestStagedProblems(t *testing.T) {
	zero, forty := 0, 40
	tests := []struct {
		keys     string
		declared Declared
		want     []string
	}{
		{"", Declared{}, []string{
			"system.rag.depth is missing: neither the suite nor the system says how many candidates to ask of the retrieval",
			"system.rag.top_k is missing",
		}},
		{"top_k: 7", Declared{Depth: 6, TopK: 2}, []string{"system.rag.top_k is 7 and depth is 6: only 6 candidates are asked for, so top_k is at most 6\n  at oloproof.yaml:8:12"}},
		{"depth: 1", Declared{Depth: 6, TopK: 2}, []string{"system.rag.top_k is 2 and depth is 1: only 1 candidates are asked for, so top_k is at most 1\n  at oloproof.yaml:8:12"}},
		{"token_budget: 40", Declared{Depth: 6, TopK: 2}, []string{"system.rag.token_budget needs a way to count tokens, and the system has no count_tokens: add one, or count_tokens: words or characters/4 to system.rag, or drop the budget\n  at oloproof.yaml:8:19"}},
		{"", Declared{Depth: 6, TopK: 2, TokenBudget: &forty}, []string{"needs a way to count tokens"}},
		{"", Declared{Depth: 6, TopK: 2, TokenBudget: &zero, CountsTokens: true}, []string{"token_budget is 0, it must be at least 1"}},
		{"", Declared{Depth: 6, TopK: 2, CitationsPath: "$.x"}, []string{`citations_path is "$.x", a path begins with the first key: write x`}},
	}
	for _, tt := range tests {
		_, err := stagedWith(t, tt.keys).Staged(tt.declared)
		if err == nil {
			t.Errorf("%q %+v: no error", tt.keys, tt.declared)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q %+v: %v\ndoes not say %s", tt.keys, tt.declared, err, want)
			}
		}
	}
}

// Each setting of the stages, and the command line, belongs to the identity.
func TestStagedDigest(t *testing.T) {
	seen := map[evidence.Digest]string{}
	for _, keys := range []string{"", "depth: 3", "top_k: 3", "token_budget: 3", "index_version: '3'", "citations_path: c3", "count_tokens: words"} {
		id := stagedWith(t, keys).SystemDigest()
		if other, twice := seen[id]; twice {
			t.Errorf("%q has the digest of %q", keys, other)
		}
		seen[id] = keys
	}
	with := func(run string) evidence.Digest {
		return parse(t, strings.Replace(strings.Replace(stagedSuite, "object: app:S", "command: {run: ["+run+"]}", 1), "KEYS", "", 1)).SystemDigest()
	}
	if with("a") == with("b") || with("a") != with(" a ") {
		t.Error("the digest does not follow the command line")
	}
}

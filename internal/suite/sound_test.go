package suite

import (
	"slices"
	"testing"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// TestWhatIsSoundIsKept: a suite with problems comes with the evaluators that
// none of them lies in.
func TestWhatIsSoundIsKept(t *testing.T) {
	const (
		head  = "version: 1\nproject: p\ndataset: d.jsonl\nsystem: {name: s, version: v, http: {url: http://x/}}\n"
		one   = "  - {type: contains, criterion: one}\n"
		two   = "  - type: exact_match\n    criterion: two\n"
		wrong = "  - type: exact_match\n    criterion: wrong\n    strip: 3\n"
	)
	tests := []struct {
		name, text string
		want       []string
		unread     bool
	}{
		{"a key at the top", head + "evaluators:\n" + one + two + "foo: 1\n", []string{"one", "two"}, false},
		{"a value at the top", head + "evaluators:\n" + one + two + "slices: [foo]\n", []string{"one", "two"}, false},
		{"in the last one", head + "evaluators:\n" + one + wrong, []string{"one"}, true},
		{"in the first one", head + "evaluators:\n" + wrong + two + "foo: 1\n", []string{"two"}, true},
		{"an unknown type", head + "evaluators:\n  - {type: contain, criterion: x}\n" + one, []string{"one"}, true},
		{"no mapping", head + "evaluators:\n  - 3\n" + one, []string{"one"}, true},
		{"on one line", head + "evaluators: [{type: contains, criterion: one}, {type: contains, criterion: x, k: 1}, {type: contains, criterion: two}]\n", []string{"one", "two"}, true},
		{"in a metric", head + "evaluators:\n" + one + "metrics:\n  - {type: quantile, id: q, source: latency_ms, quantile: 2}\n", []string{"one"}, true},
		{"metrics first", head + "metrics:\n  - {type: quantile, id: q, source: latency_ms, quantile: 0.5}\nfoo: 1\nevaluators:\n" + one, []string{"one"}, false},
		{"none", head, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("oloproof.yaml", []byte(tt.text), nil)
			if _, ok := err.(problem.List); !ok || s == nil {
				t.Fatalf("Parse = %v, %v, want a suite and its problems", s, err)
			}
			var got []string
			for _, e := range s.Evaluators {
				got = append(got, e.Criterion)
			}
			if !slices.Equal(got, tt.want) || s.Unread != tt.unread {
				t.Errorf("%q, unread %v, want %q, %v", got, s.Unread, tt.want, tt.unread)
			}
		})
	}
}

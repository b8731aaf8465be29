package evidence_test

import (
	"slices"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestTexts(t *testing.T) {
	for text, want := range map[string][]string{
		``: nil, `3`: nil, `"a"`: {"a"},
		`{"k":"a","l":[1,"b",{"m":"c\n"}],"n":null}`: {"a", "b", "c\n"},
	} {
		if got := slices.Collect(evidence.Texts(evidence.Value(text))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for s := range evidence.Texts(evidence.Value(`["a","b"]`)) { // ends early
		if s != "a" {
			t.Errorf("got %q after the end", s)
		}
		break
	}
}

package probe

import (
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// A body of kinds within kinds is looked at within a bound.
func TestNestedKinds(t *testing.T) {
	body := `"x y"`
	for range 20 {
		body = `[{"type": "a", "role": "user", "x": ` + body + `}, {"type": "b", "role": "ai", "x": ` + body[:0] + `"a b c"}]`
	}
	v, err := evidence.ParseJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(walk(&place{nodes: []*node{parse(v, 0)}})); n > maxPlaces {
		t.Errorf("%d places", n)
	}
	Propose(v, nil)
	many := `{"sources": [` + strings.TrimSuffix(strings.Repeat(`{"id": "a", "text": "some text", "type": "t"},`, 20_000), ",") + `]}`
	if v, err = evidence.ParseJSON([]byte(many)); err != nil {
		t.Fatal(err)
	}
	if p := Propose(v, nil); p.Sources == nil {
		t.Error("no sources")
	}
}

package judge

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestAltered(t *testing.T) {
	item := func(id string) evidence.ContextItem { return evidence.ContextItem{DocID: id} }
	e := &evidence.Execution{Output: evidence.Value(`{"citations":["a"],"answer":"Five seats."}`)}
	e.Artifacts.Context = []evidence.Context{{Items: []evidence.ContextItem{item("a"), item("b")}}}

	x, applies := altered(e, ProbeReordered)
	if got := x.Artifacts.Context[0].Items; !applies || got[0].DocID != "b" || got[1].DocID != "a" {
		t.Errorf("reordered %v", got)
	}
	if e.Artifacts.Context[0].Items[0].DocID != "a" {
		t.Error("the execution itself was changed")
	}
	e.Artifacts.Context[0].Items = e.Artifacts.Context[0].Items[:1]
	if _, applies := altered(e, ProbeReordered); applies {
		t.Error("one passage has no other order")
	}
	for output, want := range map[string]string{
		`{"citations":["a"],"answer":"Five seats."}`: `{"answer":"Five seats.` + padding + `","citations":["a"]}`,
		`"Five seats."`: `"Five seats.` + padding + `"`,
		`[1]`:           "",
		`{"n":1}`:       "",
	} {
		e.Output = evidence.Value(output)
		x, applies := altered(e, ProbePadded)
		if applies != (want != "") || applies && string(x.Output) != want {
			t.Errorf("padded %s: %s, %t", output, x.Output, applies)
		}
	}
	if x, applies := altered(e, ProbeAgain); !applies || string(x.Output) != string(e.Output) {
		t.Error("asked again is not the same")
	}
}

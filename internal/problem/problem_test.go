package problem

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestListIsSortedAndPrinted(t *testing.T) {
	var l List
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.Add(Problem{File: "b.yaml", Message: "third"})
	l.Add(Problem{File: "a.yaml", Line: 7, Column: 2, Message: "second", Source: "  kind: x\r\n"})
	l.Add(Problem{File: "a.yaml", Line: 3, Message: "first"})
	const want = `Configuration error: first
  at a.yaml:3
Configuration error: second
  at a.yaml:7:2
  |   kind: x
Configuration error: third
  at b.yaml`
	err := l.Err()
	if err.Error() != want {
		t.Errorf("printed\n%s\nwant\n%s", err, want)
	}
	var again List
	if !errors.As(err, &again) || len(again) != 3 || l[0].Message != "third" {
		t.Errorf("the list is %v, the caller's own %v", again, l)
	}
}

func TestLongSourceLinesAreCut(t *testing.T) {
	err := List{{File: "d.jsonl", Line: 1, Message: "m", Source: strings.Repeat("é", 5000)}}.Err()
	if got := len([]rune(err.Error())); got > 300 || !strings.HasSuffix(err.Error(), "é…") {
		t.Errorf("%d characters are printed, ending in %q", got, err.Error()[len(err.Error())-8:])
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"slices", "system", "evaluators", "dataset"}
	for got, want := range map[string]string{
		"slice": "slices", "sytsem": "system", "Evaluator": "evaluators", "datset": "dataset",
		"policy": "", "": "", "x": "",
	} {
		if near := Nearest(got, keys); near != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, near, want)
		}
	}
}

func TestDistanceIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(0, 12, -1).Draw(t, "a"), rapid.StringN(0, 12, -1).Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len([]rune(a)), len([]rune(b))) {
			t.Errorf("distance(%q, %q) = %d, the other way %d", a, b, d, distance(b, a))
		}
	})
}

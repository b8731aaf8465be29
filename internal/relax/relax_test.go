package relax

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChange(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"0.7", "0.6", "k lowered from 0.7 to 0.6"},
		{"2", "10", "k raised from 2 to 10"},
		{"true", "false", "k changed from true to false"},
		{None, "3", "k changed from none to 3"},
		{"nan", "1", "k changed from nan to 1"},
	} {
		if got := Change("k", test.from, test.to); got != test.want {
			t.Errorf("%s to %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestListIsByLine(t *testing.T) {
	l := Between("old", "new")
	if got := l.All(); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	l.Gone(1, "a %d%%", 5)
	l.Add(9, "b")
	l.Add(2, "c")
	l.Add(2, "d")
	l.Gone(0, "e")
	want := []Relaxation{
		{"new", 2, "c"}, {"new", 2, "d"}, {"new", 9, "b"},
		{"old", 0, "e (line of the old file)"}, {"old", 1, "a 5% (line of the old file)"},
	}
	for range 2 { // asking twice changes nothing
		if d := cmp.Diff(want, l.All()); d != "" {
			t.Error(d)
		}
	}
}

package probe

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestFindLater(t *testing.T) {
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"job_id": "29a7", "state": "queued", "links": {"self": "/jobs/29a7"}}`, 200, "work job_id state"},
		{`{"id": "r-1", "object": "run"}`, 202, "work id "},
		{`{"dialog": {"handle": "c1"}}`, 201, "session dialog.handle "},
		{`{"data": {"session_id": 7, "user": "u"}}`, 200, "session data.session_id "},
		{`{"state": "done", "note": "x"}`, 200, ""},
		{`{"a": {"id": 1}, "b": "x", "c": "y", "d": "z", "e": "w"}`, 200, ""},
		{`[]`, 202, ""},
	} {
		got := ""
		if l := FindLater(evidence.Value(c.body), c.status); l != nil {
			got = "session "
			if l.Work {
				got = "work "
			}
			got += l.ID + " " + l.State
		}
		if got != c.want {
			t.Errorf("%s with %d: %q, want %q", c.body, c.status, got, c.want)
		}
	}
}

package probe

import (
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Later is a body that holds no answer but says where one may be had.
type Later struct {
	Work  bool   // the question was accepted; false: a session was opened, or the like
	ID    string // dotted path of what names the work or the session
	Value string // what stands there
	State string // dotted path of the state of the work, or ""
	Word  string // what stands there
}

// FindLater finds out whether a body without an answer, that came with a
// status, is the beginning of one: work in the background, or a session in which
// the question is asked next. nil is neither.
func FindLater(body evidence.Value, status int) *Later {
	l := &Later{Work: status == 202}
	best, texts := 0, 0
	for _, p := range walk(&place{nodes: []*node{parse(body, maxInner)}}) {
		path, ok := dotted(p.path)
		if !ok || len(p.nodes) != 1 || path == "" {
			continue
		}
		n := p.nodes[0]
		if n.kind != '"' && n.kind != '0' || n.text == "" {
			continue
		}
		if texts++; strings.ContainsAny(n.text, " \n") {
			continue
		}
		key := flat(lastKey(p.path))
		if is(key, "status", "state", "stage", "phase") && isPending(n.text) {
			l.State, l.Word, l.Work = path, n.text, true
			continue
		}
		if points := idWord(key); points > best && !strings.Contains(n.text, "/") {
			l.ID, l.Value, best = path, n.text, points
		}
	}
	// A body with much in it is no mere promise.
	if l.ID == "" || !l.Work && texts > 4 {
		return nil
	}
	return l
}

func isPending(word string) bool {
	return is(flat(word), "queued", "pending", "running", "accepted", "created", "submitted", "processing", "inprogress", "started", "scheduled", "waiting", "working")
}

// idWord says how much a key promises to name work or a session.
func idWord(key string) int {
	work := has(key, "job", "task", "run", "request", "operation", "session", "conversation", "dialog", "thread", "chat", "ticket")
	switch {
	case work && has(key, "id", "handle", "key", "token"):
		return 4
	case is(key, "id", "uuid", "handle"):
		return 3
	case work:
		return 2
	case strings.HasSuffix(key, "id"):
		return 1
	}
	return 0
}

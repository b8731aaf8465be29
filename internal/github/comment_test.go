package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/report"
)

// talk is a pull request's conversation in memory.
type talk struct {
	head     string
	closed   bool
	comments []Comment
	next     int64
	writes   int
	limit    int // bytes of a body; 0: GitHub's
	// before is called before each call, with its name; an error is the answer.
	before func(call string) error
	// after is called after each call took place.
	after func(call string) error
}

func (k *talk) step(call string, do func() error) error {
	if k.before != nil {
		if err := k.before(call); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if k.after != nil {
		return k.after(call)
	}
	return nil
}

func refusedWith(status int) error { return &APIError{Doing: "comment", Status: status, Message: "no"} }

func (k *talk) Read(_ context.Context, pull int) (*Conversation, error) {
	var c *Conversation
	err := k.step("read", func() error {
		c = &Conversation{Head: k.head, Open: !k.closed, Comments: slices.Clone(k.comments)}
		return nil
	})
	return c, err
}

func (k *talk) checked(body string) error {
	limit := k.limit
	if limit == 0 {
		limit = 65_536
	}
	if len(body) > limit {
		return refusedWith(http.StatusUnprocessableEntity)
	}
	k.writes++
	return nil
}

func (k *talk) Create(_ context.Context, pull int, body string) (*Comment, error) {
	var c Comment
	err := k.step("create", func() error {
		if err := k.checked(body); err != nil {
			return err
		}
		k.next++
		c = Comment{ID: k.next, URL: fmt.Sprintf("https://github.com/o/r/pull/%d#issuecomment-%d", pull, k.next), Body: body, Own: true}
		k.comments = append(k.comments, c)
		return nil
	})
	return &c, err
}

func (k *talk) find(id int64) (int, error) {
	i := slices.IndexFunc(k.comments, func(c Comment) bool { return c.ID == id })
	if i < 0 {
		return 0, refusedWith(http.StatusNotFound)
	}
	return i, nil
}

func (k *talk) Edit(_ context.Context, id int64, body string) (*Comment, error) {
	var c Comment
	err := k.step("edit", func() error {
		i, err := k.find(id)
		if err == nil {
			err = k.checked(body)
		}
		if err != nil {
			return err
		}
		k.comments[i].Body = body
		c = k.comments[i]
		return nil
	})
	return &c, err
}

func (k *talk) Delete(_ context.Context, id int64) error {
	return k.step("delete", func() error {
		i, err := k.find(id)
		if err == nil {
			k.comments = slices.Delete(k.comments, i, i+1)
		}
		return err
	})
}

const headA, headB = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// said is a publication whose comment is a given gate.
func said(k *talk, run int64, action string) *Publication {
	code := map[string]int{"ALLOW": 0, "WARN": 0, "BLOCK": 1}[action]
	return &Publication{
		Name: "rag/oloproof.yaml", RunID: run, Attempt: 1, ExitCode: code, Log: NewLog(io.Discard, true), RunURL: fmt.Sprintf("https://github.com/o/r/actions/runs/%d", run),
		Document: &report.Document{Run: report.Run{ID: fmt.Sprintf("run_%d", run)}, Gate: &report.Gate{Action: action, ExitCode: code, Meaning: "It is so."}},
		Comment:  CommentPlan{Mode: CommentAlways, Pull: 7, Head: headA, API: k},
	}
}

func post(t *testing.T, p *Publication) CommentResult {
	t.Helper()
	r, err := p.newComment().post(context.Background())
	if (err != nil) != (r.State == CommentFailed) {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

func bodies(k *talk) []string {
	var all []string
	for _, c := range k.comments {
		all = append(all, c.Body)
	}
	return all
}

func TestCommentIsUpdatedInPlace(t *testing.T) {
	k := &talk{head: headA, next: 100}
	first := post(t, said(k, 10, "ALLOW"))
	if first.State != CommentCreated || !strings.HasSuffix(first.URL, "#issuecomment-101") {
		t.Errorf("%+v", first)
	}
	body := k.comments[0].Body
	if !strings.HasPrefix(body, "### 🟢 Gate: ALLOW (exit 0)\n") || !strings.Contains(body, "[job](https://github.com/o/r/actions/runs/10)") {
		t.Errorf("the comment is\n%s", body)
	}
	if again := post(t, said(k, 10, "ALLOW")); again.State != CommentUnchanged || again.URL != first.URL || k.writes != 1 {
		t.Errorf("%+v after %d writes", again, k.writes)
	}
	if second := post(t, said(k, 11, "BLOCK")); second.State != CommentUpdated || second.URL != first.URL {
		t.Errorf("%+v", second)
	}
	if len(k.comments) != 1 || !strings.Contains(k.comments[0].Body, "🔴 Gate: BLOCK") {
		t.Errorf("comments: %q", bodies(k))
	}
	// A browser that edits a comment changes its line ends.
	k.comments[0].Body = strings.ReplaceAll(k.comments[0].Body, "\n", "\r\n")
	if again := post(t, said(k, 11, "BLOCK")); again.State != CommentUnchanged {
		t.Errorf("%+v", again)
	}
}

func TestCommentOfAnotherIsLeftAlone(t *testing.T) {
	p := said(nil, 5, "ALLOW")
	mine := p.newComment().mark
	other := mine
	other.key = CommentKey("another suite")
	quoted := "they wrote:\n" + mine.String() + "\nfunny, is it not"
	k := &talk{head: headA, next: 100, comments: []Comment{
		{ID: 1, Body: "x\n" + mine.String()},                             // another author
		{ID: 2, Body: "x\n" + other.String(), Own: true},                 // another suite
		{ID: 3, Body: quoted, Own: true},                                 // quotes a mark
		{ID: 4, Body: "x\n" + mine.String(), Own: true, Minimized: true}, // folded away
	}}
	before := bodies(k)
	if r := post(t, said(k, 10, "ALLOW")); r.State != CommentCreated {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(before, bodies(k)[:4]); diff != "" {
		t.Error(diff)
	}
}

func TestNewerRunsAreNotOverwritten(t *testing.T) {
	k := &talk{head: headA}
	post(t, said(k, 20, "BLOCK"))
	before := bodies(k)
	if r := post(t, said(k, 19, "ALLOW")); r.State != CommentOutdated || r.URL == "" {
		t.Errorf("%+v", r)
	}
	old := said(k, 20, "ALLOW")
	old.Attempt = 0
	if r := post(t, old); r.State != CommentOutdated {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(before, bodies(k)); diff != "" {
		t.Error(diff)
	}
	again := said(k, 20, "ALLOW")
	again.Attempt = 2
	if r := post(t, again); r.State != CommentUpdated {
		t.Errorf("%+v", r)
	}
}

func TestCommentOfAnOldCommit(t *testing.T) {
	k := &talk{head: headB}
	if r := post(t, said(k, 10, "ALLOW")); r.State != CommentOutdated || k.writes != 0 {
		t.Errorf("%+v", r)
	}
	k = &talk{head: headA, closed: true}
	if r := post(t, said(k, 10, "ALLOW")); r.State != CommentOutdated || k.writes != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCommentModes(t *testing.T) {
	for _, tt := range []struct {
		mode   CommentMode
		events string // gate of each run
		want   string // state of each comment
	}{
		{CommentAlways, "ALLOW ALLOW BLOCK", "created updated updated"},
		{CommentOnChange, "ALLOW ALLOW BLOCK BLOCK ALLOW ALLOW", "unchanged unchanged created unchanged updated unchanged"},
		{CommentOnChange, "WARN WARN ALLOW", "created unchanged updated"},
		{CommentOnFailure, "ALLOW WARN BLOCK BLOCK ALLOW ALLOW", "unchanged unchanged created updated updated unchanged"},
		{CommentNever, "BLOCK ALLOW", "off off"},
	} {
		k := &talk{head: headA}
		var got []string
		for i, gate := range strings.Fields(tt.events) {
			p := said(k, int64(10+i), gate)
			p.Comment.Mode = tt.mode
			got = append(got, string(post(t, p).State))
		}
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%s, %s: %s", tt.mode, tt.events, diff)
		}
	}
}

// TestTwoRunsRace lets a second run act at every point of the first one.
func TestTwoRunsRace(t *testing.T) {
	for _, runs := range [][2]int64{{10, 11}, {11, 10}} {
		for point := range 8 {
			for _, after := range []bool{false, true} {
				k := &talk{head: headA}
				calls, entered := 0, false
				hook := func(string) error {
					if entered {
						return nil
					}
					if calls++; calls == point+1 {
						entered = true
						post(t, said(k, runs[1], "BLOCK"))
					}
					return nil
				}
				if after {
					k.after = hook
				} else {
					k.before = hook
				}
				post(t, said(k, runs[0], "BLOCK"))
				if !entered {
					post(t, said(k, runs[1], "BLOCK"))
				}
				if len(k.comments) != 1 {
					t.Fatalf("runs %v at %d: %d comments", runs, point, len(k.comments))
				}
				// Between a run's look at the list and its edit nothing can be done:
				// GitHub has no conditional writes. That takes an existing comment.
				if _, m, _ := marked(k.comments[0].Body); m.run != 11 {
					t.Errorf("runs %v at %d, after %v: the comment is of run %d", runs, point, after, m.run)
				}
			}
		}
	}
}

func TestLeftOversOfARaceAreTidied(t *testing.T) {
	k := &talk{head: headA}
	mine := said(k, 5, "ALLOW").newComment().mark
	for range 3 {
		k.Create(context.Background(), 7, "x\n"+mine.String())
	}
	if r := post(t, said(k, 10, "BLOCK")); r.State != CommentUpdated || len(k.comments) != 1 || k.comments[0].ID != 1 {
		t.Errorf("%+v, %q", r, bodies(k))
	}
}

func TestTroubleWithComments(t *testing.T) {
	for _, status := range []int{401, 403, 404, 410, 422, 429, 500, 502, 0} {
		for _, call := range []string{"read", "create"} {
			k := &talk{head: headA}
			calls := 0
			k.before = func(c string) error {
				calls++
				if c == call {
					return refusedWith(status)
				}
				return nil
			}
			r := post(t, said(k, 10, "BLOCK"))
			if r.State != CommentFailed || r.Reason == "" || len(k.comments) != 0 {
				t.Errorf("%s answered %d: %+v", call, status, r)
			}
			if calls > 6 {
				t.Errorf("%s answered %d: %d calls", call, status, calls)
			}
		}
	}
}

// TestAmbiguousFailure: the answer was lost, the comment was made.
func TestAmbiguousFailure(t *testing.T) {
	for _, status := range []int{0, 502} {
		k := &talk{head: headA}
		k.after = func(call string) error {
			if call == "create" && k.writes == 1 {
				return refusedWith(status)
			}
			return nil
		}
		r := post(t, said(k, 10, "BLOCK"))
		if len(k.comments) != 1 || r.State != CommentUnchanged || r.URL == "" {
			t.Errorf("status %d: %+v, %d comments", status, r, len(k.comments))
		}
		k = &talk{head: headA}
		failures := 0
		k.before = func(call string) error {
			if call == "create" && failures == 0 {
				failures++
				return refusedWith(status)
			}
			return nil
		}
		if r := post(t, said(k, 10, "BLOCK")); r.State != CommentCreated || len(k.comments) != 1 {
			t.Errorf("status %d, nothing made: %+v, %d comments", status, r, len(k.comments))
		}
	}
}

func TestCommentDeletedMeanwhile(t *testing.T) {
	k := &talk{head: headA}
	post(t, said(k, 10, "ALLOW"))
	k.before = func(call string) error {
		if call == "edit" {
			k.comments = nil
		}
		return nil
	}
	if r := post(t, said(k, 11, "BLOCK")); r.State != CommentCreated || len(k.comments) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEarlyReasonsNotToComment(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, change := range map[string]func(*Publication){
		"fork":        func(p *Publication) { p.Comment.ReadOnly = "the pull request comes from a fork" },
		"no token":    func(p *Publication) { p.Comment.API = nil },
		"interrupted": func(*Publication) {},
	} {
		k := &talk{head: headA, before: func(call string) error { return errors.New("asked GitHub: " + call) }}
		p := said(k, 10, "BLOCK")
		change(p)
		r, err := p.newComment().post(ctx)
		if err == nil || r.State != CommentFailed || strings.Contains(r.Reason, "asked GitHub") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	p := said(nil, 10, "BLOCK")
	p.Comment = CommentPlan{Mode: CommentAlways}
	if r := post(t, p); r.State != CommentOff {
		t.Errorf("no pull request: %+v", r)
	}
}

// large is a document that no comment can hold.
func large() *report.Document {
	d := &report.Document{Run: report.Run{ID: "run_1"}, Gate: &report.Gate{Action: "BLOCK", ExitCode: 1, Meaning: "It is so."}}
	p := report.Policy{Role: "only", Path: "release.yaml"}
	for i := range 5 {
		p.Decisions = append(p.Decisions, report.Decision{Rule: fmt.Sprintf("rule-%d", i), Metric: "m", State: "FAIL"})
	}
	d.Policies = []report.Policy{p}
	for i := range 20_000 {
		d.Slices = append(d.Slices, report.Slice{Name: "topic", Value: fmt.Sprintf("a value of the slice, number %d", i), Metric: "m"})
	}
	return d
}

func TestCommentSizes(t *testing.T) {
	for _, limit := range []int{65_536, 30_000, 8_000} {
		k := &talk{head: headA, limit: limit}
		p := said(k, 10, "BLOCK")
		p.Document = large()
		r := post(t, p)
		if r.State != CommentCreated {
			t.Errorf("limit %d: %+v", limit, r)
			continue
		}
		body := k.comments[0].Body
		if len(body) > 60_000 || len(body) < min(limit, maxComment)/4 {
			t.Errorf("limit %d: the comment has %d bytes", limit, len(body))
		}
		for i := range 5 {
			if !strings.Contains(body, fmt.Sprintf("`rule-%d`", i)) {
				t.Errorf("limit %d: rule-%d is not there", limit, i)
			}
		}
		if strings.Count(body, "<details") != strings.Count(body, "</details>") {
			t.Errorf("limit %d: a section is left open", limit)
		}
		if _, m, ok := marked(body); !ok || m.run != 10 {
			t.Errorf("limit %d: no mark", limit)
		}
	}
	k := &talk{head: headA, limit: 1}
	p := said(k, 10, "BLOCK")
	p.Document = large()
	if r := post(t, p); r.State != CommentFailed {
		t.Errorf("%+v", r)
	}
}

func TestCommentIsRedacted(t *testing.T) {
	k := &talk{head: headA}
	p := said(k, 10, "BLOCK")
	p.Document.Run.Name = "the-secret-of-the-day"
	p.Log.Mask("the-secret-of-the-day")
	post(t, p)
	if body := k.comments[0].Body; strings.Contains(body, "the-secret") || !strings.Contains(body, "[redacted]") {
		t.Errorf("the comment is\n%s", body)
	}
}

func TestCommentKey(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9-]{1,80}$`)
	rapid.Check(t, func(r *rapid.T) {
		a, b := hostile().Draw(r, "a"), hostile().Draw(r, "b")
		x, y := CommentKey(a), CommentKey(b)
		if !form.MatchString(x) || (x == y) != (a == b) {
			r.Fatalf("%q gives %q, %q gives %q", a, x, b, y)
		}
		m := mark{key: x, run: rapid.Int64Range(1, 1e17).Draw(r, "run"), attempt: 2, head: headA, state: "0a"}
		if text, got, ok := marked("text\n" + m.String() + "\r\n"); !ok || got != m || text != "text" {
			r.Fatalf("%s is read as %+v", m, got)
		}
	})
	if CommentKey("a/b") == CommentKey("a-b") || CommentKey("") == CommentKey("-") {
		t.Error("two names share a key")
	}
}

package github

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

const reviewLabel = "oloproof-reviewed"

// at is a time of the tests, in minutes before now.
func at(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }

// labelled is the event of the label being set by an account.
func labelled(login string, id int64, minutes int) githubtest.IssueEvent {
	return githubtest.IssueEvent{Event: "labeled", Label: reviewLabel, Login: login, ID: id, At: at(minutes)}
}

func happened(event string, minutes int) githubtest.IssueEvent {
	return githubtest.IssueEvent{Event: event, Login: "author", ID: 70, At: at(minutes)}
}

// reviewed is the job of pull request 7, opened an hour ago. Its head was pushed
// 30 minutes ago, which the run 50 tells; the maintainer set the label 20 minutes
// ago; the job runs since 10 minutes ago.
func reviewed(t *testing.T, change func(p *githubtest.Pull, w *githubtest.World)) (*bench, *Lookup) {
	t.Helper()
	b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": githubtest.SHA("merge")})
	b.own(githubtest.Run{HeadBranch: "feature", Commit: "head", CreatedAt: at(10)})
	b.Do(func(w *githubtest.World) {
		w.Parents["head"] = []string{"base"}
		w.Parents["merge"] = []string{"base", "head"}
		w.Permissions = map[string]string{"maintainer": "write", "owner": "admin", "reader": "read", "author": "none"}
		w.UserIDs = map[string]int64{"maintainer": 60, "owner": 61, "reader": 62, "author": 70}
		w.Runs = append(w.Runs, githubtest.Run{ID: 50, Event: "pull_request", HeadBranch: "feature", Commit: "head", CreatedAt: at(30)})
		p := githubtest.Pull{Number: 7, Head: "head", CreatedAt: at(60), Labels: []string{"docs", reviewLabel},
			Events: []githubtest.IssueEvent{labelled("maintainer", 60, 20)}}
		if change != nil {
			change(&p, w)
		}
		w.Pulls = []githubtest.Pull{p}
	})
	return b, b.lookup("pull_request-synchronize", proposed(nil))
}

// TestReview: who may release a change of the suite, and when.
func TestReview(t *testing.T) {
	type change = func(p *githubtest.Pull, w *githubtest.World)
	events := func(list ...githubtest.IssueEvent) change {
		return func(p *githubtest.Pull, _ *githubtest.World) { p.Events = list }
	}
	runAt := func(edit func(r *githubtest.Run)) change {
		return func(_ *githubtest.Pull, w *githubtest.World) { edit(&w.Runs[len(w.Runs)-1]) }
	}
	cases := []struct {
		name   string
		change change
		why    string // "": it is released
	}{
		{"set after the last push by someone with write access", nil, ""},
		{"by an admin", events(labelled("owner", 61, 20)), ""},
		{"label in another case", func(p *githubtest.Pull, _ *githubtest.World) { p.Labels = []string{"Oloproof-Reviewed"} }, ""},
		{"no label", func(p *githubtest.Pull, _ *githubtest.World) { p.Labels = []string{"docs"} }, "no label"},
		{"set before the push", events(labelled("maintainer", 60, 31)), "before the last push"},
		{"set in the second of the push", events(labelled("maintainer", 60, 30)), "before the last push"},
		{"by a reader", events(labelled("reader", 62, 20)), "no write access"},
		{"by the author without access", events(labelled("author", 70, 20)), "no write access"},
		{"by nobody known", events(labelled("ghost", 9, 20)), "no write access"},
		{"by a bot, as the pull request's own workflow is", events(githubtest.IssueEvent{Event: "labeled", Label: reviewLabel, Login: "github-actions[bot]", ID: 41, Type: "Bot", At: at(20)}), "no person"},
		{"by an app that is called like a person", func(p *githubtest.Pull, w *githubtest.World) {
			w.Permissions["robot"], w.UserIDs["robot"] = "write", 42
			p.Events = []githubtest.IssueEvent{{Event: "labeled", Label: reviewLabel, Login: "robot", ID: 42, Type: "Bot", At: at(20)}}
		}, "no person"},
		{"by an account whose login somebody else has now", events(labelled("maintainer", 6, 20)), "no write access"},
		{"first by the maintainer, then by the author", events(labelled("maintainer", 60, 25), labelled("author", 70, 20)), "no write access"},
		{"another label", events(githubtest.IssueEvent{Event: "labeled", Label: "docs", Login: "maintainer", ID: 60, At: at(20)}), "nothing says who"},
		{"forced push after the label, back to the head that is tested", events(labelled("maintainer", 60, 20), happened("head_ref_force_pushed", 15)), "before the last push"},
		{"closed and opened again after the label", events(labelled("maintainer", 60, 20), happened("reopened", 15)), "before the last push"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantReview(t, c.why, c.change) })
	}

	t.Run("the head was pushed, taken back and pushed again", func(t *testing.T) {
		// Pushed at 30, taken back at 25 by force, labelled at 20, pushed again at
		// 10, which only adds commits and leaves no event. The first run is run again.
		wantReview(t, "before the last push", events(happened("head_ref_force_pushed", 25), labelled("maintainer", 60, 20)))
	})
	for name, edit := range map[string]func(r *githubtest.Run){
		"run of another branch at the same commit": func(r *githubtest.Run) { r.HeadBranch = "other" },
		"run of a fork at the same commit":         func(r *githubtest.Run) { r.HeadRepository = githubtest.ForkID },
		"run of another commit":                    func(r *githubtest.Run) { r.Commit = "base" },
		"run before the pull request was opened":   func(r *githubtest.Run) { r.CreatedAt = at(61) },
		"run of another event":                     func(r *githubtest.Run) { r.Event = "push" },
		"run of another workflow":                  func(r *githubtest.Run) { r.WorkflowID = 77 },
	} {
		t.Run(name+" says nothing of the push", func(t *testing.T) { wantReview(t, "before the last push", runAt(edit)) })
	}
	t.Run("the head moved on", func(t *testing.T) {
		wantReview(t, "no longer the one that is tested", func(p *githubtest.Pull, _ *githubtest.World) { p.Head = "base" })
	})
	t.Run("many events", func(t *testing.T) {
		wantReview(t, "", func(p *githubtest.Pull, _ *githubtest.World) {
			p.Events = nil
			for range 250 {
				p.Events = append(p.Events, happened("renamed", 40))
			}
			p.Events = append(p.Events, labelled("maintainer", 60, 20))
		})
	})
	t.Run("deleted fork", func(t *testing.T) {
		wantReview(t, "its fork was deleted", func(p *githubtest.Pull, _ *githubtest.World) { p.Fork, p.ForkGone = true, true })
	})
	t.Run("more runs than are read", func(t *testing.T) {
		wantReview(t, "more runs", func(_ *githubtest.Pull, w *githubtest.World) {
			for i := range int64(100) {
				w.Runs = append(w.Runs, githubtest.Run{ID: 1000 + i, Event: "pull_request", HeadBranch: "feature", Commit: "head", CreatedAt: at(30)})
			}
		})
	})
	t.Run("more events than are read", func(t *testing.T) {
		wantReview(t, "more events", func(p *githubtest.Pull, _ *githubtest.World) {
			for range 100 * maxEventPages {
				p.Events = append(p.Events, happened("renamed", 10))
			}
		})
	})
	t.Run("fork", func(t *testing.T) {
		wantReview(t, "", func(p *githubtest.Pull, w *githubtest.World) {
			p.Fork = true
			w.Runs[len(w.Runs)-1].HeadRepository = githubtest.ForkID
		})
	})
}

func wantReview(t *testing.T, why string, change func(p *githubtest.Pull, w *githubtest.World)) {
	t.Helper()
	_, l := reviewed(t, change)
	got, err := l.Review(t.Context(), reviewLabel)
	if err != nil {
		t.Fatal(err)
	}
	if got.Released != (why == "") || !strings.Contains(got.Why, why) || got.Released && len(got.By) != 1 {
		t.Errorf("Review() = %+v, want %q", got, why)
	}
}

// TestReviewOnLabelling: the event of the label itself says which head it was
// set on.
func TestReviewOnLabelling(t *testing.T) {
	job := func(t *testing.T, changes map[string]any, change func(p *githubtest.Pull, w *githubtest.World)) *Review {
		b, _ := reviewed(t, func(p *githubtest.Pull, w *githubtest.World) {
			w.Runs = w.Runs[:len(w.Runs)-1] // no other run tells of the push
			p.Events = []githubtest.IssueEvent{labelled("maintainer", 60, 10)}
			if change != nil {
				change(p, w)
			}
		})
		all := proposed(map[string]any{"label.name": reviewLabel, "sender.id": 60, "sender.login": "maintainer"})
		maps.Copy(all, changes)
		got, err := b.lookup("pull_request-labeled", all).Review(t.Context(), reviewLabel)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := job(t, nil, nil); !got.Released || got.By[0] != "maintainer" {
		t.Errorf("got %+v", got)
	}
	if got := job(t, map[string]any{"label.name": "docs"}, nil); got.Released {
		t.Error("another label's event releases")
	}
	if got := job(t, map[string]any{"sender.id": 70}, nil); got.Released {
		t.Error("the event of somebody else's label releases")
	}
	if got := job(t, nil, func(p *githubtest.Pull, _ *githubtest.World) {
		p.Events = append(p.Events, happened("head_ref_force_pushed", 10))
	}); got.Released {
		t.Error("a push in the second of the label releases")
	}
	// Run again after the label was taken off and set on another head.
	if got := job(t, nil, func(p *githubtest.Pull, _ *githubtest.World) {
		p.Events = append(p.Events, happened("head_ref_force_pushed", 8), labelled("maintainer", 60, 5))
	}); got.Released {
		t.Error("an event that a later label replaced releases")
	}
}

// TestReviewQueue: in a merge queue every pull request of the group needs the
// label.
func TestReviewQueue(t *testing.T) {
	queue := func(t *testing.T, group map[string]any, change func(w *githubtest.World)) *Lookup {
		b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "merge_group", "GITHUB_SHA": githubtest.SHA("q8")})
		b.own(githubtest.Run{Commit: "q8"})
		b.Do(func(w *githubtest.World) {
			w.Permissions = map[string]string{"maintainer": "write"}
			w.UserIDs = map[string]int64{"maintainer": 60}
			w.Parents["h7"], w.Parents["h8"] = []string{"base"}, []string{"base"}
			w.Parents["q7"], w.Parents["q8"] = []string{"base", "h7"}, []string{"q7", "h8"}
			w.Refs = map[string]string{
				"refs/heads/gh-readonly-queue/main/pr-7-" + githubtest.SHA("base"): "q7",
				"refs/heads/gh-readonly-queue/main/pr-8-" + githubtest.SHA("q7"):   "q8",
			}
			for n, h := range map[int]string{7: "h7", 8: "h8"} {
				w.Runs = append(w.Runs, githubtest.Run{ID: int64(n), Event: "pull_request", HeadBranch: h, Commit: h, CreatedAt: at(30)})
				w.Pulls = append(w.Pulls, githubtest.Pull{Number: n, Head: h, HeadRef: h, CreatedAt: at(60), Labels: []string{reviewLabel},
					Events: []githubtest.IssueEvent{labelled("maintainer", 60, 20)}})
			}
			if change != nil {
				change(w)
			}
		})
		all := map[string]any{"merge_group.base_sha": githubtest.SHA("base"), "merge_group.head_sha": githubtest.SHA("q8"),
			"merge_group.head_ref": "refs/heads/gh-readonly-queue/main/pr-8-" + githubtest.SHA("q7")}
		maps.Copy(all, group)
		return b.lookup("merge_group-checks_requested", all)
	}
	unlabel := func(number int) func(w *githubtest.World) {
		return func(w *githubtest.World) {
			for i := range w.Pulls {
				if w.Pulls[i].Number == number {
					w.Pulls[i].Labels = nil
				}
			}
		}
	}
	cases := []struct {
		name   string
		group  map[string]any
		change func(w *githubtest.World)
		why    string
	}{
		{"both", nil, nil, ""},
		{"the first is not labelled", nil, unlabel(7), "pull request 7: it has no label"},
		{"the last is not labelled", nil, unlabel(8), "pull request 8: it has no label"},
		{"a group of one", map[string]any{"merge_group.base_sha": githubtest.SHA("q7")}, unlabel(7), ""},
		{"a branch of the queue is gone", nil, func(w *githubtest.World) { w.Refs = map[string]string{} }, "told apart"},
		{"more commits than entries", map[string]any{"merge_group.head_ref": "refs/heads/gh-readonly-queue/main/pr-8-" + githubtest.SHA("base")}, nil, "told apart"},
		{"a base that the group does not follow", map[string]any{"merge_group.base_sha": githubtest.SHA("h7"),
			"merge_group.head_ref": "refs/heads/gh-readonly-queue/main/pr-8-" + githubtest.SHA("h7")}, nil, "told apart"},
		{"a pull request of 250 commits", nil, func(w *githubtest.World) {
			parent := "base"
			for i := range 250 {
				name := fmt.Sprint("c", i)
				w.Parents[name] = []string{parent}
				parent = name
			}
			w.Parents["h8"] = []string{parent}
		}, ""},
		{"a branch that is none of a queue", map[string]any{"merge_group.head_ref": "refs/heads/main"}, nil, "told apart"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := queue(t, c.group, c.change).Review(t.Context(), reviewLabel)
			if err != nil {
				t.Fatal(err)
			}
			if got.Released != (c.why == "") || !strings.Contains(got.Why, c.why) {
				t.Errorf("Review() = %+v, want %q", got, c.why)
			}
		})
	}
}

// TestReviewElsewhere: other events propose nothing, and trouble is an error.
func TestReviewElsewhere(t *testing.T) {
	b := newBench(t, nil)
	got, err := b.lookup("push", nil).Review(t.Context(), reviewLabel)
	if err != nil || got.Released || b.client.Requests() != 0 {
		t.Errorf("Review() = %+v, %v", got, err)
	}
	for _, path := range []string{"/pulls/7", "/issues/7/events", "/actions/workflows", "/collaborators/"} {
		b, l := reviewed(t, nil)
		b.Fail(githubtest.Fault{Path: path, Status: 403, Body: `{"message":"Resource not accessible by integration"}`})
		if got, err := l.Review(t.Context(), reviewLabel); err == nil {
			t.Errorf("%s denied: %+v", path, got)
		}
	}
}

// TestUsualPath: all that a pull request's gate asks stays below 20 requests,
// with four left to find and write the comment.
func TestUsualPath(t *testing.T) {
	b, l := reviewed(t, func(_ *githubtest.Pull, w *githubtest.World) {
		for _, path := range []string{"release.yaml", "compare.yaml", "lock.json", "oloproof.yaml", "cases.jsonl"} {
			w.Files["base:"+path] = githubtest.File{Content: []byte("x")}
		}
	})
	b.stored(githubtest.Run{ID: 3, Commit: "base"})
	ctx, cancel := b.client.Begin(t.Context())
	defer cancel()
	base, err := l.Base(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"release.yaml", "compare.yaml", "lock.json", "oloproof.yaml", "cases.jsonl"} {
		if _, err := l.File(ctx, base.Commit, path, 1000); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Baseline(ctx, b.query())
	found(t, got, err, 3)
	if rv, err := l.Review(ctx, reviewLabel); err != nil || !rv.Released {
		t.Fatalf("Review() = %+v, %v", rv, err)
	}
	if n := b.client.Requests(); n > 16 {
		t.Errorf("%d requests: %q", n, b.Server.Requests())
	}
}

package github

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// proposal is the job of a pull request: its merge commit, merge, has the
// parents tip (of main, tested) and head. Main is base, old, tip; the head was
// branched off at old.
func proposal(t *testing.T, options ...githubtest.Option) (*bench, *Lookup) {
	t.Helper()
	b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": githubtest.SHA("merge"), "GITHUB_REF": "refs/pull/7/merge"}, options...)
	b.commits("base", "old", "tip")
	b.Do(func(w *githubtest.World) {
		w.Parents["head"] = []string{"old"}
		w.Parents["merge"] = []string{"tip", "head"}
	})
	b.own(githubtest.Run{HeadBranch: "feature", Commit: "head"})
	return b, b.lookup("pull_request-synchronize", proposed(nil))
}

func proposed(changes map[string]any) map[string]any {
	all := map[string]any{"number": 7, "pull_request.number": 7,
		"pull_request.head.sha": githubtest.SHA("head"), "pull_request.base.sha": githubtest.SHA("base")}
	maps.Copy(all, changes)
	return all
}

// TestProposalCandidates goes through the order of a pull request's candidates.
func TestProposalCandidates(t *testing.T) {
	t.Run("first parent of the merge commit", func(t *testing.T) {
		b, l := proposal(t)
		for i, c := range []string{"base", "old", "tip"} {
			b.stored(githubtest.Run{ID: int64(i + 1), Commit: c})
		}
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
		if got.How != "first parent of the merge commit" || *got.Distance != 0 || got.Commit != githubtest.SHA("tip") || got.Branch != "main" || got.Event != "push" {
			t.Errorf("got %+v", got)
		}
		if got.URL != "https://github.com/octo-org/octo-repo/actions/runs/3" {
			t.Errorf("URL = %s", got.URL)
		}
		base, err := l.Base(t.Context())
		if err != nil || base.Commit != githubtest.SHA("tip") || base.Note != "" {
			t.Errorf("Base() = %+v, %v: the event's base lags behind the merge commit", base, err)
		}
		if n := b.client.Requests(); n > 6 {
			t.Errorf("%d requests on the usual path: %q", n, b.Requests())
		}
	})
	t.Run("merge base", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "base"})
		b.stored(githubtest.Run{ID: 2, Commit: "old"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
		if got.How != "merge base of the pull request" || *got.Distance != 1 {
			t.Errorf("got %+v", got)
		}
		rejected(t, got.Trail, "first parent", "did not run there")
	})
	t.Run("newest ancestor, not the newest run", func(t *testing.T) {
		b, l := proposal(t)
		b.Do(func(w *githubtest.World) { w.Parents["later"] = []string{"tip"} })
		b.stored(githubtest.Run{ID: 1, Commit: "base"})
		b.stored(githubtest.Run{ID: 2, Commit: "later"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 1)
		if got.How != "newest run on main" || *got.Distance != 2 {
			t.Errorf("got %+v", got)
		}
		if n := b.client.Requests(); n > 20 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("none", func(t *testing.T) {
		b, l := proposal(t)
		got, err := l.Baseline(t.Context(), b.query())
		absent(t, got, err, None)
	})
	t.Run("a run that failed its gate still counts", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 3, Commit: "tip", Conclusion: "failure"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
	})
	t.Run("in progress with its artifact", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 3, Commit: "tip", Status: "in_progress"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
	})
	t.Run("in progress without", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 2, Commit: "old"})
		b.Do(func(w *githubtest.World) {
			w.Runs = append(w.Runs, githubtest.Run{ID: 3, Commit: "tip", Status: "in_progress"})
		})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
		rejected(t, got.Trail, "run 3", "not finished")
	})
	t.Run("several artifacts of one name", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 3, Commit: "tip"})
		b.Do(func(w *githubtest.World) {
			older := w.Artifacts[0]
			older.ID, older.Bytes, older.CreatedAt = 5, []byte("an earlier attempt's"), now
			w.Artifacts = append(w.Artifacts, older)
		})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
		if got.Artifact != 30 {
			t.Errorf("artifact %d, want that with the highest id", got.Artifact)
		}
	})
	t.Run("renamed repository", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 3, Commit: "tip"}, func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.WorkflowRef = "octo-org/earlier-name/" + githubtest.WorkflowPath + "@refs/heads/main"
		})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
	})
}

// TestBaseSnapshot is the base commit where GITHUB_SHA is no merge of the head.
func TestBaseSnapshot(t *testing.T) {
	b, _ := proposal(t)
	l := b.lookup("pull_request-synchronize", proposed(map[string]any{"pull_request.head.sha": githubtest.SHA("other")}))
	base, err := l.Base(t.Context())
	if err != nil || base.Commit != githubtest.SHA("base") || base.Note == "" {
		t.Errorf("Base() = %+v, %v, want the event's base with a note", base, err)
	}
}

// TestBaseOf: what other events are merged into.
func TestBaseOf(t *testing.T) {
	b, _ := proposal(t)
	e, err := ParseEvent(EventPullRequestTarget, bytes.NewReader(githubtest.Payload(t, "pull_request-synchronize", proposed(nil))))
	if err != nil {
		t.Fatal(err)
	}
	base, err := NewLookup(b.client, e).Base(t.Context())
	if err != nil || base.Commit != githubtest.SHA("base") || base.Note != "" || base.Branch != "main" {
		t.Errorf("target: %+v, %v", base, err)
	}
	l := b.lookup("merge_group-checks_requested", map[string]any{"merge_group.base_sha": githubtest.SHA("tip")})
	if base, err := l.Base(t.Context()); err != nil || base.Commit != githubtest.SHA("tip") {
		t.Errorf("merge group: %+v, %v", base, err)
	}
	for _, name := range []string{"push", "schedule", "workflow_dispatch", "workflow_run-completed"} {
		if base, err := b.lookup(name, nil).Base(t.Context()); err != nil || base != nil {
			t.Errorf("%s: %+v, %v", name, base, err)
		}
	}
	if n := b.client.Requests(); n != 0 {
		t.Errorf("%d requests: %q", n, b.Server.Requests())
	}
}

type poison = func(r *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact)

// TestPoison plants one candidate for each trust rule, at the very commit that
// is looked for, beside an honest older one.
func TestPoison(t *testing.T) {
	rebuilt := func(t *testing.T, m *evidence.Manifest, change func(files map[string]string)) []byte {
		files := bundle(t, m)
		change(files)
		return githubtest.Zip(t, files)
	}
	cases := []struct {
		name    string
		poison  poison
		because string
		state   State // when it is the only one
	}{
		{"fork whose branch is called main", func(r *githubtest.Run, _ *evidence.Manifest, _ *githubtest.Artifact) {
			r.HeadRepository = githubtest.ForkID
		}, "came from a fork", None},
		{"pull request of a fork whose branch is called main", func(r *githubtest.Run, _ *evidence.Manifest, _ *githubtest.Artifact) {
			r.HeadRepository, r.Event = githubtest.ForkID, "pull_request"
		}, "came from a fork", None},
		{"deleted fork", func(r *githubtest.Run, _ *evidence.Manifest, _ *githubtest.Artifact) {
			r.HeadRepository = -1
		}, "fork that was deleted", None},
		{"run of another repository", func(r *githubtest.Run, _ *evidence.Manifest, _ *githubtest.Artifact) {
			r.RepositoryID = 5
		}, "another repository", None},
		{"pull_request of a branch called main", event("pull_request"), "the event pull_request", None},
		{"pull_request_target", event("pull_request_target"), "the event pull_request_target", None},
		{"workflow_run", event("workflow_run"), "the event workflow_run", None},
		{"issue_comment", event("issue_comment"), "the event issue_comment", None},
		{"repository_dispatch", event("repository_dispatch"), "the event repository_dispatch", None},
		{"another branch at the same commit", func(r *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			r.HeadBranch = "feature"
		}, "ran on feature, not on main", None},
		{"merge queue of another branch", func(r *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			r.Event, r.HeadBranch = "merge_group", "gh-readonly-queue/main/x/pr-1-"+githubtest.SHA("old")
		}, "merge queue of another branch", None},
		{"artifact of a fork", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.HeadRepository = githubtest.ForkID
		}, "artifact came from another repository", None},
		{"artifact of another commit", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Commit = "base"
		}, "another commit than its run", None},
		{"artifact of another run", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Claims = 900
		}, "another run's", None},
		{"artifact of no run", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Claims = -1
		}, "names no run", None},
		{"artifact without digest", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Digest = "-"
		}, "no digest", None},
		{"digest that is none", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Digest = "md5:00"
		}, "no SHA-256", None},
		{"expired", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Expired = true
		}, "has expired", Expired},
		{"bytes changed", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Digest = githubtest.Digest([]byte("what was uploaded"))
		}, "GitHub says sha256:", Unavailable},
		{"too large", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Size = maxArtifact + 1
		}, "at most", Unavailable},
		{"manifest of another repository", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.RepositoryID = 5
		}, "says repository 5, GitHub says 1001", None},
		{"manifest of another run", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.RunID = 5
		}, "says run 5, GitHub says 3", None},
		{"manifest of a later attempt", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.Attempt = 2
		}, "says attempt 2", None},
		{"manifest of another commit", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.SHA = githubtest.SHA("head")
		}, "says commit", None},
		{"manifest of another event", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.Event = "pull_request"
		}, "says event pull_request", None},
		{"manifest of another ref", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.Ref = "refs/pull/7/merge"
		}, "says ref refs/pull/7/merge", None},
		{"manifest of another workflow", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI.WorkflowRef = "octo-org/octo-repo/.github/workflows/other.yml@refs/heads/main"
		}, "says workflow octo-org/octo-repo/.github/workflows/other.yml", None},
		{"manifest without a run", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.CI = nil
		}, "names no run of GitHub Actions", None},
		{"manifest without a tool", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.Tool.Version = ""
		}, "no suite or no tool", None},
		{"another suite under this name", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.Name = "other"
		}, `suite "other"`, Incompatible},
		{"run that broke", func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.Status = evidence.RunError
		}, "status is RUN_ERROR", Incompatible},
		{"run that did not finish", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = rebuilt(t, m, func(files map[string]string) {
				files["run.json"] = strings.Replace(files["run.json"], `"COMPLETE"`, `"PARTIAL"`, 1)
			})
		}, "did not run every case", Incompatible},
		{"shard", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			m.Shard = &evidence.Shard{Index: 1, Of: 8, Total: 16, Places: []int{0, 1}}
		}, "shard 1 of 8", Incompatible},
		{"judgments changed", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = rebuilt(t, m, func(files map[string]string) { files["judgments.jsonl"] += "\n" })
		}, "does not match its digest", Incompatible},
		{"run.json only", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = rebuilt(t, m, func(files map[string]string) { delete(files, "judgments.jsonl") })
		}, "cannot be read", Incompatible},
		{"a newer tool's", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = rebuilt(t, m, func(files map[string]string) {
				files["run.json"] = strings.Replace(files["run.json"], evidence.RunSchema, "oloproof/run/v9", 1)
			})
		}, "newer than this version", Incompatible},
		{"path that leads outside", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = rebuilt(t, m, func(files map[string]string) { files["../run.json"] = files["run.json"] })
		}, "may lead outside", Incompatible},
		{"single file, not a zip", func(_ *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = []byte(bundle(t, m)["run.json"])
		}, "single file of JSON", Incompatible},
		{"no zip", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = []byte("<html>")
		}, "no zip", Incompatible},
		{"empty", func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) {
			a.Bytes = []byte{}
		}, "no zip", Incompatible},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, l := proposal(t)
			b.stored(githubtest.Run{ID: 3, Commit: "tip"}, c.poison)
			got, err := l.Baseline(t.Context(), b.query())
			absent(t, got, err, c.state)
			rejected(t, got.Trail, "run 3", c.because)

			b.stored(githubtest.Run{ID: 1, Commit: "base"})
			again := benchOn(t, b.Server, map[string]string{"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": githubtest.SHA("merge")})
			got, err = again.lookup("pull_request-synchronize", proposed(nil)).Baseline(t.Context(), again.query())
			found(t, got, err, 1)
			rejected(t, got.Trail, "run 3", c.because)
		})
	}
}

func event(name string) poison {
	return func(r *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
		r.Event, m.CI.Event = name, name
	}
}

// TestNoCommit: a run of the API without a commit is no baseline.
func TestNoCommit(t *testing.T) {
	own := &Repository{ID: 1}
	r := &Run{ID: 1, Repository: own, HeadRepository: own, Event: EventPush, HeadBranch: "main", HeadSHA: "main"}
	if why := (trust{repository: 1, branch: "main"}).rejectRun(r); !strings.Contains(why, "names no commit") {
		t.Errorf("rejectRun = %q", why)
	}
}

// TestOtherWorkflow: runs of another workflow are not even listed, and one that
// the repository's artifacts lead to is rejected.
func TestOtherWorkflow(t *testing.T) {
	b, l := proposal(t)
	b.stored(githubtest.Run{ID: 3, Commit: "tip", WorkflowID: 77})
	got, err := l.Baseline(t.Context(), b.query())
	absent(t, got, err, None)
	rejected(t, got.Trail, "run 3", "another workflow")
}

// TestNoAncestor: a run on the base branch that the tested base does not have.
func TestNoAncestor(t *testing.T) {
	b, l := proposal(t)
	b.Do(func(w *githubtest.World) { w.Parents["forced away"] = []string{"base"} })
	b.stored(githubtest.Run{ID: 3, Commit: "forced away"})
	got, err := l.Baseline(t.Context(), b.query())
	absent(t, got, err, None)
	rejected(t, got.Trail, "run 3", "no ancestor of "+short(githubtest.SHA("tip")))
}

// TestOtherCommit: what is listed for a commit and tested another one is no run of
// it, however GitHub came to list it.
func TestOtherCommit(t *testing.T) {
	b, l := proposal(t)
	b.Do(func(w *githubtest.World) { w.Parents["forced away"] = []string{"base"} })
	b.stored(githubtest.Run{ID: 3, Commit: "forced away"})
	s := &search{Lookup: l, q: b.query(), seen: map[int64]bool{}}
	if err := s.prepare(t.Context(), githubtest.Main); err != nil {
		t.Fatal(err)
	}
	r, err := l.run(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.consider(t.Context(), r, githubtest.SHA("tip"), "first parent", githubtest.SHA("base"), nil)
	if got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	rejected(t, s.trail, "run 3", "it tested "+short(githubtest.SHA("forced away")))
}

// TestOwnRun: a run is not its own baseline, also not when it is run again.
func TestOwnRun(t *testing.T) {
	b := newBench(t, map[string]string{"GITHUB_RUN_ATTEMPT": "2", "GITHUB_SHA": githubtest.SHA("tip"), "GITHUB_EVENT_NAME": "push"})
	b.commits("old", "tip")
	b.stored(githubtest.Run{ID: 900, Commit: "tip", Attempt: 2})
	l := b.lookup("push", map[string]any{"ref": "refs/heads/main", "before": githubtest.SHA("tip")})
	got, err := l.Baseline(t.Context(), b.query())
	absent(t, got, err, None)
	rejected(t, got.Trail, "run 900", "this run itself")
}

// TestOwnRunContradicts: where the job and GitHub disagree on the repository,
// nothing is trusted.
func TestOwnRunContradicts(t *testing.T) {
	for name, change := range map[string]func(b *bench, l *Lookup){
		"environment": func(b *bench, _ *Lookup) { b.env.RepositoryID = 5 },
		"event":       func(_ *bench, l *Lookup) { l.event.Repository.ID = 5 },
		"GitHub":      func(b *bench, _ *Lookup) { b.Do(func(w *githubtest.World) { w.Runs[0].RepositoryID = 5 }) },
		"no workflow": func(b *bench, _ *Lookup) { b.Do(func(w *githubtest.World) { w.Runs[0].WorkflowID = -1 }) },
	} {
		t.Run(name, func(t *testing.T) {
			b, l := proposal(t)
			b.stored(githubtest.Run{ID: 3, Commit: "tip"})
			change(b, l)
			got, err := l.Baseline(t.Context(), b.query())
			absent(t, got, err, Unavailable)
		})
	}
}

// TestManyRuns: what is not looked at is said.
func TestManyRuns(t *testing.T) {
	b, l := proposal(t)
	b.Do(func(w *githubtest.World) {
		for i := range int64(130) {
			w.Runs = append(w.Runs, githubtest.Run{ID: 1000 + i, Event: "pull_request", Commit: "tip", HeadRepository: githubtest.ForkID})
		}
	})
	b.stored(githubtest.Run{ID: 1, Commit: "tip"})
	got, err := l.Baseline(t.Context(), b.query())
	found(t, got, err, 1) // by its artifact
	rejected(t, got.Trail, "first parent", "131 runs there, only the newest 100")
}

// TestLimit: runs that stored nothing end the search after some.
func TestLimit(t *testing.T) {
	b, l := proposal(t)
	b.Do(func(w *githubtest.World) {
		for i := range int64(30) {
			w.Runs = append(w.Runs, githubtest.Run{ID: 1000 + i, Commit: "tip"})
		}
	})
	got, err := l.Baseline(t.Context(), b.query())
	absent(t, got, err, None)
	rejected(t, got.Trail, "run 1000", "were looked at already")
	if n := b.client.Requests(); n > 20 {
		t.Errorf("%d requests", n)
	}
}

// TestFlood: artifacts of forks cannot push an honest run out of sight
// unnoticed.
func TestFlood(t *testing.T) {
	b, l := proposal(t)
	b.stored(githubtest.Run{ID: 1, Commit: "base"})
	b.Do(func(w *githubtest.World) {
		for i := range 100*maxArtifactPages + 1 {
			id := int64(10_000 + i)
			w.Runs = append(w.Runs, githubtest.Run{ID: id, Event: "pull_request", Commit: "head", HeadRepository: githubtest.ForkID})
			w.Artifacts = append(w.Artifacts, githubtest.Artifact{ID: id, Run: id, Name: ArtifactName(suiteName, "refs/heads/main", ""), Bytes: []byte("x"), CreatedAt: now})
		}
	})
	got, err := l.Baseline(t.Context(), b.query())
	absent(t, got, err, Unavailable)
	if _, err := l.History(t.Context(), suiteName, b.dir); err == nil {
		t.Error("History() is sure although it did not read every page")
	}
}

// TestMergeGroup: the base may be an earlier entry of the queue.
func TestMergeGroup(t *testing.T) {
	setup := func(t *testing.T) (*bench, *Lookup) {
		b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "merge_group", "GITHUB_SHA": githubtest.SHA("second")})
		b.commits("tip")
		b.Do(func(w *githubtest.World) {
			w.Parents["first"] = []string{"tip", "base"}
			w.Parents["second"] = []string{"first"}
		})
		b.own(githubtest.Run{Commit: "second"})
		return b, b.lookup("merge_group-checks_requested", map[string]any{
			"merge_group.base_sha": githubtest.SHA("first"), "merge_group.head_sha": githubtest.SHA("second"),
			"merge_group.head_ref": "refs/heads/gh-readonly-queue/main/pr-8-" + githubtest.SHA("first")})
	}
	t.Run("entry before", func(t *testing.T) {
		b, l := setup(t)
		b.stored(githubtest.Run{ID: 1, Commit: "tip"})
		b.stored(githubtest.Run{ID: 2, Commit: "first", Event: "merge_group", HeadBranch: "gh-readonly-queue/main/pr-7-" + githubtest.SHA("tip")})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
		if got.How != "base of the merge group" {
			t.Errorf("How = %q", got.How)
		}
	})
	t.Run("branch", func(t *testing.T) {
		b, l := setup(t)
		b.stored(githubtest.Run{ID: 1, Commit: "tip"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 1)
		if *got.Distance != 1 {
			t.Errorf("distance %d, want 1", *got.Distance)
		}
	})
	t.Run("entry that was merged, for a pull request", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 2, Commit: "tip", Event: "merge_group", HeadBranch: "gh-readonly-queue/main/pr-7-" + githubtest.SHA("old")})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
	})
}

// TestPush goes through the candidates of a push.
func TestPush(t *testing.T) {
	setup := func(t *testing.T, branch string, changes map[string]any) (*bench, *Lookup) {
		b := newBench(t, map[string]string{"GITHUB_SHA": githubtest.SHA("new"), "GITHUB_REF": "refs/heads/" + branch})
		b.commits("old", "tip")
		b.Do(func(w *githubtest.World) { w.Parents["new"] = []string{"tip"} })
		b.own(githubtest.Run{Commit: "new", HeadBranch: branch})
		all := map[string]any{"ref": "refs/heads/" + branch, "before": githubtest.SHA("tip")}
		maps.Copy(all, changes)
		return b, b.lookup("push", all)
	}
	t.Run("commit before", func(t *testing.T) {
		b, l := setup(t, "main", nil)
		b.stored(githubtest.Run{ID: 1, Commit: "old"})
		b.stored(githubtest.Run{ID: 2, Commit: "tip"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
		if got.How != "commit before the push" || *got.Distance != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("previous run on the branch", func(t *testing.T) {
		b, l := setup(t, "main", nil)
		b.stored(githubtest.Run{ID: 1, Commit: "old"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 1)
	})
	t.Run("forced", func(t *testing.T) {
		b, l := setup(t, "main", map[string]any{"forced": true, "before": githubtest.SHA("thrown away")})
		b.stored(githubtest.Run{ID: 1, Commit: "old"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 1)
		rejected(t, got.Trail, "commit before the push", "forced")
	})
	t.Run("before that is no ancestor although nothing says forced", func(t *testing.T) {
		b, l := setup(t, "main", map[string]any{"before": githubtest.SHA("thrown away")})
		b.Do(func(w *githubtest.World) { w.Parents["thrown away"] = []string{"old"} })
		b.stored(githubtest.Run{ID: 2, Commit: "thrown away"})
		got, err := l.Baseline(t.Context(), b.query())
		absent(t, got, err, None)
		rejected(t, got.Trail, "run 2", "no ancestor")
	})
	t.Run("new release branch: the default branch where it left", func(t *testing.T) {
		b, l := setup(t, "release/1.0", map[string]any{"before": strings.Repeat("0", 40)})
		b.stored(githubtest.Run{ID: 2, Commit: "tip"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
		rejected(t, got.Trail, "commit before the push", "new")
		if got.How != "merge base with main" {
			t.Errorf("How = %q", got.How)
		}
	})
	t.Run("a release branch has runs of its own", func(t *testing.T) {
		b, l := setup(t, "release/1.0", nil)
		b.stored(githubtest.Run{ID: 1, Commit: "tip"})
		b.stored(githubtest.Run{ID: 2, Commit: "old", HeadBranch: "release/1.0"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 2)
	})
	t.Run("tag", func(t *testing.T) {
		b, _ := setup(t, "main", nil)
		b.env.Ref = "refs/tags/v1"
		b.stored(githubtest.Run{ID: 1, Commit: "tip"})
		l := b.lookup("push", map[string]any{"ref": "refs/tags/v1"})
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 1)
	})
}

// TestSchedule: nights are compared with nights; the first one with the branch.
func TestSchedule(t *testing.T) {
	setup := func(t *testing.T) (*bench, *Lookup) {
		b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "schedule", "GITHUB_SHA": githubtest.SHA("tip")})
		b.commits("old", "tip")
		b.own(githubtest.Run{Commit: "tip"})
		return b, b.lookup("schedule", nil)
	}
	b, l := setup(t)
	b.stored(githubtest.Run{ID: 1, Commit: "old", Event: "schedule"})
	b.stored(githubtest.Run{ID: 2, Commit: "tip", Event: "push"})
	got, err := l.Baseline(t.Context(), b.query())
	found(t, got, err, 1)
	if got.How != "last scheduled run" {
		t.Errorf("How = %q", got.How)
	}

	b, l = setup(t)
	b.stored(githubtest.Run{ID: 2, Commit: "old", Event: "push"})
	got, err = l.Baseline(t.Context(), b.query())
	found(t, got, err, 2)
}

// TestDispatch: a run by hand is compared with the newest run of its branch, the
// commit itself included.
func TestDispatch(t *testing.T) {
	b := newBench(t, map[string]string{"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_SHA": githubtest.SHA("tip")})
	b.commits("old", "tip")
	b.own(githubtest.Run{Commit: "tip"})
	b.stored(githubtest.Run{ID: 1, Commit: "old"})
	b.stored(githubtest.Run{ID: 2, Commit: "tip"})
	got, err := b.lookup("workflow_dispatch", map[string]any{"ref": "refs/heads/main"}).Baseline(t.Context(), b.query())
	found(t, got, err, 2)
	if *got.Distance != 0 {
		t.Errorf("distance %d", *got.Distance)
	}
}

// TestChoice is the input baseline.
func TestChoice(t *testing.T) {
	for _, text := range []string{"", "auto", " auto "} {
		if c, err := ParseChoice(text); err != nil || c != (Choice{}) {
			t.Errorf("ParseChoice(%q) = %+v, %v", text, c, err)
		}
	}
	if _, err := ParseChoice("99999999999999999999"); err == nil {
		t.Error("a run id that is none is taken")
	}
	if _, err := ParseChoice("0"); err == nil {
		t.Error("the run id 0 is taken")
	}
	choose := func(q Query, text string) Query {
		var err error
		if q.Choice, err = ParseChoice(text); err != nil {
			t.Fatal(err)
		}
		return q
	}
	t.Run("none", func(t *testing.T) {
		b, l := proposal(t)
		got, err := l.Baseline(t.Context(), choose(b.query(), "none"))
		absent(t, got, err, Off)
		if b.client.Requests() != 0 {
			t.Errorf("requests: %q", b.Requests())
		}
	})
	t.Run("run id", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "base"})
		b.stored(githubtest.Run{ID: 3, Commit: "tip"})
		got, err := l.Baseline(t.Context(), choose(b.query(), "1"))
		found(t, got, err, 1)
	})
	t.Run("run id under the same rules", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "base", HeadRepository: githubtest.ForkID})
		got, err := l.Baseline(t.Context(), choose(b.query(), "1"))
		absent(t, got, err, None)
		rejected(t, got.Trail, "run 1", "fork")
	})
	t.Run("run id of the pull request's own branch", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "head", HeadBranch: "feature"})
		got, err := l.Baseline(t.Context(), choose(b.query(), "1"))
		absent(t, got, err, None)
		rejected(t, got.Trail, "run 1", "not on main")
	})
	t.Run("run id of the head while it was on main", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "head"})
		got, err := l.Baseline(t.Context(), choose(b.query(), "1"))
		absent(t, got, err, None)
		rejected(t, got.Trail, "run 1", "no ancestor of "+short(githubtest.SHA("tip")))
	})
	t.Run("unknown run id", func(t *testing.T) {
		b, l := proposal(t)
		got, err := l.Baseline(t.Context(), choose(b.query(), "4711"))
		absent(t, got, err, None)
		rejected(t, got.Trail, "run 4711", "no such run")
	})
	t.Run("path", func(t *testing.T) {
		b, l := proposal(t)
		m := manifest(githubtest.Run{ID: 1, Event: "push", Commit: "base"}, "refs/heads/main")
		dir := writeBundle(t, m)
		if got, err := l.Baseline(t.Context(), choose(b.query(), dir)); err == nil || !strings.Contains(err.Error(), "refused for the event pull_request") {
			t.Errorf("a path for a pull request: %+v, %v", got, err)
		}
		group := b.lookup("merge_group-checks_requested", nil)
		if got, err := group.Baseline(t.Context(), choose(b.query(), dir)); err == nil || !strings.Contains(err.Error(), "refused for the event merge_group") {
			t.Errorf("a path for a merge group: %+v, %v", got, err)
		}
		push := newBench(t, nil)
		got, err := push.lookup("push", nil).Baseline(t.Context(), choose(push.query(), dir))
		if err != nil || got.State != Found || got.Run == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		got.Close()
		// The directory of downloads is no store whose runs have names.
		stored := filepath.Join(push.dir, "runs", m.ID)
		if err := os.CopyFS(stored, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"latest", m.ID} {
			if got, err := push.lookup("push", nil).Baseline(t.Context(), choose(push.query(), name)); err == nil {
				t.Errorf("%s is taken as a run of a store: %+v", name, got)
			}
		}
	})
}

// TestAge: a baseline older than allowed is none.
func TestAge(t *testing.T) {
	b, l := proposal(t)
	b.stored(githubtest.Run{ID: 3, Commit: "tip", CreatedAt: now.AddDate(0, 0, -15)})
	q := b.query()
	q.MaxAge = 14 * 24 * time.Hour
	got, err := l.Baseline(t.Context(), q)
	absent(t, got, err, Expired)
	rejected(t, got.Trail, "run 3", "14 days old, at most 14")
}

// TestEnterprise: a GitHub Enterprise Server gives no digests.
func TestEnterprise(t *testing.T) {
	b, l := proposal(t, githubtest.Enterprise())
	b.stored(githubtest.Run{ID: 3, Commit: "tip"})
	got, err := l.Baseline(t.Context(), b.query())
	found(t, got, err, 3)
	if !b.env.Enterprise() {
		t.Error("Enterprise() = false")
	}
}

// TestCouldNotLook: trouble is never "none".
func TestCouldNotLook(t *testing.T) {
	html := githubtest.Fault{Status: 502, Body: "<html><body>Bad Gateway"}
	cases := []struct {
		name  string
		fault githubtest.Fault
		want  string
	}{
		{"502 with HTML", html, "502"},
		{"permission", githubtest.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`,
			Header: map[string]string{"X-Accepted-GitHub-Permissions": "actions=read"}}, "actions: read"},
		{"primary rate limit", githubtest.Fault{Status: 403, Body: `{"message":"API rate limit exceeded"}`,
			Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999999999"}}, "run the job again later"},
		{"secondary rate limit", githubtest.Fault{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit"}`}, "run the job again later"},
		{"429", githubtest.Fault{Status: 429, Body: `{"message":"slow down"}`}, "run the job again later"},
		{"404", githubtest.Fault{Status: 404, Body: `{"message":"Not Found"}`}, "404"},
		{"redirect", githubtest.Fault{Status: 301, Header: map[string]string{"Location": "https://example.com/"}}, "redirects are not followed"},
		{"200 with HTML", githubtest.Fault{Status: 200, Body: "<html>log in"}, "not the JSON"},
		{"connection that breaks", githubtest.Fault{Cut: true, Body: `{"id":`}, "unexpected EOF"},
	}
	for _, path := range []string{"/actions/runs/900", "/actions/workflows/31/runs", "/actions/runs/3/artifacts"} {
		for _, c := range cases {
			t.Run(path+" "+c.name, func(t *testing.T) {
				b, l := proposal(t)
				b.stored(githubtest.Run{ID: 3, Commit: "tip"})
				b.stored(githubtest.Run{ID: 1, Commit: "base"})
				f := c.fault
				f.Path = path
				b.Fail(f)
				got, err := l.Baseline(t.Context(), b.query())
				absent(t, got, err, Unavailable)
				if !strings.Contains(got.Reason, c.want) || strings.Contains(got.Reason, "<html") || strings.Contains(got.Reason, "http://") {
					t.Errorf("reason %q, want %q and no address", got.Reason, c.want)
				}
				if got.Err == nil {
					t.Error("Err is nil")
				}
			})
		}
	}
	t.Run("nobody there", func(t *testing.T) {
		b := newBench(t, map[string]string{"GITHUB_API_URL": "http://127.0.0.1:1"})
		got, err := b.lookup("push", map[string]any{"ref": "refs/heads/main"}).Baseline(t.Context(), b.query())
		absent(t, got, err, Unavailable)
		if len(b.waits) != maxRetries {
			t.Errorf("waits %v, want %d", b.waits, maxRetries)
		}
	})
	t.Run("passing trouble is retried", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 3, Commit: "tip"})
		for _, status := range []int{http.StatusBadGateway, http.StatusTooManyRequests, http.StatusForbidden} {
			b.Fail(githubtest.Fault{Status: status, Times: 1, Header: map[string]string{"Retry-After": "2"}})
		}
		got, err := l.Baseline(t.Context(), b.query())
		found(t, got, err, 3)
	})
}

// TestHistory tells an introduction from a policy that moved.
func TestHistory(t *testing.T) {
	t.Run("introduction", func(t *testing.T) {
		b, l := proposal(t)
		h, err := l.History(t.Context(), suiteName, b.dir)
		if err != nil || h.Stored || h.Lost || h.Branch != "main" {
			t.Errorf("History() = %+v, %v", h, err)
		}
	})
	t.Run("policies of the last run, of whatever workflow", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 1, Commit: "base", WorkflowID: 77})
		b.stored(githubtest.Run{ID: 2, Commit: "old", WorkflowID: 77}, func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) {
			m.Policies = []evidence.PolicyRef{{Path: "policies/release.yaml"}, {Path: "compare.yaml"}}
		})
		h, err := l.History(t.Context(), suiteName, b.dir)
		if err != nil || !h.Stored || h.Lost || h.ID != 2 || strings.Join(h.Policies, " ") != "policies/release.yaml compare.yaml" {
			t.Errorf("History() = %+v, %v", h, err)
		}
	})
	t.Run("expired", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 2, Commit: "old"}, func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) { a.Expired = true })
		h, err := l.History(t.Context(), suiteName, b.dir)
		if err != nil || !h.Stored || !h.Lost || h.ID != 2 {
			t.Errorf("History() = %+v, %v", h, err)
		}
		rejected(t, h.Trail, "run 2", "expired")
	})
	t.Run("forks and pull requests store nothing", func(t *testing.T) {
		b, l := proposal(t)
		b.stored(githubtest.Run{ID: 2, Commit: "head", HeadRepository: githubtest.ForkID})
		b.stored(githubtest.Run{ID: 3, Commit: "head"}, event("pull_request"))
		h, err := l.History(t.Context(), suiteName, b.dir)
		if err != nil || h.Stored {
			t.Errorf("History() = %+v, %v", h, err)
		}
		rejected(t, h.Trail, "run 3", "the event pull_request")
	})
	t.Run("could not look", func(t *testing.T) {
		b, l := proposal(t)
		b.Fail(githubtest.Fault{Path: "/actions/artifacts", Status: 500})
		if h, err := l.History(t.Context(), suiteName, b.dir); err == nil {
			t.Errorf("History() = %+v", h)
		}
	})
}

// TestArtifactName: no other suite, ref or shard has the same.
func TestArtifactName(t *testing.T) {
	seen := map[string][]string{}
	for _, name := range []string{"oloproof.yaml", "oloproof-yaml", "eval/oloproof.yaml", "eval-oloproof.yaml", "a", "a-main", "ü", "ä", strings.Repeat("x", 300)} {
		for _, ref := range []string{"refs/heads/main", "refs/tags/main", "refs/pull/7/merge", "refs/heads/7/merge", "main", "-main"} {
			for _, shard := range []string{"", "1/8", "1/80", "11/8"} {
				got := ArtifactName(name, ref, shard)
				if other := seen[got]; other != nil {
					t.Errorf("%q and %q have the artifact %s", []string{name, ref, shard}, other, got)
				}
				seen[got] = []string{name, ref, shard}
				if strings.ContainsAny(got, "\":<>|*?\\/\r\n ") || len(got) > 150 {
					t.Errorf("artifact name %q", got)
				}
			}
		}
	}
}

package github

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// TestEvents reads the published examples and what is made of them.
func TestEvents(t *testing.T) {
	env := &Environment{Ref: "refs/heads/main", Actor: "octocat"}
	dependabot := &Environment{Ref: "refs/heads/main", Actor: "dependabot[bot]"}
	cases := []struct {
		name     string
		payload  string
		env      *Environment
		changes  map[string]any
		branch   string
		fork     bool
		proposes bool
		readOnly string
	}{
		{"pull request", "pull_request-synchronize", env, nil, "main", false, true, ""},
		{"fork", "pull_request-synchronize", env, map[string]any{"pull_request.head.repo.id": githubtest.ForkID}, "main", true, true, "fork"},
		{"fork of the same name", "pull_request-synchronize", env, map[string]any{"pull_request.head.repo.id": githubtest.ForkID,
			"pull_request.head.ref": "main"}, "main", true, true, "fork"},
		{"deleted fork", "pull_request-synchronize", env, map[string]any{"pull_request.head.repo": nil}, "main", true, true, "fork"},
		{"Dependabot", "pull_request-synchronize", dependabot, nil, "main", false, true, "Dependabot"},
		{"Dependabot's sender", "pull_request-synchronize", env, map[string]any{"sender.login": "dependabot[bot]"}, "main", false, true, "Dependabot"},
		{"target", "pull_request_target", env, map[string]any{"pull_request.head.repo.id": githubtest.ForkID}, "main", true, true, ""},
		{"review", "pull_request_review", env, map[string]any{"pull_request.head.repo.id": githubtest.ForkID}, "main", true, true, "fork"},
		{"release branch", "pull_request-synchronize", env, map[string]any{"pull_request.base.ref": "release/1.0"}, "release/1.0", false, true, ""},
		{"merge queue", "merge_group-checks_requested", env, map[string]any{"merge_group.base_ref": "refs/heads/release/1.0"}, "release/1.0", false, true, ""},
		{"push", "push", env, nil, "main", false, false, ""},
		{"push of a tag", "push", &Environment{Ref: "refs/tags/main"}, nil, "", false, false, ""},
		{"schedule", "schedule", env, nil, "main", false, false, ""},
		{"by hand", "workflow_dispatch", env, nil, "main", false, false, ""},
		{"workflow run", "workflow_run-completed", env, nil, "", false, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name, _, _ := strings.Cut(c.payload, "-")
			if name != "pull_request" && strings.HasPrefix(name, "pull_request") {
				c.payload = "pull_request-synchronize" // whose parts that are read are the same
			}
			e, err := ParseEvent(name, bytes.NewReader(githubtest.Payload(t, c.payload, c.changes)))
			if err != nil {
				t.Fatal(err)
			}
			if got := e.BaseBranch(c.env); got != c.branch {
				t.Errorf("BaseBranch() = %q, want %q", got, c.branch)
			}
			if e.FromFork() != c.fork || e.Proposes() != c.proposes {
				t.Errorf("FromFork() = %v, Proposes() = %v", e.FromFork(), e.Proposes())
			}
			if got := e.ReadOnly(c.env); (got == "") != (c.readOnly == "") || !strings.Contains(got, c.readOnly) {
				t.Errorf("ReadOnly() = %q, want %q", got, c.readOnly)
			}
			if e.Repository.ID != githubtest.RepositoryID || e.Repository.DefaultBranch != "main" {
				t.Errorf("repository %+v", e.Repository)
			}
		})
	}
}

// TestEventIDs: ids above 2^53 stay whole.
func TestEventIDs(t *testing.T) {
	e, err := ParseEvent("push", bytes.NewReader(githubtest.Payload(t, "push", map[string]any{"repository.id": int64(9007199254740993)})))
	if err != nil || e.Repository.ID != 9007199254740993 {
		t.Errorf("id %d, %v", e.Repository.ID, err)
	}
}

// TestEventDamaged: an event without what its rules rest on is refused.
func TestEventDamaged(t *testing.T) {
	for _, c := range []struct {
		name, payload string
		changes       map[string]any
	}{
		{"pull_request", "push", nil},
		{"pull_request_target", "push", nil},
		{"pull_request", "pull_request-synchronize", map[string]any{"pull_request.head.sha": "main"}},
		{"pull_request", "pull_request-synchronize", map[string]any{"pull_request.base.ref": ""}},
		{"pull_request", "pull_request-synchronize", map[string]any{"pull_request.base.repo": nil}},
		{"merge_group", "push", nil},
		{"merge_group", "merge_group-checks_requested", map[string]any{"merge_group.base_ref": "main"}},
		{"push", "schedule", nil},
		{"workflow_run", "push", nil},
	} {
		if e, err := ParseEvent(c.name, bytes.NewReader(githubtest.Payload(t, c.payload, c.changes))); err == nil || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s from %s %v: %+v, %v", c.name, c.payload, c.changes, e, err)
		}
	}
	for _, text := range []string{"", "[]", "{", `"x"`, `{"action": 5}`} {
		if _, err := ParseEvent("schedule", strings.NewReader(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestReadEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, githubtest.Payload(t, "push", nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := ReadEvent(&Environment{EventName: "push", EventPath: path}); err != nil || e.Ref == "" {
		t.Errorf("ReadEvent = %+v, %v", e, err)
	}
	if e, err := ReadEvent(&Environment{EventName: "schedule"}); err != nil || e.Name != "schedule" {
		t.Errorf("ReadEvent without a file = %+v, %v", e, err)
	}
	if _, err := ReadEvent(&Environment{EventName: "push", EventPath: path + ".absent"}); err == nil {
		t.Error("a file that is not there is taken")
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, name := range []string{"push", "pull_request-labeled", "merge_group-checks_requested", "workflow_run-completed", "workflow_dispatch"} {
		event, _, _ := strings.Cut(name, "-")
		f.Add(event, githubtest.Payload(f, name, nil))
	}
	env := &Environment{Ref: "refs/heads/main"}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		e, err := ParseEvent(name, bytes.NewReader(data))
		if err != nil {
			return
		}
		e.BaseBranch(env)
		e.FromFork()
		e.ReadOnly(env)
		if e.Proposes() && e.PullRequest == nil && e.MergeGroup == nil {
			t.Error("it proposes nothing that is known")
		}
	})
}

// TestEnvironment: what is missing or malformed is named.
func TestEnvironment(t *testing.T) {
	vars := map[string]string{"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "5", "GITHUB_EVENT_NAME": "push", "GITHUB_SHA": githubtest.SHA("x"),
		"GITHUB_TOKEN": "secret"}
	read := func(key, value string) (*Environment, error) {
		return ReadEnvironment(func(name string) string {
			if name == key {
				return value
			}
			return vars[name]
		})
	}
	e, err := read("", "")
	if err != nil || e.APIURL != "https://api.github.com" || e.ServerURL != "https://github.com" || e.GraphQLURL != "https://api.github.com/graphql" ||
		e.Attempt != 1 || e.Repository() != "o/r" || e.Enterprise() || e.RunURL() != "https://github.com/o/r/actions/runs/5" {
		t.Errorf("got %+v, %v", e, err)
	}
	if e, err := read("GITHUB_API_URL", "https://git.example.com/api/v3/"); err != nil || e.APIURL != "https://git.example.com/api/v3" || e.GraphQLURL != "https://git.example.com/api/graphql" {
		t.Errorf("got %+v, %v", e, err)
	}
	for url, want := range map[string]bool{"https://github.com": false, "https://octo.ghe.com": false, "https://github.localhost": false,
		"https://git.example.com": true, "https://notgithub.com": true, "https://github.com.example.com": true} {
		if e, err := read("GITHUB_SERVER_URL", url); err != nil || e.Enterprise() != want {
			t.Errorf("%s: Enterprise() = %v, %v", url, e.Enterprise(), err)
		}
	}
	for _, c := range [][2]string{{"GITHUB_REPOSITORY", ""}, {"GITHUB_REPOSITORY", "o"}, {"GITHUB_REPOSITORY", "o/r/x"}, {"GITHUB_REPOSITORY", "../.."},
		{"GITHUB_RUN_ID", ""}, {"GITHUB_RUN_ID", "x"}, {"GITHUB_RUN_ID", "-1"}, {"GITHUB_EVENT_NAME", ""}, {"GITHUB_SHA", "main"},
		{"GITHUB_RUN_ATTEMPT", "0"}, {"GITHUB_REPOSITORY_ID", "x"}, {"GITHUB_API_URL", "ftp://x"}, {"GITHUB_API_URL", "api"}, {"GITHUB_API_URL", "https://u:p@x/"}} {
		if e, err := read(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[0]) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%q: %+v, %v", c[0], c[1], e, err)
		}
	}
	if InActions(func(string) string { return "" }) || !InActions(func(string) string { return "true" }) {
		t.Error("InActions is wrong")
	}
}

// TestPullRequest: which pull request an event belongs to, by the event and the
// API only.
func TestPullRequest(t *testing.T) {
	open := githubtest.Pull{Number: 7, Head: "head", CreatedAt: now}
	fork := open
	fork.Fork, fork.HeadRef = true, "main"
	closed := open
	closed.Closed = true
	other := open
	other.Number, other.Head = 8, "base"
	second := open
	second.Number = 9
	fromRun := func(changes map[string]any) map[string]any {
		all := map[string]any{"workflow_run.head_sha": githubtest.SHA("head"), "workflow_run.head_branch": "feature",
			"workflow_run.head_repository.id": githubtest.RepositoryID, "workflow_run.head_repository.full_name": "octo-org/octo-repo"}
		for k, v := range changes {
			all[k] = v
		}
		return all
	}
	stranger := map[string]any{"workflow_run.head_branch": "main", "workflow_run.head_repository.id": githubtest.ForkID,
		"workflow_run.head_repository.full_name": "stranger/octo-repo"}
	cases := []struct {
		name, event string
		changes     map[string]any
		pulls       []githubtest.Pull
		want        int
		why         string
	}{
		{"pull request", "pull_request-synchronize", proposed(nil), nil, 7, ""},
		{"workflow run", "workflow_run-completed", fromRun(nil), []githubtest.Pull{open, other}, 7, ""},
		{"workflow run of a fork", "workflow_run-completed", fromRun(stranger), []githubtest.Pull{fork}, 7, ""},
		{"workflow run of a deleted fork", "workflow_run-completed", fromRun(map[string]any{"workflow_run.head_repository": map[string]any(nil)}), []githubtest.Pull{open}, 0, "deleted"},
		{"workflow run whose pull request moved on", "workflow_run-completed", fromRun(map[string]any{"workflow_run.head_sha": githubtest.SHA("older")}), []githubtest.Pull{open}, 0, "no open pull request"},
		{"workflow run of a fork that has a branch of the same name", "workflow_run-completed", fromRun(stranger), []githubtest.Pull{open}, 0, "no open pull request"},
		{"workflow run with two", "workflow_run-completed", fromRun(nil), []githubtest.Pull{open, second}, 0, "2 open pull requests"},
		{"push", "push", nil, []githubtest.Pull{open}, 7, ""},
		{"push of a closed one", "push", nil, []githubtest.Pull{closed}, 0, "no open pull request"},
		{"push with two", "push", nil, []githubtest.Pull{open, second}, 0, "2 open pull requests"},
		{"merge queue", "merge_group-checks_requested", nil, nil, 0, "several"},
		{"schedule", "schedule", nil, nil, 0, "no pull request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"GITHUB_SHA": githubtest.SHA("head")})
			b.Do(func(w *githubtest.World) { w.Pulls = c.pulls })
			if c.name == "workflow run of a deleted fork" {
				delete(c.changes, "workflow_run.head_repository.id")
				delete(c.changes, "workflow_run.head_repository.full_name")
				c.changes["workflow_run.head_repository"] = nil
			}
			pr, why, err := b.lookup(c.event, c.changes).PullRequest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == 0 && (pr != nil || !strings.Contains(why, c.why)) || c.want != 0 && (pr == nil || pr.Number != c.want) {
				t.Errorf("PullRequest() = %+v, %q, want %d %q", pr, why, c.want, c.why)
			}
		})
	}
	t.Run("comment", func(t *testing.T) {
		b := newBench(t, nil)
		b.Do(func(w *githubtest.World) { w.Pulls = []githubtest.Pull{open} })
		for text, want := range map[string]int{`{"issue":{"number":7,"pull_request":{}}}`: 7, `{"issue":{"number":7}}`: 0} {
			e, err := ParseEvent("issue_comment", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			pr, _, err := NewLookup(b.client, e).PullRequest(t.Context())
			if err != nil || (pr == nil) != (want == 0) {
				t.Errorf("%s: %+v, %v", text, pr, err)
			}
		}
	})
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/demo"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// lenient is a release policy that the example passes.
const lenient = `version: 1
block_on: [FAIL, INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]
rules:
  - {id: answer-floor, metric: answer_correct, min: 0.40}
`

// usual demands the requests of the usual path.
func (o *outcome) usual() *outcome {
	o.t.Helper()
	api := slices.DeleteFunc(slices.Clone(o.Calls), func(call string) bool { return strings.HasPrefix(call, "BLOB") })
	if len(api) > 20 {
		o.t.Errorf("%d requests of GitHub's API, want at most 20: %q", len(api), api)
	}
	return o
}

// begun is a site whose main has a run, with a release policy that passes.
func begun(t *testing.T, options ...githubtest.Option) *site {
	t.Helper()
	s := newSite(t, options...)
	s.commit("c1", edit{"release.yaml": lenient})
	s.push(nil).ends(0).outputs("gate-action=WARN", "baseline-state=none", "policy-source=checkout")
	return s
}

// confused is the example service that has forgotten the answers to some of the
// questions.
func confused(t *testing.T, questions ...string) http.Handler {
	t.Helper()
	h, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, q := range questions {
			if strings.Contains(string(body), q) {
				body = []byte(`{"question": "xyzzy"}`)
			}
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		h.ServeHTTP(w, r)
	})
}

func TestFirstPullRequestEver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	introduced := edit{}
	for name, content := range s.trees["base"] {
		introduced[name] = content
	}
	introduced["release.yaml"] = lenient
	s.keep("empty", map[string]string{"README.md": "hello"})
	s.gh.Do(func(w *world) { w.Parents["empty"] = []string{"base"}; w.Branches["main"] = "empty" })
	s.head = "empty"

	o := s.open(pull{number: 1, edit: introduced}, nil).ends(0).usual()
	o.outputs("gate-action=WARN", "baseline-state=none", "baseline-run-id=", "baseline-sha=", "policy-source=checkout", "passed=1", "insufficient=2", "relaxations=0", "output-dir=oloproof-out")
	o.is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "no_baseline")
	if got, want := firstLine(o.Summary), "### 🟡 Gate: WARN (exit 0)"; got != want {
		t.Errorf("the summary begins %q, want %q", got, want)
	}
	says(t, "comment", s.comment(1), "🟡 Gate: WARN (exit 0)", "no_baseline", "Baseline: none")
	for _, name := range []string{"run.json", "judgments.jsonl", "gate.json", "report.html", "junit.xml", "comment.md"} {
		if o.Files[name] == "" {
			t.Errorf("no file %s", name)
		}
	}
	if _, there := o.Files["cases.jsonl"]; there {
		t.Error("questions and answers are among the files")
	}

	// Its own release policy decides: one that it fails blocks.
	introduced["release.yaml"] = s.trees["base"]["release.yaml"]
	s.open(pull{number: 2, edit: introduced}, nil).ends(1).outputs("gate-action=BLOCK", "failed=1")
}

func TestSecondPullRequest(t *testing.T) {
	t.Parallel()
	s := begun(t)

	t.Run("regression", func(t *testing.T) {
		s.in(t)
		s.answer(confused(t, "question"))
		defer s.serve(demo.Options{})
		o := s.open(pull{number: 2, edit: edit{"README.md": "worse"}}, nil).ends(1).usual()
		o.outputs("gate-action=BLOCK", "baseline-state=found", "baseline-run-id=101", "baseline-sha="+sha("c1"), "policy-source=base commit "+sha("c1"))
		o.is("only", "answers-not-worse", "FAIL", "upper_bound_below_margin")
		says(t, "comment", s.comment(2), "🔴 Gate: BLOCK (exit 1)", "Newly failing", "ruled out")
		if a := o.failure(); a.Title != "Gate failed" || a.File != "release.yaml" && a.File != "compare.yaml" || a.Line == 0 {
			t.Errorf("the error is %+v, want Gate failed with its line in a policy", a)
		}
	})
	t.Run("improvement", func(t *testing.T) {
		s.in(t)
		s.serve(demo.Options{ExpandQuery: true})
		defer s.serve(demo.Options{})
		o := s.open(pull{number: 3, edit: edit{"README.md": "expand the query"}}, nil).ends(3).usual()
		o.outputs("gate-action=BLOCK", "passed=1", "failed=0", "insufficient=2", "missing=0")
		for _, text := range []string{s.comment(3), o.Summary, o.Text()} {
			says(t, "result", text, "+6.7 points", "[-26.5, +40.8]", "about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)")
		}
		says(t, "comment", s.comment(3), "Newly passing: 1 case", "money_back", "\n- `oloproof inspect oloproof-out`\n")
		for _, text := range []string{s.comment(3), o.Summary, o.Text(), o.Files["report.html"]} { // the runner's store is gone, and the answers are not kept
			saysNot(t, "result", text, "inspect run_", "--case", "--failures")
		}
		o = s.open(pull{number: 33, edit: edit{"README.md": "expand the query"}}, map[string]string{"include-content": "true"}).ends(3)
		for _, text := range []string{s.comment(33), o.Summary, o.Text()} {
			says(t, "result", text, "oloproof inspect oloproof-out --case money_back", "oloproof inspect oloproof-out --failures")
			saysNot(t, "result", text, "inspect run_", "--config")
		}
		if a := o.failure(); a.Title != "Blocked: insufficient evidence" || a.File != "compare.yaml" {
			t.Errorf("the error is %+v", a)
		}
		d := o.rule("only", "answers-not-worse")
		if d.Planning == nil || d.Planning.More == nil || *d.Planning.More != 38 || *d.Planning.Total != 53 {
			t.Errorf("planning %+v, want 38 more, 53 in total", d.Planning)
		}
	})
	t.Run("nothing changed", func(t *testing.T) {
		s.in(t)
		s.open(pull{number: 4, edit: edit{"README.md": "same"}}, nil).ends(3).usual()
		before := s.comment(4)
		// Run again: figures and states are the same, the comment is not written anew.
		o := s.open(pull{number: 4, edit: edit{"README.md": "same"}}, map[string]string{"comment": "on-change"})
		for _, call := range o.Calls {
			if strings.HasPrefix(call, "PATCH") || strings.HasPrefix(call, "POST") {
				t.Errorf("the comment was written again: %s", call)
			}
		}
		if after := s.comment(4); after != before {
			t.Errorf("the comment changed")
		}
	})
}

func TestBaselineExpired(t *testing.T) {
	t.Parallel()
	s := begun(t)
	s.gh.Do(func(w *world) { w.Artifacts[0].Expired = true })
	o := s.open(pull{number: 5, edit: edit{"README.md": "x"}}, nil).ends(3).usual()
	o.outputs("gate-action=BLOCK", "baseline-state=expired", "baseline-run-id=")
	o.is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "no_baseline")
	says(t, "comment", s.comment(5), "Baseline: expired", "its artifact has expired")

	// So is one that is older than allowed.
	s.gh.Do(func(w *world) { w.Artifacts[0].Expired = false })
	s.pass(31 * 24 * time.Hour)
	s.open(pull{number: 6, edit: edit{"README.md": "x"}}, map[string]string{"baseline-max-age": "30d"}).ends(3).outputs("baseline-state=expired")
	s.open(pull{number: 7, edit: edit{"README.md": "x"}}, nil).ends(3).outputs("baseline-state=found")
}

// TestGateThatWasMovedToAnotherWorkflow: a run of another workflow is no baseline,
// and tells all the same that the gate is not new.
func TestGateThatWasMovedToAnotherWorkflow(t *testing.T) {
	t.Parallel()
	s := begun(t)
	s.gh.Do(func(w *world) { w.Runs[0].WorkflowID = 77 })
	o := s.open(pull{number: 5, edit: edit{"README.md": "x"}}, nil).ends(3).usual()
	o.outputs("gate-action=BLOCK", "baseline-state=none").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "no_baseline")
	says(t, "comment", s.comment(5), "it is a run of another workflow")
	saysNot(t, "comment", s.comment(5), "the gate is new")
}

func TestBaseRunInProgress(t *testing.T) {
	t.Parallel()
	s := begun(t)
	s.commit("c2", edit{"README.md": "two"})
	s.gh.Do(func(w *world) {
		w.Runs = append(w.Runs, githubtest.Run{ID: 150, Commit: "c2", Status: "in_progress", CreatedAt: s.now})
	})
	s.lastRun = 150
	o := s.open(pull{number: 5, edit: edit{"README.md": "x"}}, nil).ends(3).usual()
	o.outputs("baseline-state=found", "baseline-sha="+sha("c1"))
	says(t, "comment", s.comment(5), "it is not finished and has stored no result of this name yet", "newest run on main", "1 commit",
		"a nearer run of the base branch has not ended: run this job again when it has")

	// Its artifact is there as soon as it is uploaded.
	s.gh.Do(func(w *world) {
		files := unzipped(t, w.Artifacts[0].Bytes)
		files["run.json"] = strings.NewReplacer(sha("c1"), sha("c2"), `"run_id": 101`, `"run_id": 150`).Replace(files["run.json"])
		w.Artifacts = append(w.Artifacts, githubtest.Artifact{ID: 1500, Run: 150, Name: w.Artifacts[0].Name, Bytes: githubtest.Zip(t, files), CreatedAt: s.now})
	})
	s.open(pull{number: 6, edit: edit{"README.md": "x"}}, nil).ends(3).outputs("baseline-state=found", "baseline-run-id=150", "baseline-sha="+sha("c2"))
	saysNot(t, "comment", s.comment(6), "has not ended")

	// The very first one is still on its way.
	s = newSite(t)
	s.commit("c1", edit{"release.yaml": lenient})
	s.gh.Do(func(w *world) {
		w.Runs = append(w.Runs, githubtest.Run{ID: 90, Commit: "c1", Status: "in_progress", CreatedAt: s.now})
	})
	s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(0).outputs("gate-action=WARN", "baseline-state=none")
	says(t, "comment", s.comment(1), "Baseline: none, since no run that may be trusted has stored a result of this name; one has not ended yet, so run this job again when it has; the gate is new")
}

// TestTwoRunsRaceForOneComment lets both see that there is no comment yet.
func TestTwoRunsRaceForOneComment(t *testing.T) {
	t.Parallel()
	s := begun(t)
	target, err := url.Parse(s.gh.URL)
	if err != nil {
		t.Fatal(err)
	}
	var looked sync.WaitGroup
	looked.Add(2)
	seen := 0
	var mu sync.Mutex
	proxy := httputil.NewSingleHostReverseProxy(target)
	both := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := r.Method == "GET" && strings.HasSuffix(r.URL.Path, "/issues/7/comments")
		proxy.ServeHTTP(w, r)
		if !list {
			return
		}
		mu.Lock()
		seen++
		first := seen <= 2
		mu.Unlock()
		if first {
			looked.Done()
			looked.Wait()
		}
	}))
	defer both.Close()
	j := s.pushed(pull{number: 7, edit: edit{"README.md": "x"}}, nil)
	j.github = map[string]string{"api_url": both.URL, "graphql_url": both.URL + "/graphql"}
	results := make(chan *outcome, 2)
	for i := range 2 {
		mine := j
		mine.run = int64(300 + i)
		go func() { results <- s.do(mine) }()
	}
	var created []string
	for range 2 {
		o := <-results
		if o.ExitCode != 3 {
			t.Errorf("exit code %d\n%s", o.ExitCode, o.Text())
		}
		created = append(created, o.Outputs["comment-url"])
	}
	if created[0] == "" || created[0] != created[1] {
		t.Errorf("the runs name the comments %q, want the same", created)
	}
	says(t, "comment", s.comment(7), "run=301")
}

func TestFork(t *testing.T) {
	t.Parallel()
	s := begun(t)
	o := s.open(pull{number: 8, fork: true, edit: edit{"README.md": "x"}}, nil).ends(3).usual()
	o.outputs("gate-action=BLOCK", "baseline-state=found", "comment-url=")
	says(t, "summary", o.Summary, "Gate: BLOCK")
	if all := s.comments(8); len(all) > 0 {
		t.Errorf("a run of a fork commented: %q", all)
	}
	if !slices.Contains(o.notices(), "No comment was written") {
		t.Errorf("notices %q", o.notices())
	}
	for _, call := range o.Calls {
		if !strings.HasPrefix(call, "GET") && !strings.HasPrefix(call, "BLOB") {
			t.Errorf("a run of a fork wrote: %s", call)
		}
	}

	// A suite with a secret, which forks do not get.
	secret := edit{"oloproof.yaml": s.replaced("oloproof.yaml", "    output_path: result", "    headers:\n      Authorization: Bearer ${RAG_TOKEN}\n    output_path: result")}
	s.commit("c2", secret)
	s.push(map[string]string{"env-allow": "RAG_TOKEN"}).ends(2)
	with := func(value string) func(*job) {
		return func(j *job) { j.env = map[string]string{"RAG_TOKEN": value} }
	}
	o = s.open(pull{number: 9, fork: true, edit: edit{"README.md": "x"}, change: with("")}, map[string]string{"env-allow": "RAG_TOKEN"}).ends(2)
	o.outputs("gate-action=", "artifact-name="+o.Outputs["artifact-name"])
	if a := o.failure(); a.Title != "Needs a secret that forks do not get" {
		t.Errorf("the error is titled %q", a.Title)
	} else {
		says(t, "error", a.Message, "RAG_TOKEN", "workflow_run")
	}
	says(t, "summary", o.Summary, "Needs a secret that forks do not get", "workflow_run")

	// In the repository itself it is a wrong environment, and a variable that is
	// there but was not allowed is told apart.
	if a := s.open(pull{number: 10, edit: edit{"README.md": "x"}, change: with("")}, map[string]string{"env-allow": "RAG_TOKEN"}).ends(2).failure(); a.Title != "Configuration error" {
		t.Errorf("the error is titled %q", a.Title)
	}
	a := s.open(pull{number: 11, edit: edit{"README.md": "x"}, change: with("a-long-enough-secret")}, nil).ends(2).failure()
	says(t, "error", a.Message, "env-allow", "RAG_TOKEN")
}

func TestDependabot(t *testing.T) {
	t.Parallel()
	s := begun(t)
	o := s.open(pull{number: 12, edit: edit{"README.md": "x"}, change: func(j *job) { j.github = map[string]string{"actor": "dependabot[bot]"} }}, nil).ends(3)
	if len(s.comments(12)) > 0 || !slices.Contains(o.notices(), "No comment was written") {
		t.Errorf("comments %q, notices %q", s.comments(12), o.notices())
	}
}

// queue runs the job of a merge group of one pull request.
func (s *site) queue(number int, e edit, change func(w *world, head string)) *outcome {
	s.t.Helper()
	head, group := fmt.Sprintf("queued-%d-%d", number, s.lastRun), fmt.Sprintf("group-%d-%d", number, s.lastRun)
	s.trees[group] = s.edited(s.head, e)
	ref := fmt.Sprintf("gh-readonly-queue/main/pr-%d-%s", number, sha(s.head))
	s.gh.Do(func(w *world) {
		w.Parents[head], w.Parents[group] = []string{s.head}, []string{s.head, head}
		w.Refs["refs/heads/"+ref] = group
		if change != nil {
			change(w, head)
		}
	})
	return s.do(job{event: "merge_group-checks_requested", commit: group, ref: "refs/heads/" + ref, branch: ref, payload: map[string]any{
		"merge_group.head_sha": sha(group), "merge_group.head_ref": "refs/heads/" + ref, "merge_group.base_sha": sha(s.head), "merge_group.base_ref": "refs/heads/main",
	}})
}

func TestMergeQueue(t *testing.T) {
	t.Parallel()
	s := begun(t)
	o := s.queue(13, edit{"README.md": "x", "release.yaml": ""}, nil).ends(3).usual()
	o.outputs("gate-action=BLOCK", "baseline-state=found", "baseline-sha="+sha("c1"), "comment-url=", "policy-source=base commit "+sha("c1"))
	o.is("base", "answer-floor", "PASS", "lower_bound_meets_minimum")
	if len(s.comments(13)) > 0 {
		t.Error("a merge group commented")
	}
	says(t, "summary", o.Summary, "the policy is removed, with all its rules")

	// The label has to be on the pull request of the group.
	relaxed := edit{"data/support.jsonl": s.without("data/support.jsonl", failing...), "compare.yaml": ""}
	s.commit("c2", edit{"release.yaml": strings.Replace(lenient, "0.40", "0.70", 1), "compare.yaml": ""})
	s.push(nil).ends(3)
	s.queue(14, relaxed, func(w *world, head string) { w.Pulls = append(w.Pulls, githubtest.Pull{Number: 14, Head: head}) }).ends(3).is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")
	now := s.clock()
	o = s.queue(14, relaxed, func(w *world, head string) { s.label(w, 14, head, now) }).ends(0)
	o.is("only", "answer-floor", "PASS", "lower_bound_meets_minimum")
	says(t, "summary", o.Summary, "released by the label oloproof-reviewed, set by maintainer")
}

// failing are the cases of the example that its service fails.
var failing = []string{`"refund_review"`, `"money_back"`, `"security_review"`, `"seat_count"`}

// label sets the review label on a pull request, by someone with write access and
// after its head was pushed.
func (s *site) label(w *world, number int, head string, now time.Time) {
	w.Permissions["maintainer"], w.UserIDs["maintainer"] = "write", 4711
	pushed := now.Add(-30 * time.Minute)
	w.Runs = append(w.Runs, githubtest.Run{ID: 5000 + int64(number), Event: "pull_request", Commit: head, HeadBranch: "feature", CreatedAt: pushed})
	w.Pulls = slices.DeleteFunc(w.Pulls, func(x githubtest.Pull) bool { return x.Number == number })
	w.Pulls = append(w.Pulls, githubtest.Pull{
		Number: number, Head: head, HeadRef: "feature", Labels: []string{"oloproof-reviewed"}, CreatedAt: pushed.Add(-time.Hour),
		Events: []githubtest.IssueEvent{{Event: "labeled", Label: "oloproof-reviewed", Login: "maintainer", ID: 4711, At: now.Add(-10 * time.Minute)}},
	})
}

// bulk is a suite of many cases; the endpoint answers those of the first wrong ones
// wrongly.
func bulk(n int) edit {
	var cases strings.Builder
	for i := range n {
		fmt.Fprintf(&cases, `{"id":"q%04d","input":{"question":"question %04d"},"expected":{"answer":"yes"}}`+"\n", i, i)
	}
	return edit{
		"oloproof.yaml": `version: 1
project: bulk
dataset: data/support.jsonl
system:
  name: bulk
  version: "1"
  http: {url: "https://example.com/answer", output_path: result}
evaluators:
  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}
`,
		"data/support.jsonl": cases.String(),
		"release.yaml":       "version: 1\nrules:\n  - {id: answer-floor, metric: answer_correct, min: 0.80}\n",
		"compare.yaml":       "version: 1\nrules:\n  - {id: answers-not-worse, metric: answer_correct, kind: non_inferiority, margin: 0.05}\n",
	}
}

func wrongBelow(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Question string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		var i int
		fmt.Sscanf(in.Question, "question %d", &i)
		answer := "yes"
		if i < n {
			answer = "no"
		}
		fmt.Fprintf(w, `{"result": {"answer": %q}}`, answer)
	})
}

// pin is a lock of the artifact of a run.
func (s *site) pin(run int64, commit string) string {
	var lock string
	s.gh.Do(func(w *world) {
		for _, a := range w.Artifacts {
			if a.Run == run {
				lock = fmt.Sprintf(`{"schema": "oloproof/baseline-lock/v1", "repository_id": %d, "name": "oloproof.yaml", "run_id": %d,
  "commit": %q, "digest": %q, "recorded_at": "2026-11-30T12:00:00Z", "artifact_id": %d}`,
					githubtest.RepositoryID, run, sha(commit), githubtest.Digest(a.Bytes), a.ID)
			}
		}
	})
	if lock == "" {
		s.t.Fatalf("run %d has no artifact", run)
	}
	return lock
}

func (s *site) nightly(inputs map[string]string) *outcome {
	s.t.Helper()
	return s.do(job{event: "schedule", commit: s.head, ref: "refs/heads/main", branch: "main", inputs: inputs})
}

func TestNightlyWithSlowDrift(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", bulk(600))
	s.answer(wrongBelow(0))
	first := s.nightly(nil).ends(0)
	s.commit("c2", edit{"baseline.lock.json": s.pin(first.Run, "c1")})
	lock := map[string]string{"baseline-lock": "baseline.lock.json"}

	s.answer(wrongBelow(6))
	o := s.nightly(lock).ends(0)
	o.outputs("gate-action=ALLOW", "baseline-state=found", fmt.Sprintf("baseline-run-id=%d", first.Run))
	if n := len(o.document().Comparisons); n != 1 {
		t.Errorf("%d comparisons, want one: the previous nightly is the pinned one", n)
	}
	for _, wrong := range []int{18, 30, 42, 54} {
		s.pass(24 * time.Hour)
		s.answer(wrongBelow(wrong))
		o = s.nightly(lock)
	}
	// From night to night nothing is worse than the margin; beside the pin it is.
	o.ends(1).outputs("gate-action=BLOCK", "baseline-state=found").usual()
	d := o.document()
	if len(d.Comparisons) != 2 || d.Comparisons[0].Role != "baseline" || d.Comparisons[1].Role != "pin" {
		t.Fatalf("comparisons %+v, want the previous nightly and the pin", d.Comparisons)
	}
	if d.Baseline.How != "last scheduled run" {
		t.Errorf("the baseline is %q", d.Baseline.How)
	}
	states := map[string]string{}
	for _, p := range d.Policies {
		for _, x := range p.Decisions {
			for _, c := range d.Comparisons {
				if x.Comparison != nil && *x.Comparison == string(c.ID) {
					states[c.Role] = x.State
				}
			}
		}
	}
	if states["baseline"] != "PASS" || states["pin"] != "FAIL" {
		t.Errorf("states %v, want PASS against the previous nightly and FAIL against the pin", states)
	}
	says(t, "summary", o.Summary, "-2.0 points", "-9.0 points", "the fixed reference")

	// A pin that is gone is said, and is no PASS.
	s.gh.Do(func(w *world) {
		for i := range w.Artifacts {
			if w.Artifacts[i].Run == first.Run {
				w.Artifacts[i].Expired = true
			}
		}
	})
	o = s.nightly(lock).ends(3).outputs("baseline-state=found")
	says(t, "summary", o.Summary, "pinned", "expired")
}

func TestReleaseBranchBlocksOnInsufficientEvidence(t *testing.T) {
	t.Parallel()
	s := begun(t)
	strict := "version: 1\nblock_on: [FAIL, INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]\nrules:\n  - {id: answer-floor, metric: answer_correct, min: 0.70}\n"
	s.trees["r1"] = s.edited("c1", edit{"strict.yaml": strict, "baseline.lock.json": s.pin(101, "c1")})
	s.gh.Do(func(w *world) { w.Parents["r1"] = []string{"c1"}; w.Branches["release/1.0"] = "r1" })
	o := s.do(job{
		event: "push", commit: "r1", ref: "refs/heads/release/1.0", branch: "release/1.0", inputs: map[string]string{"policy": "strict.yaml", "baseline-lock": "baseline.lock.json"},
		payload: map[string]any{"ref": "refs/heads/release/1.0", "before": strings.Repeat("0", 40), "after": sha("r1")},
	}).ends(3).usual()
	o.outputs("gate-action=BLOCK", "baseline-state=found", "baseline-run-id=101", "insufficient=3", "failed=0")
	o.is("only", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
	if a := o.failure(); a.Title != "Blocked: insufficient evidence" || a.File != "strict.yaml" || a.Line != 4 {
		t.Errorf("the error is %+v", a)
	}
	says(t, "summary", o.Summary, "about 753 more cases would decide it, if the rate holds (768 in total)")
	if n := len(o.document().Comparisons); n != 1 {
		t.Errorf("%d comparisons, want the pinned reference once", n)
	}
}

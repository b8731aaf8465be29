package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/oloproof/oloproof-go/internal/demo"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
	"github.com/oloproof/oloproof-go/internal/github/runnertest"
)

// shards runs every part of a commit and returns the files of each.
func (s *site) shards(j job, n int) []map[string]string {
	s.t.Helper()
	var all []map[string]string
	in := j.inputs
	for i := 1; i <= n; i++ {
		part := j
		part.inputs = map[string]string{"shard": fmt.Sprintf("%d/%d", i, n), "output-dir": fmt.Sprintf("oloproof-shards/%d", i)}
		for k, v := range in {
			part.inputs[k] = v
		}
		part.noUpload, part.keepRun, part.run = true, i > 1, s.lastRun+1
		o := s.do(part).ends(0).outputs("gate-action=", "comment-url=")
		if o.Summary != "" {
			s.t.Errorf("a shard wrote a summary: %s", o.Summary)
		}
		if got := slices.Sorted(mapKeys(o.Files)); !slices.Equal(got, []string{"judgments.jsonl", "run.json"}) {
			s.t.Errorf("a shard left the files %q, want no content", got)
		}
		for _, call := range o.Calls {
			if !strings.HasPrefix(call, "GET") {
				s.t.Errorf("a shard wrote: %s", call)
			}
		}
		all = append(all, o.Files)
	}
	return all
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// merge decides shards in a job of their run.
func (s *site) merge(j job, shards []map[string]string) *outcome {
	s.t.Helper()
	var from []string
	for i := range shards {
		if shards[i] != nil {
			from = append(from, fmt.Sprintf("oloproof-shards/%d", i+1))
		}
	}
	in := map[string]string{"command": "merge", "from": strings.Join(from, ",") + ",", "url": "", "allowed-hosts": ""}
	for k, v := range j.inputs {
		in[k] = v
	}
	j.inputs, j.keepRun, j.run = in, true, s.lastRun+1
	s.lastRun++
	j.before = func(workspace, _ string) {
		for i, files := range shards {
			for name, content := range files {
				write(s.t, filepath.Join(workspace, "oloproof-shards", fmt.Sprint(i+1), name), content)
			}
		}
	}
	return s.do(j)
}

func (s *site) pushJob() job {
	return job{event: "push", commit: s.head, ref: "refs/heads/main", branch: "main",
		payload: map[string]any{"ref": "refs/heads/main", "before": sha("base"), "after": sha(s.head), "forced": false}}
}

func TestShardsAndMerge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": lenient})
	j := s.pushJob()
	o := s.merge(j, s.shards(j, 3)).ends(0).usual()
	o.outputs("gate-action=WARN", "baseline-state=none", "missing=0")
	if d := o.rule("only", "answer-floor"); d.Display.Denominator != "11 / 15 observed · 0 missing · 0 excluded" {
		t.Errorf("merged: %s", d.Display.Denominator)
	}
	if _, there := o.Files["cases.jsonl"]; there {
		t.Error("the merged run has content")
	}

	// The merged run is a baseline like any other, and so is one of shards against it.
	s.serve(demo.Options{ExpandQuery: true})
	p := s.pushed(pull{number: 7, edit: edit{"README.md": "x"}}, nil)
	shards := s.shards(p, 3)
	s.merge(p, shards).ends(3).usual().outputs("baseline-state=found", "baseline-sha="+sha("c1"))
	says(t, "comment", s.comment(7), "+6.7 points", "about 38 more paired cases")

	// A missing shard is missing cases and a partial run.
	p = s.pushed(pull{number: 8, edit: edit{"README.md": "x"}}, nil)
	shards = s.shards(p, 3)
	shards[1] = nil
	o = s.merge(p, shards).ends(3).outputs("gate-action=BLOCK")
	if d := o.document(); d.Run.Completeness != "PARTIAL" || d.Run.Status != "RUN_ERROR" || !slices.Contains(d.Gate.Reasons, "partial_run") || d.Run.Counts.NotRun == 0 {
		t.Errorf("run %+v, gate %+v", d.Run, d.Gate)
	}
	says(t, "comment", s.comment(8), "not every case ran")

	// A shard in trouble says so in its own job: eight would write eight comments.
	broken := s.pushed(pull{number: 18, edit: edit{"oloproof.yaml": s.replaced("oloproof.yaml", "dataset:", "datasett:")}}, nil)
	broken.inputs = map[string]string{"shard": "1/3"}
	o = s.do(broken).ends(2)
	says(t, "summary", o.Summary, "Configuration error", "did you mean dataset?")
	if all := s.comments(18); len(all) > 0 {
		t.Errorf("a shard commented: %q", all)
	}

	// A shard of another suite, and one that was changed.
	other := s.shards(s.pushed(pull{number: 9, edit: edit{"oloproof.yaml": s.replaced("oloproof.yaml", "k: 2", "k: 3")}}, nil), 3)
	p = s.pushed(pull{number: 10, edit: edit{"README.md": "x"}}, nil)
	shards = s.shards(p, 3)
	mixed := slices.Clone(shards)
	mixed[2] = other[2]
	says(t, "error", s.merge(p, mixed).ends(2).failure().Message, "these shards are of different runs")
	damaged := slices.Clone(shards)
	damaged[0] = map[string]string{"run.json": shards[0]["run.json"], "judgments.jsonl": strings.Replace(shards[0]["judgments.jsonl"], `"value":0`, `"value":1`, 1)}
	s.lastRun--
	says(t, "error", s.merge(p, damaged).ends(2).failure().Message, "does not match its digest")

	// A pull request that loosens an evaluator cannot be judged again without
	// answers, so the baseline's judgments count.
	s.serve(demo.Options{})
	s.commit("c2", edit{"release.yaml": floor("0.70"), "compare.yaml": ""})
	j = s.pushJob()
	j.payload["before"] = sha("c1")
	s.merge(j, s.shards(j, 2)).ends(3)
	loose := s.replaced("oloproof.yaml", "{type: contains, criterion: answer_correct, field: answer, expected_field: answer}",
		"{type: regex, criterion: answer_correct, field: answer, pattern: .}")
	p = s.pushed(pull{number: 11, edit: edit{"oloproof.yaml": loose}}, nil)
	s.merge(p, s.shards(p, 2)).ends(3).is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")

	// Where those are good enough too, nothing is relaxed.
	s.commit("c3", edit{"release.yaml": floor("0.40")})
	j = s.pushJob()
	j.payload["before"] = sha("c2")
	s.merge(j, s.shards(j, 2)).ends(0)
	p = s.pushed(pull{number: 12, edit: edit{"oloproof.yaml": loose}}, nil)
	s.merge(p, s.shards(p, 2)).ends(0).is("only", "answer-floor", "PASS", "lower_bound_meets_minimum")
}

// report runs command report for the artifact of a fork's run.
func (s *site) report(number int, head string, files map[string]string, change func(j *job)) *outcome {
	s.t.Helper()
	j := job{
		event: "workflow_run-completed", commit: s.head, ref: "refs/heads/main", branch: "main",
		inputs: map[string]string{"command": "report", "from": "oloproof-report", "url": "", "allowed-hosts": ""},
		payload: map[string]any{"workflow_run.head_sha": sha(head), "workflow_run.head_branch": "feature", "workflow_run.event": "pull_request",
			"workflow_run.head_repository.id": githubtest.ForkID, "workflow_run.head_repository.full_name": githubtest.ForkOwner + "/" + githubtest.Repo,
			"workflow_run.pull_requests": []any{}},
		before: func(workspace, _ string) {
			for name, content := range files {
				write(s.t, filepath.Join(workspace, "oloproof-report", name), content)
			}
		},
	}
	if change != nil {
		change(&j)
	}
	return s.do(j)
}

func TestReportOfAFork(t *testing.T) {
	t.Parallel()
	s := begun(t)
	s.serve(demo.Options{ExpandQuery: true})
	p := s.pushed(pull{number: 8, fork: true, edit: edit{"README.md": "x"}}, nil)
	o := s.do(p).ends(3)
	honest := o.Files

	r := s.report(8, p.headOf, honest, nil).ends(0)
	comment := s.comment(8)
	says(t, "comment", comment, "🔴 Gate: BLOCK (exit 3)", "+6.7 points", "[-26.5, +40.8]", "about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)",
		"12 / 15", "whoever wrote it controls")
	checkMarkdown(t, "comment", comment)
	if len(r.Files) > 0 {
		t.Errorf("files %v", r.Files)
	}

	// A hostile artifact: another pull request, words for sentences, markup, a gate
	// that its rules do not give, and far too much of it.
	var d map[string]any
	if err := json.Unmarshal([]byte(honest["gate.json"]), &d); err != nil {
		t.Fatal(err)
	}
	lie := "Approved by the security team. Merge it now."
	gate := func(v any, action string, code int) {
		g := v.(map[string]any)
		g["action"], g["exit_code"], g["meaning"], g["reasons"] = action, code, lie, []any{lie, hostile}
	}
	gate(d["gate"], "ALLOW", 0)
	for _, p := range d["policies"].([]any) {
		p := p.(map[string]any)
		p["path"] = hostile
		for _, x := range p["decisions"].([]any) {
			x := x.(map[string]any)
			x["requires"], x["reasons"] = lie, []any{lie}
			x["display"] = map[string]any{"estimate": lie, "interval": hostile, "denominator": lie}
			x["planning"] = map[string]any{"total": nil, "more": nil, "discordance": nil, "line": lie}
		}
	}
	d["notes"] = []any{lie, hostile}
	d["run"].(map[string]any)["name"] = hostile
	d["relaxations"] = []any{map[string]any{"file": hostile, "text": lie}}
	text, _ := json.Marshal(d)
	o = s.report(8, p.headOf, map[string]string{"gate.json": string(text), "comment.md": lie}, nil).ends(0)
	comment = s.comment(8)
	saysNot(t, "comment", comment, lie, "Merge it now")
	says(t, "comment", comment, "🔴 Gate: BLOCK (exit 3)") // as its rules give it
	checkMarkdown(t, "comment", comment)
	for _, name := range []string{"set-output", "stop-commands", "error"} {
		if c := o.Of(name); len(c) > 0 {
			t.Errorf("the log ran %s: %+v", name, c)
		}
	}

	for name, text := range map[string]string{
		"no JSON":         "<html>",
		"another schema":  `{"schema": "oloproof/document/v9"}`,
		"unknown state":   strings.ReplaceAll(honest["gate.json"], `"INSUFFICIENT_EVIDENCE"`, `"SUPER"`),
		"unknown action":  strings.ReplaceAll(honest["gate.json"], `"BLOCK"`, `"PARTY"`),
		"allowed with 3":  strings.ReplaceAll(honest["gate.json"], `"BLOCK"`, `"ALLOW"`),
		"no run id":       strings.ReplaceAll(honest["gate.json"], `"run_`, `"../run_`),
		"deeply nested":   strings.Repeat("[", 200_000),
		"too large":       `{"schema": "oloproof/document/v1", "notes": ["` + strings.Repeat("x", 33<<20) + `"]}`,
		"too many flips":  strings.Replace(honest["gate.json"], `"flips": [`, `"flips": [`+strings.Repeat(`{"case": "x", "criterion": "y", "passing": true},`, 6000), 1),
		"an empty object": "{}",
	} {
		o := s.report(8, p.headOf, map[string]string{"gate.json": text}, nil).ends(2)
		if msg := o.failure().Message; len(msg) > 1000 {
			t.Errorf("%s: a message of %d bytes", name, len(msg))
		}
	}
	// A link that leads outside.
	o = s.report(8, p.headOf, nil, func(j *job) {
		j.before = func(workspace, _ string) {
			write(t, filepath.Join(workspace, "oloproof-report", "x"), "")
			if err := os.Symlink("/etc/passwd", filepath.Join(workspace, "oloproof-report", "gate.json")); err != nil {
				t.Fatal(err)
			}
		}
	}).ends(2)
	saysNot(t, "log", o.Text(), "root:")
	// No result at all: the comment says where to look.
	s.report(8, p.headOf, map[string]string{"comment.md": lie}, nil).ends(2)
	says(t, "comment", s.comment(8), "The gate has no result")
	saysNot(t, "comment", s.comment(8), lie)

	// The event says which pull request: a head that is not its, or another fork's.
	s.gh.Do(func(w *world) { w.Comments = nil })
	o = s.report(8, "base", honest, nil).ends(0)
	if len(s.comments(8)) > 0 || !slices.Contains(o.notices(), "No comment was written") {
		t.Errorf("comments %q, notices %q", s.comments(8), o.notices())
	}
	s.report(8, p.headOf, honest, func(j *job) { j.payload["workflow_run.head_repository.id"] = 9999 }).ends(0)
	if len(s.comments(8)) > 0 {
		t.Errorf("comments %q", s.comments(8))
	}
}

// TestWrongPaths: a path that is none names its input.
func TestWrongPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for input, values := range map[string][]string{
		"working-directory": {"..", "/elsewhere"}, "output-dir": {".", ".hidden", "../out", "/tmp/out"},
		"config": {"../oloproof.yaml", "/home/runner/work/r/r/oloproof.yaml"}, "policy": {"../release.yaml"}, "compare-policy": {"../compare.yaml"},
	} {
		for _, value := range values {
			j := s.pushJob()
			j.inputs = map[string]string{input: value}
			o := s.do(j).ends(2)
			if a := o.failure(); a.Title != "Configuration error" || !strings.HasPrefix(a.Message, "input "+input+": ") {
				t.Errorf("%s %s: the error is %+v", input, value, a)
			}
			if n := o.notices(); len(n) > 0 {
				t.Errorf("%s %s: notices %q", input, value, n)
			}
		}
	}
	// An absolute directory of the workspace is as good as one that is named from it.
	j := s.pushJob()
	j.workspace = t.TempDir()
	for name, content := range s.trees[s.head] {
		write(t, filepath.Join(j.workspace, "rag", name), content)
	}
	j.inputs = map[string]string{"working-directory": filepath.Join(j.workspace, "rag")}
	s.do(j).ends(1).outputs("output-dir=rag/oloproof-out")
}

func TestNoSummary(t *testing.T) {
	t.Parallel()
	s := begun(t)
	o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, map[string]string{"summary": "false"}).ends(3)
	if o.Summary != "" {
		t.Errorf("with summary: false there is a summary:\n%s", o.Summary)
	}
	says(t, "comment", s.comment(1), "Gate: BLOCK")
}

// TestInterrupted sends signals to the program itself.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(x.signal.String(), func(t *testing.T) {
			t.Parallel()
			s := begun(t)
			called := make(chan struct{}, 100)
			s.answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client leaves
				called <- struct{}{}
				<-r.Context().Done()
			}))
			o := s.open(pull{number: 1, edit: edit{"README.md": "x"}, change: func(j *job) {
				j.program = func(ctx context.Context, p *runnertest.Process) int {
					cmd := program(ctx, t, p.Dir, p.Env, "ci")
					cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
					if err := cmd.Start(); err != nil {
						t.Error(err)
						return -1
					}
					<-called
					if err := cmd.Process.Signal(x.signal); err != nil {
						t.Error(err)
					}
					_ = cmd.Wait()
					return cmd.ProcessState.ExitCode()
				}
			}}, nil).ends(x.code)
			o.outputs("gate-action=")
			if a := o.failure(); a.Title != "Interrupted" {
				t.Errorf("the error is %+v", a)
			}
			says(t, "summary", o.Summary, "Interrupted")
			if len(s.comments(1)) > 0 {
				t.Error("an interrupted job commented")
			}
			if _, there := o.Files["gate.json"]; there {
				t.Error("an interrupted run left a decision")
			}
		})
	}
}

// TestProgramItself runs a whole job with the binary, as a container action and
// as a step in a working directory.
func TestProgramItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nested := map[string]string{}
	for name, content := range s.trees["base"] {
		nested["eval/"+name] = content
	}
	nested["eval/release.yaml"] = floor("0.70")
	s.keep("c1", nested)
	s.gh.Do(func(w *world) { w.Parents["c1"] = []string{"base"}; w.Branches["main"] = "c1" })
	s.head = "c1"
	binary := func(ctx context.Context, p *runnertest.Process) int {
		cmd := program(ctx, t, p.Dir, p.Env, "ci")
		cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Error(err)
		}
		return cmd.ProcessState.ExitCode()
	}
	for _, dir := range []string{"", "eval", "eval/data"} {
		j := s.pushJob()
		j.program, j.dir, j.inputs = binary, dir, map[string]string{"config": "eval/oloproof.yaml"}
		o := s.do(j).ends(3).outputs("output-dir=oloproof-out")
		if d := o.document(); d.Run.Suite.Path != "eval/oloproof.yaml" || d.Policies[0].Path != "eval/release.yaml" {
			t.Errorf("in %q: suite %s, policy %s", dir, d.Run.Suite.Path, d.Policies[0].Path)
		}
		if a := o.failure(); a.File != "eval/release.yaml" {
			t.Errorf("in %q: the error is at %s", dir, a.File)
		}
	}
}

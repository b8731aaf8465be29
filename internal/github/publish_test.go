package github

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github/runnertest"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
)

// aResult is a document with rules in every state.
func aResult() *report.Document {
	slice := "topic=billing"
	return &report.Document{
		Schema: report.DocumentSchema,
		Run:    report.Run{ID: "run_1", Name: "rag", Counts: evidence.Counts{Cases: 15, OK: 15}},
		Gate:   &report.Gate{Action: "BLOCK", ExitCode: 1, Reasons: []string{}, Meaning: "A rule that the policy blocks on is FAIL."},
		Policies: []report.Policy{{Role: "only", Path: "release.yaml", Gate: report.Gate{Action: "BLOCK", ExitCode: 1}, Decisions: []report.Decision{
			{Rule: "passes", Metric: "m", State: "PASS", Line: 3},
			{Rule: "lacks", Metric: "m", State: "INSUFFICIENT_EVIDENCE", Reasons: []string{"interval_overlaps_threshold"}, Line: 5, Requires: "at least 70.0%",
				Display: report.Display{Estimate: "73.3%", Interval: "[44.8%, 92.3%]"}, Planning: &report.Planning{Line: "about 753 more cases would decide it, if the rate holds (768 in total)"}},
			{Rule: "fails", Metric: "m", Slice: &slice, State: "FAIL", Line: 9, Requires: "at least 90.0%", Display: report.Display{Estimate: "20.0%", Interval: "[4.3%, 48.1%]"}},
		}}},
		Relaxations: []report.Relaxation{{File: "release.yaml", Line: 9, Text: "the floor of fails is lower"}},
	}
}

// publishing runs a publication as a step. Change may set what a test is about.
func publishing(t *testing.T, step runnertest.Step, change func(*Publication, *runnertest.Process)) (*runnertest.Result, Published) {
	t.Helper()
	var done Published
	r := runnertest.Run(t, step, func(ctx context.Context, p *runnertest.Process) int {
		w, err := OpenWorkspace(p.Getenv("GITHUB_WORKSPACE"))
		if err != nil {
			t.Error(err)
			return 99
		}
		defer w.Close()
		pub := Publication{
			ExitCode: 1, Document: aResult(), Name: "rag/oloproof.yaml", WorkingDirectory: "rag", PolicySource: "base", BaselineRunID: 77, BaselineSHA: headB,
			Workspace: w, OutputDir: DefaultOutputDir, Bundle: aRun(t, `{"id":"a"}`, `{"input":"q"}`),
			Reports: []Rendering{{Name: HTMLFile, Render: func(w io.Writer) error { _, err := io.WriteString(w, "<html>"); return err }}},
			Log:     NewLog(p.Stdout, true), SummaryPath: p.Getenv("GITHUB_STEP_SUMMARY"), OutputPath: p.Getenv("GITHUB_OUTPUT"),
			Ref: "refs/pull/7/merge", RunID: 10, Attempt: 1, RunURL: "https://github.com/o/r/actions/runs/10", Random: rand.Reader,
			Comment: CommentPlan{Mode: CommentAlways, Pull: 7, Head: headA, API: &talk{head: headA}},
		}
		if change != nil {
			change(&pub, p)
		}
		done = Publish(ctx, pub)
		return pub.ExitCode
	})
	return r, done
}

func TestPublish(t *testing.T) {
	for _, container := range []bool{false, true} {
		k := &talk{head: headA}
		var order []string
		r, done := publishing(t, runnertest.Step{Container: container, Summary: "## earlier"}, func(p *Publication, at *runnertest.Process) {
			p.Comment.API = k
			p.Log.Group("Report")
			io.WriteString(p.Log, "rows\n")
			k.before = func(string) error {
				for name, path := range map[string]string{"files": filepath.Join(p.Workspace.Dir(), p.OutputDir, "run.json"), "summary": p.SummaryPath, "outputs": p.OutputPath} {
					if info, err := os.Stat(path); err == nil && info.Size() > 12 {
						order = append(order, name)
					}
				}
				return nil
			}
		})
		if r.ExitCode != 1 || len(r.Dropped) != 0 || len(r.Env) != 0 || len(r.Path) != 0 {
			t.Errorf("%+v", r)
		}
		if len(order) == 0 || strings.Contains(strings.Join(order, " "), "outputs") || !strings.Contains(strings.Join(order, " "), "summary") || !strings.Contains(strings.Join(order, " "), "files") {
			t.Errorf("before the comment there were %v", order)
		}
		want := map[string]string{
			"gate-action": "BLOCK", "exit-code": "1", "run-id": "run_1", "artifact-name": ArtifactName("rag/oloproof.yaml", "refs/pull/7/merge", ""),
			"output-dir": "oloproof-out", "result-file": "oloproof-out/gate.json", "report-file": "oloproof-out/report.html", "baseline-run-id": "77",
			"baseline-sha": headB, "baseline-state": "", "comment-url": "https://github.com/o/r/pull/7#issuecomment-1", "passed": "1", "failed": "1",
			"insufficient": "1", "review": "0", "missing": "0", "policy-source": "base", "relaxations": "1",
		}
		if diff := cmp.Diff(want, r.Outputs); diff != "" {
			t.Error(diff)
		}
		if !strings.HasPrefix(r.Summary, "## earlier\n\n### 🔴 Gate: BLOCK (exit 1)\n") || !strings.HasSuffix(r.Summary, "\n") {
			t.Errorf("the summary is\n%s", r.Summary)
		}
		wantNotes := []runnertest.Annotation{
			{Level: "error", Title: "Gate failed", File: "rag/release.yaml", Line: 9, Message: "A rule that the policy blocks on is FAIL.\nfails: m of topic=billing, 20.0% [4.3%, 48.1%], requires at least 90.0%: FAIL"},
			{Level: "notice", Title: "lacks: INSUFFICIENT_EVIDENCE", File: "rag/release.yaml", Line: 5, Message: "lacks: m, 73.3% [44.8%, 92.3%], requires at least 70.0%: INSUFFICIENT_EVIDENCE (interval_overlaps_threshold)\nabout 753 more cases would decide it, if the rate holds (768 in total)"},
			{Level: "notice", Title: "Laxer than before", File: "rag/release.yaml", Line: 9, Message: "the floor of fails is lower"},
		}
		if diff := cmp.Diff(wantNotes, r.Annotations); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"comment.md", "gate.json", "judgments.jsonl", "report.html", "run.json"}, names(t, filepath.Join(r.Workspace, "oloproof-out"))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"gate.json", "run.json", "report.html", "comment.md"}, done.Files); diff != "" {
			t.Error(diff)
		}
		// The gate is the last line, and no group folds it away.
		if last := r.Log[len(r.Log)-1]; last != "Gate: BLOCK (exit 1)" || strings.LastIndex(r.Text(), "##[endgroup]") < strings.LastIndex(r.Text(), "##[group]") {
			t.Errorf("the log is\n%s", r.Text())
		}
	}
}

// TestTroubleOfPublishing: each is one notice, and none changes the code.
func TestTroubleOfPublishing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Publication, *runnertest.Process)
		title  string
	}{
		"files": {func(p *Publication, at *runnertest.Process) {
			put(t, filepath.Join(p.Workspace.Dir(), "oloproof-out"), "a file")
		}, "Results were not written"},
		"bundle": {func(p *Publication, _ *runnertest.Process) { delete(p.Bundle.(fstest.MapFS), "run.json") }, "Results were not written"},
		"renderer": {func(p *Publication, _ *runnertest.Process) {
			p.Reports[0].Render = func(io.Writer) error { return errors.New("no") }
		}, "Results were not written"},
		"summary": {func(p *Publication, _ *runnertest.Process) { p.SummaryPath = p.Workspace.Dir() }, "The job summary was not written"},
		"comment": {func(p *Publication, _ *runnertest.Process) {
			p.Comment.API = &talk{before: func(string) error { return refusedWith(403) }}
		}, "No comment was written"},
		"fork":    {func(p *Publication, _ *runnertest.Process) { p.Comment.ReadOnly = "the pull request comes from a fork" }, "No comment was written"},
		"outputs": {func(p *Publication, _ *runnertest.Process) { p.OutputPath = p.Workspace.Dir() }, "The outputs were not written"},
		"random": {func(p *Publication, _ *runnertest.Process) {
			p.Random, p.PolicySource = strings.NewReader(""), "two\nlines"
		}, "The outputs were not written"},
	} {
		t.Run(name, func(t *testing.T) {
			r, done := publishing(t, runnertest.Step{}, tt.change)
			found := 0
			for _, a := range r.Annotations {
				if a.Title == tt.title && a.Level == "notice" {
					found++
				}
			}
			if found != 1 || r.ExitCode != 1 || done.Outputs.ExitCode != 1 {
				t.Errorf("%d notices %q in %+v", found, tt.title, r.Annotations)
			}
			if last := r.Log[len(r.Log)-1]; last != "Gate: BLOCK (exit 1)" {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}

// TestPublishOutsideActions writes files only: no variable of the runner is set.
func TestPublishOutsideActions(t *testing.T) {
	w := workspace(t)
	var b strings.Builder
	done := Publish(context.Background(), Publication{
		ExitCode: 1, Document: aResult(), Name: "oloproof.yaml", Workspace: w, OutputDir: "out", Log: NewLog(&b, false), Comment: CommentPlan{Mode: CommentAlways},
	})
	if diff := cmp.Diff([]string{"comment.md", "gate.json"}, names(t, filepath.Join(w.Dir(), "out"))); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(b.String(), "::") || strings.Contains(b.String(), "##[") || done.Summary || !strings.HasSuffix(b.String(), "\nGate: BLOCK (exit 1)\n") {
		t.Errorf("the log is\n%s", b.String())
	}
	Publish(context.Background(), Publication{Log: NewLog(io.Discard, true)}) // nothing at all
}

// TestShardIsSilent: it decides and comments nothing.
func TestShardIsSilent(t *testing.T) {
	k := &talk{head: headA}
	r, done := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
		p.ExitCode, p.Document, p.Reports, p.Part, p.Comment.API = 0, nil, nil, Part{3, 8}, k
	})
	if diff := cmp.Diff([]string{"judgments.jsonl", "run.json"}, names(t, filepath.Join(r.Workspace, "oloproof-out"))); diff != "" {
		t.Error(diff)
	}
	if r.Summary != "" || done.Summary || k.writes != 0 || len(r.Annotations) != 0 || r.Outputs["artifact-name"] != ArtifactName("rag/oloproof.yaml", "refs/pull/7/merge", "3/8") {
		t.Errorf("%+v, %d writes", r, k.writes)
	}
}

func TestAnnotationLimits(t *testing.T) {
	r, done := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
		var rules []report.Decision
		for i := range 30 {
			rules = append(rules, report.Decision{Rule: fmt.Sprintf("rule-%02d", i), Metric: "m", State: "FAIL", Line: i + 1, Requires: strings.Repeat("x", 9000)})
		}
		p.Document.Policies[0].Decisions = rules
		p.Comment.ReadOnly = "the pull request comes from a fork"
		p.Notices = []Annotation{{Level: LevelNotice, Title: "Earlier", Message: "m"}}
	})
	count := map[string]int{}
	for _, a := range r.Annotations {
		count[a.Level]++
	}
	if count["error"] != 1 || count["notice"] != 8 || len(r.Dropped) != 0 || len(done.Annotations) != 9 {
		t.Errorf("%v, %d dropped", count, len(r.Dropped))
	}
	if r.Annotations[1].Title != "Earlier" || r.Annotations[2].Title != "No comment was written" {
		t.Error("what could not be shown does not come first")
	}
	if !strings.Contains(r.Annotations[0].Message, "\nrule-00: m") || r.Annotations[3].Title != "rule-01: FAIL" { // told once
		t.Errorf("%+v", r.Annotations[:4])
	}
	if last := r.Annotations[8]; last.Title != "More" || !strings.HasPrefix(last.Message, "25 more notices") {
		t.Errorf("%+v", last)
	}
}

func TestTitlesOfErrors(t *testing.T) {
	for _, tt := range []struct {
		code    int
		reasons []string
		states  []string
		want    string
	}{
		{1, nil, []string{"FAIL"}, "Gate failed"},
		{3, nil, []string{"INSUFFICIENT_EVIDENCE", "FAIL"}, "Blocked: insufficient evidence"},
		{3, nil, []string{"MANUAL_REVIEW"}, "Blocked: a person has to look"},
		{3, nil, []string{"MANUAL_REVIEW", "INSUFFICIENT_EVIDENCE"}, "Blocked: insufficient evidence, and a person has to look"},
		{3, []string{"partial_run"}, []string{"PASS"}, "Blocked: not every case ran"},
		{3, []string{"policy_moved"}, []string{"PASS"}, "Blocked: the policy of the base branch was moved"},
		{143, []string{"partial_run"}, []string{"PASS"}, "Interrupted"},
		{0, nil, []string{"INSUFFICIENT_EVIDENCE"}, ""},
	} {
		d := aResult()
		d.Gate.Reasons = tt.reasons
		d.Policies[0].Decisions = nil
		for i, s := range tt.states {
			d.Policies[0].Decisions = append(d.Policies[0].Decisions, report.Decision{Rule: fmt.Sprint(i), State: s, Line: i + 1})
		}
		w := publisher{Publication: &Publication{Document: d, ExitCode: tt.code}}
		a, _, ok := w.blocked()
		if a.Title != tt.want || ok != (tt.want != "") {
			t.Errorf("exit %d, %v: %q, want %q", tt.code, tt.states, a.Title, tt.want)
		}
		if tt.code == 3 && tt.states[0] == "INSUFFICIENT_EVIDENCE" && a.Line != 1 {
			t.Error("the error stands at a rule that only warns")
		}
	}
}

// TestLinesOfTheBasePolicy: they are not those of the files under review.
func TestLinesOfTheBasePolicy(t *testing.T) {
	d := aResult()
	base := d.Policies[0]
	base.Role = "base"
	d.Policies[0].Role = "proposed"
	d.Policies[0].Decisions = []report.Decision{{Rule: "fails", State: "PASS", Line: 40}}
	d.Policies = append(d.Policies, base, report.Policy{Role: "only", Path: "builtin:strict", Decisions: []report.Decision{{Rule: "built", State: "FAIL", Line: 2}}},
		report.Policy{Role: "only", Path: "../../else.yaml", Decisions: []report.Decision{{Rule: "outside", State: "FAIL", Line: 2}}})
	w := publisher{Publication: &Publication{Document: d, ExitCode: 1, WorkingDirectory: "rag"}}
	got := map[string]string{}
	for _, a := range w.ruleNotices(nil) {
		got[a.Title] = fmt.Sprintf("%s:%d", a.File, a.Line)
	}
	want := map[string]string{"fails: FAIL": "rag/release.yaml:40", "lacks: INSUFFICIENT_EVIDENCE": "rag/release.yaml:0", "built: FAIL": ":0", "outside: FAIL": ":2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTroubleIsPublished(t *testing.T) {
	k := &talk{head: headA}
	post(t, said(k, 5, "ALLOW"))
	r, _ := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
		p.ExitCode, p.Document, p.Bundle, p.Reports, p.Comment.API = 2, nil, nil, nil, k
		p.Trouble = &Trouble{Title: "Configuration error", Err: problem.List{
			{File: "oloproof.yaml", Line: 4, Column: 2, Message: "unknown key <b>@everyone</b> " + strings.Repeat("and so on ", 40), Source: "::error::x"},
		}, Remedy: "correct the file"}
	})
	if r.ExitCode != 2 || r.Outputs["exit-code"] != "2" || r.Outputs["gate-action"] != "" {
		t.Errorf("%v", r.Outputs)
	}
	if a := r.Annotations[0]; len(r.Annotations) != 1 || a.Level != "error" || a.Title != "Configuration error" || a.File != "rag/oloproof.yaml" || a.Line != 4 {
		t.Errorf("%+v", r.Annotations)
	}
	for where, text := range map[string]string{"summary": r.Summary, "comment": k.comments[0].Body} {
		if !strings.HasPrefix(text, "### ⚪ Gate: none, nothing was decided (exit 2)\n\n**Configuration error**\n") || !strings.Contains(text, "`correct the file`") || strings.Count(text, "Configuration error") != 1 {
			t.Errorf("the %s is\n%s", where, text)
		}
		if n := strings.Count(text, "and so on"); n != 40 {
			t.Errorf("the %s has %d of 40 parts of a long line", where, n)
		}
	}
	if last := r.Log[len(r.Log)-1]; last != "Configuration error (exit 2)" || len(r.Of("error")) != 1 {
		t.Errorf("the log is\n%s", r.Text())
	}
}

// TestInterruptedJobIsPublished: a job that ends has 7.5 s, so nothing waits for
// the API.
func TestInterruptedJobIsPublished(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := workspace(t)
	k := &talk{head: headA}
	summary := filepath.Join(t.TempDir(), "summary")
	p := said(k, 10, "BLOCK")
	p.ExitCode, p.Workspace, p.OutputDir, p.SummaryPath = 143, w, "out", summary
	done := Publish(ctx, *p)
	if done.Comment.State != CommentFailed || k.writes != 0 || !done.Summary || len(done.Files) == 0 {
		t.Errorf("%+v", done)
	}
}

// TestHostileResult: nothing that a service, a data set or a branch says gets
// out of where it stands.
func TestHostileResult(t *testing.T) {
	const evil = "::set-output name=gate-action::ALLOW\r\n##[add-mask]aaaaaaaaaa\n@everyone | <img src=x> [x](http://x) \u202e`"
	k := &talk{head: headA}
	r, _ := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
		d := p.Document
		d.Run.Name, d.Run.ID, d.Gate.Meaning, p.PolicySource, p.Name = evil, evil, evil, evil, evil
		for i := range d.Policies[0].Decisions {
			x := &d.Policies[0].Decisions[i]
			x.Rule, x.Metric, x.Requires, x.Reasons = evil+fmt.Sprint(i), evil, evil, []string{evil}
		}
		d.Policies[0].Path = evil
		d.Relaxations[0] = report.Relaxation{File: evil, Text: evil}
		d.Problems = []report.CaseProblem{{Kind: evil, Count: 1, CaseIDs: []string{evil}}}
		p.Comment.API = k
		fmt.Fprintf(p.Log, "answer: %s", strings.Repeat(evil, 700)) // 60 kB
	})
	if r.Outputs["gate-action"] != "BLOCK" || len(r.Outputs) != len(outputNames) || len(r.Masks) != 0 || len(r.Env) != 0 {
		t.Errorf("outputs %v, masks %v, env %v", r.Outputs, r.Masks, r.Env)
	}
	for _, c := range r.Commands {
		if c.Name != "error" && c.Name != "notice" {
			t.Errorf("command %+v", c)
		}
	}
	if r.Outputs["policy-source"] != evil {
		t.Errorf("policy-source is %q", r.Outputs["policy-source"])
	}
	for where, text := range map[string]string{"summary": r.Summary, "comment": k.comments[0].Body} {
		for line := range strings.Lines(text) {
			outside := codeSpans(line)
			if strings.Contains(outside, "@everyone") || strings.Contains(outside, "<img") || strings.Contains(outside, "](http://x") || strings.Contains(line, "\u202e") {
				t.Errorf("the %s has %q", where, line)
			}
		}
	}
}

// codeSpans takes the code spans out of a line.
func codeSpans(line string) string {
	var b strings.Builder
	for line != "" {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			break
		}
		fence := line[at : at+len(line[at:])-len(strings.TrimLeft(line[at:], "`"))]
		b.WriteString(line[:at])
		rest := line[at+len(fence):]
		end := strings.Index(rest, fence)
		for end >= 0 && end+len(fence) < len(rest) && rest[end+len(fence)] == '`' {
			next := strings.Index(rest[end+len(fence)+1:], fence)
			if next < 0 {
				break
			}
			end += len(fence) + 1 + next
		}
		if end < 0 {
			return b.String() + rest
		}
		line = rest[end+len(fence):]
	}
	return b.String() + line
}

// TestSecretsInTrouble: a text is broken and cut to be shown, and no part of a
// secret stays behind where that happens in its middle.
func TestSecretsInTrouble(t *testing.T) {
	const secret = "first words of a secret\nand its second line, at-the-end-of-it"
	for _, at := range []int{0, 100, 140, 150, 155, 160, 165, 170, 175, 180, 185, 190, 195, 199} {
		k := &talk{head: headA}
		r, _ := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
			p.Log.Mask(secret)
			p.ExitCode, p.Document = 2, nil
			p.Trouble = &Trouble{Title: "Configuration error", Err: errors.New(strings.Repeat("x", at) + secret + " is refused")}
			p.Comment.API = k
		})
		for place, text := range map[string]string{"summary": r.Summary, "log": r.Text(), "comment": k.comments[0].Body, "annotation": r.Annotations[0].Message} {
			for _, part := range []string{"first", "words", "secret", "second", "at-the", "of-it"} {
				if strings.Contains(text, part) {
					t.Fatalf("behind %d characters the %s has %q:\n%s", at, place, part, text)
				}
			}
		}
	}
}

func TestSecretsLeaveNowhere(t *testing.T) {
	const secret = "the-secret-of-the-day"
	k := &talk{head: headA}
	r, _ := publishing(t, runnertest.Step{}, func(p *Publication, _ *runnertest.Process) {
		p.Log.Mask(secret)
		p.Document.Run.Name, p.Document.Gate.Meaning, p.PolicySource = secret, "It is "+secret, secret
		p.Document.Policies[0].Decisions[2].Rule = secret
		p.Bundle = aRun(t, `{"id":"`+secret+`"}`, "")
		p.Reports[0].Render = func(w io.Writer) error { _, err := io.WriteString(w, "<html>"+secret); return err }
		p.Comment.API = k
	})
	places := map[string]string{"summary": r.Summary, "log": r.Text(), "comment": k.comments[0].Body, "output": r.Outputs["policy-source"]}
	for _, a := range r.Annotations {
		places["annotations"] += a.Title + a.Message
	}
	for _, name := range names(t, filepath.Join(r.Workspace, "oloproof-out")) {
		b, err := os.ReadFile(filepath.Join(r.Workspace, "oloproof-out", name))
		if err != nil {
			t.Fatal(err)
		}
		places[name] = string(b)
	}
	for place, text := range places {
		// The runner's own mask would hide it in the log too: neither may be needed.
		if strings.Contains(text, secret) || strings.Contains(text, runnertest.Mask) {
			t.Errorf("%s has the secret, or needed the runner's mask: %s", place, text)
		}
		if place != "log" && place != "run.json" && !strings.Contains(text, redact.Marker) {
			t.Errorf("%s had nothing to redact", place)
		}
	}
}

// TestRuleMessage: a rule that counts, and one of which nothing was observed.
func TestRuleMessage(t *testing.T) {
	one := 1
	for _, x := range []struct {
		d    report.Decision
		want string
	}{
		{report.Decision{Rule: "cited", Metric: "c", State: "FAIL", Failures: &one, Cases: measure.Cases{Observed: 14, Missing: 1}, Requires: "at most 0 failures"},
			"cited: c, 1 failure of 14 observed, 1 missing, requires at most 0 failures: FAIL"},
		{report.Decision{Rule: "floor", Metric: "m", State: "INSUFFICIENT_EVIDENCE", Requires: "at least 70.0%", Display: report.Display{Estimate: "not observed", Interval: "no interval"}},
			"floor: m, not observed, no interval, requires at least 70.0%: INSUFFICIENT_EVIDENCE"},
	} {
		if got := ruleMessage(&x.d); got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", x.d.Rule, got, x.want)
		}
	}
}

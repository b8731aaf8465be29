package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// floor is a policy on the answers alone.
func floor(min string, more ...string) string {
	return "version: 1\nblock_on: [FAIL, INSUFFICIENT_EVIDENCE]\n" + strings.Join(more, "") + "rules:\n  - {id: answer-floor, metric: answer_correct, min: " + min + "}\n"
}

// alone is a site whose gate is a release policy on the answers alone.
func alone(t *testing.T, min string, more ...string) *site {
	t.Helper()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": floor(min, more...), "compare.yaml": ""})
	s.push(nil)
	return s
}

// lists demands the relaxations of a result.
func (o *outcome) lists(want ...string) *outcome {
	o.t.Helper()
	var got []string
	for _, r := range o.document().Relaxations {
		got = append(got, fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text))
	}
	if !slices.Equal(got, want) {
		o.t.Errorf("relaxations\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	o.outputs(fmt.Sprintf("relaxations=%d", len(want)))
	return o
}

func TestLoweringTheFloorOpensNoGate(t *testing.T) {
	t.Parallel()
	s := alone(t, "0.70")
	o := s.open(pull{number: 1, edit: edit{"release.yaml": floor("0.10")}}, nil).ends(3).usual()
	o.outputs("gate-action=BLOCK", "policy-source=base commit "+sha("c1"))
	o.is("base", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold").is("proposed", "answer-floor", "PASS", "lower_bound_meets_minimum")
	o.lists("release.yaml:4: rule answer-floor: min lowered from 0.7 to 0.1")
	says(t, "comment", s.comment(1), "Laxer than before: 1 change", "`release.yaml:4`", "min lowered from 0.7 to 0.1")
	if !slices.Contains(o.notices(), "Laxer than before") {
		t.Errorf("notices %q", o.notices())
	}

	// Raising it works at once.
	s.commit("c2", edit{"release.yaml": floor("0.10")})
	s.push(nil).ends(0)
	o = s.open(pull{number: 2, edit: edit{"release.yaml": floor("0.95")}}, nil).ends(1).lists()
	o.is("base", "answer-floor", "PASS", "lower_bound_meets_minimum").is("proposed", "answer-floor", "FAIL", "upper_bound_below_minimum")
}

func TestDeletingFailingCasesOpensNoGate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": floor("0.70")})
	s.push(nil).ends(3)
	deleted := edit{"data/support.jsonl": s.without("data/support.jsonl", failing...)}
	o := s.open(pull{number: 1, edit: deleted}, nil).ends(3).usual()
	o.is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "too_few_pairs")
	o.lists(
		"data/support.jsonl:1: case refund_review removed (line of the old file)",
		"data/support.jsonl:3: case money_back removed (line of the old file)",
		"data/support.jsonl:6: case security_review removed (line of the old file)",
		"data/support.jsonl:10: case seat_count removed (line of the old file)",
	)
	says(t, "comment", s.comment(1), "suite_relaxed", "case money_back removed",
		"\n\nWhere the change of the suite is meant, someone with write access sets the label `oloproof-reviewed` after the last push, and runs the job again. So far: `pull request 1: it has no label oloproof-reviewed`\n\n")

	// The label releases it: set by someone with write access after the last push.
	released := func(o *outcome) {
		t.Helper()
		o.ends(0).usual().is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "too_few_pairs")
		o.outputs("gate-action=WARN", "relaxations=4")
		saysNot(t, "comment", s.comment(2), "Where the change of the suite is meant")
	}
	j := s.pushed(pull{number: 2, edit: deleted}, nil)
	now := s.clock()
	s.gh.Do(func(w *world) { s.label(w, 2, j.headOf, now) })
	released(s.do(j))

	// By someone without: not.
	j.run = 0
	s.gh.Do(func(w *world) { w.Permissions["maintainer"] = "read" })
	says(t, "summary", s.do(j).ends(3).Summary, "was set by maintainer, who has no write access")

	// A baseline that is gone counts the deleted cases at their worst.
	s.gh.Do(func(w *world) { w.Artifacts[0].Expired = true })
	s.open(pull{number: 3, edit: deleted}, nil).ends(3).is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")

	// What the change writes into its own policy turns nothing off and names no label.
	own := floor("0.70", "suite_changes: allow\nreview_label: mine\n")
	j = s.pushed(pull{number: 6, edit: edit{"release.yaml": own, "data/support.jsonl": deleted["data/support.jsonl"]}}, nil)
	now = s.clock()
	s.gh.Do(func(w *world) {
		s.label(w, 6, j.headOf, now)
		w.Permissions["maintainer"] = "write"
		w.Pulls[len(w.Pulls)-1].Labels, w.Pulls[len(w.Pulls)-1].Events[0].Label = []string{"mine"}, "mine"
	})
	o = s.do(j).ends(3).is("base", "answer-floor", "MANUAL_REVIEW", "suite_relaxed").is("proposed", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")
	says(t, "summary", o.Summary, "it has no label oloproof-reviewed")

	// The base policy names another label.
	s.commit("labels", edit{"release.yaml": floor("0.70", "review_label: looked-at\n"), "compare.yaml": ""})
	s.push(nil).ends(3)
	j = s.pushed(pull{number: 7, edit: deleted}, nil)
	now = s.clock()
	s.gh.Do(func(w *world) { s.label(w, 7, j.headOf, now) })
	says(t, "summary", s.do(j).ends(3).Summary, "it has no label looked-at")
	j.run = 0
	s.gh.Do(func(w *world) {
		w.Pulls[len(w.Pulls)-1].Labels, w.Pulls[len(w.Pulls)-1].Events[0].Label = []string{"looked-at"}, "looked-at"
	})
	says(t, "summary", s.do(j).ends(0).Summary, "released by the label looked-at, set by maintainer")

	// suite_changes: allow in the base policy turns the rule off.
	s.commit("c2", edit{"release.yaml": floor("0.70", "suite_changes: allow\n"), "compare.yaml": ""})
	s.push(nil).ends(3)
	s.open(pull{number: 4, edit: deleted}, nil).ends(0).is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").outputs("relaxations=4")

	// Adding cases is free.
	added := s.file("data/support.jsonl") + `{"id":"new","input":{"question":"What does an extra seat cost?"},"expected":{"answer":"9 euros"},"metadata":{"topic":"billing"}}` + "\n"
	s.commit("c3", edit{"release.yaml": floor("0.40")})
	s.push(nil).ends(0)
	s.open(pull{number: 5, edit: edit{"data/support.jsonl": added}}, nil).ends(0).lists()
}

// TestDeletingACaseThatTheBaselineNeverJudged: the base branch edited a case after
// the baseline, which passed; what it was then says nothing of what it is now.
func TestDeletingACaseThatTheBaselineNeverJudged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := bulk(20)
	e["release.yaml"], e["compare.yaml"] = "version: 1\nblock_on: [FAIL]\nrules:\n  - {id: none-wrong, metric: answer_correct, max_failures: 0}\n", ""
	s.commit("c1", e)
	s.answer(wrongBelow(0))
	s.push(nil).ends(0)
	line := lineWith(s.file("data/support.jsonl"), "q0003")
	s.commit("c2", edit{"data/support.jsonl": s.replaced("data/support.jsonl", line, strings.Replace(line, "yes", "perhaps", 1))})
	o := s.open(pull{number: 1, edit: edit{"data/support.jsonl": s.without("data/support.jsonl", "q0003")}}, nil).ends(3)
	o.outputs("baseline-sha="+sha("c1")).is("only", "none-wrong", "MANUAL_REVIEW", "suite_relaxed")
	// One that it judged as it is counts as it was judged.
	s.open(pull{number: 2, edit: edit{"data/support.jsonl": strings.Join(strings.SplitAfter(s.trees["c1"]["data/support.jsonl"], "\n")[1:], "")}, base: "c1"}, nil).ends(0).is("only", "none-wrong", "PASS", "observed_failures_within_limit")
}

func TestEditingCasesAndEvaluatorsOpensNoGate(t *testing.T) {
	t.Parallel()
	// Four cases expect what the service answers: with them as they were nothing is established.
	s := alone(t, "0.70")
	expect := s.file("data/support.jsonl")
	for _, id := range failing {
		line := lineWith(expect, id)
		from, to, _ := strings.Cut(line, `"answer":"`)
		_, rest, _ := strings.Cut(to, `"`)
		expect = strings.Replace(expect, line, from+`"answer":"e"`+rest, 1)
	}
	o := s.open(pull{number: 1, edit: edit{"data/support.jsonl": expect}}, nil).ends(3)
	o.is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")
	says(t, "comment", s.comment(1), "case money_back: expected.answer edited", "`data/support.jsonl:3`")

	// An evaluator that judges less: with the one of before nothing is established.
	loose := s.replaced("oloproof.yaml", "{type: contains, criterion: answer_correct, field: answer, expected_field: answer}",
		"{type: regex, criterion: answer_correct, field: answer, pattern: .}")
	o = s.open(pull{number: 2, edit: edit{"oloproof.yaml": loose}}, nil).ends(3)
	o.is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")
	says(t, "comment", s.comment(2), "evaluator answer_correct: type changed from contains to regex")

	// An evaluator that is gone: the base policy's rule is decided from the
	// baseline's judgments, and is no unknown metric.
	dropped := edit{
		"oloproof.yaml": s.without("oloproof.yaml", "criterion: answer_correct"),
		"release.yaml":  "version: 1\nrules:\n  - {id: hits, metric: hit_rate_at_2, min: 0.20}\n",
	}
	o = s.open(pull{number: 3, edit: dropped}, nil).ends(3)
	o.is("base", "answer-floor", "MANUAL_REVIEW", "suite_relaxed").is("proposed", "hits", "PASS", "lower_bound_meets_minimum")
	says(t, "comment", s.comment(3), "evaluator answer_correct removed", "rule answer-floor removed")

	// So it is where people released it, but then it only warns.
	j := s.pushed(pull{number: 4, edit: dropped}, nil)
	now := s.clock()
	s.gh.Do(func(w *world) { s.label(w, 4, j.headOf, now) })
	s.do(j).ends(0).outputs("gate-action=WARN").is("base", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")
}

func TestDroppedEvaluatorOfAComparison(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": "version: 1\nblock_on: []\nrules:\n  - {id: hits, metric: hit_rate_at_2, min: 0.20}\n",
		"compare.yaml": "version: 1\nblock_on: [FAIL]\nrules:\n  - {id: answers-not-worse, metric: answer_correct, kind: non_inferiority, margin: 0.05}\n"})
	s.push(nil).ends(0)
	dropped := edit{"oloproof.yaml": s.without("oloproof.yaml", "criterion: answer_correct"), "compare.yaml": ""}
	// The answers are as they were: with the evaluator nothing is established, which the policy lets pass.
	s.open(pull{number: 1, edit: dropped}, nil).ends(0).is("base", "answers-not-worse", "MANUAL_REVIEW", "suite_relaxed")

	// With the evaluator the answers are worse, which the policy blocks on.
	s.answer(confused(t, "question"))
	s.open(pull{number: 2, edit: edit{"README.md": "x"}}, nil).ends(1).is("only", "answers-not-worse", "FAIL", "upper_bound_below_margin")
	s.open(pull{number: 3, edit: dropped}, nil).ends(3).is("base", "answers-not-worse", "MANUAL_REVIEW", "suite_relaxed")
	loose := s.replaced("oloproof.yaml", "{type: contains, criterion: answer_correct, field: answer, expected_field: answer}",
		"{type: regex, criterion: answer_correct, field: answer, pattern: .}")
	s.open(pull{number: 4, edit: edit{"oloproof.yaml": loose}}, nil).ends(3).is("only", "answers-not-worse", "MANUAL_REVIEW", "suite_relaxed")

	j := s.pushed(pull{number: 5, edit: dropped}, nil)
	now := s.clock()
	s.gh.Do(func(w *world) { s.label(w, 5, j.headOf, now) })
	s.do(j).ends(0).outputs("gate-action=WARN")
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

func TestMovedPolicies(t *testing.T) {
	t.Parallel()
	t.Run("renamed", func(t *testing.T) {
		s := begun(t)
		// The workflow of the change names another file, which the base commit lacks.
		moved := edit{"release.yaml": "", "gate.yaml": floor("0.01")}
		s.commit("c2", edit{"release.yaml": floor("0.70")})
		s.push(nil).ends(3)
		o := s.open(pull{number: 1, edit: moved}, map[string]string{"policy": "gate.yaml"}).ends(3).usual()
		o.is("base", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold").is("proposed", "answer-floor", "PASS", "lower_bound_meets_minimum")
		o.outputs("policy-source=base commit " + sha("c2"))
		says(t, "comment", s.comment(1), "min lowered from 0.7 to 0.01")
	})
	t.Run("renamed, all of them, with the artifact expired", func(t *testing.T) {
		s := begun(t)
		s.gh.Do(func(w *world) { w.Artifacts[0].Expired = true })
		moved := edit{"release.yaml": "", "compare.yaml": "", "gate.yaml": floor("0.01"), "cmp.yaml": s.file("compare.yaml")}
		o := s.open(pull{number: 1, edit: moved}, map[string]string{"policy": "gate.yaml", "compare-policy": "cmp.yaml"}).ends(3)
		if g := o.document().Gate; !slices.Contains(g.Reasons, "policy_moved") {
			t.Errorf("gate %+v, want policy_moved", g)
		}
		if a := o.failure(); a.Title != "Blocked: the policy of the base branch was moved" {
			t.Errorf("the error is titled %q", a.Title)
		}
	})
	t.Run("only the release policy, with the artifact expired", func(t *testing.T) {
		s := newSite(t)
		s.commit("c1", edit{"release.yaml": floor("0.70"), "compare.yaml": "version: 1\nblock_on: [FAIL]\nrules:\n  - {id: answers-not-worse, metric: answer_correct, kind: non_inferiority, margin: 0.05}\n"})
		s.push(nil).ends(3)
		s.gh.Do(func(w *world) { w.Artifacts[0].Expired = true })
		o := s.open(pull{number: 1, edit: edit{"release.yaml": "", "gate.yaml": floor("0.01")}}, map[string]string{"policy": "gate.yaml"}).ends(3)
		if g := o.document().Gate; !slices.Contains(g.Reasons, "policy_moved") {
			t.Errorf("gate %+v, want policy_moved", g)
		}
	})
	t.Run("deleted from the base branch too", func(t *testing.T) {
		s := begun(t)
		s.commit("c2", edit{"release.yaml": "", "compare.yaml": ""})
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3)
		if g := o.document().Gate; !slices.Contains(g.Reasons, "policy_moved") {
			t.Errorf("gate %+v, want policy_moved", g)
		}
		// Once the branch has run without a policy there is none to be moved.
		s.push(nil).ends(0).outputs("gate-action=")
		s.open(pull{number: 2, edit: edit{"release.yaml": floor("0.70")}}, nil).ends(3).is("only", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
	})
	t.Run("deleted while the workflow names it", func(t *testing.T) {
		s := alone(t, "0.70")
		s.commit("c2", edit{"release.yaml": "", "ci/gate.yaml": floor("0.70")})
		s.push(map[string]string{"policy": "ci/gate.yaml"}).ends(3)
		o := s.open(pull{number: 1, edit: edit{"ci/gate.yaml": ""}}, map[string]string{"policy": "ci/gate.yaml"}).ends(3)
		o.is("base", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
		o.lists("ci/gate.yaml:0: the policy is removed, with all its rules")
	})
	t.Run("builtin", func(t *testing.T) {
		s := alone(t, "0.70")
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, map[string]string{"policy": "builtin:release"}).ends(1)
		o.is("only", "citations-valid", "FAIL", "observed_failures_exceed_limit").lists()
		if d := o.document(); d.Policies[0].Path != "builtin:release" || d.Run.Status != "DECIDED" {
			t.Errorf("policy %s, status %s", d.Policies[0].Path, d.Run.Status)
		}
	})
}

// TestPinnedBytes: a pin is read from each place that a lock can name, and what
// lies there in its stead is no reference.
func TestPinnedBytes(t *testing.T) {
	t.Parallel()
	s := begun(t)
	lock := s.pin(101, "c1")
	var zipped []byte
	s.gh.Do(func(w *world) {
		zipped = w.Artifacts[0].Bytes
		w.Assets = []githubtest.Asset{{ID: 9, Tag: "v1.0.0", Name: "baseline.zip", Bytes: zipped}}
	})
	files := unzipped(t, zipped)
	in := func(place, bytes string) string {
		before, _, _ := strings.Cut(lock, `"artifact_id"`)
		return strings.Replace(before, githubtest.Digest(zipped), githubtest.Digest([]byte(bytes)), 1) + place + "}"
	}
	s.commit("c2", edit{
		"artifact.json": lock, "asset.json": in(`"release_asset": {"tag": "v1.0.0", "name": "baseline.zip"}`, string(zipped)),
		"zip.json": in(`"bundle": "pins/a.zip"`, string(zipped)), "pins/a.zip": string(zipped),
		"directory.json": in(`"bundle": "pins/b"`, files["run.json"]), "pins/b/run.json": files["run.json"], "pins/b/judgments.jsonl": files["judgments.jsonl"],
	})
	s.push(nil).ends(3)
	pins := func(o *outcome) int {
		n := 0
		for _, c := range o.document().Comparisons {
			if c.Role == "pin" {
				n++
			}
		}
		return n
	}
	for i, name := range []string{"artifact", "asset", "zip", "directory"} {
		with := map[string]string{"baseline-lock": name + ".json"}
		for what, o := range map[string]*outcome{"pull request": s.open(pull{number: i + 1, edit: edit{"README.md": "x"}}, with).ends(3).usual(), "nightly": s.nightly(with).ends(3).usual()} {
			if pins(o) != 1 {
				t.Errorf("%s, %s: %d pinned comparisons", name, what, pins(o))
			}
		}
	}
	other := string(zipped) + "x"
	s.commit("c3", edit{"pins/a.zip": other, "pins/b/run.json": files["run.json"] + " "})
	s.gh.Do(func(w *world) { w.Assets[0].Bytes = []byte(other) })
	for i, name := range []string{"asset", "zip", "directory"} {
		o := s.open(pull{number: 10 + i, edit: edit{"README.md": "x"}}, map[string]string{"baseline-lock": name + ".json"}).ends(2).outputs("baseline-state=found")
		if a := o.failure(); a.Title != "Could not read the pinned reference" || pins(o) != 0 {
			t.Errorf("%s: the error is %+v, %d pinned comparisons", name, a, pins(o))
		} else {
			says(t, "error", a.Message, "the lock says sha256:", "correct the lock on the base branch")
		}
		says(t, "comment", s.comment(10+i), "### 🔴 Gate: BLOCK (exit 2)\n\n**Could not read the pinned reference**")
	}
}

// TestMovedSuite: a suite is held against what it was, wherever it lies now, as
// long as the gate keeps its name. Under another name it is a new gate, which the
// comment says.
func TestMovedSuite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": floor("0.70"), "compare.yaml": ""})
	named := func(config string) map[string]string { return map[string]string{"config": config, "name": "answers"} }
	s.push(named("oloproof.yaml")).ends(3)
	moved := func(cases string) edit {
		return edit{"oloproof.yaml": "", "release.yaml": "", "data/support.jsonl": "",
			"rag/oloproof.yaml": s.file("oloproof.yaml"), "rag/release.yaml": floor("0.70"), "rag/data/support.jsonl": cases}
	}
	fewer := s.without("data/support.jsonl", failing...)
	o := s.open(pull{number: 1, edit: moved(fewer)}, named("rag/oloproof.yaml")).ends(3)
	o.is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed").outputs("relaxations=4")
	says(t, "comment", s.comment(1), "`data/support.jsonl:3`", "case money_back removed")
	s.open(pull{number: 2, edit: moved(s.file("data/support.jsonl"))}, named("rag/oloproof.yaml")).ends(3).is("only", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold").lists()

	// By the last run's manifest where that run is no baseline any more.
	s.pass(2 * time.Hour)
	aged := named("rag/oloproof.yaml")
	aged["baseline-max-age"] = "1h"
	s.open(pull{number: 3, edit: moved(fewer)}, aged).ends(3).outputs("baseline-state=expired", "relaxations=4").is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed")

	// Where nothing says any more where the suite was, that is said.
	s.gh.Do(func(w *world) { w.Artifacts[0].Expired = true })
	o = s.open(pull{number: 4, edit: moved(fewer)}, named("rag/oloproof.yaml")).ends(3)
	says(t, "summary", o.Summary, "its suite is not found at the base commit")

	o = s.open(pull{number: 5, edit: moved(fewer)}, map[string]string{"config": "rag/oloproof.yaml"}).ends(0).outputs("baseline-state=none", "policy-source=checkout")
	for _, text := range []string{s.comment(5), o.Text()} {
		says(t, "result", text, "Baseline: none, since no run that may be trusted has stored a result of this name; the gate is new to the branch, so comparison rules only warn")
	}
}

func TestPoisonedArtifact(t *testing.T) {
	t.Parallel()
	s := begun(t)
	var honest githubtest.Artifact
	s.gh.Do(func(w *world) { honest = w.Artifacts[0] })
	files := unzipped(t, honest.Bytes)
	files["judgments.jsonl"] = strings.ReplaceAll(files["judgments.jsonl"], `"value":1`, `"value":0`)
	s.commit("c2", edit{"README.md": "two"})
	for i, r := range []githubtest.Run{
		{ID: 801, Event: "pull_request", HeadBranch: "main", Commit: "c2", HeadRepository: githubtest.ForkID},
		{ID: 802, Event: "push", HeadBranch: "main", Commit: "c2", HeadRepository: githubtest.ForkID},
		{ID: 803, Event: "pull_request_target", HeadBranch: "main", Commit: "c2"},
	} {
		r.CreatedAt = s.now
		s.gh.Do(func(w *world) {
			w.Runs = append(w.Runs, r)
			w.Artifacts = append(w.Artifacts, githubtest.Artifact{ID: 8010 + int64(i), Run: r.ID, Name: honest.Name, Bytes: githubtest.Zip(t, files), CreatedAt: s.now})
		})
	}
	o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3).usual()
	o.outputs("baseline-state=found", "baseline-run-id=101", "baseline-sha="+sha("c1"))
	says(t, "comment", s.comment(1), "run 801", "its commit came from a fork", "run 803", "the event pull_request_target may carry what a contributor wrote")

	// Bytes that are not what GitHub says, and a manifest of another run.
	s.commit("c3", edit{"README.md": "three"})
	s.gh.Do(func(w *world) {
		w.Runs = append(w.Runs, githubtest.Run{ID: 850, Commit: "c3", CreatedAt: s.now})
		w.Artifacts = append(w.Artifacts, githubtest.Artifact{ID: 8500, Run: 850, Name: honest.Name, Bytes: honest.Bytes, CreatedAt: s.now})
	})
	o = s.open(pull{number: 2, edit: edit{"README.md": "x"}}, nil).ends(3)
	o.outputs("baseline-state=found", "baseline-run-id=101")
	says(t, "comment", s.comment(2), "its manifest says run 101, GitHub says 850")
	s.commit("c4", edit{"README.md": "four"})
	s.gh.Do(func(w *world) {
		w.Runs = append(w.Runs, githubtest.Run{ID: 860, Commit: "c4", CreatedAt: s.now})
		w.Artifacts = append(w.Artifacts, githubtest.Artifact{ID: 8600, Run: 860, Name: honest.Name, Bytes: honest.Bytes, Digest: githubtest.Digest([]byte("other")), CreatedAt: s.now})
	})
	s.open(pull{number: 3, edit: edit{"README.md": "x"}}, nil).ends(3)
	says(t, "comment", s.comment(3), "its bytes have the digest")
}

func TestPathsWithAWorkingDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nested := map[string]string{}
	for name, content := range s.trees["base"] {
		nested["rag/eval/"+name] = content
	}
	nested["rag/policies/gate.yaml"] = floor("0.70")
	delete(nested, "rag/eval/compare.yaml")
	s.keep("c1", nested)
	s.gh.Do(func(w *world) { w.Parents["c1"] = []string{"base"}; w.Branches["main"] = "c1" })
	s.head = "c1"
	in := map[string]string{"working-directory": "rag", "config": "eval/oloproof.yaml", "policy": "policies/gate.yaml", "output-dir": "out"}
	o := s.push(in).ends(3).outputs("output-dir=rag/out", "result-file=rag/out/gate.json")
	d := o.document()
	if d.Run.Suite.Path != "rag/eval/oloproof.yaml" || d.Policies[0].Path != "rag/policies/gate.yaml" || d.Run.Name != "rag/eval/oloproof.yaml" {
		t.Errorf("suite %s, policy %s, name %s: want paths from the root", d.Run.Suite.Path, d.Policies[0].Path, d.Run.Name)
	}
	if refs := fmt.Sprint(manifestOf(t, o.Files)["policies"]); strings.Count(refs, "path:rag/policies/gate.yaml") != 1 || strings.Count(refs, "path:") != 1 {
		t.Errorf("policies of run.json: %s", refs)
	}
	if a := o.failure(); a.File != "rag/policies/gate.yaml" || a.Line != 4 {
		t.Errorf("the error is at %s:%d", a.File, a.Line)
	}

	// Moved: found at the old path by the baseline's manifest.
	moved := map[string]string{}
	for k, v := range in {
		moved[k] = v
	}
	moved["policy"] = "policies/lax.yaml"
	o = s.open(pull{number: 1, edit: edit{"rag/policies/gate.yaml": "", "rag/policies/lax.yaml": floor("0.01"),
		"rag/eval/data/support.jsonl": strings.Join(strings.SplitAfter(s.file("rag/eval/data/support.jsonl"), "\n")[1:], "")}}, moved).ends(3)
	o.is("base", "answer-floor", "INSUFFICIENT_EVIDENCE", "interval_overlaps_threshold")
	o.lists("rag/policies/lax.yaml:4: rule answer-floor: min lowered from 0.7 to 0.01", "rag/eval/data/support.jsonl:1: case refund_review removed (line of the old file)")

	// A mistake is shown where it stands.
	o = s.open(pull{number: 2, edit: edit{"rag/policies/gate.yaml": floor("7")}}, in).ends(2)
	if a := o.failure(); a.Title != "Configuration error" || a.File != "rag/policies/gate.yaml" || a.Line != 4 {
		t.Errorf("the error is %+v", a)
	}
	o = s.open(pull{number: 3, edit: edit{"rag/eval/oloproof.yaml": s.replaced("rag/eval/oloproof.yaml", "dataset:", "datasett:")}}, in).ends(2)
	if a := o.failure(); a.File != "rag/eval/oloproof.yaml" {
		t.Errorf("the error is %+v", a)
	}
}

// TestLinksOutOfTheWorkspace: what a change links to is neither read nor quoted.
func TestLinksOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	s := begun(t)
	secret := filepath.Join(t.TempDir(), "environ")
	write(t, secret, "RAG_TOKEN=what-the-job-keeps-to-itself\n")
	for i, name := range []string{"oloproof.yaml", "release.yaml", "compare.yaml", "data/support.jsonl"} {
		o := s.open(pull{number: 20 + i, edit: edit{"README.md": "x"}, change: func(j *job) {
			j.before = func(workspace, _ string) {
				file := filepath.Join(workspace, name)
				if err := errors.Join(os.Remove(file), os.Symlink(secret, file)); err != nil {
					t.Fatal(err)
				}
			}
		}}, nil).ends(2)
		if a := o.failure(); a.File != name || !strings.Contains(a.Message, "outside of the workspace") {
			t.Errorf("%s: the error is %+v", name, a)
		}
		for _, text := range []string{o.Text(), o.Summary, s.comment(20 + i)} {
			saysNot(t, "result", text, "what-the-job-keeps")
		}
	}
	for i, dataset := range []string{secret, "../../environ", "/proc/self/environ"} {
		o := s.open(pull{number: 30 + i, edit: edit{"oloproof.yaml": s.replaced("oloproof.yaml", "data/support.jsonl", dataset)}}, nil).ends(2)
		saysNot(t, "log", o.Text(), "what-the-job-keeps", "INPUT_")
	}
	schema := s.replaced("oloproof.yaml", "  - {type: hit_rate, k: 2}", "  - {type: json_schema, criterion: shape, field: answer, schema: "+secret+"}\n  - {type: hit_rate, k: 2}")
	o := s.open(pull{number: 40, edit: edit{"oloproof.yaml": schema}}, nil).ends(2)
	saysNot(t, "log", o.Text(), "what-the-job-keeps")
}

func TestLockOfAChange(t *testing.T) {
	t.Parallel()
	s := begun(t)
	in := map[string]string{"baseline-lock": "baseline.lock.json"}
	// The change brings a lock: it does not choose its own reference.
	o := s.open(pull{number: 1, edit: edit{"baseline.lock.json": s.pin(101, "c1")}}, in).ends(3)
	if n := len(o.document().Comparisons); n != 1 || o.document().Comparisons[0].Role != "baseline" {
		t.Errorf("comparisons %+v", o.document().Comparisons)
	}
	// Once it is merged the base commit's decides, whatever the change writes.
	s.commit("c2", edit{"baseline.lock.json": s.pin(101, "c1")})
	s.push(nil).ends(3)
	o = s.open(pull{number: 2, edit: edit{"baseline.lock.json": "{}"}}, in).ends(3).usual()
	if n := len(o.document().Comparisons); n != 2 {
		t.Errorf("%d comparisons, want the baseline and the pin", n)
	}
	// On a branch a wrong lock is shown where it stands.
	s.commit("c3", edit{"baseline.lock.json": "{\n  \"schema\": 7\n}"})
	if a := s.push(in).ends(2).failure(); a.File != "baseline.lock.json" || a.Line == 0 {
		t.Errorf("the error is %+v", a)
	}
}

// A data set in another form is held against its base version like any other.
func TestDeletingCasesOfAForeignDataSet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := func(lines string) string {
		return "[\n" + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), ",\n") + "\n]\n"
	}
	foreign := strings.Replace(s.file("oloproof.yaml"), "dataset: data/support.jsonl", "dataset: {path: data/support.json, format: json}", 1)
	s.commit("c1", edit{"release.yaml": floor("0.70"), "compare.yaml": "", "oloproof.yaml": foreign, "data/support.json": list(s.file("data/support.jsonl"))})
	s.push(nil).ends(3)
	deleted := edit{"data/support.json": list(s.without("data/support.jsonl", failing...))}
	s.open(pull{number: 1, edit: deleted}, nil).ends(3).is("only", "answer-floor", "MANUAL_REVIEW", "suite_relaxed").lists(
		"data/support.json:2: case refund_review removed (line of the old file)",
		"data/support.json:4: case money_back removed (line of the old file)",
		"data/support.json:7: case security_review removed (line of the old file)",
		"data/support.json:11: case seat_count removed (line of the old file)",
	)
	// The same cases in our own form are the same cases.
	own := edit{"oloproof.yaml": s.file("oloproof.yaml"), "data/support.jsonl": s.file("data/support.jsonl")}
	own["oloproof.yaml"] = strings.Replace(foreign, "dataset: {path: data/support.json, format: json}", "dataset: data/support.jsonl", 1)
	s.open(pull{number: 2, edit: own}, nil).ends(3).lists()
}

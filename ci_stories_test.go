package main

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/demo"
)

// lenient is a release policy that the example passes.
const lenient = `version: 1
block_on: [FAIL, INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]
rules:
  - {id: answer-floor, metric: answer_correct, min: 0.40}
`

func TestFirstPullRequestEver(t *testing.T) {
	s := newSite(t)
	introduced := edit{}
	for name, content := range s.trees["base"] {
		introduced[name] = content
	}
	introduced["release.yaml"] = lenient
	s.keep("empty", map[string]string{"README.md": "hello"})
	s.gh.Do(func(w *world) { w.Parents["empty"] = []string{"base"}; w.Branches["main"] = "empty" })
	s.head = "empty"

	o := s.open(pull{number: 1, edit: introduced}, nil)
	o.ends(0).outputs("gate-action=WARN", "baseline-state=none", "policy-source=checkout", "passed=1", "insufficient=2", "relaxations=0")
	o.is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "no_baseline")
	says(t, "summary", firstLine(o.Summary), "🟡 Gate: WARN (exit 0)")
	says(t, "comment", s.comment(1), "🟡 Gate: WARN (exit 0)", "no_baseline", "Baseline: none")
	if len(o.Calls) > 20 {
		t.Errorf("%d requests: %q", len(o.Calls), o.Calls)
	}

	// Its own release policy decides: one that it fails blocks.
	introduced["release.yaml"] = s.trees["base"]["release.yaml"]
	s.open(pull{number: 2, edit: introduced}, nil).ends(1).outputs("gate-action=BLOCK")
}

func TestRegressionAndImprovement(t *testing.T) {
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": lenient})
	s.push(nil).ends(0).outputs("gate-action=WARN", "baseline-state=none")

	s.serve(demo.Options{ExpandQuery: true})
	o := s.open(pull{number: 7, edit: edit{"README.md": "expand the query"}}, nil)
	o.ends(3).outputs("gate-action=BLOCK", "baseline-state=found", "baseline-run-id=101", "baseline-sha="+sha("c1"))
	says(t, "comment", s.comment(7), "+6.7 points", "about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)")
	t.Log(s.comment(7))
	t.Log(o.Text())
	t.Log(len(o.Calls), o.Calls)
}

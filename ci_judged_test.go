package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/examples"
	"github.com/oloproof/oloproof-go/internal/cli"
	"github.com/oloproof/oloproof-go/internal/demo"
)

// judgedSite is a site whose main has the example with a judge, and the inputs of
// its jobs.
func judgedSite(t *testing.T, e edit) (*site, map[string]string) {
	t.Helper()
	s := newSite(t)
	h, err := demo.Handler("judged_rag", demo.Options{ErrorRate: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	s.answer(h)
	project, ok := examples.Open("judged_rag")
	if !ok {
		t.Fatal("the example judged_rag is not there")
	}
	files := map[string]string{}
	for _, name := range []string{"oloproof.yaml", "release.yaml", "data/questions.jsonl", "data/labels.jsonl"} {
		b, err := fs.ReadFile(project, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	start := strings.Index(files["oloproof.yaml"], "  # The service is that of")
	end := strings.Index(files["oloproof.yaml"], "evaluators:")
	files["oloproof.yaml"] = files["oloproof.yaml"][:start] + files["oloproof.yaml"][end:]
	s.keep("judged", files)
	for name := range e {
		s.gh.Do(func(w *world) { delete(w.Files, "judged:"+name) })
	}
	s.keep("judged", s.edited("judged", e))
	s.gh.Do(func(w *world) { w.Parents["judged"] = []string{"base"}; w.Branches["main"] = "judged" })
	s.head = "judged"
	port := s.url[strings.LastIndex(s.url, ":")+1:]
	port, _, _ = strings.Cut(port, "/")
	s.env = map[string]string{"PORT": port}
	return s, map[string]string{"env-allow": "PORT", "name": "gate"}
}

// TestLabelsOfAChange: what people's labels say of a judge is read at the base
// commit, so that no change brings the labels that make its judge good.
func TestLabelsOfAChange(t *testing.T) {
	const rule, labels = "groundedness-floor", "data/labels.jsonl"
	t.Run("taken away", func(t *testing.T) {
		s, in := judgedSite(t, nil)
		s.push(in).ends(0).is("only", rule, "PASS", "lower_bound_meets_minimum")
		o := s.open(pull{number: 1, edit: edit{labels: ""}}, in).ends(0)
		o.is("only", rule, "PASS", "lower_bound_meets_minimum")
		says(t, "comment", s.comment(1), "By 30 labels: agreement 93.3%")
	})
	t.Run("brought by the change", func(t *testing.T) {
		s, in := judgedSite(t, edit{labels: ""})
		all := readFile(t, "examples/judged_rag/data/labels.jsonl")
		s.push(in).ends(3).is("only", rule, "INSUFFICIENT_EVIDENCE", "evaluator_not_validated")
		s.open(pull{number: 1, edit: edit{labels: all}}, in).ends(3).is("only", rule, "INSUFFICIENT_EVIDENCE", "evaluator_not_validated")
		// Once they are on the branch they count.
		s.commit("c2", edit{labels: all})
		s.push(in).ends(0).is("only", rule, "PASS", "lower_bound_meets_minimum")
	})
	t.Run("with a suite that is new", func(t *testing.T) {
		s, in := judgedSite(t, nil)
		introduced := edit{}
		for name, content := range s.trees["judged"] {
			introduced[name] = content
		}
		s.keep("empty", map[string]string{"README.md": "hello"})
		s.gh.Do(func(w *world) { w.Parents["empty"] = []string{"base"}; w.Branches["main"] = "empty" })
		s.head = "empty"
		s.open(pull{number: 1, edit: introduced}, in).ends(0).is("only", rule, "PASS", "lower_bound_meets_minimum")
	})
	t.Run("with a suite that was moved", func(t *testing.T) {
		s, in := judgedSite(t, edit{labels: ""})
		s.push(in).ends(3)
		moved := edit{"oloproof.yaml": "", "release.yaml": "", "data/questions.jsonl": ""}
		for _, name := range []string{"oloproof.yaml", "release.yaml", "data/questions.jsonl"} {
			moved["eval/"+name] = s.file(name)
		}
		moved["eval/"+labels] = readFile(t, "examples/judged_rag/data/labels.jsonl")
		o := s.open(pull{number: 1, edit: moved}, map[string]string{"env-allow": "PORT", "name": "gate", "config": "eval/oloproof.yaml"}).ends(3)
		for _, p := range o.document().Policies {
			for _, d := range p.Decisions {
				if d.Rule == rule && d.State == "PASS" {
					t.Errorf("the labels of the change count for the policy %s", p.Path)
				}
			}
		}
	})
	t.Run("another judge", func(t *testing.T) {
		s, in := judgedSite(t, nil)
		s.push(in).ends(0)
		other := edit{"oloproof.yaml": s.replaced("oloproof.yaml", "model: stand-in\n", "model: stand-in-2\n")}
		s.open(pull{number: 1, edit: other}, in).ends(3)
	})
	t.Run("a case that matters little is dropped", func(t *testing.T) {
		s, in := judgedSite(t, nil)
		s.push(in).ends(0)
		fewer := edit{"data/questions.jsonl": s.without("data/questions.jsonl", `"api_limits_1"`)}
		s.open(pull{number: 1, edit: fewer}, in).ends(0).is("only", rule, "PASS", "lower_bound_meets_minimum")
	})
}

// signs runs signoff as the job of an environment with reviewers does: in a checkout
// of the change, on what the job of the gate left.
func (s *site) signs(commit string, o *outcome) (code int, said string) {
	s.t.Helper()
	dir := s.t.TempDir()
	files := maps.Clone(s.trees[commit])
	for name, content := range o.Files {
		files["oloproof-out/"+name] = content
	}
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	var out bytes.Buffer
	code = cli.Main(context.Background(), cli.Env{
		Args:  []string{"signoff", filepath.Join(dir, "oloproof-out"), "--by", "octocat", "--reason", "read them", "--config", filepath.Join(dir, "oloproof.yaml")},
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Lookup: func(string) (string, bool) { return "", false }, Now: s.clock, Rand: rand.Reader, Sleep: s.sleep,
	})
	return code, out.String()
}

// TestSignoffOfAChange: a person releases what ci left to people, and not what the
// base branch's policy ruled out.
func TestSignoffOfAChange(t *testing.T) {
	t.Parallel()
	review := "version: 1\nrules:\n  - {id: answer-floor, metric: answer_correct, min: 0.1, requires_manual_review: true}\n"
	s := alone(t, "0.1")
	s.commit("c2", edit{"release.yaml": review})
	s.push(nil).ends(3)
	p := s.pushed(pull{number: 1, edit: edit{"README.md": "x"}}, nil)
	o := s.do(p).ends(3).is("only", "answer-floor", "MANUAL_REVIEW", "policy_requires_review")
	if code, said := s.signs(p.commit, o); code != 0 || !strings.Contains(said, "octocat signed off answer-floor") {
		t.Errorf("exit code %d:\n%s", code, said)
	}

	s = alone(t, "0.99")
	s.push(nil)
	p = s.pushed(pull{number: 2, edit: edit{"release.yaml": review}}, nil)
	o = s.do(p).ends(1).is("base", "answer-floor", "FAIL", "upper_bound_below_minimum")
	if code, said := s.signs(p.commit, o); code != 2 || !strings.Contains(said, "by more than MANUAL_REVIEW") {
		t.Errorf("a FAIL of the base policy was signed off, exit code %d:\n%s", code, said)
	}
}

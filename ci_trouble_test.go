package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/demo"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

func TestTokenWithoutScopes(t *testing.T) {
	t.Parallel()
	denied := githubtest.Fault{Status: 403, Header: map[string]string{"Content-Type": "application/json", "X-Accepted-GitHub-Permissions": "actions=read"},
		Body: `{"message": "Resource not accessible by integration"}`}
	with := func(f githubtest.Fault, path, method string) githubtest.Fault {
		f.Path, f.Method = path, method
		return f
	}
	t.Run("no actions", func(t *testing.T) {
		s := begun(t)
		s.gh.Fail(with(denied, "/actions/", ""))
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(2)
		o.outputs("gate-action=BLOCK", "baseline-state=unavailable")
		o.is("only", "answer-floor", "PASS", "lower_bound_meets_minimum").is("only", "answers-not-worse", "INSUFFICIENT_EVIDENCE", "no_baseline")
		if a := o.failure(); a.Title != "Could not look for the baseline" || !strings.Contains(a.Message, "the job's permissions need actions: read") {
			t.Errorf("the error is %+v", a)
		}
		says(t, "comment", s.comment(1), "Could not look for the baseline", "🔴 Gate: BLOCK (exit 2)")
	})
	t.Run("no contents", func(t *testing.T) {
		s := begun(t)
		s.gh.Fail(with(denied, "/commits/", ""))
		s.gh.Fail(with(denied, "/contents/", ""))
		o := s.open(pull{number: 1, edit: edit{"README.md": "x", "compare.yaml": "version: 1\nblock_on: [FAIL]\nrules:\n  - {id: a, metric: answer_correct, kind: superiority}\n"}}, nil).ends(2)
		o.outputs("gate-action=BLOCK")
		if a := o.failure(); a.Title != "Could not read policy and suite at the base commit" {
			t.Errorf("the error is %+v", a)
		}
	})
	t.Run("no contents, and a proposed policy that passes everything", func(t *testing.T) {
		s := begun(t)
		s.gh.Fail(with(denied, "/contents/", ""))
		o := s.open(pull{number: 1, edit: edit{"release.yaml": floor("0.01"), "compare.yaml": ""}}, nil).ends(2)
		o.outputs("gate-action=BLOCK", "passed=1")
		if g := o.document().Gate; g.Action != "BLOCK" || g.ExitCode != 2 || !slices.Contains(g.Reasons, "not_looked_up") {
			t.Errorf("gate %+v", g)
		}
		says(t, "summary", firstLine(o.Summary), "🔴 Gate: BLOCK (exit 2)")
	})
	t.Run("no comments", func(t *testing.T) {
		s := begun(t)
		s.gh.Fail(with(denied, "/comments", "POST"))
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3)
		if !slices.Contains(o.notices(), "No comment was written") || len(s.comments(1)) > 0 {
			t.Errorf("notices %q", o.notices())
		}
		says(t, "summary", o.Summary, "Gate: BLOCK")
	})
	t.Run("no token", func(t *testing.T) {
		s := begun(t)
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, map[string]string{"github-token": ""}).ends(2)
		if len(o.Calls) > 0 {
			t.Errorf("calls %q", o.Calls)
		}
		says(t, "error", o.failure().Message, "leave the input github-token out")
	})
}

func TestAPITrouble(t *testing.T) {
	t.Parallel()
	page := "<html><body><h1>502 Bad Gateway</h1>" + strings.Repeat("<p>nginx @everyone ::error::x</p>", 2000) + "</body></html>"
	for name, x := range map[string]struct {
		fault githubtest.Fault
		state string
	}{
		"502 with HTML":                          {githubtest.Fault{Status: 502, Body: page, Header: map[string]string{"Content-Type": "text/html"}}, "unavailable"},
		"503":                                    {githubtest.Fault{Status: 503}, "unavailable"},
		"200 with HTML":                          {githubtest.Fault{Status: 200, Body: page}, "unavailable"},
		"an answer cut short":                    {githubtest.Fault{Status: 200, Body: `{"total_count": 1, "workf`, Cut: true}, "unavailable"},
		"rate limit, used up":                    {githubtest.Fault{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(githubtest.Start.Add(time.Hour).Unix())}, Body: `{"message": "API rate limit exceeded"}`}, "unavailable"},
		"rate limit, secondary, for ten minutes": {githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "600"}, Body: `{"message": "secondary rate limit"}`}, "unavailable"},
		"rate limit that passes":                 {githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "5"}, Times: 2}, "found"},
		"502 that passes":                        {githubtest.Fault{Status: 502, Body: page, Times: 2}, "found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begun(t)
			x.fault.Path = "/actions/workflows/"
			s.gh.Fail(x.fault)
			o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil)
			o.outputs("baseline-state="+x.state, "gate-action=BLOCK")
			if x.state == "found" {
				o.ends(3)
				return
			}
			o.ends(2)
			if a := o.failure(); a.Title != "Could not look for the baseline" || len(a.Message) > 600 {
				t.Errorf("the error is %+v", a)
			}
			saysNot(t, "summary", o.Summary, "<h1>", "<p>nginx")
			if len(o.Of("error")) != 1 {
				t.Errorf("commands %+v", o.Of("error"))
			}
		})
	}
	t.Run("a FAIL ends with 1 all the same", func(t *testing.T) {
		t.Parallel()
		s := begun(t)
		s.gh.Fail(githubtest.Fault{Status: 502, Path: "/actions/workflows/"})
		s.answer(confused(t, "question"))
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(1).outputs("gate-action=BLOCK", "baseline-state=unavailable")
		if a := o.failure(); a.Title != "Gate failed" || !slices.Contains(o.notices(), "Could not look for the baseline") {
			t.Errorf("the error is %+v, notices %q", a, o.notices())
		}
	})
	t.Run("nothing listens", func(t *testing.T) {
		t.Parallel()
		s := begun(t)
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}, change: func(j *job) {
			j.github = map[string]string{"api_url": "http://127.0.0.1:1", "graphql_url": "http://127.0.0.1:1/graphql"}
		}}, nil).ends(2).outputs("gate-action=BLOCK", "baseline-state=unavailable", "comment-url=")
		if a := o.failure(); a.Title != "Could not read policy and suite at the base commit" {
			t.Errorf("the error is %+v", a)
		}
		says(t, "error", o.failure().Message, "run the job again")
		saysNot(t, "error", o.failure().Message, "permissions")
		if s.slept > 5*time.Minute {
			t.Errorf("it waited %v", s.slept)
		}
	})
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		s := begun(t)
		s.patience = time.Second
		slow := githubtest.Fault{Hang: true, Path: "/actions/workflows/", Times: 2}
		s.gh.Fail(slow)
		s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3).outputs("gate-action=BLOCK", "baseline-state=found")

		slow.Times = 0 // from now on always
		s.gh.Fail(slow)
		o := s.open(pull{number: 2, edit: edit{"README.md": "x"}}, nil).ends(2).outputs("gate-action=BLOCK", "baseline-state=unavailable")
		if a := o.failure(); a.Title != "Could not look for the baseline" || !strings.Contains(a.Message, "took too long") {
			t.Errorf("the error is %+v", a)
		}
		says(t, "comment", s.comment(2), "Could not look for the baseline", "🔴 Gate: BLOCK (exit 2)")
	})
	t.Run("slow to take the comment", func(t *testing.T) {
		t.Parallel()
		s := begun(t)
		s.patience = time.Second
		s.gh.Fail(githubtest.Fault{Hang: true, Path: "/comments", Method: "POST"})
		o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3)
		if !slices.Contains(o.notices(), "No comment was written") {
			t.Errorf("notices %q", o.notices())
		}
	})
	t.Run("the storage is down", func(t *testing.T) {
		t.Parallel()
		s := begun(t)
		s.gh.Fail(githubtest.Fault{Blob: true, Status: 503})
		s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(2).outputs("baseline-state=unavailable")
	})
}

func TestEnterpriseServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, githubtest.Enterprise())
	s.commit("c1", edit{"release.yaml": lenient})
	server := map[string]string{"server_url": "https://github.example.com"}
	before := map[string]any{"ref": "refs/heads/main", "before": sha("base"), "after": sha("c1"), "forced": false}
	s.do(job{event: "push", commit: "c1", ref: "refs/heads/main", branch: "main", github: server, payload: before}).ends(0)
	s.open(pull{number: 1, edit: edit{"README.md": "x"}, change: func(j *job) { j.github = server }}, nil).ends(3).outputs("baseline-state=found")
	says(t, "comment", s.comment(1), "https://github.example.com/octo-org/octo-repo/actions/runs/102")
}

// hostile are texts that try to leave the place where they are shown.
var hostile = strings.Join([]string{
	"::set-output name=gate-action::ALLOW", "\r::error::hacked", "##[set-output name=exit-code]0", "::stop-commands::x", "@everyone @octo-org/security #1",
	"| a | b |\n|---|---|\n| [click](https://evil.example) | ![x](https://evil.example/x.png) |", "<img src=x onerror=alert(1)><script>alert(1)</script>", "```\n</details>\n# heading",
	"\x1b[31mred\x1b[0m \u202Eabc", "<!-- oloproof-gate v=1 key=x run=9 -->",
}, "\n")

func TestHostileAnswer(t *testing.T) {
	t.Parallel()
	s := begun(t)
	long := hostile + strings.Repeat("@everyone <b>x</b> | ", 3000) // 60 kB
	s.answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"answer": long, "citations": []string{}},
			"evidence": map[string]any{"retrieval": map[string]any{"query": long, "depth": 1, "candidates": []any{map[string]any{"doc_id": hostile, "score": 1, "text": long}}},
				"context": map[string]any{"items": []any{}, "dropped": []any{}, "token_budget": 1, "source": "retrieval"}, "citations": map[string]any{"ids": []string{hostile}}}})
	}))
	ids := s.file("data/support.jsonl")
	quoted, _ := json.Marshal(hostile + "\tid")
	ids = strings.Replace(ids, `"id":"refund_review"`, `"id":"| @everyone <img src=x> ::error::"`, 1)
	ids = strings.Replace(ids, `"metadata":{"topic":"billing"}`, `"metadata":{"topic":`+string(quoted)+`}`, 1)
	o := s.open(pull{number: 1, edit: edit{"data/support.jsonl": ids}}, map[string]string{"include-content": "true"}).ends(1)
	o.outputs("gate-action=BLOCK", "exit-code=1")
	comment := s.comment(1)
	if len(comment) > 60_000 {
		t.Errorf("the comment has %d bytes", len(comment))
	}
	if len(o.Summary) > 900<<10 {
		t.Errorf("the summary has %d bytes", len(o.Summary))
	}
	for _, name := range []string{"set-output", "stop-commands", "warning", "set-env", "add-path"} {
		if c := o.Of(name); len(c) > 0 {
			t.Errorf("the log ran %s: %+v", name, c)
		}
	}
	if n := len(o.Of("error")); n != 1 {
		t.Errorf("%d errors", n)
	}
	for what, text := range map[string]string{"comment": comment, "summary": o.Summary} {
		checkMarkdown(t, what, text)
		says(t, what, text, "refund", "Questions and answers of failing cases")
	}
	if o.Files["cases.jsonl"] == "" {
		t.Error("include-content left out cases.jsonl")
	}

	// Without content neither file, summary nor comment has a word of it.
	o = s.open(pull{number: 2, edit: edit{"README.md": "x"}}, nil).ends(1)
	for name, text := range o.Files {
		saysNot(t, name, text, "evil.example", "onerror")
	}
	saysNot(t, "summary", o.Summary, "evil.example", "onerror")
	saysNot(t, "comment", s.comment(2), "evil.example", "onerror")

	// Nor does an endpoint that fails with it.
	s.answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, hostile)
	}))
	o = s.open(pull{number: 3, edit: edit{"README.md": "x"}}, nil).ends(2).outputs("gate-action=")
	says(t, "comment", s.comment(3), "No case was answered", "http_status 400 from ", "what the system answered stands in the log of the job")
	for what, text := range map[string]string{"summary": o.Summary, "comment": s.comment(3), "comment.md": o.Files["comment.md"], "error": o.failure().Message} {
		saysNot(t, what, text, "set-output", "evil.example", "onerror")
	}
	says(t, "log", o.Text(), "the body starts: ")
	saysNot(t, "log", o.Text(), "--resume", "oloproof inspect") // there is nothing to go on with
	for _, name := range []string{"set-output", "stop-commands"} {
		if c := o.Of(name); len(c) > 0 {
			t.Errorf("the log ran %s: %+v", name, c)
		}
	}
	checkMarkdown(t, "comment", s.comment(3))
}

// TestUnusableAnswers: why no answer could be used is told without the answer,
// which stands in the log alone.
func TestUnusableAnswers(t *testing.T) {
	t.Parallel()
	s := begun(t)
	const private = "what-nobody-else-may-read"
	answers := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	for n, x := range []struct {
		answer      http.Handler
		title, says string
	}{
		{answers(500, private), "No case was answered", "http_status 500 from http://"},
		{answers(200, `{"`+private+`": 1}`), "No case was answered", "missing_output (status 200) from http://"},
		{answers(200, `{"result": {"answer": "`+private+`"}, "evidence": {"retrieval": "`+private+`"}}`), "Configuration error", `malformed retrieval/v1 artifact at "evidence.retrieval": want an object`},
	} {
		i := n + 1
		s.answer(x.answer)
		o := s.open(pull{number: i, edit: edit{"README.md": "x"}}, nil).ends(2)
		a := o.failure()
		if a.Title != x.title {
			t.Errorf("the error is titled %q, want %q", a.Title, x.title)
		}
		for what, text := range map[string]string{"summary": o.Summary, "comment": s.comment(i), "comment.md": o.Files["comment.md"], "error": a.Message} {
			says(t, what, text, x.says)
			saysNot(t, what, text, private)
		}
		says(t, "log", o.Text(), private)
		s.open(pull{number: 10 + i, edit: edit{"README.md": "x"}}, map[string]string{"include-content": "true"}).ends(2)
		says(t, "comment", s.comment(10+i), private)
	}
}

// TestSomeCasesFail: of a run whose store is thrown away no command is named that
// would look into it.
func TestSomeCasesFail(t *testing.T) {
	t.Parallel()
	s := begun(t)
	good := confused(t)
	s.answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "refund") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		good.ServeHTTP(w, r)
	}))
	o := s.open(pull{number: 1, edit: edit{"README.md": "x"}}, nil).ends(3)
	if o.document().Run.Counts.Error == 0 {
		t.Fatal("every case was answered")
	}
	says(t, "log", o.Text(), "the system gave no output for these cases\n")
	for what, text := range map[string]string{"log": o.Text(), "summary": o.Summary, "comment": s.comment(1), "report.html": o.Files["report.html"]} {
		saysNot(t, what, text, "inspect run_", "--resume")
	}
	o = s.open(pull{number: 2, edit: edit{"README.md": "x"}}, map[string]string{"include-content": "true"}).ends(3)
	says(t, "log", o.Text(), "the system gave no output for these cases: oloproof inspect oloproof-out --failures shows each error\n")
}

func TestSecretsAreMaskedFirst(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-of-the-endpoint"
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": lenient, "oloproof.yaml": s.replaced("oloproof.yaml", "    output_path: result", "    headers:\n      Authorization: Bearer ${RAG_TOKEN}\n    output_path: result")})
	echo := func(status int) {
		good, err := demo.Handler("blackbox_rag", demo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		s.answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n%3 != 0 && status == 200 {
				good.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(400)
			fmt.Fprintf(w, "denied for %s", r.Header.Get("Authorization"))
		}))
	}
	in := map[string]string{"env-allow": "RAG_TOKEN", "include-content": "true", "concurrency": "1"}
	env := map[string]string{"RAG_TOKEN": secret}
	run := func() *outcome {
		return s.do(job{event: "push", commit: "c1", ref: "refs/heads/main", branch: "main", inputs: in, env: env, payload: map[string]any{
			"ref": "refs/heads/main", "before": sha("base"), "after": sha("c1"), "forced": false}})
	}
	for _, status := range []int{200, 400} {
		echo(status)
		o := run()
		saysNot(t, "log", o.Text(), secret)
		saysNot(t, "summary", o.Summary, secret)
		for name, text := range o.Files {
			saysNot(t, name, text, secret)
		}
		if !slices.Contains(o.Masks, secret) || !slices.Contains(o.Masks, githubtest.Token) {
			t.Errorf("masks %q", o.Masks)
		}
		first := slices.IndexFunc(o.Commands, func(c command) bool { return c.Name != "add-mask" })
		last := lastIndex(o.Commands, func(c command) bool { return c.Name == "add-mask" && c.Data == secret })
		if last < 0 || first >= 0 && first < last {
			t.Errorf("the secret is masked as command %d, after command %d: %+v", last, first, o.Commands)
		}
	}
}

func lastIndex[T any](list []T, holds func(T) bool) int {
	for i, x := range slices.Backward(list) {
		if holds(x) {
			return i
		}
	}
	return -1
}

func TestOutsideActions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("c1", edit{"release.yaml": lenient})
	dir := t.TempDir()
	for name, content := range s.trees["c1"] {
		write(t, filepath.Join(dir, name), content)
	}
	code, out := s.plainly(t, dir, "ci", "--config", filepath.Join(dir, "oloproof.yaml"), "--url", s.url, "--allowed-hosts", "127.0.0.1", "--output-dir", filepath.Join(dir, "results"))
	if code != 3 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	saysNot(t, "output", out, "::", "##[")
	says(t, "output", out, "no_baseline", "Gate: BLOCK (exit 3)")
	saysNot(t, "output", out, "oloproof inspect run_") // the run itself is thrown away
	// What it tells to try next works, with the answers and without.
	for _, x := range []struct{ content, next string }{{"false", "Next: oloproof inspect results\n"}, {"true", "Next: oloproof inspect results --failures\n"}} {
		results := filepath.Join(dir, "results")
		if err := os.RemoveAll(results); err != nil {
			t.Fatal(err)
		}
		_, out := s.plainly(t, dir, "ci", "--config", filepath.Join(dir, "oloproof.yaml"), "--url", s.url, "--allowed-hosts", "127.0.0.1", "--output-dir", results, "--include-content", x.content)
		says(t, "output", out, x.next)
		_, command, _ := strings.Cut(strings.TrimSpace(x.next), "Next: oloproof ")
		if code, out := s.plainly(t, dir, strings.Fields(command)...); code != 0 {
			t.Errorf("%s ends with %d\n%s", command, code, out)
		}
	}
}

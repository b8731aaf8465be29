package httpsystem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// mapped returns the configuration of a suite whose system.http has these keys,
// called at a URL.
func mapped(t testing.TB, url, keys string) httpsystem.Config {
	t.Helper()
	text := "project: p\ndataset: d.jsonl\nevaluators: [{type: contains, criterion: c}]\nsystem:\n  name: s\n  version: v\n  http:\n    url: http://unused/\n    " +
		strings.ReplaceAll(strings.TrimSpace(keys), "\n", "\n    ") + "\n"
	s, err := suite.Parse("oloproof.yaml", []byte(text), os.ReadFile)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	environment := map[string]string{"TOKEN": "s3cret-token", "KEY": `k"1{{x}}`}
	r, err := s.Resolve(func(name string) (string, bool) { v, ok := environment[name]; return v, ok }, suite.ResolveOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	h := s.System.HTTP
	cfg := config(url)
	n := 0
	cfg.Method, cfg.Headers, cfg.OutputPath, cfg.Artifacts = h.Method, r.Headers, h.OutputPath, h.Artifacts
	cfg.Mapping, cfg.Calls, cfg.Redact = h.Mapping, r.Calls, redact.New(r.Secrets)
	cfg.UUID = func() string { n++; return fmt.Sprintf("uuid-%d", n) }
	return cfg
}

// recorder answers by path and keeps what it was sent.
type recorder struct {
	mu      sync.Mutex
	seen    []string
	answers map[string][]string // by method and path; the last one again and again
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := req.Method + " " + req.URL.EscapedPath()
	line := at
	if req.URL.RawQuery != "" {
		line += "?" + req.URL.RawQuery
	}
	for _, name := range []string{"Authorization", "X-Case", "Content-Type"} {
		if v := req.Header.Get(name); v != "" && v != "application/json" {
			line += " " + name + "=" + v
		}
	}
	if len(body) > 0 {
		line += " " + string(body)
	}
	r.seen = append(r.seen, line)
	answers := r.answers[at]
	if len(answers) == 0 {
		http.NotFound(w, req)
		return
	}
	answer := answers[0]
	if len(answers) > 1 {
		r.answers[at] = answers[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	if status, rest, ok := strings.Cut(answer, "|"); ok {
		var code int
		_, _ = fmt.Sscan(status, &code)
		w.WriteHeader(code)
		answer = rest
	}
	_, _ = io.WriteString(w, answer)
}

func TestRequestsOfAnAttempt(t *testing.T) {
	r := &recorder{answers: map[string][]string{
		"POST /api/sessions":              {`{"id": "s/1", "n": 50000000014435121}`},
		"GET /api/find":                   {`[{"doc": "kb-1"}, {"doc": 2}]`},
		"PUT /api/sessions/s%2F1/run":     {"503|", `{"run": "r1"}`},
		"GET /api/runs/r1":                {`{"state": "queued"}`, "503|", `{"state": "done", "text": "two years [1]", "tokens": "12"}`},
		"DELETE /api/sessions/s%2F1":      {`204|`},
		"GET /api/runs/r1/steps":          {`{"steps": [{"doc": "kb-9"}]}`},
		"POST /api/sessions/never/called": nil,
	}}
	server := serve(t, r.ServeHTTP)
	s := newSystem(t, mapped(t, server.URL+"/api/?v=1", `
headers: {Authorization: "Bearer ${TOKEN}"}
depth: {from: "{{case.input.k}}"}
setup: {path: /sessions, body: {user: "gate-{{uuid}}", key: "${KEY}"}}
requests:
  found: {method: GET, path: /find, query: {q: "{{case.input.question}}", n: "{{depth}}"}}
  steps: {method: GET, path: "/runs/{{accepted.run}}/steps", when: after}
  gone: {method: DELETE, path: "/sessions/{{setup.id}}", when: after}
request:
  method: PUT
  path: /sessions/{{setup.id}}/run
  headers: {X-Case: "{{case.id}} {{attempt}}"}
  body:
    q: "{{case.input.question}}"
    all: ["{{case.input}}", "{{depth}}", "no {{depth}} left", "{{setup.n}}", null, 1.50]
    text: 'say {{case.input | tojson}} of {{found.1.doc}}'
poll: {path: "/runs/{{accepted.run}}", until: {path: state, equals: [done, failed]}, interval_s: 0.01}
output: text
artifacts:
  retrieval/v1: {items: {from: found}, fields: {doc_id: doc}}
  context/v1: {items: {path: steps, from: steps}, fields: {doc_id: doc}}
  citations/v1: {markers: "[1]", of: retrieval/v1}
usage: {input_tokens: tokens}`[1:]))
	e, err := s.Execute(t.Context(), &evidence.Case{ID: "one", Input: evidence.Value(`{"question": "how \"long\"?", "k": 3}`)})
	if err != nil || e.Error != nil {
		t.Fatalf("Execute: %v, %+v", err, e.Error)
	}
	if string(e.Output) != `"two years [1]"` {
		t.Errorf("output %s", e.Output)
	}
	got := string(evidence.AppendArtifacts(nil, &e.Artifacts))
	want := `{"citations/v1":[{"ids":["kb-1"]}],"context/v1":[{"dropped":[],"items":[{"chunk_id":null,"doc_id":"kb-9","position":null,"text":null,"tokens":null}],"source":"retrieval","token_budget":null}],` +
		`"retrieval/v1":[{"candidates":[{"chunk_id":null,"doc_id":"kb-1","score":null,"text":null},{"chunk_id":null,"doc_id":"2","score":null,"text":null}],"depth":3,"query":null}]}`
	if got != want {
		t.Errorf("artifacts\n%s\nwant\n%s", got, want)
	}
	if e.Usage == nil || *e.Usage.InputTokens != 12 {
		t.Errorf("usage %+v", e.Usage)
	}
	if len(e.Attempts) != 2 || e.Attempts[0].HTTPStatus != 503 {
		t.Errorf("attempts %+v", e.Attempts)
	}
	const token = " Authorization=Bearer s3cret-token"
	setup := func(n int) string {
		return fmt.Sprintf(`POST /api/sessions?v=1%s {"user":"gate-uuid-%d","key":"k\"1{{x}}"}`, token, n)
	}
	run := func(n int) string {
		return fmt.Sprintf(`PUT /api/sessions/s%%2F1/run?v=1%s X-Case=one %d {"q":"how \"long\"?","all":[{"question":"how \"long\"?","k":3},3,"no 3 left",50000000014435121,null,1.50],"text":"say {\"question\":\"how \\\"long\\\"?\",\"k\":3} of 2"}`, token, n)
	}
	find := "GET /api/find?v=1&q=how+%22long%22%3F&n=3" + token
	wantSeen := []string{
		setup(1), find, run(1), setup(2), find, run(2),
		"GET /api/runs/r1?v=1" + token, "GET /api/runs/r1?v=1" + token, "GET /api/runs/r1?v=1" + token,
		"GET /api/runs/r1/steps?v=1" + token, "DELETE /api/sessions/s%2F1?v=1" + token,
	}
	if diff := cmp.Diff(wantSeen, r.seen); diff != "" {
		t.Error(diff)
	}
}

// TestHeadersStayAtHome: another host does not get the headers of the system.
func TestHeadersStayAtHome(t *testing.T) {
	home := &recorder{answers: map[string][]string{"POST /": {`{"a": "x"}`}}}
	other := &recorder{answers: map[string][]string{"POST /login": {`{"a": "y"}`}}}
	server, elsewhere := serve(t, home.ServeHTTP), serve(t, other.ServeHTTP)
	s := newSystem(t, mapped(t, server.URL, `headers: {Authorization: "Bearer ${TOKEN}"}
setup: {url: "`+elsewhere.URL+`/login", headers: {X-Case: "{{case.id}}"}}
output: {jq: '.a + $setup.a'}`))
	e, err := s.Execute(t.Context(), aCase(`{}`))
	if err != nil || string(e.Output) != `"xy"` {
		t.Fatalf("Execute: %v, %+v", err, e)
	}
	if diff := cmp.Diff([]string{"POST /login X-Case=one"}, other.seen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"POST / Authorization=Bearer s3cret-token {}"}, home.seen); diff != "" {
		t.Error(diff)
	}
}

// TestFaultsOfAnAttempt asks what is said when something of it goes wrong.
func TestFaultsOfAnAttempt(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		answers    map[string][]string
		kind       evidence.ErrorKind
		status     evidence.Status
		says       []string
		attempts   int
	}{
		{"setup has a bad status", "setup: {path: /s}\noutput: a", map[string][]string{"POST /s": {`401|{"e": 1}`}},
			evidence.ErrStatus, evidence.StatusError, []string{`^system.http.setup: status 401 Unauthorized from URL/s, the body starts: {"e": 1}`}, 1},
		{"setup is tried again", "setup: {path: /s}\noutput: a", map[string][]string{"POST /s": {`500|`, `{}`}, "POST /": {`{"a": "x"}`}}, "", evidence.StatusOK, nil, 2},
		{"setup is no JSON", "setup: {path: /s}\noutput: a", map[string][]string{"POST /s": {`hello`}},
			evidence.ErrInvalidJSON, evidence.StatusError, []string{`system.http.setup: an answer with status 200 that is not valid JSON`}, 1},
		{"setup lacks what the path needs", "setup: {path: /s}\nrequest: {path: \"/x/{{setup.id}}\"}\noutput: a", map[string][]string{"POST /s": {`{"session": 1}`}},
			evidence.ErrMapping, evidence.StatusError, []string{`a request that cannot be filled in, system.http.request.path: {{setup.id}}: nothing at "id": the value has no "id" (keys: "session")`}, 1},
		{"an error in a 200", "ok: {path: code, equals: 0}\nerror_message: msg\noutput: data.answer", map[string][]string{"POST /": {`{"code": 102, "msg": "no such chat, s3cret-token", "data": null}`}},
			evidence.ErrReported, evidence.StatusError, []string{`an error in an answer that system.http.ok finds: no such chat, [redacted], from URL`, `around it: {"code": 102`}, 1},
		{"an error without a message", "ok: good\noutput: answer", map[string][]string{"POST /": {`{"good": false, "answer": "sorry"}`}},
			evidence.ErrReported, evidence.StatusError, []string{`the answer says that it is none, at "good" want true, found a boolean, false, from URL`}, 1},
		{"an error by another value", "ok: {path: state, equals: [done, 0]}\noutput: answer", map[string][]string{"POST /": {`{"state": "7", "answer": "sorry"}`}},
			evidence.ErrReported, evidence.StatusError, []string{`at "state" want "done" or 0, found text, "7", from URL`}, 1},
		{"an error where nothing must be", "ok: {path: fault, absent: true}\noutput: answer", map[string][]string{"POST /": {`{"fault": [1], "answer": "sorry"}`}},
			evidence.ErrReported, evidence.StatusError, []string{`at "fault" want nothing, found a list of 1, from URL`}, 1},
		{"an answer without what tells it", "ok: state\noutput: answer", map[string][]string{"POST /": {`{"answer": "sorry"}`}},
			evidence.ErrReported, evidence.StatusError, []string{`at "state" want true, found nothing, from URL`}, 1},
		{"no output", "output: choices.0.message.content", map[string][]string{"POST /": {`{"choices": [{"text": "x"}]}`}},
			evidence.ErrMissingOutput, evidence.StatusError, []string{`an answer without output, system.http.output at "choices.0.message.content": nothing at "choices.0.message.content": "choices.0" has no "message" (keys: "text"), from URL, around it: {"text": "x"}`}, 1},
		{"an output of another type", "output: a.b", map[string][]string{"POST /": {`{"a": {"b": [{"type": "text"}]}, "c": 1}`}},
			evidence.ErrMapping, evidence.StatusError, []string{`an answer that cannot be mapped, system.http.output at "a.b": want text, found a list of 1 (where that is meant, add type: any), from URL, around it: {"b": [{"type": "text"}]}`}, 1},
		{"a signed URL in the answer", "output: a", map[string][]string{"POST /": {`{"file": {"signed_url": "https://storage.test/x?sig=abc&exp=1"}}`}},
			evidence.ErrMissingOutput, evidence.StatusError, []string{`around it: {"file": {"signed_url": "https://storage.test/x?…"}}`}, 1},
		{"a null output", "output: a", map[string][]string{"POST /": {`{"a": null}`}},
			evidence.ErrMissingOutput, evidence.StatusError, []string{`want text, found null`}, 1},
		{"jq fails", "output: {jq: '.a | fromjson'}", map[string][]string{"POST /": {`{"a": "{"}`}},
			evidence.ErrMapping, evidence.StatusError, []string{`system.http.output at ".a | fromjson": jq: `, `around it: {"a": "{"}`}, 1},
		{"the work fails", "poll: {path: /r, until: done, fail_when: failed, interval_s: 0.01}\nerror_message: why\noutput: a",
			map[string][]string{"POST /": {`{}`}, "GET /r": {`{"failed": true, "why": "index gone"}`}},
			evidence.ErrReported, evidence.StatusError, []string{`the work has failed (poll.fail_when holds): index gone from URL/r`}, 1},
		{"a poll that is none", "poll: {path: /r, until: {jq: '.x.y'}, interval_s: 0.01}\noutput: a", map[string][]string{"POST /": {`{}`}, "GET /r": {`{"x": {"y": 1}}`}},
			evidence.ErrMapping, evidence.StatusError, []string{`system.http.poll.until at ".x.y": want true or false, found a number, 1`}, 1},
		{"after an error nothing is asked", "ok: good\nrequests: {more: {path: \"/more/{{main.id}}\", when: after}}\noutput: a", map[string][]string{"POST /": {`{"good": false}`}},
			evidence.ErrReported, evidence.StatusError, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{answers: test.answers}
			server := serve(t, r.ServeHTTP)
			e, err := newSystem(t, mapped(t, server.URL, "headers: {X-Token: \"${TOKEN}\"}\n"+test.keys)).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if e.Status != test.status || len(e.Attempts) != test.attempts {
				t.Errorf("status %s, attempts %+v, error %+v", e.Status, e.Attempts, e.Error)
			}
			if test.kind == "" {
				return
			}
			if e.Error == nil || e.Error.Kind != test.kind {
				t.Fatalf("error %+v, want %s", e.Error, test.kind)
			}
			message := strings.ReplaceAll(e.Error.Message, server.URL, "URL")
			for _, says := range test.says {
				if rest, ok := strings.CutPrefix(says, "^"); ok && !strings.HasPrefix(message, rest) || !ok && !strings.Contains(message, says) {
					t.Errorf("message\n%s\nwant\n%s", message, says)
				}
			}
		})
	}
}

// TestPollEnds: work that is never done is a timeout, in the clock's time.
func TestPollEnds(t *testing.T) {
	r := &recorder{answers: map[string][]string{"POST /": {`{}`}, "GET /r": {`{"done": false}`}}}
	server := serve(t, r.ServeHTTP)
	cfg := mapped(t, server.URL, "poll: {path: /r, until: done, interval_s: 10, deadline_s: 25}\noutput: a")
	now := time.Unix(0, 0)
	cfg.Now = func() time.Time { return now }
	cfg.Sleep = func(ctx context.Context, d time.Duration) error { now = now.Add(d); return ctx.Err() }
	e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
	if err != nil || e.Status != evidence.StatusTimeout || !strings.HasPrefix(e.Error.Message, "system.http.poll: the work is not done within 25s (poll.deadline_s), the last answer has status 200 OK, from "+server.URL+"/r") ||
		!strings.HasSuffix(e.Error.Message, `the body starts: {"done": false}`) {
		t.Fatalf("Execute: %v, %+v", err, e.Error)
	}
	if e.LatencyMS != 20_000 {
		t.Errorf("latency %v ms, want that of the whole attempt, 20 s", e.LatencyMS)
	}
}

// TestArtifactsThatCannotBeMade asks what stops a run.
func TestArtifactsThatCannotBeMade(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"a": "x", "docs": [{"id": 1, "meta": {"s": "0.5"}}, {"id": null, "meta": {"s": "high"}, "note": "s3cret-token"}], "one": {"id": "k"}}`)
	})
	for _, test := range []struct{ keys, want string }{
		{"retrieval/v1: {items: docs, fields: {doc_id: id}}",
			`case "one": malformed retrieval/v1 artifact at "id": candidates[1].doc_id: nothing at "id", and every element needs a document; around it: {"id": null, "meta": {"s": "high"}, "note": "[redacted]"}; it is made by system.http.artifacts.retrieval/v1`},
		{"retrieval/v1: {items: docs, fields: {doc_id: [id, note], score: meta.s}}",
			`case "one": malformed retrieval/v1 artifact at "meta.s": candidates[1].score: want a number, found text, "high"; around it: {"s": "high"}; it is made by system.http.artifacts.retrieval/v1`},
		{"retrieval/v1: {items: sources}",
			`case "one": no retrieval/v1 artifact at "sources"; found nothing at "sources": the value has no "sources" (keys: "a", "docs", "one") (if some answers have none by design, add optional: true); around it: {"a": "x", "docs": [`},
		{"retrieval/v1: {items: one}", `malformed retrieval/v1 artifact at "one": want a list, found an object; around it: {"id": "k"}`},
		{"retrieval/v1: {jq: '[.docs[].note, 1, 2, 3]'}", `candidates[0]: want an object, text or a number, found null`},
		{"retrieval/v1: {jq: '[1, 2, 3]'}", `malformed retrieval/v1 artifact: candidates: 3 of them exceed the depth 2: depth is how many the search is asked for`},
		{"retrieval/v1: {jq: '.one'}", `want a list, or an object with the list candidates, found an object without it`},
		{"citations/v1: {markers: \"[1]\", of: retrieval/v1, in: nowhere}\nretrieval/v1: {jq: '[1]'}", `nothing at "nowhere"`},
		{"context/v1: {jq: '{items: [1], dropped: [{doc_id: \"x\", reason: \"old\"}]}'}", `dropped[0].reason: want top_k or token_budget, found text, "old"`},
		{"context/v1: {items: docs, fields: {doc_id: a, position: id}}\n", `items[0].doc_id: nothing at "a"`},
	} {
		cfg := mapped(t, server.URL, "headers: {X-Token: \"${TOKEN}\"}\ndepth: 2\noutput: a\nartifacts:\n  "+strings.ReplaceAll(test.keys, "\n", "\n  "))
		_, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v\nwant\n%s", test.keys, err, test.want)
		}
	}
}

// TestStrippedText: what is judged is stripped, what came is kept.
func TestStrippedText(t *testing.T) {
	text := "<think>Is it [2]? No.</think>Two years [1].\n\n**Sources:**\n- [2] winter.md\n"
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"a": text, "docs": []string{"kb-1", "kb-2"}})
	})
	e, err := newSystem(t, mapped(t, server.URL, `
depth: 2
output: a
strip: [think, references, {regex: ' \[[0-9]+\]'}]
artifacts:
  retrieval/v1: {items: docs, source: context}
  citations/v1: {markers: "[1]"}`[1:])).Execute(t.Context(), aCase(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(e.Output) != `"Two years."` {
		t.Errorf("output %s", e.Output)
	}
	if raw, _ := evidence.Text(e.RawOutput); raw != text {
		t.Errorf("as it came %q", raw)
	}
	if diff := cmp.Diff([]evidence.Citations{{IDs: []string{"kb-1"}}}, e.Artifacts.Citations); diff != "" {
		t.Error(diff)
	}
	if e.Artifacts.Retrieval[0].Source != "context" {
		t.Errorf("source %q", e.Artifacts.Retrieval[0].Source)
	}
}

// TestOtherAddressesAreGuarded: a request beside that of the case goes through
// the same guard.
func TestOtherAddressesAreGuarded(t *testing.T) {
	r := &recorder{answers: map[string][]string{"POST /": {`{"a": "x"}`}}}
	server := serve(t, r.ServeHTTP)
	cfg := mapped(t, server.URL, "setup: {url: \"http://169.254.169.254/latest/meta-data\"}\noutput: a")
	rules, err := netguard.New(netguard.Options{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	transport := rules.Transport(httpsystem.NewTransport(cfg.Concurrency))
	t.Cleanup(transport.CloseIdleConnections)
	cfg.Transport = transport
	e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
	if err != nil || e.Error == nil || e.Error.Kind != evidence.ErrConnection || len(e.Attempts) != 1 || len(r.seen) != 0 {
		t.Fatalf("Execute: %v, %+v, %d attempts, seen %v", err, e.Error, len(e.Attempts), r.seen)
	}
	if want := "system.http.setup: "; !strings.HasPrefix(e.Error.Message, want) || !strings.Contains(e.Error.Message, "169.254.169.254") {
		t.Errorf("message %s", e.Error.Message)
	}
}

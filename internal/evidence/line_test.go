package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func manifest() *Manifest {
	return &Manifest{
		Metrics: []MetricSpec{
			{ID: "answer_correct", Kind: Rate, Range: [2]float64{0, 1}},
			{ID: "p95", Kind: Quantile, Source: "latency_ms", Quantile: 0.95},
			{ID: "ndcg_at_6", Kind: Mean, Range: [2]float64{0, 1}},
			{ID: "\U0001f600", Kind: Rate, Range: [2]float64{0, 1}},
			{ID: "\ufb33", Kind: Rate, Range: [2]float64{0, 1}},
			{ID: "Citations", Kind: Rate, Range: [2]float64{0, 1}},
		},
		Slices: []string{"metadata.topic", "metadata.é"},
	}
}

func TestAppendOutcome(t *testing.T) {
	o := Outcome{
		ID: "a\"b", Digest: DigestOf([32]byte{0xab}), Slices: []string{"billing", NoSlice},
		Status: StatusError, ErrorKind: ErrStatus, HTTPStatus: 503, LatencyMS: 12.5, Attempts: 4,
		Judgments: []Judgment{
			{State: Missing, Reason: ReasonExecutionError, Detail: "secret text"},
			{State: Judged, Value: 0.25, Detail: "secret text"},
			{State: NotApplicable, Reason: ReasonNoExpected},
			{State: Judged, Value: 1},
			{State: Judged, Value: 0},
		},
	}
	want := `{"attempts":4,"digest":"sha256:ab` + strings.Repeat("0", 62) + `","error":"http_status","http_status":503,"id":"a\"b",` +
		`"judgments":{"Citations":{"state":"observed","value":0},"answer_correct":{"reason":"execution_error","state":"missing"},` +
		`"ndcg_at_6":{"state":"observed","value":0.25},"` + "\U0001f600" + `":{"reason":"no_expected","state":"excluded"},"` + "\ufb33" + `":{"state":"observed","value":1}},` +
		`"latency_ms":12.5,"slices":{"metadata.topic":"billing"},"status":"ERROR"}`
	if got := string(AppendOutcome(nil, manifest(), &o)); got != want {
		t.Errorf("AppendOutcome:\n%s\nwant\n%s", got, want)
	}
}

func TestAppendArtifactsOfTheTutorial(t *testing.T) {
	budget := 40
	a := Artifacts{
		Retrieval: []Retrieval{{Query: Value(`"Where?"`), Depth: 6, Candidates: []Passage{}}},
		Context:   []Context{{Items: []ContextItem{}, Dropped: []DroppedItem{}, TokenBudget: &budget, Source: "retrieval"}},
		Citations: []Citations{{IDs: []string{}}},
	}
	// The shape that the product's tutorial shows.
	want := `{"retrieval/v1": [{"candidates": [], "depth": 6, "query": "Where?"}], "context/v1": [{"dropped": [], "items": [], "source": "retrieval", "token_budget": 40}], "citations/v1": [{"ids": []}]}`
	got := AppendArtifacts(nil, &a)
	canonical, err := Canonical(Value(want))
	if err != nil || string(got) != string(canonical) {
		t.Errorf("AppendArtifacts = %s\nwant %s", got, canonical)
	}
}

func TestAppendCaseLine(t *testing.T) {
	m := &Manifest{Metrics: []MetricSpec{{ID: "ok", Kind: Rate}}}
	c := Case{ID: "a", Input: Value("{ \"q\" : 1.0,\n \"big\": 12345678901234567890123 }"), Expected: Value(`{"z":1,"a":"\u00e9"}`)}
	score, position := 1e-7, 2
	e := Execution{
		Status: StatusOK, Output: Value(`{"answer": 1.0}`), LatencyMS: 1.5, StartedAt: time.Date(2026, 11, 30, 1, 2, 3, 4000, time.FixedZone("x", 3600)),
		Attempts: []Attempt{{HTTPStatus: 429, Error: ErrStatus, LatencyMS: 2, WaitMS: 10}, {HTTPStatus: 200, LatencyMS: 1.5}},
		Artifacts: Artifacts{
			Retrieval: []Retrieval{{Depth: 2, Candidates: []Passage{{DocID: "d", Score: &score}, {DocID: "d", ChunkID: "c", Metadata: Value(`{ }`)}}}},
			Context:   []Context{{Items: []ContextItem{}, Dropped: []DroppedItem{{ContextItem{DocID: "d", Position: &position}, "top_k"}}, Source: "retrieval"}},
			Other:     map[string][]Value{"stage_timings/v1": {Value(`{"b":1,"a":2}`)}, "a/v1": {Value(`1`)}},
		},
	}
	want := `{"artifacts":{"a/v1":[1],"context/v1":[{"dropped":[{"chunk_id":null,"doc_id":"d","position":2,"reason":"top_k","text":null,"tokens":null}],"items":[],"source":"retrieval","token_budget":null}],` +
		`"retrieval/v1":[{"candidates":[{"chunk_id":null,"doc_id":"d","score":1e-7,"text":null},{"chunk_id":"c","doc_id":"d","metadata":{},"score":null,"text":null}],"depth":2,"query":null}],` +
		`"stage_timings/v1":[{"a":2,"b":1}]},` +
		`"execution":{"attempts":[{"error":"http_status","http_status":429,"latency_ms":2,"wait_ms":10},{"http_status":200,"latency_ms":1.5}],"latency_ms":1.5,"output":{"answer":1.0},"started_at":"2026-11-30T00:02:03.000004Z","status":"OK"},` +
		`"judgments":{"ok":{"detail":"say \"x\"","state":"observed","value":1}},` +
		`"scenario":{"expected":{"a":"é","z":1},"id":"a","input":{"big":12345678901234567890123,"q":1.0}}}`
	if got := string(AppendCaseLine(nil, m, &c, &e, []Judgment{{State: Judged, Value: 1, Detail: `say "x"`}})); got != want {
		t.Errorf("AppendCaseLine:\n%s\nwant\n%s", got, want)
	}
}

// judgments draws one judgment per judged metric.
func drawJudgments(t *rapid.T, m *Manifest, detail bool) []Judgment {
	all := []Judgment{}
	for _, metric := range m.Metrics {
		if metric.Kind == Quantile {
			continue
		}
		j := Judgment{State: JudgmentState(rapid.IntRange(1, 3).Draw(t, "state"))}
		if detail {
			j.Detail = rapid.String().Draw(t, "detail")
		}
		switch {
		case j.State != Judged:
			j.Reason = rapid.SampledFrom([]string{ReasonNoExpected, ReasonNotRun, "own_reason"}).Draw(t, "reason")
		case metric.Kind == Rate:
			j.Value = float64(rapid.IntRange(0, 1).Draw(t, "passed"))
		default:
			j.Value = rapid.Float64Range(0, 1).Draw(t, "score")
		}
		all = append(all, j)
	}
	return all
}

func drawDigest(t *rapid.T) Digest {
	return DigestOf([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest")))
}

func TestOutcomeRoundTrip(t *testing.T) {
	m := manifest()
	var got Outcome // used again and again, as a reader does
	rapid.Check(t, func(t *rapid.T) {
		slice := rapid.OneOf(rapid.Just(NoSlice), rapid.String())
		want := Outcome{
			ID: rapid.StringN(1, 20, -1).Draw(t, "id"), Digest: drawDigest(t),
			Slices:    []string{slice.Draw(t, "slice"), slice.Draw(t, "slice")},
			Status:    rapid.SampledFrom([]Status{StatusOK, StatusError, StatusTimeout, StatusNotRun}).Draw(t, "status"),
			ErrorKind: ErrorKind(rapid.SampledFrom([]string{"", "timeout", "own"}).Draw(t, "error")), HTTPStatus: rapid.IntRange(0, 999).Draw(t, "http"),
			LatencyMS: rapid.Float64Range(0, 1e9).Draw(t, "latency"), Attempts: rapid.IntRange(0, 4).Draw(t, "attempts"),
			Usage: drawUsage(t), Judgments: drawJudgments(t, m, false),
		}
		line := AppendOutcome(nil, m, &want)
		if err := DecodeOutcome(line, m, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", line, diff)
		}
		checkCanonical(t, line)
		for n := range len(line) {
			if DecodeOutcome(line[:n], m, &Outcome{}) == nil {
				t.Fatalf("accepted the torn line %s", line[:n])
			}
		}
	})
}

// checkCanonical fails unless line is its own canonical JSON.
func checkCanonical(t interface{ Fatalf(string, ...any) }, line []byte) {
	canonical, err := Canonical(Value(line))
	if err != nil || !bytes.Equal(canonical, line) {
		t.Fatalf("%s is not canonical: %v\nwant %s", line, err, canonical)
	}
}

func drawValue(t *rapid.T, label string) Value {
	words := []string{`null`, `{}`, `[1,{"a":"b"}]`, `"x"`, `{"a":{"b":[]},"c":"é\n"}`, `12345678901234567890`, `true`, `""`}
	return Value(rapid.SampledFrom(words).Draw(t, label))
}

func drawText(t *rapid.T) *string {
	if rapid.Bool().Draw(t, "has") {
		s := rapid.String().Draw(t, "text")
		return &s
	}
	return nil
}

func drawCount(t *rapid.T, least int) *int {
	if rapid.Bool().Draw(t, "has") {
		n := rapid.IntRange(least, 50).Draw(t, "count")
		return &n
	}
	return nil
}

func drawArtifacts(t *rapid.T) Artifacts {
	name := rapid.StringN(1, 8, -1)
	item := func() ContextItem {
		return ContextItem{DocID: name.Draw(t, "doc"), ChunkID: rapid.StringN(0, 3, -1).Draw(t, "chunk"), Position: drawCount(t, 1), Tokens: drawCount(t, 0), Text: drawText(t)}
	}
	var a Artifacts
	for range rapid.IntRange(0, 2).Draw(t, "retrievals") {
		r := Retrieval{Candidates: []Passage{}, Depth: 3}
		if v := drawValue(t, "query"); !IsNull(v) {
			r.Query = v
		}
		for range rapid.IntRange(0, 3).Draw(t, "candidates") {
			p := Passage{DocID: name.Draw(t, "doc"), ChunkID: rapid.StringN(0, 3, -1).Draw(t, "chunk"), Text: drawText(t)}
			if rapid.Bool().Draw(t, "scored") {
				f := rapid.Float64().Draw(t, "score") + 0 // no negative zero
				p.Score = &f
			}
			if rapid.Bool().Draw(t, "metadata") {
				p.Metadata = Value(`{"a":1}`)
			}
			r.Candidates = append(r.Candidates, p)
		}
		a.Retrieval = append(a.Retrieval, r)
	}
	for range rapid.IntRange(0, 2).Draw(t, "contexts") {
		c := Context{Items: []ContextItem{}, Dropped: []DroppedItem{}, TokenBudget: drawCount(t, 0), Source: rapid.SampledFrom(contextSources).Draw(t, "source")}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			c.Items = append(c.Items, item())
		}
		for range rapid.IntRange(0, 2).Draw(t, "dropped") {
			c.Dropped = append(c.Dropped, DroppedItem{item(), rapid.SampledFrom(dropReasons).Draw(t, "reason")})
		}
		a.Context = append(a.Context, c)
	}
	for range rapid.IntRange(0, 2).Draw(t, "citations") {
		a.Citations = append(a.Citations, Citations{IDs: append([]string{}, rapid.SliceOfN(name, 0, 3).Draw(t, "ids")...)})
	}
	if rapid.Bool().Draw(t, "other") {
		a.Other = map[string][]Value{"notes/v2": {drawValue(t, "other")}}
	}
	return a
}

func TestCaseLineRoundTrip(t *testing.T) {
	m := manifest()
	rapid.Check(t, func(t *rapid.T) {
		c := Case{ID: rapid.StringN(1, 20, -1).Draw(t, "id"), Input: Value(`{"q":"x"}`), GroupID: rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")}
		if v := drawValue(t, "expected"); !IsNull(v) {
			c.Expected = v
		}
		if rapid.Bool().Draw(t, "metadata") {
			c.Metadata = Value(`{"topic":"é"}`)
		}
		c.Digest, _ = CaseDigest(&c)
		e := Execution{
			Status: StatusOK, Output: drawValue(t, "output"), LatencyMS: rapid.Float64Range(0, 1e6).Draw(t, "latency"),
			StartedAt: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "start"), 0).UTC(), FromCache: rapid.Bool().Draw(t, "cached"), Artifacts: drawArtifacts(t), Usage: drawUsage(t), RawOutput: drawRawOutput(t),
		}
		if rapid.Bool().Draw(t, "failed") {
			e.Status, e.Output = StatusError, nil
			e.Error = &ExecutionError{Kind: ErrStatus, Message: rapid.String().Draw(t, "message"), HTTPStatus: 500, URL: "http://x/", Snippet: rapid.String().Draw(t, "snippet")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "attempts") {
			e.Attempts = append(e.Attempts, Attempt{HTTPStatus: 500, Error: ErrStatus, LatencyMS: 1.25, WaitMS: rapid.Float64Range(0, 10).Draw(t, "wait")})
		}
		judgments := drawJudgments(t, m, true)
		line := AppendCaseLine(nil, m, &c, &e, judgments)
		checkCanonical(t, line)
		got, err := DecodeCaseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(c, got.Case); diff != "" {
			t.Fatalf("case (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(e, got.Execution); diff != "" {
			t.Fatalf("execution (-want +got):\n%s", diff)
		}
		byName := map[string]Judgment{}
		for _, j := range got.Judgments {
			byName[j.Criterion] = j.Judgment
		}
		for i, want := range judgments {
			if got := byName[judgedID(m, i)]; got != want {
				t.Fatalf("judgment %d = %+v, want %+v", i, got, want)
			}
		}
	})
}

func TestDecodeOutcomeRefuses(t *testing.T) {
	m := &Manifest{Metrics: []MetricSpec{{ID: "ok", Kind: Rate}, {ID: "mean", Kind: Mean, Range: [2]float64{0, 1}}}, Slices: []string{"s"}}
	good := `{"attempts":1,"digest":"sha256:` + strings.Repeat("0", 64) + `","id":"a","judgments":{"mean":{"state":"observed","value":0.5},"ok":{"state":"observed","value":1}},"latency_ms":1,"status":"OK"}`
	for _, c := range []struct{ name, old, new, want string }{
		{"spaces and an unknown key are fine", `{"attempts"`, ` { "usage" : {"a": [1]} , "attempts"`, ""},
		{"nothing", good, ``, "want an object"},
		{"a list", good, `[]`, "want an object"},
		{"two lines", good, good + good, "end of the line"},
		{"unknown criterion", `"ok"`, `"other"`, `criterion "other" is not one`},
		{"criterion twice", `"ok":{`, `"mean":{`, "stands twice"},
		{"criterion missing", `,"ok":{"state":"observed","value":1}`, ``, `no judgment of "ok"`},
		{"half a pass", `"value":1`, `"value":0.25`, "want 0 or 1"},
		{"score out of range", `0.5`, `1.5`, "outside"},
		{"value as text", `0.5`, `"0.5"`, "want a number"},
		{"not a number", `0.5`, `NaN`, "want a number"},
		{"hexadecimal", `0.5`, `0x1p-1`, "want a number"},
		{"infinite", `0.5`, `1e999`, "fits a double"},
		{"value of a missing judgment", `"state":"observed","value":1}`, `"state":"missing","value":1}`, "no other has"},
		{"missing without a reason", `"state":"observed","value":1}`, `"state":"missing"}`, "reason"},
		{"reason that is no code", `"state":"observed","value":1}`, `"state":"missing","reason":"See \u001b[2J"}`, "is no code"},
		{"reason too long", `"state":"observed","value":1}`, `"state":"missing","reason":"` + strings.Repeat("a", 65) + `"}`, "is no code"},
		{"error that is no code", `"id":"a"`, `"id":"a","error":"<b>"`, "is no code"},
		{"unknown state", `"state":"observed","value":1}`, `"state":"passed","value":1}`, "want observed"},
		{"unknown key in a judgment", `"state":"observed","value":1}`, `"x":1,"state":"observed","value":1}`, "unknown key"},
		{"digest cut", `000"`, `00"`, "digest"},
		{"no id", `"id":"a"`, `"id":""`, "no id"},
		{"id twice", `"id":"a"`, `"id":"a","id":"b"`, "twice"},
		{"status", `"OK"`, `"FINE"`, "status"},
		{"unknown slice", `"status"`, `"slices":{"t":"x"},"status"`, `slice "t"`},
		{"slice value is a number", `"status"`, `"slices":{"s":1},"status"`, "want a string"},
		{"negative latency", `"latency_ms":1`, `"latency_ms":-1`, "negative"},
		{"unknown value is no JSON", `{"attempts"`, `{"x":tru,"attempts"`, "want a JSON value"},
		{"bad UTF-8", `"id":"a"`, "\"id\":\"\xff\"", "want a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := strings.Replace(good, c.old, c.new, 1)
			err := DecodeOutcome([]byte(line), m, &Outcome{})
			if c.want == "" && err == nil {
				return
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %q", line, err, c.want)
			}
		})
	}
}

// The lines of python_cases.jsonl were exported by Oloproof 0.1.0a20 (PyPI)
// from an example project with texts of our own: an answered case, a case
// without labels and a case whose call failed.
func TestDecodePythonCaseLines(t *testing.T) {
	file, err := os.ReadFile("testdata/python_cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(file), []byte("\n"))
	var got []string
	for _, line := range lines {
		l, err := DecodeCaseLine(line)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kind := ErrorKind("")
		if l.Execution.Error != nil {
			kind = l.Execution.Error.Kind
		}
		words := []string{}
		for _, j := range l.Judgments {
			words = append(words, fmt.Sprintf("%s=%d/%v/%s", j.Criterion, j.State, j.Value, j.Reason))
		}
		got = append(got, fmt.Sprintf("%s %s %q artifacts=%d,%d,%d %s", l.Case.ID, l.Execution.Status, kind,
			len(l.Execution.Artifacts.Retrieval), len(l.Execution.Artifacts.Context), len(l.Execution.Artifacts.Citations), strings.Join(words, " ")))
		// The scenario's own digest is of another domain, ours is of its content.
		var python struct {
			Scenario struct{ Input, Expected, Metadata json.RawMessage }
		}
		if err := json.Unmarshal(line, &python); err != nil {
			t.Fatal(err)
		}
		want, _ := CaseDigest(&Case{Input: Value(python.Scenario.Input), Expected: Value(python.Scenario.Expected), Metadata: Value(python.Scenario.Metadata)})
		if l.Case.Digest != want {
			t.Errorf("digest of %s = %s, want %s", l.Case.ID, l.Case.Digest, want)
		}
	}
	want := pythonCases
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the lines of the Python tool say of a case and of one judgment.
func TestDecodePythonWords(t *testing.T) {
	judgment := func(text string) string {
		return `{"scenario":{"id":"a","input":1},"execution":{"status":"OK","output":1},"judgments":{"c":` + text + `}}`
	}
	execution := func(text string) string {
		return `{"scenario":{"id":"a","input":1},"link":null,"execution":` + text + `,"judgments":{}}`
	}
	failed := func(kind, message string) string {
		return execution(fmt.Sprintf(`{"status":"ERROR","output":null,"latency_ms":1,"error":{"type":%q,"message":%q,"detail":null}}`, kind, message))
	}
	for _, c := range []struct{ line, want string }{
		{judgment(`{"status":"OK","outcome":{"passed":true}}`), "OK 1/1//"},
		{judgment(`{"status":"OK","outcome":{"passed":false}}`), "OK 1/0//"},
		{judgment(`{"status":"OK","outcome":{"score":0.25}}`), "OK 1/0.25//"},
		{judgment(`{"status":"OK","outcome":{"passed":null,"score":-3}}`), "OK 1/-3//"},
		{judgment(`{"status":"NOT_APPLICABLE","outcome":null,"not_applicable_reason":"no_expected"}`), "OK 3/0/no_expected/"},
		{judgment(`{"status":"NOT_APPLICABLE","not_applicable_reason":"The user is blocked"}`), "OK 3/0/not_applicable/The user is blocked"},
		{judgment(`{"status":"ERROR","error":{"type":"MissingFieldError","message":"no field"}}`), "OK 2/0/missing_field/no field"},
		{judgment(`{"status":"ERROR","error":{"type":"ShallowRetrievalError","message":"shallow"}}`), "OK 2/0/depth_below_k/shallow"},
		{judgment(`{"status":"ERROR","error":{"type":"ValueError","message":"bad"}}`), "OK 2/0/evaluator_error/bad"},
		{judgment(`{"status":"ERROR","error":null}`), "OK 2/0/evaluator_error/"},
		{judgment(`{"status":"OK","outcome":{"passed":"yes"}}`), "c: outcome.passed: want true or false"},
		{judgment(`{"status":"OK","outcome":{"passed":1}}`), "c: outcome.passed: want true or false"},
		{judgment(`{"status":"OK","outcome":{"score":"1"}}`), "want a number"},
		{judgment(`{"status":"OK","outcome":null}`), "outcome.score"},
		{judgment(`{"status":"NOT_APPLICABLE"}`), "no reason"},
		{judgment(`{"status":"FINE"}`), `status "FINE" is none`},
		{judgment(`{"status":null}`), "is none"},
		{execution(`null`), "NOT_RUN"},
		{execution(`{"status":"OK","output":null}`), "OK"},
		{execution(`{"status":"OK"}`), "no output"},
		{execution(`{"status":"OK","output":1,"latency_ms":-1}`), "negative"},
		{failed("TransientError", "system returned HTTP 503"), "ERROR http_status 503 system returned HTTP 503"},
		{failed("TransientError", "system returned HTTP 1e9"), "ERROR http_status 0 system returned HTTP 1e9"},
		{failed("TransientError", "system request timed out"), "ERROR timeout 0 system request timed out"},
		{failed("TransientError", "system connection failed (ConnectError)"), "ERROR connection_failed 0 system connection failed (ConnectError)"},
		{failed("JSONDecodeError", "Expecting value"), "ERROR invalid_json 0 Expecting value"},
		{failed("KeyError", "\"missing output path 'x'\""), "ERROR missing_output 0 \"missing output path 'x'\""},
		{failed("ValueError", "no such page"), "ERROR program_failed 0 ValueError: no such page"},
	} {
		l, err := DecodeCaseLine([]byte(c.line))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = string(l.Execution.Status)
			if e := l.Execution.Error; e != nil {
				got += fmt.Sprintf(" %s %d %s", e.Kind, e.HTTPStatus, e.Message)
			}
			for _, j := range l.Judgments {
				got += fmt.Sprintf(" %d/%v/%s/%s", j.State, j.Value, j.Reason, j.Detail)
			}
		}
		if err != nil && !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s\n is %q, want %q", c.line, got, c.want)
		}
	}
}

func TestNewRunID(t *testing.T) {
	rand := bytes.NewReader(make([]byte, 30))
	first := NewRunID(time.UnixMilli(1764511394000), rand)
	second := NewRunID(time.UnixMilli(1764511394001), rand)
	if !strings.HasPrefix(first, "run_01KB") || len(first) != 30 || first >= second {
		t.Errorf("ids %q and %q: want run_ and 26 characters that sort by time", first, second)
	}
}

var pythonCases = []string{
	`trial OK "" artifacts=1,1,1 ok=1/1/ hit_rate_at_2=1/1/ ndcg_at_2=1/0.6309297535714575/ citations_valid=1/1/`,
	`hours OK "" artifacts=1,1,1 ok=1/0/ hit_rate_at_2=3/0/no_relevance_labels ndcg_at_2=3/0/no_relevance_labels citations_valid=1/1/`,
	`gone ERROR "http_status" artifacts=0,0,0 `,
}

func drawRawOutput(t *rapid.T) Value {
	if !rapid.Bool().Draw(t, "stripped") {
		return nil
	}
	return Value(`"<think>x</think> ` + rapid.StringMatching(`[a-z]*`).Draw(t, "raw") + `"`)
}

// How a judge came to a judgment stands in cases.jsonl and nowhere else.
func TestAsked(t *testing.T) {
	m := &Manifest{Metrics: []MetricSpec{{ID: "g", Kind: Rate, Range: [2]float64{0, 1}}}}
	cost, p := 0.0125, 0.875
	full := Judgment{State: Judged, Value: 1, Detail: "It says so.", Cached: true, Asked: &Asked{
		Model: "m-1", Prompt: "rubric_judge@1", Calls: 2, InputTokens: 5_000_000_000, OutputTokens: 7, CostUSD: &cost,
		LatencyMS: 1.5, Probability: &p, Route: RouteEscalated, Reply: "x\n\u2028",
	}}
	zero := 0.0
	for _, j := range []Judgment{full, {State: Missing, Reason: ReasonJudgeReply, Asked: &Asked{}}, {State: Judged, Asked: &Asked{Probability: &zero, CostUSD: &zero}}, {State: Judged, Cached: true}} {
		c, e := Case{ID: "a", Input: Value(`1`)}, Execution{Status: StatusOK, Output: Value(`"o"`)}
		line := AppendCaseLine(nil, m, &c, &e, []Judgment{j})
		got, err := DecodeCaseLine(line)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if d := cmp.Diff(j, got.Judgments[0].Judgment); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
		o := OutcomeOf(&c, &e, nil, []Judgment{j})
		o.Digest = got.Case.Digest
		short := AppendOutcome(nil, m, &o)
		for _, word := range []string{"asked", "m-1", "says so", "escalated"} {
			if strings.Contains(string(short), word) {
				t.Errorf("judgments.jsonl holds %q: %s", word, short)
			}
		}
		var back Outcome
		if err := DecodeOutcome(short, m, &back); err != nil || back.Judgments[0].Cached != j.Cached {
			t.Errorf("%s: %+v, %v", short, back.Judgments, err)
		}
	}
}

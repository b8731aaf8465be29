package probe

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

var update = flag.Bool("update", false, "rewrite expected outputs")

const question = "How long is the battery warranty?"

// endpoints holds bodies of deployed services; see its README.
const endpoints = "../../testdata/endpoints"

type expected struct {
	File   string
	Result struct {
		Answer     *string
		Candidates []struct {
			DocID string `json:"doc_id"`
		}
		CitationIDs []string `json:"citation_ids"`
	}
}

func readMappings(t *testing.T) map[string]expected {
	t.Helper()
	all := map[string]expected{}
	for _, name := range []string{"mappings.json", "more.json"} {
		data, err := os.ReadFile(filepath.Join(endpoints, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func body(t *testing.T, path string) evidence.Value {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := evidence.ParseJSON(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// run gives what a jq expression yields.
func run(t *testing.T, expression string, v evidence.Value) any {
	t.Helper()
	q, err := gojq.Parse(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var in any
	if err := dec.Decode(&in); err != nil {
		t.Fatal(err)
	}
	iter := q.Run(in)
	out, ok := iter.Next()
	if !ok {
		t.Fatalf("%s yields nothing", expression)
	}
	if err, ok := out.(error); ok {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// answerOf maps the answer as proposed.
func answerOf(t *testing.T, p *Proposal, v evidence.Value) string {
	t.Helper()
	if p.Answer == nil {
		return ""
	}
	text := ""
	if p.Answer.JQ != "" {
		text, _ = run(t, p.Answer.JQ, v).(string)
	} else {
		found, err := evidence.Lookup(v, p.Answer.Path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ = evidence.Text(found)
	}
	for _, s := range p.Answer.Strip {
		switch {
		case s.Name == "think":
			text = thinkBlock().ReplaceAllString(text, "")
		case s.Name == "references":
			text = references().ReplaceAllString(text, "")
		case s.Regex != "":
			text = fileMarker().ReplaceAllString(text, "")
		}
	}
	return text
}

// docsOf maps the ids of the documents as proposed.
func docsOf(t *testing.T, p *Proposal, v evidence.Value) []string {
	t.Helper()
	if p.Sources == nil {
		return nil
	}
	var ids []string
	if p.Sources.JQ != "" {
		for _, c := range run(t, p.Sources.JQ, v).([]any) {
			ids = append(ids, fmt.Sprint(c.(map[string]any)["doc_id"]))
		}
		return ids
	}
	items, err := evidence.Lookup(v, p.Sources.Items)
	if err != nil {
		t.Fatal(err)
	}
	for item := range evidence.Elements(items) {
		id := ""
		for _, path := range p.Sources.Doc.Paths {
			if found, err := evidence.Lookup(item, path); err == nil && !evidence.IsNull(found) {
				if id, _ = evidence.Text(found); id == "" {
					id = string(found)
				}
				break
			}
		}
		if p.Sources.Doc.Cut {
			id = id[strings.LastIndexByte(id, '/')+1:]
		}
		ids = append(ids, id)
	}
	return ids
}

// outcome is how a proposal compares with what a mapping must give.
type outcome struct {
	right          bool
	answer, docs   string // for the table
	sure           Sureness
	missed, detail string
}

func compare(t *testing.T, p *Proposal, v evidence.Value, wantAnswer string, wantDocs []string) outcome {
	t.Helper()
	answer, docs := answerOf(t, p, v), docsOf(t, p, v)
	o := outcome{answer: "none", docs: "none", sure: Sure}
	if p.Answer != nil {
		o.answer, o.sure = "`"+p.Answer.Path+"`", p.Answer.Sure
		if p.Answer.Path == "" {
			o.answer = "jq"
		}
	}
	if p.Sources != nil {
		o.sure = min(o.sure, p.Sources.Sure)
		o.docs = "`" + p.Sources.Items + "`, id `" + strings.Join(p.Sources.Doc.Paths, "` or `") + "`"
		if p.Sources.JQ != "" {
			o.docs = "jq, id `" + strings.Join(p.Sources.Doc.Paths, "` or `") + "`"
		}
	}
	var missed []string
	if answer != wantAnswer {
		missed = append(missed, "answer")
	}
	if !slices.Equal(docs, wantDocs) {
		missed = append(missed, "documents")
	}
	o.missed, o.right = strings.Join(missed, ", "), len(missed) == 0
	o.detail = fmt.Sprintf("answer %q, want %q; documents %q, want %q", answer, wantAnswer, docs, wantDocs)
	return o
}

// What the bodies and streams of deployed services are mapped to by structure
// alone, no preset consulted. The table is in docs/endpoints.md.
func TestUnaided(t *testing.T) {
	mappings := readMappings(t)
	var rows []string
	right, all := 0, 0
	row := func(name string, o outcome) {
		all++
		verdict := "yes"
		if o.right {
			right++
		} else {
			verdict = "no: " + o.missed
			t.Logf("%s: %s", name, o.detail)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", name, o.answer, o.docs, o.sure, verdict))
	}
	for _, name := range slices.Sorted(maps.Keys(mappings)) {
		want := mappings[name]
		v := body(t, filepath.Join(endpoints, "responses", want.File))
		answer := ""
		if want.Result.Answer != nil {
			answer = *want.Result.Answer
		}
		var docs []string
		for _, c := range want.Result.Candidates {
			docs = append(docs, c.DocID)
		}
		row(want.File, compare(t, Propose(v, []string{question}), v, answer, docs))
	}
	bodies := right
	if 3*right < 2*all {
		t.Errorf("%d of %d bodies are mapped rightly, want two thirds", right, all)
	}
	references := regexp.MustCompile(`\n\n### References(?s:.*)`)
	streams := readStreams(t)
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		want := streams[name]
		if want.State != "complete" {
			continue
		}
		s := readStream(t, name)
		p := Propose(s.Document, []string{question})
		docs := want.Documents
		if docs == nil && want.FirstSource != nil {
			docs = []string{*want.FirstSource}
		}
		row(name, compare(t, p, s.Document, references.ReplaceAllString(thinkBlock().ReplaceAllString(want.Answer, ""), ""), docs))
	}
	text := fmt.Sprintf("%d of %d: %d of %d bodies and %d of %d streams.\n\n| body or stream | answer | sources | how sure | right |\n|---|---|---|---|---|\n%s\n",
		right, all, bodies, len(mappings), right-bodies, all-len(mappings), strings.Join(rows, "\n"))
	golden(t, "unaided", text)
}

// Shapes of no service that we know, with what leads astray: an echo, titles, ranks,
// distances, ids that name no document. What is not certain is not said to be.
func TestUnheardOf(t *testing.T) {
	const p1 = "Every battery that we sell is covered for 24 months, counted from delivery."
	const p2 = "The cover ends early when the pack was opened by somebody else."
	for _, c := range []struct {
		name, body   string
		answer, docs string
		sure, likely Sureness // of the answer, of the sources: at most
		score        string
	}{
		{"an echo of the question, ids beside titles, ranks", `{"query":"` + question + `","output":{"final":"It is covered for 24 months."},"hits":[{"title":"Battery","uid":"d-1","rank":1,"snippet":"` + p1 + `"},{"title":"Cover","uid":"d-7","rank":2,"snippet":"` + p2 + `"}]}`,
			"It is covered for 24 months.", "d-1 d-7", Unsure, Likely, ""},
		{"titles alone", `{"message":"It is covered for 24 months.","references":[{"rank":1,"title":"Battery warranty","excerpt":"` + p1 + `"},{"rank":2,"title":"Battery warranty","excerpt":"` + p2 + `"}]}`,
			"It is covered for 24 months.", "Battery warranty Battery warranty", Likely, Unsure, ""},
		{"who it is sent to is no document", `[{"recipient_id":"u1","text":"It is covered for 24 months."},{"recipient_id":"u1","text":"May I do something else for you?"}]`,
			"It is covered for 24 months.", "", Unsure, Sure, ""},
		{"an answer in each source", `{"answers":[{"answer":"24 months","score":0.92,"context":"` + p1 + `","document_id":"d1"},{"answer":"half charge","score":0.03,"context":"` + p2 + `","document_id":"d9"}]}`,
			"24 months", "d1 d9", Unsure, Likely, "score"},
		{"a score that is a rank", `{"history":[{"role":"user","content":"` + question + `"},{"role":"assistant","content":"It is covered for 24 months."}],"chunks":[{"file":"a.md","score":1,"body":"` + p1 + `"},{"file":"b.md","score":2,"body":"` + p2 + `"}]}`,
			"It is covered for 24 months.", "a.md b.md", Sure, Sure, ""},
		{"a distance", `{"text":"It is covered for 24 months.","matches":[{"distance":0.12,"metadata":{"path":"a.md","text":"` + p1 + `"}},{"distance":0.55,"metadata":{"path":"b.md","text":"` + p2 + `"}}]}`,
			"It is covered for 24 months.", "a.md b.md", Likely, Sure, ""},
		{"the prompt", `{"answer":"It is covered for 24 months.","debug":{"prompt":"You are an assistant. ` + p1 + ` ` + p2 + ` ` + question + `","retrieved":[{"key":"kb-0","sim":0.9,"content":"` + p1 + `"},{"key":"kb-1","sim":0.4,"content":"` + p2 + `"}]}}`,
			"It is covered for 24 months.", "kb-0 kb-1", Sure, Likely, ""},
		{"JSON in text", `{"statusCode":200,"body":"{\"answer\":\"It is covered for 24 months.\",\"evidence\":[{\"doc\":\"kb-1\",\"passage\":\"` + p1 + `\"}]}"}`,
			"It is covered for 24 months.", "kb-1", Sure, Likely, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := evidence.ParseJSON([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			p := Propose(v, []string{question})
			o := compare(t, p, v, c.answer, strings.Fields(c.docs))
			if got := strings.Join(docsOf(t, p, v), " "); p.Answer == nil || answerOf(t, p, v) != c.answer || got != c.docs {
				t.Fatalf("%s (documents %s)", o.detail, got)
			}
			if p.Answer.Sure > c.sure || p.Sources != nil && p.Sources.Sure > c.likely {
				t.Errorf("answer %s, sources %+v: too sure", p.Answer.Sure, p.Sources)
			}
			if p.Sources != nil && strings.Join(p.Sources.Score.Paths, "") != c.score {
				t.Errorf("score at %q, want %q", p.Sources.Score.Paths, c.score)
			}
		})
	}
}

// golden compares a part of docs/endpoints.md with what a test computes.
func golden(t *testing.T, name, want string) {
	t.Helper()
	const page = "../../docs/endpoints.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by a test -->\n", "<!-- /"+name+" -->\n"
	before, rest, found := strings.Cut(string(data), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part %s", page, name)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+"\n"+want+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s, part %s (-want +got); run with -update:\n%s", page, name, diff)
	}
}

// Shapes of nobody's service: what stands where is still found.
func TestInventedShapes(t *testing.T) {
	for _, c := range []struct{ body, answer, docs string }{
		{`[{"answer": "It is covered for five years.", "refs": [{"doc": "frame.md", "quote": "Every frame is covered for five years."}, {"doc": "lights.md", "quote": "Lights need no battery."}]}]`, "It is covered for five years.", "frame.md lights.md"},
		{`{"status": "ok", "result": {"final": {"say": "It is covered for five years."}, "supporting": [{"path": "/kb/frame.md", "similarity": 0.8, "passage": "Every frame is covered."}]}}`, "It is covered for five years.", "/kb/frame.md"},
		{`{"reply": "It is covered for five years.", "matches": {"ids": ["frame", "lights"], "documents": ["Every frame is covered for five years.", "Lights need no battery, now or ever."], "distances": [0.2, 0.7]}}`, "It is covered for five years.", "frame lights"},
		{`{"data": {"ask": {"text": "It is covered for five years.", "evidence": {"edges": [{"node": {"documentId": "d1", "body": "Every frame is covered."}}, {"node": {"documentId": "d2", "body": "Lights need no battery."}}]}}}}`, "It is covered for five years.", "d1 d2"},
		{`{"message": "OK", "payload": {"content": "It is covered for five years."}}`, "It is covered for five years.", ""},
		{`"It is covered for five years."`, "It is covered for five years.", ""},
		{`{"root": {"children": [{"id": "id:kb:doc::frame", "relevance": 0.9, "fields": {"text": "Every frame is covered."}}, {"id": "id:kb:doc::lights", "relevance": 0.4, "fields": {"text": "Lights need no battery."}}]}, "generated": "It is covered for five years."}`, "It is covered for five years.", "id:kb:doc::frame id:kb:doc::lights"},
		{`{"prediction": "Yes", "explanation": {"facts": [{"statement": "Every frame is covered.", "origin": "frame.md"}]}}`, "Yes", "frame.md"},
		{`{"sources": [], "took": 12, "code": 0}`, "", ""},
		{`{}`, "", ""},
		{`null`, "", ""},
		{`[]`, "", ""},
		{`12`, "", ""},
	} {
		v, err := evidence.ParseJSON([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		p := Propose(v, []string{question})
		if answer, docs := answerOf(t, p, v), strings.Join(docsOf(t, p, v), " "); answer != c.answer || docs != c.docs {
			t.Errorf("%s:\nanswer %q, want %q; documents %q, want %q", c.body, answer, c.answer, docs, c.docs)
		}
	}
}

// Markers of no known form are proposed as an expression that counts the sources.
func TestLetteredMarkers(t *testing.T) {
	for marker, want := range map[string]string{"(src:2)": "kb/b.md", "[S1]": "kb/a.md", "[Source 2]": "kb/b.md", "(step 1)": "", "(p. 2)": ""} {
		p := Propose(evidence.Value(`{"reply": "A team plan has five seats `+marker+`.", "evidence": [{"file": "kb/a.md", "snippet": "Five seats in a plan."}, {"file": "kb/b.md", "snippet": "Seats are counted."}]}`), nil)
		got := ""
		if c := p.Citations; c != nil {
			got = strings.Join(c.IDs, " ")
			if yaml := p.YAML(nil); !strings.Contains(yaml, "markers: {regex: '") || strings.Contains(yaml, "ids: true") {
				t.Errorf("%s:\n%s", marker, yaml)
			}
		}
		if got != want {
			t.Errorf("%s: cites %q, want %q", marker, got, want)
		}
	}
}

package mapping

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// drawJSON draws a JSON value.
func drawJSON(t *rapid.T, depth int) evidence.Value {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return evidence.Value("null")
	case 1:
		return evidence.Value(rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool"))
	case 2:
		return evidence.Value(rapid.SampledFrom([]string{"0", "-1", "1.50", "1e3", "50000000014435121", "123456789012345678901234567890"}).Draw(t, "number"))
	case 3, 4:
		return quote(rapid.String().Draw(t, "text"))
	case 5:
		out := evidence.Value("[")
		for i := range rapid.IntRange(0, 3).Draw(t, "length") {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(out, drawJSON(t, depth-1)...)
		}
		return append(out, ']')
	}
	out := evidence.Value("{")
	for i, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c d", "ü", `q"`, "0", "1"}), 0, 3, rapid.ID).Draw(t, "names") {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(name)...), " : "...), drawJSON(t, depth-1)...)
	}
	return append(out, '}')
}

func canonical(t interface{ Fatal(...any) }, v evidence.Value) string {
	out, err := evidence.Canonical(v)
	if err != nil {
		t.Fatal(string(v), err)
	}
	return string(out)
}

// TestDecodeKeepsValues: what jq sees is what was sent, digit for digit.
func TestDecodeKeepsValues(t *testing.T) {
	p, err := compileJQ(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 3)
		got, err := p.run(decode(v), nil)
		if err != nil || canonical(t, got) != canonical(t, v) {
			t.Fatalf("%s became %s, %v", v, got, err)
		}
	})
}

// TestLookupAgrees: the index of an element leads where a path leads.
func TestLookupAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 3)
		path := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c d", "ü", "0", "1", "2"}), 0, 3).Draw(t, "path"), ".")
		want, err := evidence.Lookup(v, path)
		got, ok := (&element{raw: v}).lookup(&answer{}, path)
		if ok != (err == nil) || ok && string(got) != string(want) {
			t.Fatalf("%q in %s: %s, %v; want %s, %v", path, v, got, ok, want, err)
		}
	})
}

// TestRequestsHoldWhatTheyAreGiven: whatever a case holds stands in the request
// as it is, and nowhere else.
func TestRequestsHoldWhatTheyAreGiven(t *testing.T) {
	calls := &Calls{Main: Request{
		Method: "POST", Path: "/a/{{case.input.t}}/b", Query: []Pair{{Name: "q&", Value: "x {{case.input.t}}"}},
		Body: evidence.Value(`{"v": "{{case.input.v}}", "t": "<{{case.input.t}}>", "j": "{{case.input.v | tojson}}", "n": 1.50, "{{x}}": ["{{case.id}}"]}`),
	}}
	s, problems := CompileCalls(calls, nil)
	if problems != nil {
		t.Fatal(problems)
	}
	rapid.Check(t, func(t *rapid.T) {
		v, text, id := drawJSON(t, 3), rapid.String().Draw(t, "t"), rapid.String().Draw(t, "id")
		input := evidence.Value(`{"v": ` + string(v) + `, "t": ` + string(quote(text)) + `}`)
		f, err := s.Main.Fill(&Scope{Case: &evidence.Case{ID: id, Input: input}})
		if text == "." || text == ".." { // leads to another path
			if err == nil {
				t.Fatalf("path %q", f.Path)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := evidence.ParseJSON(f.Body)
		if err != nil {
			t.Fatalf("%s: %v", f.Body, err)
		}
		get := func(path string) evidence.Value {
			v, err := evidence.Lookup(body, path)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		if canonical(t, get("v")) != canonical(t, v) {
			t.Fatalf("v is %s, want %s", get("v"), v)
		}
		if got, _ := evidence.Text(get("t")); got != "<"+text+">" {
			t.Fatalf("t is %q", got)
		}
		if got, _ := evidence.Text(get("j")); canonical(t, evidence.Value(got)) != canonical(t, v) {
			t.Fatalf("j is %q", got)
		}
		if query, err := url.ParseQuery(f.Query); err != nil || len(query) != 1 || query.Get("q&") != "x "+text {
			t.Fatalf("query %q, %v", f.Query, err)
		}
		segments := strings.Split(f.Path, "/")
		if len(segments) != 4 {
			t.Fatalf("path %q", f.Path)
		}
		if got, err := url.PathUnescape(segments[2]); err != nil || got != text {
			t.Fatalf("path %q, %v", f.Path, err)
		}
	})
}

// FuzzTemplate: a template is read or refused, and text without braces is
// itself.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"", "a {{case.id}} b", "{{ uuid }}{{attempt}}", "{{case.input.a.0 | tojson}}", "{{", "}}", "{{}}", "{{case}}", "{{case.}}", "{{case.input..a}}", "{{a|b|c}}", "{{{{case.id}}}}"} {
		f.Add(seed)
	}
	scope := &Scope{Case: &evidence.Case{ID: "id", Input: evidence.Value(`{"a": ["x"]}`)}, UUID: "u", Attempt: 1, Depth: 2}
	f.Fuzz(func(t *testing.T, source string) {
		tpl, err := compileText(source, []string{Setup}, nil)
		if err != nil {
			return
		}
		text, err := tpl.Render(scope)
		if !strings.Contains(source, "{{") && (err != nil || text != source) {
			t.Errorf("%q became %q, %v", source, text, err)
		}
	})
}

// FuzzMarkers: an id is one of the list or can be no id of it; nothing is read
// from the end of the list.
func FuzzMarkers(f *testing.F) {
	for i, seed := range []string{"a [1].", "[0][1, 2][99999999999999999999]", "##0$$ ##3$$", "[ID:0]", "[[1]](http://x)", "【4:0†f】", "[citation:c-1][citation:zz]", "[doc0] [doc2]"} {
		f.Add(seed, i%len(styles()), 1, false)
	}
	artifacts := &evidence.Artifacts{Retrieval: []evidence.Retrieval{{Depth: 3, Candidates: []evidence.Passage{{DocID: "a", ChunkID: "c-1"}, {DocID: "b"}, {DocID: "a", ChunkID: "c-2"}}}}}
	f.Fuzz(func(t *testing.T, text string, style, base int, distinct bool) {
		all := styles()
		s := all[uint(style)%uint(len(all))]
		base &= 1
		c := &compiler{}
		m := c.marks(&Markers{Style: s.name, Base: &base, Of: evidence.RetrievalKind, Distinct: distinct}, "k")
		if c.problems != nil {
			t.Fatal(c.problems)
		}
		seen := map[string]bool{}
		for _, id := range m.find(text, artifacts) {
			if seen[id] {
				t.Errorf("%q twice", id)
			}
			seen[id] = true
			switch {
			case id == "a#c-1", id == "b", id == "a#c-2", id == "a":
			case s.ids, strings.HasPrefix(id, outOfRange):
			default:
				t.Errorf("%q is none of the list", id)
			}
		}
	})
}

// FuzzStrip: what is left is a part of the text, holds no reasoning, and stays.
func FuzzStrip(f *testing.F) {
	for _, seed := range []string{"", "<think>a</think>b", "a</think>b", "<think>a", "<THINK>x</Think> <thinking>y</thinking>z", "a [1]\n\nReferences:\n[1] x\n", "Sources\n- a\nand more", "## References\n1. a\n2) b"} {
		f.Add(seed)
	}
	s := &stripper{think: true, references: true}
	f.Fuzz(func(t *testing.T, text string) {
		once := s.judged(text)
		if len(once) > len(text) {
			t.Errorf("%q became longer: %q", text, once)
		}
		for _, tag := range thinkTags {
			if strings.Contains(asciiLower(once), "<"+tag+">") || strings.Contains(asciiLower(once), "</"+tag+">") {
				t.Errorf("%q keeps %s: %q", text, tag, once)
			}
		}
	})
}

// FuzzJQ: an expression gives one JSON value, or an error, and ends.
func FuzzJQ(f *testing.F) {
	for _, seed := range []string{".", ".a[0].b", ".[] | select(.x)", `"\(.a)"`, ".a |= . + 1", "try error catch .", "$main.a // empty", "reduce .[] as $x (0; . + $x)", "[limit(3; repeat(1))]", "@base64", "{a: 1} * {b: 2}", "label $f | break $f"} {
		f.Add(seed)
	}
	input := decode(evidence.Value(`{"a": [{"b": "x"}, 2], "n": 50000000014435121}`))
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 60 {
			return
		}
		p, err := compileJQ(source, []string{Main})
		if err != nil {
			return
		}
		v, err := p.run(input, []any{input})
		if err == nil {
			if _, err := evidence.ParseJSON(v); err != nil && !strings.Contains(err.Error(), "twice") {
				t.Errorf("%s gives %s: %v", source, v, err)
			}
		}
	})
}

// FuzzMap: whatever JSON a service answers, there is an output, or an error that
// says what is wrong. Many cases are mapped at one time.
func FuzzMap(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `{"a": "x [1]", "docs": [{"id": 1, "m": {"s": "0.5"}}, {"id": "b"}]}`, `{"a": {"answer": "<think>"}, "docs": {"id": 1}, "n": {"l": [{"l": [1]}, 2]}}`, `{"a": "x", "docs": [[], null, 1.5, {"id": ""}]}`} {
		f.Add([]byte(seed))
	}
	one := func(key string, paths ...string) Value { return Value{Paths: paths, Key: key} }
	docs, nested, text := one("d", "docs", "n.l"), one("n", "n.*.l.*"), one("o", "a")
	text.Type = "any"
	m, problems := Compile(Spec{
		OK: &Condition{Value: one("ok", "error"), Absent: true}, Output: Output{Value: &text}, Strip: []Strip{{Part: Think}, {Part: References}},
		Depth: Depth{N: 3}, Usage: Usage{InputTokens: &Value{Paths: []string{"n"}}},
		Artifacts: []Artifact{
			{Kind: evidence.RetrievalKind, Optional: true, Items: &docs, Fields: []Field{
				{Name: "doc_id", Value: one("id", "id", "m.id")}, {Name: "score", Value: Value{JQ: ".m.s"}}, {Name: "metadata", Value: one("m", "m")},
			}},
			{Kind: evidence.ContextKind, Optional: true, Items: &nested},
			{Kind: evidence.CitationsKind, Optional: true, Markers: &Markers{Style: "[1]", Of: evidence.RetrievalKind}},
			{Kind: "trace", Optional: true, Value: &Value{JQ: "$main.n"}},
		},
	}, nil)
	if problems != nil {
		f.Fatal(problems)
	}
	c := &evidence.Case{ID: "one"}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := evidence.ParseJSON(body)
		if err != nil {
			return
		}
		check := func() {
			r, err := m.Map(&Documents{Main: v}, c)
			var own *Error
			var broken *evidence.ContractError
			switch {
			case err == nil:
				if _, err := evidence.ParseJSON(r.Output); err != nil {
					t.Errorf("output %s: %v", r.Output, err)
				}
				var again evidence.Artifacts
				for _, x := range r.Artifacts.Retrieval {
					raw := evidence.AppendArtifacts(nil, &evidence.Artifacts{Retrieval: []evidence.Retrieval{x}})
					list, _ := evidence.Lookup(raw, evidence.RetrievalKind+".0")
					if err := evidence.DecodeArtifact(evidence.RetrievalKind, list, &again); err != nil {
						t.Errorf("%s: %v", list, err)
					}
				}
			case !errors.As(err, &own) && !errors.As(err, &broken):
				t.Errorf("%T: %v", err, err)
			}
		}
		var both sync.WaitGroup
		both.Go(check)
		check()
		both.Wait()
	})
}

package evidence

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is accepted and what is refused was tried with Oloproof 0.1.0a20 (PyPI).
func TestDecodeArtifact(t *testing.T) {
	for _, c := range []struct {
		kind, in string
		want     string // error, or "" when accepted
	}{
		{RetrievalKind, `{"depth":1,"candidates":[]}`, ``},
		{RetrievalKind, `{"depth":1,"candidates":[{"doc_id":" ","chunk_id":null,"score":null,"text":null,"metadata":{"x":1}}],"query":[1]}`, ``},
		{RetrievalKind, `null`, `want an object, found null`},
		{RetrievalKind, `[]`, `want an object, found []`},
		{RetrievalKind, `{"candidates":[]}`, `depth: missing, it is required`},
		{RetrievalKind, `{"depth":1}`, `candidates: missing, it is required`},
		{RetrievalKind, `{"depth":0,"candidates":[]}`, `depth: want a whole number of at least 1, found 0`},
		{RetrievalKind, `{"depth":"3","candidates":[]}`, `depth: want a whole number, found "3"`},
		{RetrievalKind, `{"depth":3.0,"candidates":[]}`, `depth: want a whole number, found 3.0`},
		{RetrievalKind, `{"depth":3e0,"candidates":[]}`, `depth: want a whole number, found 3e0`},
		{RetrievalKind, `{"depth":true,"candidates":[]}`, `depth: want a whole number, found true`},
		{RetrievalKind, `{"depth":null,"candidates":[]}`, `depth: want a whole number, found null`},
		{RetrievalKind, `{"depth":99999999999999999999,"candidates":[]}`, `depth: want a smaller whole number, found 99999999999999999999`},
		{RetrievalKind, `{"depth":1,"candidates":null}`, `candidates: want a list, found null`},
		{RetrievalKind, `{"depth":1,"candidates":{}}`, `candidates: want a list, found {}`},
		{RetrievalKind, `{"depth":1,"candidates":[{"doc_id":"a"},{"doc_id":"b"}]}`, `candidates: 2 of them exceed the depth 1`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":"a"},5]}`, `candidates[1]: want an object, found 5`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":5}]}`, `candidates[0].doc_id: want a string, found 5`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":""}]}`, `candidates[0].doc_id: want a string that is not empty`},
		{RetrievalKind, `{"depth":3,"candidates":[{}]}`, `candidates[0].doc_id: missing, it is required`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":"a","chunk_id":""}]}`, `candidates[0].chunk_id: want a string that is not empty`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":"a","text":5}]}`, `candidates[0].text: want a string or null, found 5`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":"a","metadata":null}]}`, `candidates[0].metadata: want an object, found null`},
		{RetrievalKind, `{"depth":3,"candidates":[{"doc_id":"a","textt":"x"}]}`, `candidates[0].textt: unknown key, did you mean text?`},
		{RetrievalKind, `{"depth":3,"candidates":[],"took_ms":1}`, `took_ms: unknown key, allowed are query, depth, candidates, source`},
		{ContextKind, `{"items":[]}`, ``},
		{ContextKind, `{"items":[{"doc_id":"a","chunk_id":"c","position":1,"tokens":0,"text":"x"}],"token_budget":0,"source":"reranker"}`, ``},
		{ContextKind, `{"dropped":[]}`, `items: missing, it is required`},
		{ContextKind, `{"items":[],"dropped":null}`, `dropped: want a list, found null`},
		{ContextKind, `{"items":[],"token_budget":-1}`, `token_budget: want a whole number of at least 0, found -1`},
		{ContextKind, `{"items":[],"source":null}`, `source: want one of retrieval, gold_context, top_k_replay, reranker, found null`},
		{ContextKind, `{"items":[{"doc_id":"a","position":0}]}`, `items[0].position: want a whole number of at least 1, found 0`},
		{ContextKind, `{"items":[{"doc_id":"a","tokens":-1}]}`, `items[0].tokens: want a whole number of at least 0, found -1`},
		{ContextKind, `{"items":[{"doc_id":"a","reason":"top_k"}]}`, `items[0].reason: unknown key, allowed are doc_id, chunk_id, position, tokens, text`},
		{ContextKind, `{"items":[],"dropped":[{"doc_id":"a"}]}`, `dropped[0].reason: missing, it is required`},
		{ContextKind, `{"items":[],"dropped":[{"doc_id":"a","reason":"budget"}]}`, `dropped[0].reason: want one of top_k, token_budget, found "budget"`},
		{ContextKind, `{"items":[],"dropped":[{"reason":"top_k","doc_id":7}]}`, `dropped[0].doc_id: want a string, found 7`},
		{CitationsKind, `{"ids":["a","b#c"]}`, ``},
		{CitationsKind, `["a"]`, `want an object {"ids": [...]}, found a list`},
		{CitationsKind, `{}`, `ids: missing, it is required`},
		{CitationsKind, `{"ids":["a",7]}`, `ids[1]: want a string, found 7`},
		{CitationsKind, `{"ids":[""]}`, `ids[0]: want a string that is not empty`},
		{CitationsKind, `{"ids":[],"x":1}`, `x: unknown key, allowed are ids`},
		{"retrieval/v2", `[1,"anything"]`, ``},
	} {
		err := DecodeArtifact(c.kind, Value(c.in), &Artifacts{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("DecodeArtifact(%s, %s): %q; want %q", c.kind, c.in, got, c.want)
		}
	}
}

func TestScore(t *testing.T) {
	number := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		in   string
		want *float64
		ok   bool
	}{
		{`1`, number(1), true}, {`-1.5e2`, number(-150), true}, {`null`, nil, true}, {`true`, number(1), true}, {`false`, number(0), true},
		{`"1.5"`, number(1.5), true}, {`" 1.5\n"`, number(1.5), true}, {`"\u00a01.5"`, number(1.5), true}, {`"1_000"`, number(1000), true},
		{`"1_0.5"`, number(10.5), true}, {`"+1.5"`, number(1.5), true}, {`".5"`, number(.5), true}, {`"5."`, number(5), true}, {`"1e5"`, number(1e5), true}, {`"1e_5"`, number(1e5), true},
		{`"inf"`, nil, false}, {`"nan"`, nil, false}, {`"Infinity"`, nil, false}, {`""`, nil, false}, {`"0x10"`, nil, false}, {`"1__0"`, nil, false},
		{`"_1"`, nil, false}, {`"1_"`, nil, false}, {`"1 2"`, nil, false}, {`"\u0661"`, nil, false}, {`"1e400"`, nil, false},
		{strings.Repeat("9", 400), nil, false}, {`[]`, nil, false}, {`{}`, nil, false},
	} {
		got, err := score(Value(c.in))
		if (err == nil) != c.ok || cmp.Diff(c.want, got) != "" && c.ok {
			t.Errorf("score(%s) = %v, %v", c.in, got, err)
		}
	}
}

func TestContextNote(t *testing.T) {
	place := func(n int) *int { return &n }
	two := []Retrieval{{Depth: 2, Candidates: []Passage{{DocID: "a"}, {DocID: "b", ChunkID: "1"}}}}
	context := func(source string, items ...ContextItem) []Context {
		return []Context{{Items: items, Source: source}}
	}
	for _, c := range []struct {
		name string
		a    Artifacts
		want string
	}{
		{"agrees", Artifacts{Retrieval: two, Context: context("retrieval", ContextItem{DocID: "b", ChunkID: "1", Position: place(2)}, ContextItem{DocID: "a"})}, ""},
		{"chunk not named", Artifacts{Retrieval: two, Context: context("retrieval", ContextItem{DocID: "b", Position: place(2)})}, ""},
		{"beyond", Artifacts{Retrieval: two, Context: context("retrieval", ContextItem{DocID: "b", Position: place(3)})}, `context item "b" says position 3, but the retrieval has 2 candidates`},
		{"other document", Artifacts{Retrieval: two, Context: context("retrieval", ContextItem{DocID: "b", Position: place(1)})}, `context item "b" says position 1, but the retrieval has "a" there`},
		{"other chunk", Artifacts{Retrieval: two, Context: context("retrieval", ContextItem{DocID: "b", ChunkID: "2", Position: place(2)})}, `context item "b#2" says position 2, but the retrieval has "b#1" there`},
		{"dropped", Artifacts{Retrieval: two, Context: []Context{{Source: "retrieval", Dropped: []DroppedItem{{ContextItem{DocID: "c", Position: place(1)}, "top_k"}}}}}, `context dropped item "c" says position 1, but the retrieval has "a" there`},
		{"gold", Artifacts{Retrieval: two, Context: context("gold_context", ContextItem{DocID: "x", Position: place(9)})}, ""},
		{"no retrieval", Artifacts{Context: context("retrieval", ContextItem{DocID: "x", Position: place(9)})}, ""},
	} {
		if got := ContextNote(&c.a); got != c.want {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

func TestContractError(t *testing.T) {
	malformed := ContractError{CaseID: "a", Artifact: RetrievalKind, Path: "evidence.retrieval", Problem: "candidates[0].doc_id: want a string, found 5", Found: strings.Repeat("x", 500)}
	got := malformed.Error()
	for _, part := range []string{`case "a"`, "malformed retrieval/v1 artifact", `at "evidence.retrieval"`, "candidates[0].doc_id", "xxx…"} {
		if !strings.Contains(got, part) || len(got) > 400 {
			t.Errorf("%q lacks %q, or is long", got, part)
		}
	}
	missing := ContractError{CaseID: "a", Artifact: CitationsKind, Path: "evidence.citations", Problem: ProblemMissing, Found: `keys: "retrieval"`}
	want := `case "a": no citations/v1 artifact at "evidence.citations"; found keys: "retrieval" (if some answers have none by design, declare it as citations/v1: {path: evidence.citations, optional: true})`
	if got := missing.Error(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestLookup(t *testing.T) {
	v := Value(` {"a" : { "b.c": 1, "b" : [ 10 , {"é\n": null} , "x\"}" ], "" : true } , "k\u0065y":"v", "n": 7} `)
	for _, c := range []struct{ path, want, fault string }{
		{"", strings.TrimSpace(string(v)), ""},
		{"key", `"v"`, ""},
		{"a.b.0", `10`, ""},
		{"a.b.1.é\n", `null`, ""},
		{"a.b.2", `"x\"}"`, ""},
		{"a.", `true`, ""},
		{"a.b.01", `{"é\n": null}`, ""},
		{"x", "", `nothing at "x": the value has no "x" (keys: "a", "key", "n")`},
		{"a.c", "", `nothing at "a.c": "a" has no "c" (keys: "b.c", "b", "")`},
		{"a.b.3", "", `nothing at "a.b.3": "a.b" has no "3" (it is a list: indexes 0 to 2)`},
		{"a.b.-1", "", `nothing at "a.b.-1": "a.b" has no "-1" (it is a list: indexes 0 to 2)`},
		{"a.b.99999999999999999999", "", `nothing at "a.b.99999999999999999999": "a.b" has no "99999999999999999999" (it is a list: indexes 0 to 2)`},
		{"n.x", "", `nothing at "n.x": "n" has no "x" (it is a number)`},
		{"key.0", "", `nothing at "key.0": "key" has no "0" (it is a string)`},
		{"a.b.1.é\n.y", "", `nothing at "a.b.1.é\n.y": "a.b.1.é\n" has no "y" (it is null)`},
	} {
		got, err := Lookup(v, c.path)
		if err != nil {
			if err.Error() != c.fault {
				t.Errorf("Lookup(%q): %v\nwant %s", c.path, err, c.fault)
			}
			continue
		}
		if string(got) != c.want || c.fault != "" {
			t.Errorf("Lookup(%q) = %s; want %s %s", c.path, got, c.want, c.fault)
		}
	}
	many := "{" + strings.Repeat(`"`+strings.Repeat("k", 100)+`":1,`, 50) + `"z":1}`
	if _, err := Lookup(Value(many), strings.Repeat("x", 5000)); err == nil || len(err.Error()) > 1200 || !strings.Contains(err.Error(), "and 39 more") {
		t.Errorf("Lookup in a big object: %v", err)
	}
}

func TestCheckKind(t *testing.T) {
	for kind, want := range map[string]string{
		"retrieval/v1": "", "my_own2": "", "my_own/v12": "", "r/v1": "",
		"retrieval/v2": "it is retrieval/v1", "context": "it is context/v1", "stage_timings": "it is stage_timings/v1",
		"": "lower case", "Retrieval": "lower case", "2d": "lower case", "a b": "lower case", "a/v0": "lower case", "a/v": "lower case", "a/v1x": "lower case", "a/b": "lower case",
	} {
		if err := CheckKind(kind); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", kind, err, want)
		}
	}
}

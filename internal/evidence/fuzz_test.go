package evidence

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\u00e9",null]}`, `NaN`, `{"a":1,"a":2}`, "\"\xff\"", `1e999`, ` {} `, `"\ud800"`} {
		f.Add([]byte(s), "a.0")
	}
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		v, err := ParseJSON(b)
		if err != nil {
			fault := err.(*SyntaxError)
			if fault.Offset < 0 || fault.Offset > len(b) || fault.Message == "" || !utf8.ValidString(fault.Message) {
				t.Fatalf("ParseJSON(%q): %#v", b, fault)
			}
			// The scanners must not read outside of what is no JSON either.
			_, _ = Lookup(b, path)
			_, _ = Text(b)
			_ = Shorten(b, 10)
			return
		}
		if !json.Valid(b) {
			t.Fatalf("ParseJSON accepted %q", b)
		}
		whole, err := Lookup(v, "")
		if err != nil || !bytes.Equal(whole, v) {
			t.Fatalf("Lookup(%q, \"\") = %q, %v", v, whole, err)
		}
		if part, err := Lookup(v, path); err == nil && !json.Valid(part) {
			t.Fatalf("Lookup(%q, %q) = %q", v, path, part)
		}
		for name, member := range Members(v) {
			if got, err := ParseJSON(member); err != nil || !bytes.Equal(got, member) {
				t.Fatalf("member %q of %q: %q, %v", name, v, member, err)
			}
		}
		canonical, err := Canonical(v)
		if err != nil {
			t.Fatalf("Canonical(%q): %v", v, err)
		}
		if again, err := Canonical(canonical); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("Canonical(%q) = %q, again %q, %v", v, canonical, again, err)
		}
	})
}

func FuzzDecodeArtifact(f *testing.F) {
	f.Add(RetrievalKind, []byte(`{"depth":3,"candidates":[{"doc_id":"a","score":"1_0","metadata":{}}],"query":{"b":1}}`))
	f.Add(ContextKind, []byte(`{"items":[{"doc_id":"a","position":1}],"dropped":[{"doc_id":"b","reason":"top_k"}],"token_budget":null}`))
	f.Add(CitationsKind, []byte(`{"ids":["a#b"]}`))
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		v, err := ParseJSON(b)
		if err != nil || !utf8.ValidString(kind) {
			return
		}
		var first, second Artifacts
		if DecodeArtifact(kind, v, &first) != nil {
			return
		}
		line := AppendArtifacts(nil, &first)
		if err := decodeArtifacts(line, &second); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if again := AppendArtifacts(nil, &second); !bytes.Equal(line, again) {
			t.Fatalf("%s became %s", line, again)
		}
		_ = ContextNote(&first)
	})
}

func FuzzDecodeOutcome(f *testing.F) {
	m := manifest()
	o := Outcome{ID: "a", Digest: DigestOf([32]byte{}), Slices: []string{"x", NoSlice}, Status: StatusOK, Judgments: make([]Judgment, 5)}
	for i := range o.Judgments {
		o.Judgments[i] = Judgment{State: JudgmentState(i%3 + 1), Reason: "r"}
		if i%3 == 0 {
			o.Judgments[i].Reason = ""
		}
	}
	f.Add(AppendOutcome(nil, m, &o))
	f.Fuzz(func(t *testing.T, line []byte) {
		var first, second Outcome
		if DecodeOutcome(line, m, &first) != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("accepted %q", line)
		}
		if err := DecodeOutcome(AppendOutcome(nil, m, &first), m, &second); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	})
}

func FuzzDecodeCaseLine(f *testing.F) {
	m := &Manifest{Metrics: []MetricSpec{{ID: "ok", Kind: Rate}}}
	f.Add(AppendCaseLine(nil, m, &Case{ID: "a", Input: Value("1")}, &Execution{Status: StatusOK, Output: Value("null")}, []Judgment{{State: Judged}}))
	f.Add([]byte(`{"scenario":{"id":"a","input":1,"expected":null,"metadata":{},"group_id":null},"execution":{"status":"ERROR","output":null,"error":{"type":"T","message":"m","detail":null},"latency_ms":null},"judgments":{"ok":{"status":"ERROR","error":{"message":"x"}}},"artifacts":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := DecodeCaseLine(line)
		if err != nil {
			return
		}
		var judgments []Judgment
		m := &Manifest{}
		for _, j := range l.Judgments {
			m.Metrics = append(m.Metrics, MetricSpec{ID: j.Criterion, Kind: Mean})
			judgments = append(judgments, j.Judgment)
		}
		first := AppendCaseLine(nil, m, &l.Case, &l.Execution, judgments)
		again, err := DecodeCaseLine(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := AppendCaseLine(nil, m, &again.Case, &again.Execution, judgments); !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecame %s", first, second)
		}
	})
}

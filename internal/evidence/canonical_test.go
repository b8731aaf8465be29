package evidence

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ 1.0 , 2e0 , true , null ] } `, `{"a":[1,2,true,null],"b":1}`},
		{`50000000014435121`, `50000000014435121`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`-0`, `0`},
		{`1e-7`, `1e-7`},
		{`1E22`, `1e+22`},
		{`"\u00e9\/\n\u0001"`, `"é/\n\u0001"`},
		// RFC 8785 section 3.2.3: names are sorted by UTF-16 code units.
		{`{"\ufb33":0,"\ud83d\ude00":0,"\u20ac":0,"\r":0,"1":0,"\u0080":0,"\u00f6":0}`,
			"{\"\\r\":0,\"1\":0,\"\u0080\":0,\"\u00f6\":0,\"\u20ac\":0,\"\U0001f600\":0,\"\ufb33\":0}"},
	} {
		got, err := Canonical(Value(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}

// Values of j_digests.json, computed with Oloproof 0.1.0a20 (PyPI). Rows with
// floats are left out: RFC 8785 spells them in another way.
func TestContentID(t *testing.T) {
	for _, c := range []struct {
		domain string
		value  any
		want   Digest
	}{
		{"suite/v1", [][2]string{{"a", "sha256:0000000000000000000000000000000000000000000000000000000000000000"}},
			"sha256:b5ca0e56b671cf9cbc2838f149c1ed81b851c253e3d46f1da64b9e88a610c559"},
		{"artifact/v1", Value(`{"kind":"citations/v1","payload":{"ids":["a","b#c"]}}`),
			"sha256:afd50d2155399f293fb0d69f1965da0a7ce13cc5311c4719c3a44304ae7fd3fe"},
		{"scenario/v1", Value(`{"input":{"q":"x"},"expected":null,"metadata":{},"group_id":null}`),
			"sha256:5347e4521b9989b2b0ca7d4a07f4d817de003cd0f6e949a7324b13ae762f3dd4"},
		{"intervention/v1", map[string]any{"params": map[string]int{"top_k": 4}, "kind": "top_k"},
			"sha256:8fd98ecefa5330a87c24b8045a00a32794529c9dc5e34c9ccf8584dfca15c3ea"},
		{"anal/v1", []int{}, "sha256:361fe09140de53941ab0f47d344c738f86cf101ce7f7b33bc3db292fd97f6cde"},
		{"gate/v1", struct{}{}, "sha256:c906ce6370c729934469793b4659984ecd6965484214d3fd8eacc61bcfefe486"},
	} {
		if got, err := ContentID(c.domain, c.value); err != nil || got != c.want {
			t.Errorf("ContentID(%s, %v) = %s, %v; want %s", c.domain, c.value, got, err, c.want)
		}
	}
}

func TestCaseDigest(t *testing.T) {
	base := Case{ID: "a", Input: Value(`{"q": 1.0, "p": "é"}`)}
	want, err := ContentID("case/v1", Value(`{"expected":null,"input":{"p":"\u00e9","q":1},"metadata":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	same := []Case{
		base,
		{ID: "b", Input: Value(`{"p":"é","q":1}`), Expected: Value("null"), Metadata: Value(" { } ")},
	}
	for _, c := range same {
		if got, err := CaseDigest(&c); err != nil || got != want {
			t.Errorf("CaseDigest(%+v) = %s, %v; want %s", c, got, err, want)
		}
	}
	grouped := base
	grouped.GroupID = "g"
	wantGrouped, _ := ContentID("case/v1", Value(`{"expected":null,"group_id":"g","input":{"p":"é","q":1},"metadata":{}}`))
	if got, err := CaseDigest(&grouped); err != nil || got != wantGrouped || got == want {
		t.Errorf("CaseDigest with a group = %s, %v; want %s", got, err, wantGrouped)
	}
}

func TestDatasetDigest(t *testing.T) {
	ids := []string{"b", "a", "é\n"}
	digests := []Digest{DigestOf([32]byte{1}), DigestOf([32]byte{2}), DigestOf([32]byte{3})}
	got := DatasetDigest(3, func(i int) string { return ids[i] }, func(i int) Digest { return digests[i] })
	want, err := ContentID("dataset/v1", [][2]string{
		{"a", string(digests[1])}, {"b", string(digests[0])}, {"é\n", string(digests[2])}})
	if err != nil || got != want {
		t.Errorf("DatasetDigest = %s; want %s, %v", got, want, err)
	}
	empty, _ := ContentID("dataset/v1", []int{})
	if got := DatasetDigest(0, nil, nil); got != empty {
		t.Errorf("DatasetDigest of nothing = %s; want %s", got, empty)
	}
}

func TestParseJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, in string
		offset   int
		message  string // a part of it; "" when the text is accepted
	}{
		{"object", " {\"a\": [1, \"x\u2028y\"]}\r\n", 0, ""},
		{"null", "null", 0, ""},
		{"long integer", strings.Repeat("9", 400), 0, ""},
		{"pair of surrogates", `"\ud83d\ude00"`, 0, ""},
		{"largest double", `1.7976931348623157e308`, 0, ""},
		{"underflow", `1e-999`, 0, ""},
		{"number text in a string", `"1e999"`, 0, ""},
		{"nothing", "", 0, "nothing there"},
		{"white space", " \n", 2, "nothing there"},
		{"two values", `{} {}`, 3, "one value"},
		{"text after the value", `{} x`, 3, "after the end"},
		{"cut off", `{"a": [1,`, 9, "ends too early"},
		{"cut off in a string", `{"a": "x`, 8, "ends too early"},
		{"cut off in a literal", `{"a": tru`, 9, "ends too early"},
		{"NaN", `{"a": NaN}`, 6, "NaN is not JSON"},
		{"negative infinity", `[-Infinity]`, 1, "-Infinity is not JSON"},
		{"duplicate name", `{"a": 1, "b": {"é": 1, "\u00e9": 2}}`, 24, `key "é" stands twice`},
		{"lone surrogate", `{"a": "x\ud800y"}`, 8, "surrogate"},
		{"not UTF-8", "{\"a\": \"x\xffy\"}", 8, "0xff is not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", 0, "UTF-16"},
		{"UTF-16 without a mark", "{\x00}\x00", 1, "UTF-16"},
		{"byte order mark", "\xef\xbb\xbf{}", 0, "byte order mark"},
		{"overflow", ` {"a": [1, -1e400]}`, 11, "-1e400"},
		{"trailing comma", `{"a": 1,}`, 7, "remove the comma"},
		{"single quotes", `{'a': 1}`, 1, "double quotes"},
		{"comment", `{"a": 1} // x`, 9, "after the end"},
		{"Python's literal", `{"a": None}`, 6, "true, false and null"},
		{"no comma", `{"a": "x" "b": 1}`, 10, "comma is missing"},
		{"deep", deep(1000), 0, ""},
		{"too deep", deep(1001), 1000, "levels deep"},
		{"far too deep", deep(20000), 10000, "levels deep"},
		{"raw control character", "\"a\tb\"", 2, "\\t"},
		{"leading zero", `[01]`, 2, "'1'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := ParseJSON([]byte(c.in))
			if c.message == "" {
				if err != nil || string(v) != strings.TrimSpace(c.in) {
					t.Fatalf("ParseJSON(%.60q) = %s, %v; want it accepted", c.in, v, err)
				}
				return
			}
			fault, ok := err.(*SyntaxError)
			if !ok || fault.Offset != c.offset || !strings.Contains(fault.Message, c.message) {
				t.Fatalf("ParseJSON(%.60q): %#v; want offset %d and %q", c.in, err, c.offset, c.message)
			}
		})
	}
}

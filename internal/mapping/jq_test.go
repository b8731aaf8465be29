package mapping

import (
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestJQ(t *testing.T) {
	for _, test := range []struct{ source, input, want string }{
		{".a", `{"a": 50000000014435121}`, `50000000014435121`},
		{".a | tostring", `{"a": 123456789012345678901234567890}`, `"123456789012345678901234567890"`},
		{".a + 1", `{"a": 2}`, `3`},
		{".a + .b", `{"a": "x", "b": "y"}`, `"xy"`},
		{"[.a[] * 2]", `{"a": [1, 2]}`, `[2,4]`},
		{`"ab" * 3`, `null`, `"ababab"`},
		{".a += 1", `{"a": 1}`, `{"a":2}`},
		{".a *= 3 | .a", `{"a": 2}`, `6`},
		{`.a += "x" | .a`, `{"a": null}`, `"x"`},
		{"[.a[]] | add", `{"a": [1, 2, 3]}`, `6`},
		{"reduce .a[] as $x (0; . + $x)", `{"a": [1, 2, 3]}`, `6`},
		{`def f(x): x + 1; f(.a)`, `{"a": 1}`, `2`},
		{`"\(.a + 1) of \(.b)"`, `{"a": 1, "b": "x"}`, `"2 of x"`},
		{`{a, b: (.b // "none")}`, `{"a": 1.50}`, `{"a":1.50,"b":"none"}`},
		{"1 as $x | 2 as $y | [$x + $y]", `null`, `[3]`},
		{". * {b: {c: 2}}", `{"a": 1, "b": {"d": 3}}`, `{"a":1,"b":{"c":2,"d":3}}`},
	} {
		p, err := compileJQ(test.source, nil)
		if err != nil {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		v, err := p.run(decode(evidence.Value(test.input)), nil)
		if err != nil || string(v) != test.want {
			t.Errorf("%s: got %s, %v; want %s", test.source, v, err, test.want)
		}
	}
}

// TestJQIsRefused asks what is said of expressions that cannot be right.
func TestJQIsRefused(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{".a |", "no jq: it ends too early"},
		{".a[", "no jq: it ends too early"},
		{".a ) .b", `no jq: ")" is not expected at character 4`},
		{"$retrival.x", "unknown variable $retrival (documents are $main, $retrieval)"},
		{"frobnicate(.a)", "unknown jq function frobnicate/1"},
		{`.a | test("(?<=x)y")`, "jq: the pattern of test is no regular expression that RE2 can run: look-behind at \"(?<=\" (match"},
		{`.a | gsub("["; "")`, "jq: the pattern of gsub is no regular expression"},
		{"env.HOME", "jq: env is not allowed: a mapping does not see the environment"},
		{"$ENV.HOME", "jq: $ENV is not allowed: a mapping does not see the environment"},
		{"input", "jq: input is not allowed"},
		{".a | @base64b", "jq: unknown format @base64b, did you mean @base64? (there are @text, "},
		{`@yaml "x \(.a)"`, "jq: unknown format @yaml"},
		{"now", "jq: now is not allowed"},
		{`import "a" as b; .`, "jq: "},
		{"[range(1e12)]", "jq does not end within 1s"},
		{"def f: f; f", "jq does not end within 1s"},
		{`"x" * 1e9`, "jq makes a value that is too large"},
		{`reduce range(60) as $i ("x"; . + .)`, "jq makes a value that is too large"},
		{`reduce range(60) as $i ("x"; . += .)`, "jq makes a value that is too large"},
	} {
		_, err := compileJQ(test.source, []string{"main", "retrieval"})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v; want %s", test.source, err, test.want)
		}
	}
}

func TestJQGivesOneValue(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"empty", "jq gives no value, want exactly one"},
		{".[]", "jq gives more than one value, want exactly one"},
		{".a | fromjson", "jq: "},
		{`error("x")`, "jq: error: x"},
	} {
		p, err := compileJQ(test.source, nil)
		if err != nil {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		if v, err := p.run(decode(evidence.Value(`{"a": 1, "b": 2}`)), nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %s, %v; want %s", test.source, v, err, test.want)
		}
	}
}

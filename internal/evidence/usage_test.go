package evidence

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawUsage(t *rapid.T) *Usage {
	count := rapid.Ptr(rapid.Int64Range(0, 1e12), true)
	amount := rapid.Ptr(rapid.Float64Range(0, 1e6), true)
	u := Usage{count.Draw(t, "input"), count.Draw(t, "output"), amount.Draw(t, "cost"), amount.Draw(t, "first")}
	if u.Empty() {
		return nil
	}
	return &u
}

func TestUsage(t *testing.T) {
	input, cost := int64(0), 0.00025
	if got := string(appendUsage(nil, &Usage{InputTokens: &input, CostUSD: &cost})); got != `,"usage":{"cost_usd":0.00025,"input_tokens":0}` {
		t.Errorf("usage is written as %s", got)
	}
	if got := appendUsage(nil, &Usage{}); len(got) > 0 {
		t.Errorf("a usage that says nothing is written as %s", got)
	}
	// Bundles of the Python tool write null where nothing is known, and keys of their own.
	u, _, err := decodeUsage([]byte(`{"input_tokens":7,"output_tokens":null,"model":"m"}`), 0)
	if err != nil || u == nil || *u.InputTokens != 7 || u.OutputTokens != nil {
		t.Errorf("%+v, %v", u, err)
	}
	for _, text := range []string{`null`, `{}`, `{"input_tokens":null}`} {
		if u, end, err := decodeUsage([]byte(text), 0); u != nil || err != nil || end != len(text) {
			t.Errorf("%s: %+v, end %d, %v", text, u, end, err)
		}
	}
	for text, want := range map[string]string{
		`{"input_tokens":-1}`:                    "input_tokens is -1",
		`{"input_tokens":1.5}`:                   "want a whole number",
		`{"cost_usd":"1"}`:                       "want a number",
		`{"cost_usd":1e999}`:                     "want a number that fits a double",
		`{"cost_usd":1,"cost_usd":2}`:            "stands twice",
		`{"output_tokens":99999999999999999999}`: "want a whole number",
		`[]`:                                     "",
		`nul`:                                    "want an object",
	} {
		if _, _, err := decodeUsage([]byte(text), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	infinite := math.Inf(1)
	if (&Usage{FirstTokenMS: &infinite}).Check() == nil {
		t.Error("an infinite time is taken")
	}
}

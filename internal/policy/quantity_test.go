package policy

import (
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestRulesOnQuantities(t *testing.T) {
	specs := []evidence.MetricSpec{
		{ID: "free", Kind: evidence.Mean, Source: "cost_usd", Unit: "USD"},
		{ID: "bounded", Kind: evidence.Mean, Source: "output_tokens", Unit: "tokens", Range: [2]float64{0, 4096}},
		{ID: "dollar", Kind: evidence.Mean, Source: "cost_usd", Unit: "USD", Range: [2]float64{0, 1}},
		{ID: "error_rate", Kind: evidence.Rate, Source: evidence.SourceError, Range: [2]float64{0, 1}},
		{ID: "p95", Kind: evidence.Quantile, Source: "first_token_ms", Quantile: 0.95, Unit: "ms"},
	}
	for rule, want := range map[string]string{
		"metric: free, max: 0.01": "has no upper limit, so that max can never PASS: add range: [LEAST, LARGEST] to the metric, or bound a quantile of cost_usd",
		"metric: free, min: 0.01": "",
		"metric: free, min: -1":   "cost_usd is never negative",
		"metric: free, kind: non_inferiority, margin: 1, direction: max":      "whose differences have no limits",
		"metric: bounded, max: 500":                                           "",
		"metric: bounded, max: 5000":                                          "outside 0 to 4096 of bounded",
		"metric: bounded, kind: non_inferiority, margin: 100, direction: max": "",
		"metric: bounded, kind: non_inferiority, margin: 100":                 "less output_tokens is better",
		"metric: bounded, kind: equivalence, margin: 5000":                    "it must be below 4096",
		"metric: error_rate, max: 0.02":                                       "",
		"metric: dollar, max: 5":                                              "max is 5, outside 0 to 1 of dollar\n",
		"metric: error_rate, max: 2":                                          "outside 0 to 1 of error_rate: did you mean 0.02?",
		"metric: error_rate, max_failures: 1":                                 "use max",
		"metric: error_rate, kind: superiority":                               "a lower error_rate is better",
		"metric: error_rate, kind: superiority, direction: max":               "",
		"metric: p95, max: 500":                                               "",
		"metric: bounded, max_failures: 1":                                    "whose cases do not fail",
	} {
		p, err := Parse("release.yaml", []byte("rules: [{id: r, "+rule+"}]\n"))
		if err == nil {
			err = p.Check(specs, nil)
		}
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %q", rule, got, want)
			}
		} else if want != "" {
			t.Errorf("%s is taken, want %q", rule, want)
		}
	}
}

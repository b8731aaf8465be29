package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const level = 0.95

var (
	correct   = evidence.MetricSpec{ID: "answer_correct", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains", Evaluator: "sha256:c"}
	hit       = evidence.MetricSpec{ID: "hit_rate_at_2", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "hit_rate", Evaluator: "sha256:h"}
	recall    = evidence.MetricSpec{ID: "recall_at_2", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "recall", Evaluator: "sha256:r"}
	citations = evidence.MetricSpec{ID: "citations_valid", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "citation_validity", Evaluator: "sha256:v"}
	ndcg      = evidence.MetricSpec{ID: "ndcg_at_6", Kind: evidence.Mean, Range: [2]float64{0, 1}, Type: "ndcg", Evaluator: "sha256:n"}
	p90       = evidence.MetricSpec{ID: "latency_p90", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.9, Unit: "ms"}
)

func judged(v float64) evidence.Judgment {
	return evidence.Judgment{State: evidence.Judged, Value: v}
}

func missing(reason string) evidence.Judgment {
	return evidence.Judgment{State: evidence.Missing, Reason: reason}
}

func excluded(reason string) evidence.Judgment {
	return evidence.Judgment{State: evidence.NotApplicable, Reason: reason}
}

// run is a run in memory.
type run struct {
	evidence.Manifest
	cases []evidence.Outcome
}

func newRun(id string, names []string, metrics ...evidence.MetricSpec) *run {
	r := new(run)
	r.Manifest = evidence.Manifest{ID: id, Completeness: evidence.Complete, Slices: names, MinSupport: 4}
	r.Metrics = slices.Clone(metrics) // tests change them
	return r
}

// add adds a case, whose content is its id, in no slice but those given.
func (r *run) add(id string, slices []string, judgments ...evidence.Judgment) *evidence.Outcome {
	r.cases = append(r.cases, evidence.Outcome{
		ID: id, Digest: evidence.Digest("sha256:" + id), Status: evidence.StatusOK, LatencyMS: 10,
		Slices: slices, Judgments: judgments,
	})
	return &r.cases[len(r.cases)-1]
}

func (r *run) side() Side { return r.inOrder(nil) }

// inOrder gives the cases in an order of their indexes, as they lie without one.
func (r *run) inOrder(order []int) Side {
	m := r.Manifest
	m.Dataset.Cases = len(r.cases)
	return Side{Manifest: &m, Outcomes: func(visit func(int, *evidence.Outcome) error) error {
		var o evidence.Outcome // given again and again, as a reader of files does
		for k := range r.cases {
			i := k
			if order != nil {
				i = order[k]
			}
			src := &r.cases[i]
			judgments, values := append(o.Judgments[:0], src.Judgments...), append(o.Slices[:0], src.Slices...)
			o = *src
			o.Judgments, o.Slices = judgments, values
			if err := visit(i, &o); err != nil {
				return err
			}
		}
		return nil
	}}
}

// verdicts is a candidate and a baseline that differ in so many cases.
func verdicts(wins, losses, pairs, lost int) (candidate, baseline *run) {
	candidate, baseline = newRun("run_c", nil, correct), newRun("run_b", nil, correct)
	for i := range pairs + lost {
		id := fmt.Sprintf("case_%05d", i)
		now, before := judged(1), judged(1)
		switch {
		case i < wins:
			before = judged(0)
		case i < wins+losses:
			now = judged(0)
		case i < pairs && i%2 == 0:
			now, before = judged(0), judged(0)
		case i >= pairs && i%2 == 0:
			now = missing(evidence.ReasonExecutionError)
		case i >= pairs:
			before = missing(evidence.ReasonEvaluatorError)
		}
		candidate.add(id, nil, now)
		baseline.add(id, nil, before)
	}
	return candidate, baseline
}

// scores is a candidate and a baseline whose scores differ by these amounts.
func scores(differences []float64, lost int) (candidate, baseline *run) {
	candidate, baseline = newRun("run_c", nil, ndcg), newRun("run_b", nil, ndcg)
	for i, d := range differences {
		id := fmt.Sprintf("case_%05d", i)
		candidate.add(id, nil, judged(max(d, 0)))
		baseline.add(id, nil, judged(max(-d, 0)))
	}
	for i := range lost {
		id := fmt.Sprintf("lost_%05d", i)
		candidate.add(id, nil, missing(evidence.ReasonNotRun))
		baseline.add(id, nil, judged(0.5))
	}
	return candidate, baseline
}

// tutorial is the example of the walk-through: the candidate repairs one case
// in retrieval, answer and citation.
func tutorial() (candidate, baseline *run) {
	all := []evidence.MetricSpec{correct, hit, recall, citations}
	candidate, baseline = newRun("run_c", []string{"metadata.topic"}, all...), newRun("run_b", []string{"metadata.topic"}, all...)
	pass, fail, none := judged(1), judged(0), excluded(evidence.ReasonNoRelevanceLabels)
	topics := []string{"billing", "billing", "billing", "billing", "billing", "billing", "billing", "billing",
		"account", "account", "data", "data", "security", "security", "api"}
	for i, topic := range topics {
		id := fmt.Sprintf("case_%02d", i)
		answer, retrieved := pass, pass
		if slices.Contains([]int{2, 4, 13}, i) {
			answer = fail
		}
		if i == 7 || i == 9 {
			retrieved = none
		}
		candidate.add(id, []string{topic}, answer, retrieved, retrieved, pass)
		cited := pass
		if i == 6 {
			answer, retrieved, cited = fail, fail, fail
		}
		baseline.add(id, []string{topic}, answer, retrieved, retrieved, cited)
	}
	return candidate, baseline
}

func compared(t testing.TB, candidate, baseline *run, opt Options) *Comparison {
	t.Helper()
	return comparedSides(t, candidate.side(), baseline.side(), opt)
}

func comparedSides(t testing.TB, candidate, baseline Side, opt Options) *Comparison {
	t.Helper()
	if opt.Level == 0 {
		opt.Level = level
	}
	c, err := Runs(candidate, baseline, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

package evaluate

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// unit is what is relevant: a document, or one chunk of it.
type unit struct {
	doc, chunk string // chunk is "" when documents count
}

func (u unit) String() string {
	if u.chunk == "" {
		return strconv.Quote(u.doc)
	}
	return strconv.Quote(u.doc + "#" + u.chunk)
}

// label is a relevant unit with its grade, which is above 0.
type label struct {
	unit
	grade float64
}

// retrieval holds what the ranking metrics share.
type retrieval struct {
	k     int
	chunk bool // chunks are the unit, not documents
}

// labels returns the relevant units of a case in their order: those of a grade
// above 0, a unit named twice with its highest grade. Labels that [retrieval.checkCase]
// refuses are left out.
func (r retrieval) labels(c *evidence.Case) []label {
	var labels []label
	for named, err := range evidence.Judgments(c) {
		l, ok := r.label(named)
		if err != nil || !ok || l.grade <= 0 {
			continue
		}
		if at := slices.IndexFunc(labels, func(o label) bool { return o.unit == l.unit }); at >= 0 {
			labels[at].grade = max(labels[at].grade, l.grade)
			continue
		}
		labels = append(labels, l)
	}
	return labels
}

// label is what an entry names as relevant. It is not ok when chunks are the unit
// and the entry names none.
func (r retrieval) label(named evidence.Relevant) (l label, ok bool) {
	l = label{unit{named.DocID, named.ChunkID}, named.Grade}
	if r.chunk {
		return l, l.chunk != ""
	}
	l.chunk = ""
	return l, true
}

// checkCase says which labels of the case are malformed.
func (r retrieval) checkCase(c *evidence.Case) []string {
	var messages []string
	n := 0
	for named, err := range evidence.Judgments(c) {
		if err != nil {
			messages = append(messages, err.Error())
		} else if _, ok := r.label(named); !ok {
			messages = append(messages, fmt.Sprintf("expected.relevant[%d]: no chunk_id, which relevance_unit: chunk needs", n))
		}
		n++
	}
	return messages
}

// Applicable implements [Evaluator]: the case must name something relevant.
func (r retrieval) Applicable(c *evidence.Case) string {
	for named, err := range evidence.Judgments(c) {
		if l, ok := r.label(named); err == nil && ok && l.grade > 0 {
			return ""
		}
	}
	return evidence.ReasonNoRelevanceLabels
}

// found is a relevant unit that was retrieved.
type found struct {
	rank  int // from 1, of its first candidate
	grade float64
}

// find returns the relevant units among the first k candidates, by rank. A
// unit counts where it stands first; later candidates of it keep their rank
// and earn nothing.
func (r retrieval) find(labels []label, x *evidence.Execution) ([]found, *evidence.Judgment) {
	recorded := x.Artifacts.Retrieval
	if len(recorded) != 1 {
		j := notOnce(evidence.RetrievalKind, len(recorded))
		return nil, &j
	}
	if depth := recorded[0].Depth; depth < r.k {
		j := missing(evidence.ReasonDepthBelowK, fmt.Sprintf("the retrieval has a depth of %d, which is below k = %d", depth, r.k))
		return nil, &j
	}
	candidates := recorded[0].Candidates
	var all []found
	seen := make([]bool, len(labels))
	for i := range candidates[:min(r.k, len(candidates))] {
		u := unit{doc: candidates[i].DocID}
		if r.chunk {
			u.chunk = candidates[i].ChunkID
		}
		at := slices.IndexFunc(labels, func(l label) bool { return l.unit == u })
		if at >= 0 && !seen[at] {
			seen[at] = true
			all = append(all, found{i + 1, labels[at].grade})
		}
	}
	return all, nil
}

// notOnce is the judgment when an artifact was not recorded exactly once.
func notOnce(kind string, n int) evidence.Judgment {
	return missing(evidence.ReasonMissingArtifact, fmt.Sprintf("%s was recorded %d times, want once", kind, n))
}

// notFound names the relevant units when none was retrieved.
func (r retrieval) notFound(labels []label) string {
	const most = 5
	detail := ""
	for i, l := range labels[:min(most, len(labels))] {
		if i > 0 {
			detail += ", "
		}
		detail += l.unit.String()
	}
	if len(labels) > most {
		detail += fmt.Sprintf(" and %d more", len(labels)-most)
	}
	return fmt.Sprintf("not among the first %d: %s", r.k, detail)
}

// hitRate passes when a relevant unit is among the first k candidates.
type hitRate struct{ retrieval }

func newHitRate(o *suite.Evaluator) (Evaluator, error) {
	return hitRate{retrieval{o.K, o.ChunkUnit}}, nil
}

// Judge implements [Evaluator].
func (e hitRate) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, func([]label, []found) float64 { return 1 })
}

// recall is the share of the relevant units among the first k candidates, of
// all of them, however many k is (Manning, Raghavan and Schütze, Introduction
// to Information Retrieval, 2008, section 8.3). It is a rate when every
// labelled case has exactly one relevant unit, else a mean.
type recall struct {
	retrieval
	failOnError bool
	several     bool // a checked case has more than one relevant unit
}

func newRecall(o *suite.Evaluator) (Evaluator, error) {
	return &recall{retrieval: retrieval{o.K, o.ChunkUnit}, failOnError: o.FailOnError}, nil
}

func (e *recall) kind() evidence.Kind {
	if e.several {
		return evidence.Mean
	}
	return evidence.Rate
}

// checkCase also learns whether recall is a rate.
func (e *recall) checkCase(c *evidence.Case) []string {
	messages := e.retrieval.checkCase(c)
	n := len(e.labels(c))
	if n > 1 && !e.several {
		e.several = true
		if e.failOnError {
			messages = append(messages, fmt.Sprintf("the case has %d relevant units, which makes recall a score, and on_execution_error: fail needs a criterion that passes or fails: remove it, or use hit_rate", n))
		}
	}
	return messages
}

// Judge implements [Evaluator].
func (e *recall) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, func(labels []label, all []found) float64 { return float64(len(all)) / float64(len(labels)) })
}

// score judges by a value of the relevant units found among the first k, of
// which there is at least one; without one the score is 0, which fails.
func (r retrieval) score(c *evidence.Case, x *evidence.Execution, value func(labels []label, all []found) float64) evidence.Judgment {
	labels := r.labels(c)
	all, trouble := r.find(labels, x)
	switch {
	case trouble != nil:
		return *trouble
	case len(all) == 0:
		return failed(r.notFound(labels))
	}
	return scored(value(labels, all))
}

// mrr is one over the rank of the first relevant unit among the first k
// candidates, and 0 without one: its mean is the mean reciprocal rank
// (Voorhees, The TREC-8 Question Answering Track Report, 1999).
type mrr struct{ retrieval }

func newMRR(o *suite.Evaluator) (Evaluator, error) {
	return mrr{retrieval{o.K, o.ChunkUnit}}, nil
}

func (mrr) kind() evidence.Kind { return evidence.Mean }

// Judge implements [Evaluator].
func (e mrr) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, func(_ []label, all []found) float64 { return 1 / float64(all[0].rank) })
}

// ndcg is the discounted cumulative gain of the first k candidates over that
// of the ideal order cut at k, with the grade as gain and 1/log2(rank+1) as
// discount (Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR
// techniques, ACM TOIS 20(4), 2002, in the form of trec_eval's ndcg_cut).
type ndcg struct{ retrieval }

func newNDCG(o *suite.Evaluator) (Evaluator, error) {
	return ndcg{retrieval{o.K, o.ChunkUnit}}, nil
}

func (ndcg) kind() evidence.Kind { return evidence.Mean }

// Judge implements [Evaluator].
func (e ndcg) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, e.value)
}

// value is the gain of what was found as a share of the ideal one.
func (e ndcg) value(labels []label, all []found) float64 {
	highest := 0.0
	for _, l := range labels {
		highest = max(highest, l.grade)
	}
	// Grades are taken as shares of the highest, so that no sum overflows.
	gain := 0.0
	for _, f := range all {
		gain += discounted(f.grade/highest, f.rank)
	}
	grades := make([]float64, len(labels))
	for i, l := range labels {
		grades[i] = l.grade / highest
	}
	slices.Sort(grades)
	slices.Reverse(grades)
	ideal := 0.0
	for i, grade := range grades[:min(e.k, len(grades))] {
		ideal += discounted(grade, i+1)
	}
	return min(1, gain/ideal)
}

func discounted(grade float64, rank int) float64 { return grade / math.Log2(float64(rank)+1) }

// precision is the share of the first k places that hold a relevant unit, with
// k below the line also when fewer were retrieved (trec_eval's P). A unit that
// stands there twice counts once.
type precision struct{ retrieval }

func newPrecision(o *suite.Evaluator) (Evaluator, error) {
	return precision{retrieval{o.K, o.ChunkUnit}}, nil
}

func (precision) kind() evidence.Kind { return evidence.Mean }

// Judge implements [Evaluator].
func (e precision) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, func(_ []label, all []found) float64 { return float64(len(all)) / float64(e.k) })
}

// averagePrecision is the mean, over all relevant units, of the precision at the
// rank of each, 0 for a unit that is not among the first k: its mean is the mean
// average precision (trec_eval's map, and map_cut with a k).
type averagePrecision struct{ retrieval }

func newMAP(o *suite.Evaluator) (Evaluator, error) {
	return averagePrecision{retrieval{o.K, o.ChunkUnit}}, nil
}

func (averagePrecision) kind() evidence.Kind { return evidence.Mean }

// Judge implements [Evaluator].
func (e averagePrecision) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	return e.score(c, x, func(labels []label, all []found) float64 {
		sum := 0.0
		for i, f := range all {
			sum += float64(i+1) / float64(f.rank)
		}
		return sum / float64(len(labels))
	})
}

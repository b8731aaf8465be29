package diagnose

import (
	"fmt"
	"slices"
)

// Stage is what failures are associated with.
type Stage string

// The stages that a diagnosis can implicate.
const (
	RetrievalCoverage Stage = "retrieval coverage"
	RankingDepth      Stage = "ranking depth"
	ContextBudget     Stage = "context budget"
	Generation        Stage = "generation with correct context"
)

// Implication is a stage that most of the failures are associated with. It is
// an association over the selected cases, not a cause.
type Implication struct {
	Stage Stage `json:"stage"`
	Cases int   `json:"cases"`
	Of    int   `json:"of"`
	// Among says what Of counts: recovered or selected failures.
	Among       string       `json:"among" jsonschema:"enum=recovered,enum=selected"`
	Experiments []Experiment `json:"experiments"`
}

// Experiment is something to try: a hypothesis.
type Experiment struct {
	What string `json:"what"`
	// Replay is the intervention that tests it before it is made; null when none does.
	Replay *Intervention `json:"replay" jsonschema:"nullable"`
}

// fewRankedOut is the fewest cases that implicate the ranking.
const fewRankedOut = 3

// implicate names the stages that most recovered failures are associated with,
// ties included, and generation when it accounts for half of the selected ones.
func (d *Diagnosis) implicate(depth int) {
	n := map[Label]int{}
	for _, l := range d.Labels {
		n[l.Label] += l.Cases
	}
	largest := max(n[RankedOut], n[RetrievalMiss], n[ContextAssemblyLoss])
	add := func(stage Stage, label Label, experiments ...Experiment) {
		if n[label] == largest && largest > 0 {
			d.Implicated = append(d.Implicated, Implication{stage, n[label], d.Counts.Recovered, "recovered", experiments})
		}
	}
	if n[RankedOut] >= fewRankedOut {
		k := d.coveringTopK(depth)
		add(RankingDepth, RankedOut,
			Experiment{"a reranker", &Intervention{Kind: Reranker}},
			Experiment{fmt.Sprintf("top_k %d", k), &Intervention{Kind: TopK, TopK: k}})
	}
	add(RetrievalCoverage, RetrievalMiss, Experiment{What: "a greater retrieval depth"}, Experiment{What: "another index or embedding configuration"})
	add(ContextBudget, ContextAssemblyLoss, Experiment{What: "a larger token budget"}, Experiment{What: "smaller chunks"})
	if g := n[GenerationFailure]; g > 0 && 2*g >= d.Counts.Selected {
		d.Implicated = append(d.Implicated, Implication{Generation, g, d.Counts.Selected, "selected",
			[]Experiment{{What: "a prompt or model change, evaluated against this run"}}})
	}
}

// coveringTopK is the nearest-rank 90th percentile of where the first relevant
// passage of the cases that were ranked out stands, at most the depth.
func (d *Diagnosis) coveringTopK(depth int) int {
	var positions []int
	for i := range d.Cases {
		if c := &d.Cases[i]; c.Label == RankedOut {
			positions = append(positions, *c.Position)
		}
	}
	slices.Sort(positions)
	k := positions[(9*len(positions)+9)/10-1]
	if depth > 0 {
		k = min(k, depth)
	}
	return k
}

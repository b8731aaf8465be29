// Package diagnose says what the re-execution of failed cases shows: which
// stage each failure is associated with. It selects the cases, labels them by a
// fixed table and names what to try next. It executes nothing.
package diagnose

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Rules is the version of the label table. Another table is a new version.
const Rules = "diagnosis_labels@1"

// Kind is what is changed when a case is executed again.
type Kind string

// The kinds of intervention.
const (
	GoldContext Kind = "gold-context" // the case's gold passages in place of the retrieved context
	TopK        Kind = "top-k"        // the recorded retrieval, cut at another top_k
	Reranker    Kind = "reranker"     // the recorded retrieval, in another order
)

// Kinds are the interventions there are.
var Kinds = []Kind{GoldContext, TopK, Reranker}

// Intervention is what is changed. Everything else stays as it was in the run.
type Intervention struct {
	Kind     Kind   `json:"kind" jsonschema:"enum=gold-context,enum=top-k,enum=reranker"`
	TopK     int    `json:"top_k,omitzero"`    // of top-k
	Reranker string `json:"reranker,omitzero"` // as the user named it
	// Code is the content id of the reranker's code, or of the request that gives
	// passages to an endpoint; empty when there is none, or it is not known.
	Code evidence.Digest `json:"code,omitzero"`
}

// Replay reports whether the recorded retrieval is used again.
func (i Intervention) Replay() bool { return i.Kind == TopK || i.Kind == Reranker }

// String names the intervention as the lines of a diagnosis do.
func (i Intervention) String() string {
	switch i.Kind {
	case GoldContext:
		return "gold context"
	case TopK:
		return fmt.Sprintf("top-k %d", i.TopK)
	case Reranker:
		return "reranker " + i.Reranker
	}
	return string(i.Kind)
}

// Source is what the context/v1 of a re-executed case says it was made from.
func (i Intervention) Source() string {
	switch i.Kind {
	case GoldContext:
		return "gold_context"
	case TopK:
		return "top_k_replay"
	}
	return "reranker"
}

// Outcome is what the criterion says of a case that was executed again. It is
// empty where nothing was executed.
type Outcome string

// The outcomes of a re-execution.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Missing Outcome = "missing" // it errored, or could not be judged
)

// OutcomeOf reads a judgment.
func OutcomeOf(j evidence.Judgment) Outcome {
	switch {
	case j.State != evidence.Judged:
		return Missing
	case j.Passed():
		return Passed
	}
	return Failed
}

// Result is what became of one case when it was executed again.
type Result struct {
	Control      Outcome // without the intervention; "" when there is no control
	Intervention Outcome
}

// recovered reports whether the case passes with the intervention and fails
// without it.
func (r Result) recovered() bool { return r.Control == Failed && r.Intervention == Passed }

// The control modes of a diagnosis.
const (
	FreshSample = "fresh_sample" // every case was executed again unchanged, never from a cache
	NoControl   = "none"         // none was; see Deterministic
)

// Deterministic is the assumption of a diagnosis without a control: a case that
// failed fails again when it is executed unchanged.
const Deterministic = "generation_deterministic"

// Diagnosis is what was found about the selected cases. It says nothing about
// when it was made, by which executions, or of cases that were not selected.
type Diagnosis struct {
	ID           evidence.Digest `json:"id"`
	Rules        string          `json:"rules"`  // version of the label table
	Parent       string          `json:"parent"` // id of the run whose cases were selected
	Criterion    string          `json:"criterion"`
	Intervention Intervention    `json:"intervention"`
	// Executed is false when the system cannot take the intervention, or when no
	// case was selected.
	Executed   bool           `json:"executed"`
	Control    string         `json:"control,omitzero" jsonschema:"enum=fresh_sample,enum=none"`
	Assumption string         `json:"assumption,omitzero"` // of a diagnosis without a control
	Selection  SelectionID    `json:"selection"`
	Counts     CaseCounts     `json:"counts"`
	LabelsFrom *LabelsFrom    `json:"labels_from" jsonschema:"nullable"` // of a replay: the diagnosis whose labels it carries
	Labels     []LabelCount   `json:"labels"`
	Implicated []Implication  `json:"implicated"`
	Cases      []LabelledCase `json:"cases"` // by id
}

// SelectionID says which cases were selected of how many.
type SelectionID struct {
	Digest   evidence.Digest `json:"digest"`
	Rule     string          `json:"rule"`     // failed_with_gold_context
	Excluded []Exclusion     `json:"excluded"` // failed cases that no intervention can be tried on
	Unjudged int             `json:"unjudged"` // cases that the criterion could not judge: neither selected nor excluded
}

// CaseCounts are over the selected cases.
type CaseCounts struct {
	Selected      int `json:"selected"`
	ControlPassed int `json:"control_passed"` // passed when executed again unchanged
	Recovered     int `json:"recovered"`      // failed unchanged and passed with the intervention
	Missing       int `json:"missing"`        // an outcome is missing
	RankedOut     int `json:"ranked_out"`     // of a replay: cases labelled RANKED_OUT
	Confirmed     int `json:"confirmed"`      // of those: recovered under the replay as well
}

// LabelsFrom names the gold-context diagnosis whose labels a replay carries.
type LabelsFrom struct {
	ID        evidence.Digest `json:"id"`
	Recovered int             `json:"recovered"`
	Selected  int             `json:"selected"`
}

// LabelledCase is one selected case.
type LabelledCase struct {
	ID           string          `json:"id"`
	Digest       evidence.Digest `json:"digest"`
	Control      Outcome         `json:"control,omitzero" jsonschema:"enum=passed,enum=failed,enum=missing"`
	Intervention Outcome         `json:"intervention,omitzero" jsonschema:"enum=passed,enum=failed,enum=missing"`
	Recovered    bool            `json:"recovered"`
	Finding
	// Retrieved is what the run retrieved; null when that was not recorded once.
	Retrieved *Retrieved `json:"retrieved" jsonschema:"nullable"`
	Gold      int        `json:"gold_passages"` // passages of expected.gold_context
}

// Input is what a diagnosis follows from.
type Input struct {
	Selection    *Selection
	Intervention Intervention
	Staged       bool // the system takes the intervention
	NoControl    bool
	TopK         int      // of the system in the run; 0: it is not known
	Depth        int      // likewise; caps a larger top_k that is proposed
	Results      []Result // one for each selected case, in order; none when nothing was executed
	// Gold is the diagnosis whose labels a replay carries; nil for gold context.
	Gold *Diagnosis
}

// New labels the selected cases and counts them.
func New(in Input) (*Diagnosis, error) {
	s := in.Selection
	s.sort()
	selected, err := s.ID()
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{
		Rules: Rules, Parent: s.Run, Criterion: s.Criterion, Intervention: in.Intervention,
		Executed: in.Staged && len(s.Cases) > 0, Selection: selected, Counts: CaseCounts{Selected: len(s.Cases)},
		Labels: []LabelCount{}, Implicated: []Implication{}, Cases: make([]LabelledCase, len(s.Cases)),
	}
	if d.Executed {
		if len(in.Results) != len(s.Cases) {
			return nil, fmt.Errorf("%d results for %d selected cases", len(in.Results), len(s.Cases))
		}
		d.Control = FreshSample
		if in.NoControl {
			d.Control, d.Assumption = NoControl, Deterministic
		}
	}
	for i := range s.Cases {
		d.Cases[i] = d.label(in, i)
	}
	if in.Intervention.Replay() && d.Executed {
		if err := d.carry(in.Gold); err != nil {
			return nil, err
		}
	}
	d.count()
	if in.Intervention.Kind == GoldContext {
		d.implicate(in.Depth)
	}
	d.ID, err = d.contentID()
	return d, err
}

// label says what is to be said of one case; of a replay only what became of it.
func (d *Diagnosis) label(in Input, i int) LabelledCase {
	c := &in.Selection.Cases[i]
	l := LabelledCase{ID: c.ID, Digest: c.Digest, Retrieved: c.places(), Gold: len(c.Gold)}
	var r Result
	if d.Executed {
		r = in.Results[i]
		if in.NoControl {
			r.Control = Failed // the assumption
		} else {
			l.Control = r.Control
		}
		l.Intervention, l.Recovered = r.Intervention, r.recovered()
	}
	if !in.Intervention.Replay() || !d.Executed {
		l.Finding = find(c, r, d.Executed, in.TopK)
	}
	return l
}

// carry takes over the labels of a gold-context diagnosis of the same cases.
func (d *Diagnosis) carry(gold *Diagnosis) error {
	if gold == nil || gold.Selection.Digest != d.Selection.Digest || len(gold.Cases) != len(d.Cases) {
		return fmt.Errorf("the labels of a replay come from a gold-context diagnosis of the same cases")
	}
	d.LabelsFrom = &LabelsFrom{ID: gold.ID, Recovered: gold.Counts.Recovered, Selected: gold.Counts.Selected}
	for i := range d.Cases {
		c := &d.Cases[i]
		c.Finding = gold.Cases[i].Finding
		if c.Label != RankedOut {
			continue
		}
		d.Counts.RankedOut++
		if c.Recovered {
			d.Counts.Confirmed++
			c.Strength = ReplayConfirmed
		}
	}
	return nil
}

func (d *Diagnosis) count() {
	n := &d.Counts
	for i := range d.Cases {
		c := &d.Cases[i]
		if c.Control == Passed {
			n.ControlPassed++
		}
		if c.Recovered {
			n.Recovered++
		}
		if c.Control == Missing || c.Intervention == Missing {
			n.Missing++
		}
	}
	d.Labels = countLabels(d.Cases)
}

// contentID is over what the diagnosis says, with an empty ID.
func (d *Diagnosis) contentID() (evidence.Digest, error) {
	content := *d
	content.ID = ""
	return evidence.ContentID("diagnosis/v1", &content)
}

// Check reports whether a diagnosis is still what its id stands for.
func (d *Diagnosis) Check() error {
	id, err := d.contentID()
	if err == nil && id != d.ID {
		err = fmt.Errorf("the diagnosis %s says something else than its id stands for (%s): it was changed since it was stored", d.ID, id)
	}
	return err
}

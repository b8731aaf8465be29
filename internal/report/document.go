// Package report builds the document, the machine-readable result, and renders
// it. Renderers show only what is in the document and compute no statistic,
// state or gate.
package report

import (
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// DocumentSchema is the version of the document. A change of meaning is a new one.
const DocumentSchema = "oloproof/document/v1"

// Document is gate.json and --json.
type Document struct {
	Schema   string        `json:"schema" jsonschema:"enum=oloproof/document/v1"`
	Tool     evidence.Tool `json:"tool"`
	Run      Run           `json:"run"`
	Gate     *Gate         `json:"gate" jsonschema:"nullable"` // null when no policy decided
	Policies []Policy      `json:"policies"`
	Metrics  []Metric      `json:"metrics"`
	Slices   []Slice       `json:"slices"`
	// Baseline says how the baseline was looked for; null when none was.
	Baseline    *Baseline    `json:"baseline" jsonschema:"nullable"`
	Comparisons []Comparison `json:"comparisons"`
	// Relaxations are the ways in which the policy or the suite under decision is
	// laxer than the one it is held against.
	Relaxations []Relaxation         `json:"relaxations"`
	Cache       evidence.CacheCounts `json:"cache"`
	// Stages says which answers of a staged system's stages were reused; absent for
	// another system.
	Stages *evidence.StageCounts `json:"stages,omitzero"`
	// Judges says what the calls of judges came to; absent when none was called.
	Judges   *evidence.JudgeUse `json:"judges,omitzero"`
	Problems []CaseProblem      `json:"problems"` // errored and unfinished cases by kind
	Notes    []string           `json:"notes"`
	// Signoffs are people's decisions on rules that are MANUAL_REVIEW; absent without any.
	Signoffs []Signoff `json:"signoffs,omitzero"`
}

// Run identifies the run that the document is about.
type Run struct {
	ID           string                `json:"id"`
	Status       evidence.RunStatus    `json:"status"`
	Completeness evidence.Completeness `json:"completeness"`
	Name         string                `json:"name"`
	Suite        Ref                   `json:"suite"`
	Dataset      evidence.DatasetID    `json:"dataset"`
	System       evidence.SystemID     `json:"system"`
	Counts       evidence.Counts       `json:"counts"`
	Commit       string                `json:"commit,omitzero"`
	StartedAt    time.Time             `json:"started_at"`
	FinishedAt   time.Time             `json:"finished_at,omitzero"`
	Reused       bool                  `json:"reused_answers"`   // answers came from the cache
	Stopped      string                `json:"stopped,omitzero"` // why a partial run ended
	MinSupport   int                   `json:"min_slice_support"`
	Concurrency  int                   `json:"concurrency,omitzero"` // calls at the same time
	// LatencyMS is the mean latency of the answered cases in milliseconds, pauses
	// and failed attempts not counted; null when it is not known.
	LatencyMS *float64 `json:"latency_ms" jsonschema:"nullable"`
}

// Signoff is a person's decision on rules that are MANUAL_REVIEW.
type Signoff struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Rules  []string  `json:"rules"` // that it releases
}

// Ref is a file with its content id.
type Ref struct {
	Path   string          `json:"path"`
	Digest evidence.Digest `json:"digest"`
}

// Gate is what the states come to.
type Gate struct {
	Action   string   `json:"action" jsonschema:"enum=ALLOW,enum=WARN,enum=BLOCK"`
	ExitCode int      `json:"exit_code"`
	Reasons  []string `json:"reasons"`
	Meaning  string   `json:"meaning"` // one sentence for people
}

// Policy is one policy with its decisions.
type Policy struct {
	Role      string     `json:"role" jsonschema:"enum=only,enum=base,enum=proposed"` // only, base or proposed
	Path      string     `json:"path"`
	Digest    string     `json:"digest"`
	Gate      Gate       `json:"gate"`
	Decisions []Decision `json:"decisions"`
	Families  []Family   `json:"families"`
}

// Family says what the correction of a family of comparison rules did.
type Family struct {
	ID         string    `json:"id"`
	Correction string    `json:"correction"`
	Rules      int       `json:"rules"`  // in the family
	Levels     []float64 `json:"levels"` // errors at which its rules that FAIL were tested again
}

// Decision is what came of one rule.
type Decision struct {
	Rule        string        `json:"rule"`
	Metric      string        `json:"metric"`
	Kind        string        `json:"kind"`
	Comparison  *string       `json:"comparison" jsonschema:"nullable"` // null for a run rule
	Slice       *string       `json:"slice" jsonschema:"nullable"`
	State       string        `json:"state" jsonschema:"enum=PASS,enum=FAIL,enum=INSUFFICIENT_EVIDENCE,enum=MANUAL_REVIEW"`
	Reasons     []string      `json:"reasons"`
	Direction   string        `json:"direction,omitzero" jsonschema:"enum=min,enum=max"` // min or max
	Threshold   *float64      `json:"threshold,omitzero"`
	MaxFailures *int          `json:"max_failures,omitzero"`
	Failures    *int          `json:"failures,omitzero"`
	Margin      *float64      `json:"margin,omitzero"`
	Requires    string        `json:"requires"` // the condition in words: "at least 70.0%", "non-inferiority, margin 5.0 points"
	Estimate    *float64      `json:"estimate" jsonschema:"nullable"`
	Interval    *Interval     `json:"interval" jsonschema:"nullable"`
	Cases       measure.Cases `json:"cases"`
	Display     Display       `json:"display"`
	Planning    *Planning     `json:"planning" jsonschema:"nullable"`
	Family      string        `json:"family,omitzero"`         // that corrects the rule
	Adjusted    *float64      `json:"adjusted_alpha,omitzero"` // error at which the family tested the rule again
	// Correction took the error of a judge out of estimate and interval; absent when none did.
	Correction string `json:"correction,omitzero" jsonschema:"enum=ppi,enum=rogan_gladen"`
	Line       int    `json:"line,omitzero"` // of the rule in the policy file
}

// Interval is an interval with raw doubles; null is "no bound".
type Interval struct {
	Lower  *float64 `json:"lower" jsonschema:"nullable"`
	Upper  *float64 `json:"upper" jsonschema:"nullable"`
	Level  float64  `json:"level"`
	Method string   `json:"method"`
}

// Display holds the strings that every renderer prints.
type Display struct {
	Estimate    string `json:"estimate"`    // 73.3%
	Interval    string `json:"interval"`    // [44.8%, 92.3%]
	Denominator string `json:"denominator"` // 11 / 15 observed · 0 missing · 0 excluded
}

// Planning is a planning line.
type Planning struct {
	Total       *int     `json:"total" jsonschema:"nullable"`
	More        *int     `json:"more" jsonschema:"nullable"`
	Discordance *float64 `json:"discordance" jsonschema:"nullable"`
	Reason      string   `json:"reason,omitzero"`
	Line        string   `json:"line"`          // about 753 more cases would decide it, …
	Cost        string   `json:"cost,omitzero"` // what the further cases would take, when the run knows it and it is a second or more
}

// Metric is one metric of the run.
type Metric struct {
	ID         string                `json:"id"`
	Kind       evidence.Kind         `json:"kind"`
	Estimate   *float64              `json:"estimate" jsonschema:"nullable"`
	Interval   *Interval             `json:"interval" jsonschema:"nullable"`
	Cases      measure.Cases         `json:"cases"`
	Source     string                `json:"source,omitzero"` // what is measured, such as latency_ms; absent for judged metrics
	Failures   int                   `json:"failures"`        // observed failures of a rate, for an error rate the errored cases; 0 for other kinds
	Range      [2]float64            `json:"range"`
	Unit       string                `json:"unit,omitzero"`
	Exclusions []measure.ReasonCount `json:"exclusions"`
	Missing    []measure.ReasonCount `json:"missing"`
	Display    Display               `json:"display"`
	// Judge is what the model that gives the metric is worth; absent for others.
	Judge *Judge `json:"judge,omitzero"`
}

// Slice is one metric over a slice.
type Slice struct {
	Name     string        `json:"name"`
	Value    string        `json:"value"`
	Metric   string        `json:"metric"`
	Estimate *float64      `json:"estimate" jsonschema:"nullable"`
	Interval *Interval     `json:"interval" jsonschema:"nullable"` // null below min_slice_support
	Cases    measure.Cases `json:"cases"`
	Support  int           `json:"support"`
	PValue   *float64      `json:"p_value" jsonschema:"nullable"`
	Marked   bool          `json:"marked"`
	Display  Display       `json:"display"`
}

// CaseProblem counts cases that ended in the same way.
type CaseProblem struct {
	Kind    string   `json:"kind"`
	Status  int      `json:"status,omitzero"` // HTTP status
	Count   int      `json:"count"`
	CaseIDs []string `json:"case_ids"` // the first ten
}

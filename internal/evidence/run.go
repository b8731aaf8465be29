package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of a metric.
type Kind string

// The kinds of metric.
const (
	Rate     Kind = "rate"     // share of passed judgments
	Mean     Kind = "mean"     // mean of scores, or of a measured quantity
	Quantile Kind = "quantile" // quantile of a measured quantity, such as latency
)

// SourceError is the source of an error rate: 1 for a case whose execution
// errored, 0 for one that was answered.
const SourceError = "execution_error"

// UnitOf returns the unit of a measured quantity; ok is false for what is none.
func UnitOf(source string) (unit string, ok bool) {
	switch source {
	case SourceLatency, SourceFirstToken:
		return "ms", true
	case SourceInputTokens, SourceOutputTokens:
		return "tokens", true
	case SourceCost:
		return "USD", true
	case SourceError:
		return "", true
	}
	return "", false
}

// Prices are what tokens cost, in US dollars for a million.
type Prices struct {
	Input  float64 `json:"input_per_mtok"`
	Output float64 `json:"output_per_mtok"`
}

// Cost is what an answer cost: what the system says, else its tokens by the
// prices; nil when it says neither.
func (p *Prices) Cost(u *Usage) *float64 {
	switch {
	case u == nil:
		return nil
	case u.CostUSD != nil || p == nil || u.InputTokens == nil || u.OutputTokens == nil:
		return u.CostUSD
	}
	// The conversions forbid a fused multiply-add, which some machines have.
	cost := (float64(float64(*u.InputTokens)*p.Input) + float64(float64(*u.OutputTokens)*p.Output)) / 1e6
	return &cost
}

// Equal reports whether two prices are the same, or both none.
func (p *Prices) Equal(q *Prices) bool { return p == q || p != nil && q != nil && *p == *q }

// Judged reports whether the metric is made of judgments, not of what was
// measured of each execution.
func (metric *MetricSpec) Judged() bool { return metric.Kind != Quantile && metric.Source == "" }

// Bounded reports whether the values of the metric have a least and a largest.
func (metric *MetricSpec) Bounded() bool {
	low, high := metric.Range[0], metric.Range[1]
	return low < high && !math.IsInf(high-low, 0)
}

// MetricSpec says what a metric is made of. A run stores the specs of its
// metrics, so that it can be measured again without its suite.
type MetricSpec struct {
	ID       string     `json:"id"`
	Kind     Kind       `json:"kind"`
	Range    [2]float64 `json:"range"`             // of scores and verdicts, and of a mean as the suite declares it; else zero
	Source   string     `json:"source,omitzero"`   // of measured metrics, such as latency_ms; empty for judged ones
	Quantile float64    `json:"quantile,omitzero"` // in (0,1)
	Unit     string     `json:"unit,omitzero"`     // of measured metrics, such as ms
	Prices   *Prices    `json:"prices,omitzero"`   // of a cost that the system does not say; nil when it must say it
	// Evaluator is the content id of the evaluator's type and options; empty for measured metrics.
	Evaluator Digest `json:"evaluator,omitzero"`
	// Served are the models that gave the verdicts of a judge, as their provider
	// names them, in order; "" among others for one without a name, none when no model
	// was ever named. Another one is another instrument.
	Served []string `json:"served,omitzero"`
	// Trust is what people's labels say of a judge; nil without labels.
	Trust *Trust `json:"trust,omitzero"`
	// Type is the evaluator's type, such as contains; empty for measured metrics.
	Type string `json:"type,omitzero"`
	// Options is the evaluator in the keys of the suite, as canonical JSON, so that
	// a run can be judged again; nil for measured metrics.
	Options Value `json:"options,omitzero"`
}

// AsksModel reports whether a model gave the verdicts: they are an instrument's,
// with an error that labels must show.
func (s MetricSpec) AsksModel() bool {
	return strings.HasSuffix(s.Type, "_judge") || s.Type == "cascade"
}

// Trust counts how a judge and people labelled the same answers. The table holds
// the labels of answers that this very instrument judged: the same evaluator,
// with a reply by a model that served this run too.
type Trust struct {
	BothPass  int `json:"both_pass"`  // judge and person say pass
	JudgeOnly int `json:"judge_only"` // the judge says pass, the person fail
	HumanOnly int `json:"human_only"` // the person says pass, the judge fail
	BothFail  int `json:"both_fail"`  // both say fail
	// Others are labels of answers that another instrument judged.
	Others int `json:"others,omitzero"`
	// Unsettled are answers that people labelled differently.
	Unsettled int    `json:"unsettled,omitzero"`
	People    int    `json:"people,omitzero"`  // who labelled
	Retired   string `json:"retired,omitzero"` // why the judge is not to be used any more; "" when it is
}

// ModelNames lists models for people.
func ModelNames(models []string) string {
	names := slices.Clone(models)
	for i, name := range names {
		names[i] = cmp.Or(name, "one without a name")
	}
	return strings.Join(names, ", ")
}

// Labels is the number of labels that count.
func (t *Trust) Labels() int { return t.BothPass + t.JudgeOnly + t.HumanOnly + t.BothFail }

// RunStatus says how far a run came.
type RunStatus string

// The statuses of a run.
const (
	RunRunning  RunStatus = "RUNNING"
	RunDecided  RunStatus = "DECIDED"  // a policy was applied
	RunExplored RunStatus = "EXPLORED" // finished without a policy
	RunError    RunStatus = "RUN_ERROR"
	RunCanceled RunStatus = "CANCELLED"
)

// Completeness says whether every case ran.
type Completeness string

// The completeness of a run.
const (
	Complete Completeness = "COMPLETE"
	Partial  Completeness = "PARTIAL"
)

// RunSchema is the version of run.json and of the files that it names. A change
// of meaning is a new one.
const RunSchema = "oloproof/run/v1"

// Manifest is run.json: what ran, with the digests of the run's other files.
type Manifest struct {
	Schema       string       `json:"schema"` // RunSchema
	Tool         Tool         `json:"tool"`
	ID           string       `json:"id"` // run_ and a ULID
	Status       RunStatus    `json:"status"`
	Completeness Completeness `json:"completeness"`
	Name         string       `json:"name"` // key of baseline, artifact and comment; the suite's path by default
	Project      string       `json:"project"`
	SuitePath    string       `json:"suite_path"`
	SuiteDigest  Digest       `json:"suite_digest"` // of the suite's meaning: system, evaluators, metrics, slices
	Dataset      DatasetID    `json:"dataset"`
	System       SystemID     `json:"system"`
	Metrics      []MetricSpec `json:"metrics"`
	Slices       []string     `json:"slices"`
	MinSupport   int          `json:"min_slice_support"`
	SuiteRole    string       `json:"suite_role,omitzero"`
	Concurrency  int          `json:"concurrency"`
	Policies     []PolicyRef  `json:"policies,omitzero"`
	Shard        *Shard       `json:"shard,omitzero"` // nil for a whole run
	Child        *Child       `json:"child,omitzero"` // nil for an ordinary run
	Counts       Counts       `json:"counts"`
	Cache        CacheCounts  `json:"cache"`
	Stages       *StageCounts `json:"stages,omitzero"` // nil unless the system is staged
	Judges       *JudgeUse    `json:"judges,omitzero"` // nil without a judge
	StartedAt    time.Time    `json:"started_at"`
	FinishedAt   time.Time    `json:"finished_at,omitzero"`
	Commit       string       `json:"commit,omitzero"`
	CI           *CI          `json:"ci,omitzero"`   // nil outside GitHub Actions
	Gate         string       `json:"gate,omitzero"` // ALLOW, WARN, BLOCK, or empty without a policy
	Notes        []string     `json:"notes,omitzero"`
	Stopped      string       `json:"stopped,omitzero"` // why a partial run ended
	Files        []File       `json:"files"`            // digests of judgments.jsonl and cases.jsonl
}

// Tool names the program that wrote a file.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// DatasetID identifies a data set.
type DatasetID struct {
	Path   string `json:"path"`
	Digest Digest `json:"digest"` // over the sorted case ids and digests; the path is not part of it
	Cases  int    `json:"cases"`
}

// SystemID identifies the system under test.
type SystemID struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
	Kind    string `json:"kind"` // http, command, callable or rag
	Digest  Digest `json:"digest"`
	URL     string `json:"url,omitzero"` // without userinfo and query
	// Staged is how a staged system was run; nil for another one.
	Staged *StagedSettings `json:"staged,omitzero"`
	// Deployed is what the service said of its version; nil when it was not asked.
	Deployed *Deployment `json:"deployed,omitzero"`
}

// VersionChanged reports whether the service's version changed during the run.
func (s *SystemID) VersionChanged() bool { return s.Deployed != nil && s.Deployed.Changed }

// Deployment is what a service said of its version before the first case and
// after the last one.
type Deployment struct {
	Of      string `json:"of" jsonschema:"enum=version,enum=index_version"` // what the version is of: version or index_version
	First   string `json:"first"`
	Last    string `json:"last,omitzero"` // "" when the run stopped before
	Changed bool   `json:"changed"`       // it was not one version all the time
}

// StagedSettings says how a staged system is run. They are part of its identity.
type StagedSettings struct {
	Depth         int    `json:"depth"`
	TopK          int    `json:"top_k"`
	TokenBudget   *int   `json:"token_budget,omitzero"` // nil is no limit
	IndexVersion  string `json:"index_version,omitzero"`
	CitationsPath string `json:"citations_path"`
	CountTokens   string `json:"count_tokens,omitzero"` // words or characters/4; "" when the system counts
}

// Shard says which part of a data set a run covers. The Dataset of its manifest
// has the digest of the whole and the number of cases of the part.
type Shard struct {
	Index  int   `json:"index"`  // from 1
	Of     int   `json:"of"`     // number of parts
	Total  int   `json:"total"`  // cases of the whole data set
	Places []int `json:"places"` // of the part's cases in the whole data set, from 0, ascending
}

// Coverage says whether every case of the suite ran. A shard that is complete is
// still a part of it.
func (m *Manifest) Coverage() Completeness {
	if m.Shard != nil && m.Shard.Of > 1 {
		return Partial
	}
	return m.Completeness
}

// Child says that a run executed failed cases of another one again, for a
// diagnosis. It decides nothing about a release.
type Child struct {
	Parent       string `json:"parent"`       // id of the run whose cases they are
	Criterion    string `json:"criterion"`    // that they failed, and that is judged
	Intervention string `json:"intervention"` // gold context, top-k 4, …
	Role         string `json:"role"`         // RoleIntervention or RoleControl
	// Work is the content id of what is executed, so that an interrupted diagnosis
	// can be taken up by the one that would do the same.
	Work Digest `json:"work"`
}

// The roles of a child run.
const (
	RoleIntervention = "intervention" // executed with what the intervention changes
	RoleControl      = "control"      // executed unchanged
)

// PolicyRef names a policy that decided the run.
type PolicyRef struct {
	Path   string `json:"path"`
	Digest Digest `json:"digest"`
}

// Counts says how many cases ended how.
type Counts struct {
	Cases  int `json:"cases"`
	OK     int `json:"ok"`
	Error  int `json:"error"`
	NotRun int `json:"not_run"`
}

// JudgeUse says what the calls of judges came to.
type JudgeUse struct {
	Calls        int      `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd" jsonschema:"nullable"` // null when some model has no price
}

// CacheCounts says what was reused.
type CacheCounts struct {
	ExecutionHits   int `json:"execution_hits"`
	ExecutionMisses int `json:"execution_misses"`
	JudgmentHits    int `json:"judgment_hits"`
	JudgmentMisses  int `json:"judgment_misses"`
}

// StageCounts says which answers of the stages of a staged system were reused.
type StageCounts struct {
	RetrieveHits   int `json:"retrieve_hits"`
	RetrieveMisses int `json:"retrieve_misses"`
	GenerateHits   int `json:"generate_hits"`
	GenerateMisses int `json:"generate_misses"`
}

// Add counts the stages of an execution.
func (c *StageCounts) Add(u StageUse) {
	count := func(hits, misses *int, how string) {
		switch how {
		case StageHit:
			*hits++
		case StageMiss:
			*misses++
		}
	}
	count(&c.RetrieveHits, &c.RetrieveMisses, u.Retrieve)
	count(&c.GenerateHits, &c.GenerateMisses, u.Generate)
}

// Empty reports whether no stage was called and none reused.
func (c *StageCounts) Empty() bool { return c == nil || *c == StageCounts{} }

// File is one file of a run with its SHA-256.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hex
	Bytes  int64  `json:"bytes"`
}

// Outcome is what judgments.jsonl keeps of one case: enough to measure, decide
// and compare, and no question, answer, passage, error text or body.
type Outcome struct {
	ID         string
	Digest     Digest
	Slices     []string // value per slice of the manifest; see NoSlice
	Status     Status
	ErrorKind  ErrorKind
	HTTPStatus int
	LatencyMS  float64
	Attempts   int
	Usage      *Usage     // nil when the system does not say what the answer took
	Judgments  []Judgment // one per judged metric of the manifest, in its order, measured ones left out; Detail is empty
}

// NoSlice is the slice value of a case that lies in no slice of that name.
const NoSlice = "\x00"

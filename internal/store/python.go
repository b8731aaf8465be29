package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// A bundle of the Python tool is run.json and cases.jsonl (what else lies with
// them is not read). Its content ids are keyed with a secret of its project, so
// they say nothing here: ours are computed from the scenarios. It has no digests
// of its files either; what can be checked is that the two files agree.

// pythonSchema is the one schema_version that is read.
const pythonSchema = "v1"

// PythonBundleError is a run.json with another schema_version than that of the
// bundles of the Python tool that are read.
type PythonBundleError struct {
	Version string // its schema_version
}

// Error says what is read.
func (e *PythonBundleError) Error() string {
	return fmt.Sprintf("schema_version %q is not read: a run has schema %q, and a bundle of the Python tool schema_version %q; update oloproof if yours is newer",
		e.Version, evidence.RunSchema, pythonSchema)
}

// pythonRun is what is known of a run of the Python tool beside its manifest.
type pythonRun struct {
	id     string
	judged []pythonMetric // in the order of the manifest's judged metrics
	// slicing names the slices, and how a staged system was run.
	slicing evidence.Manifest
	cases   int // scenario_count
}

// pythonMetric is a metric that judgments belong to.
type pythonMetric struct {
	spec      evidence.MetricSpec
	criterion string
	fails     bool // whether a case without an answer counts as failed
	claim     *pythonCounts
}

// pythonCounts is what run.json says of the cases of a metric.
type pythonCounts struct {
	Metric     string `json:"metric"`
	Scope      string `json:"scope"`
	Total      int    `json:"n_total"`
	Observed   int    `json:"n_observed"`
	Failures   int    `json:"observed_failures"`
	Replicates int    `json:"replicates"`
}

// readPython reads run.json and cases.jsonl of the Python tool.
func (r *Run) readPython() error {
	src, err := r.src.open(manifestFile)
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	defer src.Close()
	f, err := readPythonFile(src)
	if err == nil {
		r.Manifest, r.python, err = f.manifest()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.src.place(manifestFile), err)
	}
	return r.countPython()
}

// countPython reads cases.jsonl once: it completes the manifest and compares
// the cases with what run.json says of them.
func (r *Run) countPython() error {
	m, p := r.Manifest, r.python
	src, err := r.src.open(casesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no %s, from which a bundle of the Python tool is read", r.Place(), casesFile)
	}
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	f := newChecked(src, evidence.File{}, r.src.place(casesFile))
	defer f.Close()

	t := newPythonTally(m, p)
	if err := decodeLines(f, maxLine, p.decode, t.add); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if len(t.ids) != p.cases {
		return fmt.Errorf("%s has %d cases, run.json says %d: it was cut off, or belongs to another run", f.name, len(t.ids), p.cases)
	}
	if err := t.compare(); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	t.complete()
	m.Files = []evidence.File{{Name: casesFile, SHA256: f.digest(), Bytes: f.n}}
	if m.Dataset.Cases < 1 || m.Dataset.Cases > maxCases {
		return fmt.Errorf("%s: %d cases, want 1 to %d", f.name, m.Dataset.Cases, maxCases)
	}
	return nil
}

// pythonOutcome is an outcome with the times of the execution.
type pythonOutcome struct {
	evidence.Outcome
	ended time.Time // zero when the case did not run, or its answer was reused
}

// decode reads a line of cases.jsonl.
func (p *pythonRun) decode(b []byte, o *pythonOutcome) error {
	line, err := p.caseLine(b)
	if err != nil {
		return err
	}
	p.outcome(&line, &o.Outcome)
	o.ended = time.Time{}
	if e := &line.Execution; !e.FromCache && !e.StartedAt.IsZero() {
		o.ended = e.StartedAt.Add(time.Duration(min(e.LatencyMS, maxLatencyMS) * float64(time.Millisecond)))
	}
	return nil
}

// maxLatencyMS bounds the latency that is added to a time: a year.
const maxLatencyMS = 365 * 24 * 3600e3

// decodeOutcome reads a line of cases.jsonl as the outcome that it comes to.
func (p *pythonRun) decodeOutcome(b []byte, o *evidence.Outcome) error {
	line, err := p.caseLine(b)
	if err == nil {
		p.outcome(&line, o)
	}
	return err
}

// caseLine reads a line of cases.jsonl, with one judgment per judged metric in
// their order.
func (p *pythonRun) caseLine(b []byte) (evidence.CaseLine, error) {
	line, err := evidence.DecodeCaseLine(b)
	if err != nil {
		return line, err
	}
	if err := p.link(b, &line); err != nil {
		return line, fmt.Errorf("case %q: %w", line.Case.ID, err)
	}
	given := line.Judgments
	line.Judgments = make([]evidence.NamedJudgment, len(p.judged))
	for i := range p.judged {
		metric := &p.judged[i]
		j := metric.judgment(given, &line.Execution)
		if err := metric.spec.Check(&j); err != nil {
			return line, fmt.Errorf("case %q: judgment of %q: %w", line.Case.ID, metric.criterion, err)
		}
		line.Judgments[i] = evidence.NamedJudgment{Criterion: metric.spec.ID, Judgment: j}
	}
	return line, nil
}

// link reads what binds the case to its run; a case that did not run has none.
func (p *pythonRun) link(b []byte, line *evidence.CaseLine) error {
	link, ok := evidence.Member(b, "link")
	if !ok || evidence.IsNull(link) {
		return nil
	}
	run, _ := evidence.Member(link, "run_id")
	if id, _ := evidence.Text(run); id != p.id {
		return fmt.Errorf("it belongs to the run %s, and run.json is that of %s", evidence.Shorten(run, 60), p.id)
	}
	cached, _ := evidence.Member(link, "execution_from_cache")
	line.Execution.FromCache = cached.Kind() == 't'
	return nil
}

// judgment returns the judgment of the metric: the one given, or what a case
// without one counts as.
func (m *pythonMetric) judgment(given []evidence.NamedJudgment, e *evidence.Execution) evidence.Judgment {
	for i := range given {
		if given[i].Criterion == m.criterion {
			return given[i].Judgment
		}
	}
	switch {
	case e.Status == evidence.StatusOK || e.Status == evidence.StatusNotRun:
		return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}
	case m.fails:
		return evidence.Judgment{State: evidence.Judged}
	}
	return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonExecutionError}
}

// outcome fills o with what a line of judgments.jsonl would say of the case.
func (p *pythonRun) outcome(line *evidence.CaseLine, o *evidence.Outcome) {
	values := append(o.Slices[:0], evidence.SliceValues(&p.slicing, &line.Case, &line.Execution)...)
	judgments := o.Judgments[:0]
	for i := range line.Judgments {
		j := line.Judgments[i].Judgment
		j.Detail = ""
		judgments = append(judgments, j)
	}
	*o = evidence.OutcomeOf(&line.Case, &line.Execution, values, judgments)
}

// pythonTally counts the cases of a bundle of the Python tool.
type pythonTally struct {
	manifest *evidence.Manifest
	run      *pythonRun
	ids      []string
	digests  []evidence.Digest
	observed []int // per judged metric
	failed   []int
	ended    time.Time
	count    func(i int, o *evidence.Outcome) error
}

func newPythonTally(m *evidence.Manifest, p *pythonRun) *pythonTally {
	t := &pythonTally{manifest: m, run: p, observed: make([]int, len(p.judged)), failed: make([]int, len(p.judged))}
	t.count = withoutTwins(t.addOutcome)
	return t
}

func (t *pythonTally) add(i int, o *pythonOutcome) error {
	if o.ended.After(t.ended) {
		t.ended = o.ended
	}
	return t.count(i, &o.Outcome)
}

func (t *pythonTally) addOutcome(_ int, o *evidence.Outcome) error {
	t.ids, t.digests = append(t.ids, o.ID), append(t.digests, o.Digest)
	switch counts := &t.manifest.Counts; o.Status {
	case evidence.StatusOK:
		counts.OK++
	case evidence.StatusNotRun:
		counts.NotRun++
	default:
		counts.Error++
	}
	for i, j := range o.Judgments {
		if j.State != evidence.Judged {
			continue
		}
		t.observed[i]++
		if t.run.judged[i].spec.Kind == evidence.Rate && j.Value == 0 {
			t.failed[i]++
		}
	}
	return nil
}

// compare refuses cases that are not those that the metrics of run.json were
// computed from.
func (t *pythonTally) compare() error {
	for i := range t.run.judged {
		m := &t.run.judged[i]
		c := m.claim
		if c == nil {
			continue
		}
		if c.Total != len(t.ids) || c.Observed != t.observed[i] || m.spec.Kind == evidence.Rate && c.Failures != t.failed[i] {
			return fmt.Errorf("%s has %d of %d cases observed and %d failed here, run.json says %d of %d and %d: one of the files was changed since the export",
				m.spec.ID, t.observed[i], len(t.ids), t.failed[i], c.Observed, c.Total, c.Failures)
		}
	}
	return nil
}

// complete says in the manifest what the cases show.
func (t *pythonTally) complete() {
	m := t.manifest
	n := len(t.ids)
	m.Dataset.Cases, m.Counts.Cases = n, n
	m.Dataset.Digest = evidence.DatasetDigest(n,
		func(i int) string { return t.ids[i] }, func(i int) evidence.Digest { return t.digests[i] })
	m.FinishedAt = m.StartedAt
	if t.ended.After(m.StartedAt) {
		m.FinishedAt = t.ended.UTC()
	}
	if finished(m) && m.Counts.NotRun > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("the Python tool stopped this run early: %d cases were not run and count as missing", m.Counts.NotRun))
	}
}

// pythonEvaluator is an evaluator as run.json describes it. The tool writes no
// type: the keys of config and what is read tell it.
type pythonEvaluator struct {
	Criterion string         `json:"criterion"`
	Kind      string         `json:"kind"`
	Config    evidence.Value `json:"config"`
	Reads     []string       `json:"reads"`
	Digest    string         `json:"digest"`
}

// describe completes a metric by the evaluator that judged it. When the bundle
// says all of the evaluator's options, its content id is that of the same
// evaluator in a suite; else it is one that only another run of the same
// evaluator in the same project has.
func (e *pythonEvaluator) describe(spec *evidence.MetricSpec, onError string) (err error) {
	options := map[string]any{}
	spec.Type, err = e.options(spec, options)
	if err != nil {
		return err
	}
	if len(options) == 0 {
		spec.Evaluator, err = evidence.ContentID("python-evaluator/v1", []string{e.Digest, onError})
		return err
	}
	options["type"], options["criterion"], options["on_execution_error"] = spec.Type, spec.ID, onError
	if spec.Options, err = evidence.Canonical(options); err != nil {
		return err
	}
	spec.Evaluator, err = evidence.EvaluatorDigest(spec.Options)
	return err
}

// options returns the type of the evaluator and collects its options in the
// keys of the suite: none when the bundle does not say what they were.
func (e *pythonEvaluator) options(spec *evidence.MetricSpec, into map[string]any) (kind string, err error) {
	other := cmp.Or(strings.ToLower(e.Kind), "unknown")
	if e.Kind != "DETERMINISTIC" {
		return other, nil
	}
	config := map[string]evidence.Value{}
	var keys []string
	for key, v := range evidence.Members(e.Config) {
		config[key] = v
		keys = append(keys, key)
	}
	slices.Sort(keys)
	whole := true
	take := func(key string, ok bool) {
		into[key] = config[key]
		whole = whole && ok
	}
	isText := func(key string) bool { return config[key].Kind() == '"' }
	isPath := func(key string) bool { return isText(key) || evidence.IsNull(config[key]) }
	isFlag := func(key string) bool { return config[key].Kind() == 't' || config[key].Kind() == 'f' }
	isWord := func(key string, words ...string) bool {
		s, ok := evidence.Text(config[key])
		return ok && slices.Contains(words, s)
	}
	switch strings.Join(keys, " ") + " < " + strings.Join(e.Reads, " ") {
	case "expected_field field < output expected":
		kind = "contains"
	case "casefold expected_field field strip < output expected":
		kind = "exact_match"
		take("strip", isFlag("strip"))
		take("casefold", isFlag("casefold"))
	case "field pass_if pattern < output":
		kind = "regex"
		take("pattern", isText("pattern"))
		take("pass_if", isWord("pass_if", "match", "no_match"))
	case "field schema_digest < output":
		return "json_schema", nil // the schema itself is not in the bundle
	case "k relevance_unit < artifacts.retrieval expected":
		if kind = retrievalType(spec, config["k"]); kind == "" {
			return "retrieval", nil // hit_rate, recall, mrr or ndcg under a name of its own
		}
		take("k", true)
		take("relevance_unit", isWord("relevance_unit", "doc", "chunk"))
	case "require_citations < artifacts.citations artifacts.context":
		kind = "citation_validity"
		take("require_citations", isFlag("require_citations"))
	default:
		return other, nil
	}
	for _, key := range []string{"field", "expected_field"} {
		if _, ok := config[key]; ok {
			take(key, isPath(key))
		}
	}
	if !whole || spec.Kind == evidence.Mean && !slices.Contains([]string{"recall", "mrr", "ndcg"}, kind) {
		clear(into)
		return other, fmt.Errorf("the evaluator of %q has a config that no %s has: %s", e.Criterion, kind, evidence.Shorten(e.Config, 100))
	}
	return kind, nil
}

// retrievalType returns the type of a retrieval metric with the name that the
// tool gives it, TYPE_at_K, and "" when it has another name.
func retrievalType(spec *evidence.MetricSpec, k evidence.Value) string {
	for kind, of := range map[string][]evidence.Kind{
		"hit_rate": {evidence.Rate}, "recall": {evidence.Rate, evidence.Mean}, "mrr": {evidence.Mean}, "ndcg": {evidence.Mean},
	} {
		if spec.ID == kind+"_at_"+string(k) && slices.Contains(of, spec.Kind) {
			return kind
		}
	}
	return ""
}

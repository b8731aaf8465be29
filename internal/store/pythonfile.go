package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Limits on run.json of the Python tool. It repeats every scenario, so it is
// read as a stream, and only the parts that are wanted are kept.
const (
	maxPart  = 16 << 20 // bytes of a part that is kept
	maxToken = 64 << 20 // bytes of a string that is passed over
)

// isPython reports whether a run.json, or the start of one, is of the Python
// tool: which of the two words for its schema stands there first.
func isPython(b []byte) bool {
	found := ""
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for found == "" {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return false
		}
		if key := t.String(); key == "schema" || key == "schema_version" {
			found = key
		} else if d.SkipValue() != nil {
			return false
		}
	}
	return found == "schema_version"
}

// pythonFile is what is read of run.json of the Python tool.
type pythonFile struct {
	SchemaVersion string
	ID            string
	Status        string
	Completeness  string
	Parent        *string
	Selection     evidence.Value
	Specs         []pythonSpec
	Metrics       []pythonCounts
	Gate          *struct {
		Action string `json:"release_action"`
	}
	Cache      evidence.CacheCounts
	Created    time.Time
	Slices     []string
	MinSupport *int
	Source     string // of the data set
	Cases      int
	System     struct {
		Name    string         `json:"name"`
		Version string         `json:"version"`
		Config  evidence.Value `json:"config"`
		Digest  string         `json:"digest"`
	}
	Evaluators []pythonEvaluator
}

// pythonSpec is a metric as run.json describes it.
type pythonSpec struct {
	ID        string      `json:"id"`
	Criterion string      `json:"criterion"`
	Type      string      `json:"type"`
	OnError   string      `json:"on_execution_error"`
	Unit      string      `json:"unit_of_analysis"`
	Estimand  string      `json:"estimand"`
	Source    string      `json:"source"`
	Range     *[2]float64 `json:"range"`
	Quantile  *float64    `json:"quantile"`
}

// members names the members of a JSON object that are wanted: each is a pointer
// to what it is decoded into, or the members of an object in turn.
type members map[string]any

// readPythonFile reads run.json of the Python tool.
func readPythonFile(r io.Reader) (*pythonFile, error) {
	f := &pythonFile{}
	s := newPartReader(r)
	err := s.object(members{
		"schema_version": &f.SchemaVersion,
		"run": members{
			"id": &f.ID, "status": &f.Status, "completeness": &f.Completeness,
			"parent_run_id": &f.Parent, "selection": &f.Selection,
			"metric_specs": &f.Specs, "metrics": &f.Metrics, "gate": &f.Gate, "cache_counts": &f.Cache,
			"created_at": &f.Created, "slice_names": &f.Slices, "min_slice_support": &f.MinSupport,
		},
		"suite":      members{"source": &f.Source, "scenario_count": &f.Cases},
		"system":     &f.System,
		"evaluators": &f.Evaluators,
	})
	if f.SchemaVersion != "" && f.SchemaVersion != pythonSchema {
		return nil, &PythonBundleError{Version: f.SchemaVersion}
	}
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return f, nil
}

// partReader reads the wanted members of a JSON object of any size.
type partReader struct {
	d *jsontext.Decoder
	m *meter
}

// newPartReader does not ask for names to differ, since that takes memory for
// all of them. Those that are wanted are checked.
func newPartReader(r io.Reader) *partReader {
	m := &meter{r: r}
	return &partReader{d: jsontext.NewDecoder(m, jsontext.AllowDuplicateNames(true)), m: m}
}

// meter bounds how much is read at a time.
type meter struct {
	r    io.Reader
	left int // bytes
}

var errPartTooLong = errors.New("a value is too long")

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errPartTooLong
	}
	n, err := m.r.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

func (s *partReader) token() (jsontext.Token, error) {
	s.m.left = maxToken
	t, err := s.d.ReadToken()
	return t, inShort(err)
}

// inShort leaves out where in the file the reader gave up.
func inShort(err error) error {
	if errors.Is(err, errPartTooLong) {
		return errPartTooLong
	}
	return err
}

// object reads an object.
func (s *partReader) object(wanted members) error {
	t, err := s.token()
	if err != nil {
		return err
	}
	if t.Kind() != '{' {
		return errors.New("want an object")
	}
	seen := map[string]bool{}
	for {
		t, err := s.token()
		if err != nil {
			return err
		}
		if t.Kind() == '}' {
			return nil
		}
		key := t.String()
		into, ok := wanted[key]
		switch {
		case !ok:
			err = s.skip()
		case seen[key]:
			err = errors.New("it stands twice")
		default:
			seen[key] = true
			err = s.member(into)
		}
		if err != nil && ok {
			return fmt.Errorf("%s: %w", key, err)
		}
		if err != nil {
			return err
		}
	}
}

func (s *partReader) member(into any) error {
	if inner, ok := into.(members); ok {
		return s.object(inner)
	}
	s.m.left = maxPart
	v, err := s.d.ReadValue()
	if err != nil {
		return inShort(err)
	}
	return json.Unmarshal(v, into)
}

// skip passes over a value, token by token, so that it is never held whole.
func (s *partReader) skip() error {
	for depth := s.d.StackDepth(); ; {
		if _, err := s.token(); err != nil {
			return err
		}
		if s.d.StackDepth() <= depth {
			return nil
		}
	}
}

// end asks for nothing more.
func (s *partReader) end() error {
	if _, err := s.token(); err == nil {
		return errors.New("more text after the JSON value")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// manifest says in our words what run.json says, as far as the cases are not
// needed for it.
func (f *pythonFile) manifest() (*evidence.Manifest, *pythonRun, error) {
	switch {
	case f.SchemaVersion == "":
		return nil, nil, fmt.Errorf("no run: it has no schema_version, want %q", pythonSchema)
	case f.ID == "" || f.System.Name == "":
		return nil, nil, errors.New("it is no bundle of a run: it has no run.id and system.name")
	case !validID(f.ID):
		return nil, nil, fmt.Errorf("damaged: id %q is no run id", f.ID)
	case f.Parent != nil || !evidence.IsNull(f.Selection):
		return nil, nil, errors.New("it is a run of a diagnosis, over selected cases: name its parent")
	case f.Created.IsZero():
		return nil, nil, errors.New("damaged: run.created_at is missing")
	case len(f.Slices) > maxSlices || len(f.Specs) > maxMetrics:
		return nil, nil, fmt.Errorf("damaged: %d metrics and %d slices, at most %d and %d are read", len(f.Specs), len(f.Slices), maxMetrics, maxSlices)
	}
	m := &evidence.Manifest{
		Schema: evidence.RunSchema, Tool: evidence.Tool{Name: "oloproof (Python)"}, ID: f.ID,
		Dataset:    evidence.DatasetID{Path: f.Source},
		System:     evidence.SystemID{Name: f.System.Name, Version: f.System.Version, Kind: "unknown"},
		MinSupport: 1, Cache: f.Cache, StartedAt: f.Created.UTC(),
	}
	if f.MinSupport != nil {
		m.MinSupport = max(1, *f.MinSupport)
	}
	if f.Gate != nil && slices.Contains([]string{"ALLOW", "WARN", "BLOCK"}, f.Gate.Action) {
		m.Gate = f.Gate.Action
	}
	if err := f.setStatus(m); err != nil {
		return nil, nil, err
	}
	p := &pythonRun{id: f.ID, cases: f.Cases}
	if err := f.setMetrics(m, p); err != nil {
		return nil, nil, err
	}
	if m.System.Staged = f.staged(); m.System.Staged != nil {
		m.System.Kind = "rag"
	}
	f.setSlices(m, p)
	if err := checkMetrics(m); err != nil {
		return nil, nil, fmt.Errorf("damaged: %w", err)
	}
	return m, p, f.setDigests(m)
}

func (f *pythonFile) setStatus(m *evidence.Manifest) error {
	m.Completeness = evidence.Completeness(f.Completeness)
	if m.Completeness != evidence.Complete && m.Completeness != evidence.Partial {
		return fmt.Errorf("damaged: completeness %q, want %s or %s", f.Completeness, evidence.Complete, evidence.Partial)
	}
	switch f.Status {
	case "DECIDED", "DECIDED_EARLY":
		m.Status = evidence.RunDecided
		if f.Gate == nil {
			m.Status = evidence.RunExplored
		}
	case "CANCELLED":
		m.Status = evidence.RunCanceled
	case "RUN_ERROR":
		m.Status = evidence.RunError
	case "CREATED", "VALIDATING", "RUNNING", "EVALUATING", "ANALYZING":
		m.Status = evidence.RunRunning
	default:
		return fmt.Errorf("damaged: status %q is none", f.Status)
	}
	if m.Completeness == evidence.Partial {
		m.Stopped = "it ended as " + f.Status + " in the Python tool"
	}
	return nil
}

// setMetrics takes over the metrics that are measured here and notes the rest.
func (f *pythonFile) setMetrics(m *evidence.Manifest, p *pythonRun) error {
	evaluators := map[string]*pythonEvaluator{}
	for i := range f.Evaluators {
		e := &f.Evaluators[i]
		if evaluators[e.Criterion] != nil {
			return fmt.Errorf("damaged: the criterion %q has two evaluators", e.Criterion)
		}
		evaluators[e.Criterion] = e
	}
	claims := map[string]*pythonCounts{}
	replicates := 1
	for i := range f.Metrics {
		c := &f.Metrics[i]
		if c.Scope == "global" {
			claims[c.Metric] = c
			replicates = max(replicates, c.Replicates)
		}
	}
	if replicates > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("the Python tool called every case %d times; its bundle holds the first call of each, which is what is read", replicates))
	}
	for i := range f.Specs {
		s := &f.Specs[i]
		spec, left := s.metric()
		if left != "" {
			m.Notes = append(m.Notes, fmt.Sprintf("the metric %s of the Python tool's run is left out: %s", s.ID, left))
			continue
		}
		if !spec.Judged() {
			m.Metrics = append(m.Metrics, spec)
			continue
		}
		e := evaluators[s.Criterion]
		if e == nil {
			return fmt.Errorf("damaged: the metric %q has no evaluator", s.ID)
		}
		if s.OnError != "missing" && s.OnError != "fail" {
			return fmt.Errorf("damaged: on_execution_error of %q is %q, want missing or fail", s.ID, s.OnError)
		}
		if err := e.describe(&spec, s.OnError); err != nil {
			return fmt.Errorf("damaged: %w", err)
		}
		judged := pythonMetric{spec: spec, criterion: s.Criterion, fails: s.OnError == "fail"}
		if finished(m) && replicates == 1 && e.Kind == "DETERMINISTIC" {
			judged.claim = claims[s.ID]
		}
		m.Metrics, p.judged = append(m.Metrics, spec), append(p.judged, judged)
	}
	return nil
}

// metric returns the metric, or why it cannot be taken over.
func (s *pythonSpec) metric() (spec evidence.MetricSpec, left string) {
	spec = evidence.MetricSpec{ID: s.ID, Kind: evidence.Rate, Range: [2]float64{0, 1}}
	switch {
	case s.Unit != "scenario" || s.Estimand != "case_weighted":
		return spec, fmt.Sprintf("it is %s per %s", s.Estimand, s.Unit)
	case s.Type == "QUANTILE" && s.Source == "latency_ms" && s.Quantile != nil:
		return evidence.MetricSpec{ID: s.ID, Kind: evidence.Quantile, Source: s.Source, Quantile: *s.Quantile, Unit: "ms"}, ""
	case s.Type == "QUANTILE":
		return spec, "it is a quantile of " + s.Source
	case s.Source != "judgment" || s.Criterion == "":
		return spec, "its source is " + s.Source
	case s.Type == "BINARY_RATE":
		return spec, ""
	case s.Type == "MEAN" && s.Range != nil:
		spec.Kind, spec.Range = evidence.Mean, *s.Range
		return spec, ""
	}
	return spec, "it is of the type " + s.Type
}

// setSlices takes over the slices of metadata and notes the rest.
func (f *pythonFile) setSlices(m *evidence.Manifest, p *pythonRun) {
	for _, name := range f.Slices {
		if strings.HasPrefix(name, evidence.MetadataSlice) || name == evidence.TruncatedSlice || name == evidence.PositionSlice && m.System.Staged != nil {
			m.Slices = append(m.Slices, name)
			continue
		}
		m.Notes = append(m.Notes, fmt.Sprintf("the slice %s of the Python tool's run is left out: only slices of metadata and of staged systems are read", name))
	}
	p.slicing = evidence.Manifest{Slices: m.Slices, System: m.System}
}

// staged is how a staged system was run; nil for another one, and when that
// makes no sense.
func (f *pythonFile) staged() *evidence.StagedSettings {
	rag, _ := evidence.Member(f.System.Config, "rag")
	var s evidence.StagedSettings
	for key, v := range evidence.Members(rag) {
		var err error
		switch {
		case evidence.IsNull(v):
		case key == "depth":
			s.Depth, err = strconv.Atoi(string(v))
		case key == "top_k":
			s.TopK, err = strconv.Atoi(string(v))
		case key == "token_budget":
			var budget int
			budget, err = strconv.Atoi(string(v))
			s.TokenBudget = &budget
		case key == "index_version":
			s.IndexVersion, _ = evidence.Text(v)
		case key == "citations_path":
			s.CitationsPath, _ = evidence.Text(v)
		}
		if err != nil {
			return nil
		}
	}
	if s.TopK < 1 || s.Depth < s.TopK {
		return nil
	}
	return &s
}

// setDigests gives system and suite content ids of their own domains: the
// bundle does not say what ours are made of.
func (f *pythonFile) setDigests(m *evidence.Manifest) (err error) {
	config := f.System.Config
	if evidence.IsNull(config) {
		config = evidence.Value("{}")
	}
	m.System.Digest, err = evidence.ContentID("python-system/v1", map[string]any{
		"name": f.System.Name, "version": f.System.Version, "config": config, "digest": f.System.Digest,
	})
	if err != nil {
		return fmt.Errorf("damaged: system: %w", err)
	}
	m.SuiteDigest, err = evidence.ContentID("python-suite/v1", map[string]any{
		"system": m.System.Digest, "metrics": m.Metrics, "slices": m.Slices, "min_slice_support": m.MinSupport,
	})
	if err != nil {
		return fmt.Errorf("damaged: suite: %w", err)
	}
	return nil
}

// Package suite reads oloproof.yaml into a [Suite]: defaults filled in, every
// problem of the file reported in one pass with its position. It opens no
// other file than the suite (and a json_schema it names) and calls nothing.
package suite

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Position is a place in the suite's file.
type Position = strictyaml.Position

// Suite is what oloproof.yaml says.
type Suite struct {
	Path            string   // as named by the user
	Dir             string   // directory of Path: relative paths start here
	Lines           []string // source lines, for problems found later
	Project         string
	Dataset         string // as written, relative to Dir
	DatasetPos      Position
	DataForm        *foreign.Spec // how the data set is read; nil for a JSONL file of our own
	Role            string        // suite_role, or ""
	Labels          string        // as written, relative to Dir
	System          System
	Concurrency     Concurrency
	Evaluators      []Evaluator
	Measures        []Measure
	Slices          []string            // such as metadata.topic
	MinSliceSupport int                 // at least 1; 30 by default
	Budget          *Budget             // of the calls of judges; nil without a bound
	Pricing         []Price             // of the models of judges
	Cache           bool                // reuse the answers of earlier runs, as --reuse does
	Notes           []string            // keys that are accepted and have no effect
	KeyPos          map[string]Position // of each key's value that is written
	// Unread says that some evaluator or metric could not be read, so that a
	// rule may well name one that is not here.
	Unread bool
}

// DefaultLabels is where the labels of a suite lie unless it says otherwise.
const DefaultLabels = "labels.jsonl"

// Concurrency bounds calls in flight.
type Concurrency struct {
	System int // 8 by default
	Judge  int // 4 by default
}

// System is what is under test. One of HTTP, Command, Callable and RAG is set.
type System struct {
	Name           string
	Version        string         // of system, or else of system.http
	Config         evidence.Value // free mapping as JSON, part of the identity; nil when absent
	Pos            Position
	HTTP           *HTTP
	Command        *Command
	Callable       *Callable
	RAG            *RAG
	Start          *Start        // nil unless system.start is given
	VersionFrom    *VersionFrom  // nil unless system.version_from is given
	Records        []string      // kinds that a program says it records; nil when it does not say
	Timeout        time.Duration // of a Python system, for one answer; 120 s by default
	DefaultTimeout bool          // Timeout is not written, so that the code itself may say one
	CodePaths      []CodePath    // what a program is made of
}

// Kind is the kind of the system: http, command, callable or rag; "" when the
// suite names none.
func (s *System) Kind() string {
	switch {
	case s.HTTP != nil:
		return "http"
	case s.Command != nil:
		return "command"
	case s.Callable != nil:
		return "callable"
	case s.RAG != nil:
		return "rag"
	}
	return ""
}

// URL is the system's URL as written; "" for a system that has none.
func (s *System) URL() string {
	if s.HTTP == nil {
		return ""
	}
	return s.HTTP.URL
}

// URLs lists all URLs, as written, that the requests of a case go to, or that of
// its version.
func (s *System) URLs() []string {
	var all []string
	endpoints := []*HTTP{s.HTTP}
	if s.RAG != nil && s.RAG.HTTP != nil {
		endpoints = append(endpoints, s.RAG.HTTP.Retrieve, s.RAG.HTTP.Generate)
	}
	for _, h := range endpoints {
		if h != nil {
			all = append(append(all, h.URL), h.URLs()...)
		}
	}
	if v := s.VersionFrom; v != nil && v.URL != "" {
		all = append(all, v.URL)
	}
	return all
}

// HTTP is system.http, or a stage of a staged system.
type HTTP struct {
	Key        string // beginning of the path of its keys; "" is system.http.
	URL        string // with ${NAME} as written
	URLPos     Position
	Preset     string // name of the preset that stands under these keys, or ""
	Method     string // GET, POST or PUT
	Headers    []Header
	Timeout    time.Duration // total deadline per attempt; 30 s by default
	OutputPath string        // dotted path, "" for the whole body
	Artifacts  []ArtifactPath
	MaxBody    int64               // bytes; 32 MiB by default
	KeyPos     map[string]Position // of each key's value that is written

	Stream *Stream // nil: the answer comes in one piece
	Auth   *Auth   // nil: none but what headers hold
	TLS    *TLS    // nil: as the machine has it
	Limits Limits

	Gold *GoldContext // nil: the endpoint takes no passages

	Calls  mapping.Calls       // request, setup, requests and poll
	Spec   mapping.Spec        // what answers mean, but for Artifacts without a mapping
	Places map[string]Position // of the keys below, by their whole path
	// Mapping is what Spec says, ready for use; nil when url, output_path and the
	// paths of artifacts say it all.
	Mapping *mapping.Mapping
}

// Header is one request header; the value holds ${NAME} as written.
type Header struct {
	Name, Value string
	Pos         Position
}

// ArtifactPath says where in a response an artifact of a kind stands.
type ArtifactPath struct {
	Kind     string // such as retrieval/v1
	Path     string // dotted; list indexes allowed
	Optional bool   // absent or null is a missing observation, not an error
	Pos      Position
	Mapped   *mapping.Artifact // what makes it; nil is the fixed shape at Path
}

// Start is system.start: a service to launch before the first case.
type Start struct {
	Command []string      // with ${OLOPROOF_BIN}, ${PORT} and ${NAME} as written
	Ready   string        // URL or host:port, with ${PORT}
	Timeout time.Duration // until ready answers; 30 s by default
	Env     []Header      // extra variables, values with ${NAME} as written
	Pos     Position
}

// Evaluator is one entry of evaluators, checked and with defaults. Which
// fields hold depends on Type.
type Evaluator struct {
	Type      string // such as contains
	Criterion string
	Pos       Position
	KeyPos    map[string]Position // of each key's value that is written

	FailOnError bool // on_execution_error: fail

	Field            *string        // path into the output; nil is the whole output
	ExpectedField    *string        // path into expected; nil: Field when expected is an object, else all of expected
	Strip            bool           // exact_match; true by default
	CaseFold         bool           // exact_match
	Pattern          string         // regex, as written (Python's syntax)
	PassIfNoMatch    bool           // regex, pass_if: no_match
	Schema           evidence.Value // json_schema
	K                int            // retrieval metrics
	ChunkUnit        bool           // relevance_unit: chunk
	RequireCitations bool           // citation_validity

	AnyOf, AllOf []string // contains: texts that do not depend on the case
	ExpectedList string   // contains: any_of or all_of; "" when a list is an error
	Normalise    []string // contains: names of forms, see [FormNFKC]
	Tolerance    Tolerance
	Unit         string   // numeric: of expected numbers that name none; ""
	Pick         string   // numeric: see [PickAny]
	Decimal      string   // numeric: point or comma
	Patterns     []string // refusal: own patterns
	Builtin      string   // refusal: [RefusalPatterns] or none
	Judge        *Judge   // evaluators that ask a model, but for cascades
	Cascade      *Cascade // cascade

	SchemaPath string // json_schema: the file that Schema comes from, as written, or ""
}

// Measure is one entry of metrics: what is measured of executions, not judged.
type Measure struct {
	Type     string // quantile, mean or error_rate
	ID       string
	Source   string           // such as latency_ms; of an error rate execution_error
	Quantile float64          // in (0,1); 0 unless Type is quantile
	Range    [2]float64       // of a mean, as declared; zero when it is not
	Prices   *evidence.Prices // of cost_usd, for systems that say tokens only; nil
	Pos      Position
	KeyPos   map[string]Position // of each key's value that is written

	ends []float64 // of the range, as written
}

// Spec is the metric that the entry makes.
func (q *Measure) Spec() evidence.MetricSpec {
	unit, _ := evidence.UnitOf(q.Source)
	spec := evidence.MetricSpec{ID: q.ID, Kind: evidence.Quantile, Source: q.Source, Quantile: q.Quantile, Unit: unit, Prices: q.Prices}
	switch q.Type {
	case typeMean:
		spec.Kind, spec.Range = evidence.Mean, q.Range
	case typeErrorRate:
		spec.Kind, spec.Range = evidence.Rate, [2]float64{0, 1}
	}
	return spec
}

// Load reads the suite at path. The error is a [problem.List] of every problem
// found; the suite that comes with it, if any, holds what could be read and is
// good for finding more problems only.
func Load(path string) (*Suite, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, strictyaml.ReadFile)
}

// Parse reads data, the content of the suite at path. readFile reads a JSON
// Schema that an evaluator names. Suite and error are as those of [Load].
func Parse(path string, data []byte, readFile func(path string) ([]byte, error)) (*Suite, error) {
	s := &Suite{Path: path, Dir: filepath.Dir(path)}
	var d draft
	f, err := strictyaml.Parse(path, data, s.table(&d))
	if err != nil {
		return nil, err
	}
	s.Lines = f.Lines
	s.check(f, &d, readFile)
	if err := f.Err(); err != nil {
		found := err.(problem.List)
		if one := s.policyInstead(found); one != nil {
			return nil, problem.List{*one}
		}
		s.keepSound(found)
		return s, err
	}
	return s, nil
}

// policyInstead returns the one problem of a file that is a policy.
func (s *Suite) policyInstead(found problem.List) *problem.Problem {
	if s.Dataset != "" || s.System.Name != "" || len(s.Evaluators) > 0 {
		return nil
	}
	for _, p := range found {
		if strings.HasSuffix(p.Message, ofPolicies) {
			p.Message = "this file is a policy, it has rules and no system: a suite is another file, such as oloproof.yaml"
			return &p
		}
	}
	return nil
}

// Problem returns a problem at a place of the suite's file, as an error.
func (s *Suite) Problem(at Position, format string, args ...any) error {
	return problem.List{s.problem(at, format, args...)}
}

func (s *Suite) problem(at Position, format string, args ...any) problem.Problem {
	p := problem.Problem{File: s.Path, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)}
	if at.In != "" {
		p.File, p.Source = at.In, presetLine(at)
		return p
	}
	if at.Line >= 1 && at.Line <= len(s.Lines) {
		p.Source = s.Lines[at.Line-1]
	}
	return p
}

package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Domains of the content ids of a suite.
const (
	suiteDomain  = "suite/v1"
	systemDomain = "system/v1"
)

// meaning is a JSON object.
type meaning = map[string]any

// Digest returns the content id of what the suite means: system, evaluators,
// metrics and slices. Comments, layout, the data set, concurrency and time
// limits are not part of it.
func (s *Suite) Digest() evidence.Digest {
	evaluators := meaning{}
	for i := range s.Evaluators {
		evaluators[s.Evaluators[i].Criterion] = s.EvaluatorDigest(i)
	}
	metrics := meaning{}
	for _, q := range s.Measures {
		switch q.Type {
		case typeMean:
			metrics[q.ID] = meaning{"type": q.Type, "source": q.Source, "range": q.Range}
		case typeErrorRate:
			metrics[q.ID] = meaning{"type": q.Type}
		default: // as it was before there were others
			metrics[q.ID] = meaning{"source": q.Source, "quantile": q.Quantile}
		}
		if q.Prices != nil {
			metrics[q.ID].(meaning)["prices"] = *q.Prices
		}
	}
	return contentID(suiteDomain, meaning{
		"system": s.SystemDigest(), "evaluators": evaluators, "metrics": metrics,
		"slices": slices.Sorted(slices.Values(s.Slices)), "min_slice_support": s.MinSliceSupport,
	})
}

// SystemDigest returns the content id of the system as the suite describes it:
// name, version, config, and what its kind adds. For an endpoint that is its URL
// and headers as written, method, mapping, and the service it launches; for a
// program what is run. No value of the environment is part of it, nor the bytes
// of a program's files, which a run adds.
func (s *Suite) SystemDigest() evidence.Digest {
	m := meaning{"kind": s.System.Kind(), "name": s.System.Name, "version": s.System.Version}
	if s.System.Config != nil {
		m["config"] = s.System.Config
	}
	switch {
	case s.System.HTTP != nil:
		maps.Copy(m, s.System.HTTP.meaning())
	case s.System.Command != nil:
		maps.Copy(m, s.System.Command.meaning())
	case s.System.Callable != nil:
		m["target"] = s.System.Callable.Target
	case s.System.RAG != nil:
		maps.Copy(m, s.System.RAG.meaning())
	}
	if v := s.System.VersionFrom; v != nil {
		m["version_from"] = v.meaning()
	}
	if t := s.System.Start; t != nil {
		m["start"] = meaning{"command": t.Command, "ready": t.Ready, "env": headerMeaning(t.Env, strings.Clone)}
	}
	return contentID(systemDomain, m)
}

func (h *HTTP) meaning() meaning {
	m := meaning{
		"url": h.URL, "method": h.Method, "output_path": h.OutputPath,
		"headers": headerMeaning(h.Headers, strings.ToLower), "artifacts": artifactMeaning(h.Artifacts),
	}
	maps.Copy(m, h.mappedMeaning())
	maps.Copy(m, h.accessMeaning())
	return m
}

func (c *Command) meaning() meaning {
	return meaning{"run": c.Run, "cwd": c.Dir, "env": headerMeaning(c.Env, strings.Clone)}
}

func headerMeaning(headers []Header, name func(string) string) meaning {
	m := meaning{}
	for _, h := range headers {
		m[name(h.Name)] = h.Value
	}
	return m
}

func artifactMeaning(artifacts []ArtifactPath) meaning {
	m := meaning{}
	for _, a := range artifacts {
		m[a.Kind] = meaning{"path": a.Path, "optional": a.Optional}
	}
	return m
}

// EvaluatorDigest returns the content id of the type and options of the i-th
// evaluator. The criterion, which is only its name, is not part of it.
func (s *Suite) EvaluatorDigest(i int) evidence.Digest {
	id, err := evidence.EvaluatorDigest(s.Evaluators[i].Options())
	if err != nil {
		panic(fmt.Sprintf("content id of an evaluator: %v", err))
	}
	return id
}

// Options returns the evaluator as canonical JSON in the keys of the suite, each
// option with its value, so that a run can be judged again without its suite;
// see [ReadEvaluator].
func (e *Evaluator) Options() evidence.Value {
	m := meaning{"type": e.Type, "criterion": e.Criterion, "on_execution_error": choose(e.FailOnError, "fail", "missing")}
	switch e.Type {
	case typeContains:
		m["field"], m["expected_field"] = e.Field, e.ExpectedField
	case typeExactMatch:
		m["field"], m["expected_field"] = e.Field, e.ExpectedField
		m["strip"], m["casefold"] = e.Strip, e.CaseFold
	case typeRegex:
		m["field"], m["pattern"], m["pass_if"] = e.Field, e.Pattern, choose(e.PassIfNoMatch, "no_match", "match")
	case typeJSONSchema:
		m["field"], m["schema"] = e.Field, e.Schema
	case typeHitRate, typeRecall, typeMRR, typeNDCG:
		m["k"], m["relevance_unit"] = e.K, choose(e.ChunkUnit, "chunk", "doc")
	case typeCitationValidity:
		m["require_citations"] = e.RequireCitations
	case TypeCascade:
		m["first"], m["then"] = e.Cascade.First.stageMeaning(), e.Cascade.Then.stageMeaning()
		m["escalate_between"] = e.Cascade.EscalateBetween
	}
	if e.Judge != nil {
		maps.Copy(m, e.judgeMeaning())
	}
	e.answerOptions(m)
	options, err := evidence.Canonical(m)
	if err != nil {
		panic(fmt.Sprintf("options of an evaluator: %v", err))
	}
	return options
}

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// ReadEvaluator reads what [Evaluator.Options] wrote; where says from which file
// it comes. The error is a [problem.List].
func ReadEvaluator(where string, options evidence.Value) (*Evaluator, error) {
	e := &Evaluator{}
	// JSON is YAML but for these, which break lines there.
	text := strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(options))
	f, err := strictyaml.Parse(where, []byte(text), e.table())
	if err != nil {
		return nil, err
	}
	e.complete()
	return e, f.Err()
}

// contentID returns the content id of values that were read from a suite, all
// of which JSON can hold.
func contentID(domain string, m meaning) evidence.Digest {
	id, err := evidence.ContentID(domain, m)
	if err != nil {
		panic(fmt.Sprintf("content id of a suite: %v", err))
	}
	return id
}

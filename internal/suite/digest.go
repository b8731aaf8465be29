package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Domains of the content ids of a suite.
const (
	suiteDomain     = "suite/v1"
	systemDomain    = "system/v1"
	evaluatorDomain = "evaluator/v1"
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
	for _, q := range s.Quantiles {
		metrics[q.ID] = meaning{"source": q.Source, "quantile": q.Quantile}
	}
	return contentID(suiteDomain, meaning{
		"system": s.SystemDigest(), "evaluators": evaluators, "metrics": metrics,
		"slices": slices.Sorted(slices.Values(s.Slices)), "min_slice_support": s.MinSliceSupport,
	})
}

// SystemDigest returns the content id of the system: name, version, config, URL
// and headers as written, method, mapping, and the service it launches. No
// value of the environment is part of it.
func (s *Suite) SystemDigest() evidence.Digest {
	h := s.System.HTTP
	m := meaning{
		"kind": "http", "name": s.System.Name, "version": s.System.Version,
		"url": h.URL, "method": h.Method, "output_path": h.OutputPath,
		"headers": headerMeaning(h.Headers, strings.ToLower), "artifacts": artifactMeaning(h.Artifacts),
	}
	if s.System.Config != nil {
		m["config"] = s.System.Config
	}
	if t := s.System.Start; t != nil {
		m["start"] = meaning{"command": t.Command, "ready": t.Ready, "env": headerMeaning(t.Env, strings.Clone)}
	}
	return contentID(systemDomain, m)
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
	e := s.Evaluators[i]
	m := meaning{"type": e.Type, "fail_on_execution_error": e.FailOnError}
	switch e.Type {
	case typeContains:
		m["field"], m["expected_field"] = e.Field, e.ExpectedField
	case typeExactMatch:
		m["field"], m["expected_field"] = e.Field, e.ExpectedField
		m["strip"], m["casefold"] = e.Strip, e.CaseFold
	case typeRegex:
		m["field"], m["pattern"], m["pass_if_no_match"] = e.Field, e.Pattern, e.PassIfNoMatch
	case typeJSONSchema:
		m["field"], m["schema"] = e.Field, e.Schema
	case typeHitRate, typeRecall, typeMRR, typeNDCG:
		m["k"], m["chunk_unit"] = e.K, e.ChunkUnit
	case typeCitationValidity:
		m["require_citations"] = e.RequireCitations
	}
	return contentID(evaluatorDomain, m)
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

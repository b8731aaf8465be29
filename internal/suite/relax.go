package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/relax"
)

// Relaxations returns every way in which new judges more laxly than old, or
// judges something else, by line; package dataset compares the cases. Another
// system is no relaxation: which one is judged is what a suite is for.
//
// Laxer means that more answers pass. A policy with a ceiling on a criterion,
// since passing it is bad, reads that the other way round.
func Relaxations(old, new *Suite) []relax.Relaxation {
	c := comparison{old: old, new: new, List: relax.Between(old.Path, new.Path)}
	c.keys()
	c.http()
	c.evaluators()
	c.quantiles()
	for _, name := range old.Slices {
		if !slices.Contains(new.Slices, name) {
			c.Gone(old.KeyPos["slices"].Line, "slice %s removed", name)
		}
	}
	return c.All()
}

// comparison is the state of a comparison of two suites.
type comparison struct {
	old, new *Suite
	*relax.List
}

// change reports that a key has another value, in the new file or where the old
// one has it; why says what follows.
func (c *comparison) change(old, new map[string]Position, key, from, to, why string) {
	if at, ok := new[key]; ok {
		c.Add(lineOf(c.new, at), "%s: %s", relax.Change(key, from, to), why)
		return
	}
	c.Gone(lineOf(c.old, old[key]), "%s: %s", relax.Change(key, from, to), why)
}

// keys compares the suite's own keys.
func (c *comparison) keys() {
	for _, key := range []struct {
		name  string
		value func(*Suite) string
		laxer bool // given that the values differ
		why   string
	}{
		{"min_slice_support", func(s *Suite) string { return strconv.Itoa(s.MinSliceSupport) }, c.new.MinSliceSupport > c.old.MinSliceSupport, "fewer slices show an interval"},
		{"cache", func(s *Suite) string { return strconv.FormatBool(s.Cache) }, c.new.Cache, "answers of earlier runs may be judged"},
		{"suite_role", func(s *Suite) string { return cmp.Or(s.Role, relax.None) }, c.new.Role == "release", "policies that require this role decide the suite"},
	} {
		if from, to := key.value(c.old), key.value(c.new); from != to && key.laxer {
			c.change(c.old.KeyPos, c.new.KeyPos, key.name, from, to, key.why)
		}
	}
}

// http compares what is read from a response.
func (c *comparison) http() {
	old, new := c.old.System.HTTP, c.new.System.HTTP
	if old == nil || new == nil {
		return
	}
	if old.OutputPath != new.OutputPath {
		c.change(old.KeyPos, new.KeyPos, "output_path", cmp.Or(old.OutputPath, relax.None), cmp.Or(new.OutputPath, relax.None), "another part of the response is judged")
	}
	c.mapped(old, new)
	if from, to := old.streamText(), new.streamText(); from != to {
		c.change(old.KeyPos, new.KeyPos, "stream", from, to, "the answer is put together in another way")
	}
	for _, before := range old.Artifacts {
		i := slices.IndexFunc(new.Artifacts, func(a ArtifactPath) bool { return a.Kind == before.Kind })
		if i < 0 {
			continue // no evaluator reads it
		}
		after := new.Artifacts[i]
		if before.Path != after.Path {
			c.Add(lineOf(c.new, after.Pos), "artifact %s: %s: another part of the response is judged", after.Kind, relax.Change("path", before.Path, after.Path))
		}
		if after.Optional && !before.Optional {
			c.Add(lineOf(c.new, after.Pos), "artifact %s: optional: a response without it is a missing observation and no longer ends the run", after.Kind)
		}
	}
}

// mapped compares the keys of a mapping: what they say of the answer and, of the
// requests, whether another question is asked.
func (c *comparison) mapped(old, new *HTTP) {
	before, after := old.mappedMeaning(), new.mappedMeaning()
	for _, key := range append(slices.Clone(mappedKeys), "made_artifacts") {
		from, to := canonical(before[key]), canonical(after[key])
		if from == to {
			continue
		}
		name, why := "system.http."+key, "another part of the response is judged"
		switch key {
		case "made_artifacts":
			name = "system.http.artifacts"
		case "request", "setup", "requests", "poll", "depth":
			why = "the system is asked something else"
		case "ok":
			why = "other answers count as errors"
		case "error_message", "usage":
			continue // judged is the same
		}
		if at, ok := new.KeyPos[strings.TrimPrefix(name, httpKey)]; ok {
			c.Add(at.Line, "%s: %s", name, why)
		} else {
			c.Gone(old.KeyPos[strings.TrimPrefix(name, httpKey)].Line, "%s: %s", name, why)
		}
	}
}

func canonical(v any) string {
	text, err := evidence.Canonical(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// streamText is how a stream is put together, as it is shown.
func (h *HTTP) streamText() string {
	v, ok := h.accessMeaning()["stream"]
	if !ok {
		return relax.None
	}
	text, err := evidence.Canonical(v)
	if err != nil {
		return h.Stream.Assemble
	}
	return shown(text)
}

// evaluators compares each evaluator with its new version.
func (c *comparison) evaluators() {
	for i := range c.old.Evaluators {
		old := &c.old.Evaluators[i]
		new := c.new.evaluator(old.Criterion)
		if new == nil {
			if new = c.renamed(i); new == nil {
				c.Gone(old.Pos.Line, "evaluator %s removed", old.Criterion)
				continue
			}
			c.Add(new.at("criterion").Line, "%s: rules on %s do not see it", relax.Change("criterion", old.Criterion, new.Criterion), old.Criterion)
		}
		c.options(old, new)
	}
}

func (s *Suite) evaluator(criterion string) *Evaluator {
	i := slices.IndexFunc(s.Evaluators, func(e Evaluator) bool { return e.Criterion == criterion })
	if i < 0 {
		return nil
	}
	return &s.Evaluators[i]
}

// renamed returns the new evaluator that does what the i-th old one did, under a
// criterion that the old suite does not have; nil without one.
func (c *comparison) renamed(i int) *Evaluator {
	for j := range c.new.Evaluators {
		e := &c.new.Evaluators[j]
		if c.old.evaluator(e.Criterion) == nil && c.new.EvaluatorDigest(j) == c.old.EvaluatorDigest(i) {
			return e
		}
	}
	return nil
}

// options reports each option of an evaluator that has another value, unless
// that only lets fewer answers pass.
func (c *comparison) options(old, new *Evaluator) {
	if old.Type != new.Type {
		c.Add(new.at("type").Line, "evaluator %s: %s", new.Criterion, relax.Change("type", old.Type, new.Type))
		return
	}
	before, after := old.Options(), new.Options()
	var keys []string
	for _, options := range []evidence.Value{after, before} {
		for key := range evidence.Members(options) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		from, _ := evidence.Member(before, key)
		to, _ := evidence.Member(after, key)
		if key != "criterion" && string(from) != string(to) && !old.tightens(key, new) {
			c.Add(new.at(key).Line, "evaluator %s: %s%s", new.Criterion, relax.Change(key, shown(from), shown(to)), consequence(key, new))
		}
	}
}

// tightens reports whether the new value of an option, which differs, only lets
// fewer answers pass. A smaller k makes ndcg neither larger nor smaller for
// certain, nor do chunks in place of documents a recall.
func (e *Evaluator) tightens(key string, new *Evaluator) bool {
	of := func(types ...string) bool { return slices.Contains(types, new.Type) }
	switch key {
	case "strip":
		return !new.Strip
	case "casefold":
		return !new.CaseFold
	case "min_probability":
		return new.Judge.MinProbability > e.Judge.MinProbability
	case "require_citations":
		return new.RequireCitations
	case "k":
		return new.K < e.K && of(typeHitRate, typeRecall, typeMRR, typeMAP)
	case "relevance_unit":
		return new.ChunkUnit && of(typeHitRate, typeMRR)
	}
	return e.answerTightens(key, new)
}

func consequence(key string, new *Evaluator) string {
	if key != "on_execution_error" {
		return ""
	}
	return ": a case without an answer no longer counts as " + choose(new.FailOnError, "missing", "failed")
}

// shown is an option as it is shown.
func shown(v evidence.Value) string {
	const most = 60 // characters
	if evidence.IsNull(v) {
		return relax.None
	}
	return evidence.Shorten(v, most)
}

// quantiles compares the metrics beyond those of the evaluators.
func (c *comparison) quantiles() {
	for _, old := range c.old.Measures {
		i := slices.IndexFunc(c.new.Measures, func(q Measure) bool { return q.ID == old.ID })
		if i < 0 {
			c.Gone(old.Pos.Line, "metric %s removed", old.ID)
			continue
		}
		new := c.new.Measures[i]
		if old.Type != new.Type {
			c.Add(new.Pos.Line, "metric %s: %s", new.ID, relax.Change("type", old.Type, new.Type))
			continue
		}
		if old.Range != new.Range && !(old.Range != [2]float64{} && new.Range == [2]float64{}) { // without a range there is no upper limit
			c.Add(new.Pos.Line, "metric %s: %s", new.ID, relax.Change("range", rangeText(old.Range), rangeText(new.Range)))
		}
		if !old.Prices.Equal(new.Prices) {
			c.Add(new.Pos.Line, "metric %s: %s", new.ID, relax.Change("prices", priceText(old.Prices), priceText(new.Prices)))
		}
		if old.Source != new.Source {
			c.Add(new.Pos.Line, "metric %s: %s", new.ID, relax.Change("source", old.Source, new.Source))
		}
		if old.Quantile != new.Quantile {
			number := func(q float64) string { return strconv.FormatFloat(q, 'f', -1, 64) }
			c.Add(new.Pos.Line, "metric %s: %s", new.ID, relax.Change("quantile", number(old.Quantile), number(new.Quantile)))
		}
	}
}

// lineOf returns the line of a place in a suite's file: of what a preset says,
// that of the preset's name.
func lineOf(s *Suite, at Position) int {
	if at.In != "" && s.System.HTTP != nil {
		at = s.System.HTTP.KeyPos["preset"]
	}
	return at.Line
}

func rangeText(r [2]float64) string {
	if r == [2]float64{} {
		return relax.None
	}
	return fmt.Sprintf("[%s, %s]", strconv.FormatFloat(r[0], 'f', -1, 64), strconv.FormatFloat(r[1], 'f', -1, 64))
}

func priceText(p *evidence.Prices) string {
	if p == nil {
		return relax.None
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return number(p.Input) + " and " + number(p.Output)
}

package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

const (
	globalScope  = "global"
	slicePrefix  = "slice/"
	scopePattern = `^(global|slice/metadata\.[A-Za-z0-9_][A-Za-z0-9_.-]*=.*)$`
)

// Slice returns the slice and the value that a rule's scope names; ok is false
// for a rule on all cases.
func (r Rule) Slice() (name, value string, ok bool) {
	scope, ok := strings.CutPrefix(r.Scope, slicePrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(scope, "=")
}

func checkScope(scope string) string {
	if regexp.MustCompile(scopePattern).MatchString(scope) {
		return ""
	}
	return fmt.Sprintf("KEY is %q: it must be global or slice/metadata.KEY=VALUE", scope)
}

// pos returns the place of a key's value, or of the rule.
func (r Rule) pos(key string) strictyaml.Position {
	if at, ok := r.KeyPos[key]; ok {
		return position(at)
	}
	return strictyaml.Position{Line: r.Line, Column: r.Column}
}

func position(at [2]int) strictyaml.Position { return strictyaml.Position{Line: at[0], Column: at[1]} }

// check finds what is wrong across keys and fills in what depends on several.
func (p *Policy) check(f *strictyaml.File) {
	for _, s := range p.WarnOn {
		if slices.Contains(p.BlockOn, s) {
			f.Problem(position(p.KeyPos["warn_on"]), "%s stands in block_on and in warn_on: keep it in one of them", s)
		}
	}
	first := map[string]int{}
	for i := range p.Rules {
		r := &p.Rules[i]
		r.complete(f)
		if line, twice := first[r.ID]; twice && r.ID != "" {
			f.Problem(r.pos("id"), "the rule %s stands twice, first in line %d: give one of them another id", r.ID, line)
		} else {
			first[r.ID] = r.Line
		}
	}
	member := p.checkFamilies(f)
	for _, r := range p.Rules {
		r.checkSlice(f, member[r.ID] != "")
	}
}

// complete tells the kind of a rule and checks which keys it takes.
func (r *Rule) complete(f *strictyaml.File) {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := r.KeyPos[k]; return ok })
	}
	switch {
	case r.Kind != "":
	case has("kind"):
		return // its kind was not understood
	case has("max_failures") && !has("min", "max"):
		r.Kind = ObservedCount
	default:
		r.Kind = IntervalThreshold
	}
	r.checkKeys(f)
	at := strictyaml.Position{Line: r.Line, Column: r.Column}
	switch r.Kind {
	case IntervalThreshold:
		switch {
		case r.Min != nil && r.Max != nil:
			f.Problem(r.pos("max"), "the rule %s has min and max: write two rules", r.ID)
		case !has("min", "max", "max_failures"):
			f.Problem(at, "the rule %s has no limit: add min, max or max_failures, or for a comparison a kind such as non_inferiority", r.ID)
		}
	case ObservedCount:
		if !has("max_failures", "min", "max") {
			f.Problem(at, "the rule %s is an observed_count: add max_failures, the number of failed cases allowed", r.ID)
		}
	case NonInferiority, Equivalence:
		if !has("margin") {
			f.Problem(at, "the rule %s is a %s: add margin, the largest loss accepted, such as 0.05 for five points", r.ID, r.Kind)
		}
	}
}

// checkKeys refuses keys that the kind does not take.
func (r *Rule) checkKeys(f *strictyaml.File) {
	for _, key := range new(Rule).ruleKeys() {
		if _, ok := r.KeyPos[key.Key]; !ok || slices.Contains(key.kinds, r.Kind) {
			continue
		}
		names := make([]string, len(key.kinds))
		for i, kind := range key.kinds {
			names[i] = string(kind)
		}
		f.Problem(r.pos(key.Key), "%s does not belong in the %s rule %s: it is for %s", key.Key, r.Kind, r.ID, strings.Join(names, ", "))
	}
}

// checkFamilies returns the family of each rule that has one.
func (p *Policy) checkFamilies(f *strictyaml.File) map[string]string {
	kind := map[string]Kind{}
	corrected := map[string]bool{}
	var ids []string
	for _, r := range p.Rules {
		kind[r.ID], corrected[r.ID] = r.Kind, r.Correction != ""
		if r.ID != "" && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	member := map[string]string{}
	seen := map[string]bool{}
	for _, family := range p.Families {
		if seen[family.ID] {
			f.Problem(position(family.KeyPos["id"]), "the family %s stands twice: give one of them another id", family.ID)
		}
		seen[family.ID] = true
		for _, id := range family.Rules {
			k, known := kind[id]
			switch {
			case id == "":
			case !known:
				f.Problem(position(family.KeyPos["rules"]), "the family %s names an unknown rule %s%s (rules: %s)", family.ID, id, didYouMean(id, ids), strings.Join(ids, ", "))
			case k != "" && !k.Comparison():
				f.Problem(position(family.KeyPos["rules"]), "the family %s names %s, a rule on one run: families hold comparison rules", family.ID, id)
			case corrected[id]:
				f.Problem(position(family.KeyPos["rules"]), "the family %s names %s, which has a correction: a corrected rule is decided by itself", family.ID, id)
			case member[id] != "":
				f.Problem(position(family.KeyPos["rules"]), "the rule %s is in the families %s and %s: a rule belongs to one", id, member[id], family.ID)
			}
			member[id] = family.ID
		}
	}
	return member
}

// checkSlice checks a rule on a slice.
func (r Rule) checkSlice(f *strictyaml.File, inFamily bool) {
	name, _, ok := r.Slice()
	switch {
	case !ok || r.Kind == "":
	case !r.Kind.Comparison():
		f.Problem(r.pos("scope"), "the rule %s looks at %s of one run, whose slices are for looking only: a slice is decided by a comparison rule", r.ID, name)
	case r.MinSupport == nil:
		f.Problem(r.pos("scope"), "the rule %s looks at a slice: add min_support, the pairs that the slice must have", r.ID)
	case !inFamily:
		f.Problem(r.pos("scope"), "the rule %s looks at a slice: name it in a family, which corrects for looking at several", r.ID)
	}
}

func didYouMean(got string, allowed []string) string {
	if near := problem.Nearest(got, allowed); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// Check holds the rules against the metrics and slices of a suite or a run. The
// error is a [problem.List] of every rule that cannot be decided as written.
func (p *Policy) Check(specs []evidence.MetricSpec, slices []string) error {
	var found problem.List
	add := func(at strictyaml.Position, format string, args ...any) {
		found.Add(problem.Problem{File: p.Path, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...), Source: p.line(at.Line)})
	}
	byID := map[string]evidence.MetricSpec{}
	for _, s := range specs {
		byID[s.ID] = s
	}
	for _, r := range p.Rules {
		if r.Metric == "" {
			continue // said already
		}
		spec, ok := byID[r.Metric]
		if !ok {
			ids := specIDs(specs)
			add(r.pos("metric"), "the rule %s names an unknown metric %s%s (metrics: %s)", r.ID, r.Metric, didYouMean(r.Metric, ids), strings.Join(ids, ", "))
			continue
		}
		for _, fault := range r.against(spec) {
			add(r.pos(fault.key), "the rule %s: %s", r.ID, fault.message)
		}
		if name, _, ok := r.Slice(); ok && !contains(slices, name) {
			add(r.pos("scope"), "the rule %s looks at the slice %s, which the suite does not declare: add it to slices", r.ID, name)
		}
	}
	return found.Err()
}

func contains(all []string, s string) bool { return slices.Contains(all, s) }

func (p *Policy) line(n int) string {
	if n < 1 || n > len(p.Lines) {
		return ""
	}
	return p.Lines[n-1]
}

type fault struct{ key, message string }

// against says what of a rule does not fit its metric.
func (r Rule) against(spec evidence.MetricSpec) []fault {
	var all []fault
	add := func(key, format string, args ...any) { all = append(all, fault{key, fmt.Sprintf(format, args...)}) }
	measured := spec.Source != ""
	if r.Correction != "" && (!spec.AsksModel() || spec.Kind != evidence.Rate) {
		add("correction", "correction is for the rate of a judge's passes, and no judge gives %s: remove it", spec.ID)
	}
	quantity := measured && spec.Kind != evidence.Rate
	lo, hi := spec.Range[0], spec.Range[1]
	threshold := func(key string, v *float64) {
		switch {
		case v == nil:
		case quantity && *v < 0:
			add(key, "%s is %s, and %s is never negative", key, number(*v), spec.Source)
		case (!quantity || spec.Bounded()) && (*v < lo || *v > hi):
			hint := shareHint(*v, lo, hi)
			if quantity { // no share
				hint = ""
			}
			add(key, "%s is %s, outside %s to %s of %s%s", key, number(*v), number(lo), number(hi), spec.ID, hint)
		}
	}
	threshold("min", r.Min)
	threshold("max", r.Max)
	if spec.Kind == evidence.Mean && quantity && !spec.Bounded() {
		switch remedy := fmt.Sprintf("add range: [LEAST, LARGEST] to the metric, or bound a quantile of %s", spec.Source); {
		case r.Max != nil:
			add("max", "%s is a mean of %s without a range, which has no upper limit, so that max can never PASS: %s", spec.ID, spec.Source, remedy)
		case r.Kind.Comparison():
			add("metric", "%s is a mean of %s without a range, whose differences have no limits: %s", spec.ID, spec.Source, remedy)
		}
	}
	if r.Margin != nil && (!quantity || spec.Bounded()) && *r.Margin >= hi-lo {
		add("margin", "margin is %s, which accepts any loss of %s: it must be below %s%s", number(*r.Margin), spec.ID, number(hi-lo), shareHint(*r.Margin, lo, hi))
	}
	if _, given := r.KeyPos["direction"]; measured && (r.Kind == Superiority || r.Kind == NonInferiority) && !given {
		what := "less " + spec.Source
		if !quantity {
			what = "a lower " + spec.ID
		}
		add("metric", "%s is better, and without a direction more would be: add direction: max", what)
	}
	if r.Kind == ObservedCount && spec.Kind == evidence.Rate && measured {
		add("metric", "observed_count counts failed cases, and %s counts those without an answer: use max", spec.ID)
	}
	if r.Kind == ObservedCount && spec.Kind != evidence.Rate {
		add("metric", "observed_count counts failed cases, and %s is a %s, whose cases do not fail: use min or max", spec.ID, spec.Kind)
	}
	return all
}

// shareHint asks whether a percentage was meant as a share.
func shareHint(v, lo, hi float64) string {
	if lo != 0 || hi != 1 {
		return ""
	}
	if ask := strictyaml.AsShare(v); ask != "" {
		return ": " + ask
	}
	return ""
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

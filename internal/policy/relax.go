package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/relax"
)

// Relaxations returns every way in which new is laxer than old, by line.
//
// Two questions make a change one. Is a PASS easier to reach, as with a lower
// floor? And can the change move a rule into a state that the gate takes more
// lightly? A higher confidence level turns a FAIL into INSUFFICIENT_EVIDENCE: no
// relaxation where both block, and one where the second only warns. What gives
// another condition rather than a laxer one (another metric, another method) is
// reported as a change.
//
// When nothing is reported, no run gets a more permissive gate from new than
// from old. A rule is known by its id; one whose id is gone is taken for renamed
// when a new id has the same metric, kind, scope and direction. For families
// each rule is looked at by itself: that a rule which newly FAILs can withhold
// the FAIL of another by Holm's correction is not reported.
func Relaxations(old, new *Policy) []relax.Relaxation {
	c := comparison{old: old, new: new, found: relax.Between(old.Path, new.Path)}
	c.states()
	c.settings()
	kept := c.rules()
	c.families(kept)
	return c.found.All()
}

// comparison is the state of a comparison of two policies.
type comparison struct {
	old, new *Policy
	found    *relax.List
}

// add reports a change at a key of the policy: in the new file, or where the
// old one has it.
func (c *comparison) add(text string, keys ...string) {
	for _, key := range keys {
		if at, ok := c.new.KeyPos[key]; ok {
			c.found.Add(at[0], "%s", text)
			return
		}
	}
	for _, key := range keys {
		if at, ok := c.old.KeyPos[key]; ok {
			c.found.Gone(at[0], "%s", text)
			return
		}
	}
	c.found.Add(0, "%s", text)
}

// weight is how the gate takes a state: the index of a word of weights.
func (p *Policy) weight(s State) int {
	switch {
	case slices.Contains(p.BlockOn, s):
		return 2
	case slices.Contains(p.WarnOn, s):
		return 1
	}
	return 0
}

var weights = [...]string{"is let through", "only warns", "blocks"}

// states compares how the gates take each state.
func (c *comparison) states() {
	no := [...]string{1: "no longer warns", 2: "no longer blocks"}
	for _, s := range []State{Fail, InsufficientEvidence, ManualReview, Pass} {
		before, after := c.old.weight(s), c.new.weight(s)
		if after >= before {
			continue
		}
		keys := []string{"block_on", "warn_on"}
		if after == 1 || before == 1 {
			keys = []string{"warn_on", "block_on"}
		}
		c.add(fmt.Sprintf("%s %s: it %s", s, no[before], weights[after]), keys...)
	}
}

// move is what a change can do to the state of a rule.
type move struct{ from, to State }

// Moves by a stricter value of a setting.
var (
	toStricterLimit = []move{{Pass, InsufficientEvidence}, {Pass, Fail}, {InsufficientEvidence, Fail}}
	toUndecided     = []move{{Pass, InsufficientEvidence}, {Fail, InsufficientEvidence}}
	toReview        = []move{{Pass, ManualReview}, {Fail, ManualReview}, {InsufficientEvidence, ManualReview}}
)

// laxer says which of the moves leads to a state that the new gate takes more
// lightly than the old gate the state before; "" when none does.
func (c *comparison) laxer(moves []move) string {
	for _, m := range moves {
		if w := c.new.weight(m.to); w < c.old.weight(m.from) {
			return fmt.Sprintf("%s can become %s, which %s", m.from, m.to, weights[w])
		}
	}
	return ""
}

// setting is one key of a policy or a rule.
type setting[T any] struct {
	key  string
	text func(T) string // the value as it is shown
	// strict is how strict the value is; nil when it is not known which of two
	// values is laxer.
	strict func(T) float64
	note   string // for every relaxation by the key
	// moves are what a stricter value can do to the rules of the kinds that read
	// it; nil means every kind.
	moves  []move
	readBy func(Kind) bool
}

// more is a number of which more is stricter; absent holds when it is not there.
func more[T any](key string, get func(T) *float64, absent float64, moves ...move) setting[T] {
	return setting[T]{
		key: key, moves: moves,
		text: func(v T) string {
			if p := get(v); p != nil {
				return number(*p)
			}
			return relax.None
		},
		strict: func(v T) float64 {
			if p := get(v); p != nil {
				return *p
			}
			return absent
		},
	}
}

// less is a number of which less is stricter.
func less[T any](key string, get func(T) *float64, absent float64, moves ...move) setting[T] {
	s := more(key, get, absent, moves...)
	size := s.strict
	s.strict = func(v T) float64 { return -size(v) }
	return s
}

// boolean is true or false, of which strict is the stricter.
func boolean[T any](key string, strict bool, get func(T) bool, moves ...move) setting[T] {
	return setting[T]{
		key: key, moves: moves,
		text: func(v T) string { return strconv.FormatBool(get(v)) },
		strict: func(v T) float64 {
			if get(v) == strict {
				return 1
			}
			return 0
		},
	}
}

// word is a text, of which strict is the only stricter value; "" when none is
// known to be.
func word[T any](key, strict string, get func(T) string) setting[T] {
	s := setting[T]{key: key, text: func(v T) string { return cmp.Or(get(v), relax.None) }}
	if strict != "" {
		s.strict = boolean(key, true, func(v T) bool { return get(v) == strict }).strict
	}
	return s
}

func (s setting[T]) noted(note string) setting[T] { s.note = note; return s }

func (s setting[T]) read(by func(Kind) bool) setting[T] { s.readBy = by; return s }

// float returns a whole number as a float; nil stays nil.
func float(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

const (
	defaultDifferenceMethod = "bounded_paired_difference@1"

	// judgeFloor sets bars for a judge where the policy sets none.
	judgeFloor     = "judge_floor@1"
	floorAgreement = 0.70
	floorBias      = 0.35
)

// bar returns the bar for a judge that holds: the one that is set, else that of
// the floor, else none.
func (p *Policy) bar(set *float64, floor, none float64) float64 {
	switch {
	case set != nil:
		return *set
	case p.JudgeFloor == judgeFloor:
		return floor
	}
	return none
}

// policySettings lists the keys of a policy that can make it laxer, apart from
// the states that block and warn, rules and families.
func policySettings() []setting[*Policy] {
	agreement := more("minimum_evaluator_agreement", func(p *Policy) *float64 { return p.MinimumEvaluatorAgreement }, 0)
	agreement.strict = func(p *Policy) float64 { return p.bar(p.MinimumEvaluatorAgreement, floorAgreement, 0) }
	bias := less("maximum_evaluator_bias", func(p *Policy) *float64 { return p.MaximumEvaluatorBias }, math.Inf(1))
	bias.strict = func(p *Policy) float64 { return -p.bar(p.MaximumEvaluatorBias, floorBias, math.Inf(1)) }
	onRun := func(k Kind) bool { return k != ObservedCount }
	return []setting[*Policy]{
		more("confidence_level", func(p *Policy) *float64 { return &p.ConfidenceLevel }, 0, toUndecided...).read(onRun),
		boolean("block_on_partial_run", true, func(p *Policy) bool { return p.BlockOnPartialRun }),
		word("difference_method", "", func(p *Policy) string { return cmp.Or(p.DifferenceMethod, defaultDifferenceMethod) }).
			noted("another method, of which it is not known whether it is laxer"),
		more("min_paired_share", func(p *Policy) *float64 { return &p.MinPairedShare }, 0, toUndecided...).read(Kind.Comparison),
		word("require_suite_role", "release", func(p *Policy) string { return p.RequireSuiteRole }),
		word("suite_changes", SuiteChangesReview, func(p *Policy) string { return p.SuiteChanges }),
		word("review_label", "", func(p *Policy) string { return p.ReviewLabel }),
		boolean("require_validated_evaluators", true, func(p *Policy) bool { return p.RequireValidatedEvaluators }),
		agreement.noted("without it " + judgeFloor + " asks for " + number(floorAgreement)),
		bias.noted("without it " + judgeFloor + " accepts " + number(floorBias)),
		word("judge_floor", judgeFloor, func(p *Policy) string { return p.JudgeFloor }),
		boolean("allow_approximate_methods", false, func(p *Policy) bool { return p.AllowApproximateMethods }),
		more("min_clusters", func(p *Policy) *float64 { return float(&p.MinClusters) }, 0),
	}
}

func (c *comparison) settings() {
	var kinds []Kind
	for _, r := range c.old.Rules {
		kinds = append(kinds, r.Kind)
	}
	for _, s := range policySettings() {
		if text := change(c, s, c.old, c.new, kinds...); text != "" {
			c.add(text, s.key)
		}
	}
}

// change says in what the new value of a setting, which rules of some kinds
// read, is laxer than the old one; "" when it is not.
func change[T any](c *comparison, s setting[T], old, new T, kinds ...Kind) string {
	from, to := s.text(old), s.text(new)
	if from == to {
		return ""
	}
	text := relax.Change(s.key, from, to)
	if s.note != "" {
		text += ": " + s.note
	}
	if s.strict == nil || s.strict(new) < s.strict(old) {
		return text
	}
	if s.strict(new) == s.strict(old) || s.readBy != nil && !slices.ContainsFunc(kinds, s.readBy) {
		return ""
	}
	if why := c.laxer(s.moves); why != "" {
		return text + ": " + why
	}
	return ""
}

// ruleSettings lists the keys of a rule that can make it laxer, apart from its
// kind and those of limits.
func ruleSettings() []setting[*Rule] {
	return []setting[*Rule]{
		word("metric", "", func(r *Rule) string { return r.Metric }),
		word("scope", "", func(r *Rule) string { return r.Scope }),
		word("direction", "", (*Rule).direction),
		less("max_missing_fraction", func(r *Rule) *float64 { return r.MaxMissing }, 1), // more of it blocks whatever block_on says
		boolean("requires_manual_review", true, func(r *Rule) bool { return r.ManualReview }, toReview...),
		more("min_support", func(r *Rule) *float64 { return float(r.MinSupport) }, 0, toUndecided...),
		word("correction", "", func(r *Rule) string { return r.Correction }).noted("another estimate, of which it is not known whether it is laxer"),
		less("judge_bias_bar", func(r *Rule) *float64 { return r.JudgeBiasBar }, math.Inf(1)),
	}
}

// limits lists the keys of a rule whose meaning depends on its kind.
func limits() []setting[*Rule] {
	return []setting[*Rule]{
		more("min", func(r *Rule) *float64 { return r.Min }, math.Inf(-1), toStricterLimit...),
		less("max", func(r *Rule) *float64 { return r.Max }, math.Inf(1), toStricterLimit...),
		less("max_failures", func(r *Rule) *float64 { return float(r.MaxFailures) }, math.Inf(1), toStricterLimit...),
		less("margin", func(r *Rule) *float64 { return r.Margin }, math.Inf(1), toStricterLimit...),
	}
}

func (r *Rule) direction() string {
	if r.HigherBetter {
		return "min"
	}
	return "max"
}

// rules compares each rule with its new version and returns the new ids of
// those that are kept, by their old ids.
func (c *comparison) rules() map[string]string {
	kept := map[string]string{}
	for i := range c.old.Rules {
		old := &c.old.Rules[i]
		new := c.successor(old, kept)
		if new == nil {
			c.found.Gone(old.Line, "rule %s removed", old.ID)
			continue
		}
		kept[old.ID] = new.ID
		c.rule(old, new)
	}
	return kept
}

// successor returns the new version of a rule, or nil.
func (c *comparison) successor(old *Rule, kept map[string]string) *Rule {
	var renamed *Rule
	for i := range c.new.Rules {
		r := &c.new.Rules[i]
		if r.ID == old.ID {
			return r
		}
		alike := r.Metric == old.Metric && r.Kind == old.Kind && r.Scope == old.Scope && r.HigherBetter == old.HigherBetter
		if renamed == nil && alike && !c.old.has(r.ID) && !taken(kept, r.ID) {
			renamed = r
		}
	}
	return renamed
}

func (p *Policy) has(id string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.ID == id })
}

func taken(kept map[string]string, id string) bool {
	for _, new := range kept {
		if new == id {
			return true
		}
	}
	return false
}

// rule compares a rule with its new version.
func (c *comparison) rule(old, new *Rule) {
	name := "rule " + new.ID
	if old.ID != new.ID {
		name += " (before " + old.ID + ")"
	}
	all := slices.Concat(ruleSettings(), limits())
	if old.Kind != new.Kind { // limits of two kinds cannot be compared
		all = append(ruleSettings(), word("kind", "", func(r *Rule) string { return string(r.Kind) }))
	}
	for _, s := range all {
		if text := change(c, s, old, new, old.Kind); text != "" {
			c.found.Add(new.pos(s.key).Line, "%s: %s", name, text)
		}
	}
}

// families compares the families of the rules that are kept.
func (c *comparison) families(kept map[string]string) {
	before := map[string][]string{} // members by the id of the new family
	for _, old := range c.old.Families {
		var members []string
		for _, id := range old.Rules {
			if new, ok := kept[id]; ok {
				members = append(members, new)
			}
		}
		new := c.new.family(old.ID, members)
		switch {
		case len(members) == 0: // the rules are reported
		case new == nil:
			c.found.Gone(old.KeyPos["id"][0], "family %s removed, which corrected %s", old.ID, strings.Join(members, ", "))
		default:
			before[new.ID] = members
			for _, id := range without(members, new.Rules) {
				c.found.Add(new.KeyPos["rules"][0], "family %s: rule %s dropped", new.ID, id)
			}
		}
	}
	c.joined(before, kept)
}

// family returns the family of an id, or else one of these members.
func (p *Policy) family(id string, members []string) *Family {
	var alike *Family
	for i := range p.Families {
		f := &p.Families[i]
		if f.ID == id {
			return f
		}
		if slices.Equal(sorted(f.Rules), sorted(members)) {
			alike = f
		}
	}
	return alike
}

// joined looks for families that grew: the correction for more rules can
// withhold a FAIL of those that were there.
func (c *comparison) joined(before map[string][]string, kept map[string]string) {
	why := c.laxer([]move{{Fail, InsufficientEvidence}})
	if why == "" {
		return
	}
	for _, f := range c.new.Families {
		added := without(f.Rules, before[f.ID])
		old := slices.ContainsFunc(f.Rules, func(id string) bool { return taken(kept, id) })
		if len(added) > 0 && old {
			c.found.Add(f.KeyPos["rules"][0], "family %s: %s added: %s", f.ID, strings.Join(added, ", "), why)
		}
	}
}

// without returns the members of all that are not in some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

package policy_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// full has every key that can make a policy laxer.
const full = `confidence_level: 0.95
block_on: [FAIL, INSUFFICIENT_EVIDENCE]
warn_on: [MANUAL_REVIEW]
block_on_partial_run: true
difference_method: bounded_paired_difference@1
min_paired_share: 0.9
require_suite_role: release
suite_changes: review
review_label: reviewed
require_validated_evaluators: true
minimum_evaluator_agreement: 0.8
maximum_evaluator_bias: 0.2
judge_floor: judge_floor@1
allow_approximate_methods: false
min_clusters: 20
rules:
  - {id: floor, metric: m, min: 0.7, max_missing_fraction: 0.1, requires_manual_review: true}
  - {id: ceiling, metric: p95, max: 800}
  - {id: count, metric: m, kind: observed_count, max_failures: 2}
  - {id: worse, metric: m, kind: non_inferiority, margin: 0.05, direction: min, judge_bias_bar: 0.1}
  - {id: slice, metric: m, kind: equivalence, margin: 0.05, scope: slice/metadata.topic=a, min_support: 10}
families: [{id: fam, rules: [worse, slice]}]
`

// parse reads a policy of a test. No place stands in what is compared but lines.
func parse(t interface {
	Helper()
	Fatalf(string, ...any)
}, path, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(path, []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return p
}

// diff returns the relaxations between two policies as FILE:LINE: TEXT.
func diff(old, new *policy.Policy) []string {
	var all []string
	for _, r := range policy.Relaxations(old, new) {
		all = append(all, fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text))
	}
	return all
}

// edit is a change of a policy's text; the relaxations of each direction follow.
type edit struct {
	from, to   string
	there, and []string // from the first to the second, and back
}

func edits() []edit {
	const unknown = "another method, of which it is not known whether it is laxer"
	return []edit{
		{"confidence_level: 0.95", "confidence_level: 0.9", []string{"b:1: confidence_level lowered from 0.95 to 0.9"}, nil},
		{"block_on: [FAIL, INSUFFICIENT_EVIDENCE]", "block_on: [FAIL]", []string{"b:2: INSUFFICIENT_EVIDENCE no longer blocks: it is let through"}, nil},
		{"block_on: [FAIL, INSUFFICIENT_EVIDENCE]\nwarn_on: [MANUAL_REVIEW]", "block_on: [FAIL]\nwarn_on: [MANUAL_REVIEW, INSUFFICIENT_EVIDENCE]",
			[]string{"b:3: INSUFFICIENT_EVIDENCE no longer blocks: it only warns"}, nil},
		{"warn_on: [MANUAL_REVIEW]", "warn_on: []", []string{"b:3: MANUAL_REVIEW no longer warns: it is let through"}, nil},
		{"block_on: [FAIL, INSUFFICIENT_EVIDENCE]", "block_on: [FAIL, INSUFFICIENT_EVIDENCE, PASS]", nil, []string{"b:2: PASS no longer blocks: it is let through"}},
		{"block_on_partial_run: true", "block_on_partial_run: false", []string{"b:4: block_on_partial_run changed from true to false"}, nil},
		{"difference_method: bounded_paired_difference@1", "difference_method: conditional_exact_paired_difference@1",
			[]string{"b:5: difference_method changed from bounded_paired_difference@1 to conditional_exact_paired_difference@1: " + unknown},
			[]string{"b:5: difference_method changed from conditional_exact_paired_difference@1 to bounded_paired_difference@1: " + unknown}},
		{"difference_method: bounded_paired_difference@1", "difference_method: null", nil, nil},
		{"min_paired_share: 0.9", "min_paired_share: 0.5", []string{"b:6: min_paired_share lowered from 0.9 to 0.5"}, nil},
		{"min_paired_share: 0.9\n", "version: 1\n", nil, nil},
		{"require_suite_role: release\n", "version: 1\n", []string{"a:7: require_suite_role changed from release to none (line of the old file)"}, nil},
		{"suite_changes: review", "suite_changes: allow", []string{"b:8: suite_changes changed from review to allow"}, nil},
		{"review_label: reviewed", "review_label: ok", []string{"b:9: review_label changed from reviewed to ok"}, []string{"b:9: review_label changed from ok to reviewed"}},
		{"require_validated_evaluators: true", "require_validated_evaluators: false", []string{"b:10: require_validated_evaluators changed from true to false"}, nil},
		{"minimum_evaluator_agreement: 0.8", "minimum_evaluator_agreement: 0.75", []string{"b:11: minimum_evaluator_agreement lowered from 0.8 to 0.75: without it judge_floor@1 asks for 0.7"}, nil},
		{"minimum_evaluator_agreement: 0.8", "minimum_evaluator_agreement: null", []string{"a:11: minimum_evaluator_agreement changed from 0.8 to none: without it judge_floor@1 asks for 0.7 (line of the old file)"}, nil},
		{"minimum_evaluator_agreement: 0.8", "minimum_evaluator_agreement: 0.6", []string{"b:11: minimum_evaluator_agreement lowered from 0.8 to 0.6: without it judge_floor@1 asks for 0.7"}, nil},
		{"maximum_evaluator_bias: 0.2", "maximum_evaluator_bias: 0.5", []string{"b:12: maximum_evaluator_bias raised from 0.2 to 0.5: without it judge_floor@1 accepts 0.35"}, nil},
		{"judge_floor: judge_floor@1", "judge_floor: none", []string{"b:13: judge_floor changed from judge_floor@1 to none"}, nil},
		{"allow_approximate_methods: false", "allow_approximate_methods: true", []string{"b:14: allow_approximate_methods changed from false to true"}, nil},
		{"min_clusters: 20", "min_clusters: 10", []string{"b:15: min_clusters lowered from 20 to 10"}, nil},

		{"min: 0.7,", "min: 0.6,", []string{"b:17: rule floor: min lowered from 0.7 to 0.6"}, nil},
		{"min: 0.7,", "max: 0.7,", []string{"b:17: rule floor: min changed from 0.7 to none"}, []string{"b:17: rule floor: max changed from 0.7 to none"}},
		{"max: 800", "max: 900", []string{"b:18: rule ceiling: max raised from 800 to 900"}, nil},
		{"max_failures: 2", "max_failures: 3", []string{"b:19: rule count: max_failures raised from 2 to 3"}, nil},
		{"kind: observed_count, max_failures: 2", "kind: interval_threshold, min: 0.1",
			[]string{"b:19: rule count: kind changed from observed_count to interval_threshold"}, []string{"b:19: rule count: kind changed from interval_threshold to observed_count"}},
		{"max_missing_fraction: 0.1, ", "", []string{"b:17: rule floor: max_missing_fraction changed from 0.1 to none"}, nil},
		{"max_missing_fraction: 0.1, ", "max_missing_fraction: 0.2, ", []string{"b:17: rule floor: max_missing_fraction raised from 0.1 to 0.2"}, nil},
		{"max_missing_fraction: 0.1, ", "max_missing_fraction: 1, ", []string{"b:17: rule floor: max_missing_fraction raised from 0.1 to 1"}, nil},
		// The gate only warns of MANUAL_REVIEW, so that asking for it lets a FAIL through.
		{", requires_manual_review: true", "", []string{"b:17: rule floor: requires_manual_review changed from true to false"},
			[]string{"b:17: rule floor: requires_manual_review changed from false to true: FAIL can become MANUAL_REVIEW, which only warns"}},
		{"metric: p95", "metric: p99", []string{"b:18: rule ceiling: metric changed from p95 to p99"}, []string{"b:18: rule ceiling: metric changed from p99 to p95"}},
		{"non_inferiority, margin: 0.05", "non_inferiority, margin: 0.1", []string{"b:20: rule worse: margin raised from 0.05 to 0.1"}, nil},
		{"direction: min", "direction: max", []string{"b:20: rule worse: direction changed from min to max"}, []string{"b:20: rule worse: direction changed from max to min"}},
		{"direction: min, ", "", nil, nil},
		{"judge_bias_bar: 0.1", "judge_bias_bar: 0.2", []string{"b:20: rule worse: judge_bias_bar raised from 0.1 to 0.2"}, nil},
		{"topic=a", "topic=b", []string{"b:21: rule slice: scope changed from slice/metadata.topic=a to slice/metadata.topic=b"}, []string{"b:21: rule slice: scope changed from slice/metadata.topic=b to slice/metadata.topic=a"}},
		{"min_support: 10", "min_support: 9", []string{"b:21: rule slice: min_support lowered from 10 to 9"}, nil},
		{"  - {id: ceiling, metric: p95, max: 800}\n", "", []string{"a:18: rule ceiling removed (line of the old file)"}, nil},
		{"id: ceiling", "id: latency", nil, nil},
		{"id: ceiling, metric: p95, max: 800", "id: latency, metric: p95, max: 900", []string{"b:18: rule latency (before ceiling): max raised from 800 to 900"}, nil},
		{"id: ceiling, metric: p95, max: 800", "id: latency, metric: p99, max: 800", []string{"a:18: rule ceiling removed (line of the old file)"}, []string{"a:18: rule latency removed (line of the old file)"}},

		{"rules: [worse, slice]", "rules: [slice]", []string{"b:22: family fam: rule worse dropped"}, nil},
		{"families: [{id: fam, rules: [worse, slice]}]", "families: [{id: other, rules: [slice, worse]}]", nil, nil},
		{"families: [{id: fam, rules: [worse, slice]}]", "families: [{id: other, rules: [slice]}]", []string{"a:22: family fam removed, which corrected worse, slice (line of the old file)"},
			[]string{"a:22: family other removed, which corrected slice (line of the old file)"}},
	}
}

func TestRelaxations(t *testing.T) {
	for _, e := range edits() {
		if strings.Count(full, e.from) != 1 {
			t.Errorf("%q stands %d times in the policy", e.from, strings.Count(full, e.from))
			continue
		}
		edited := strings.Replace(full, e.from, e.to, 1)
		if d := cmp.Diff(e.there, diff(parse(t, "a", full), parse(t, "b", edited))); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", e.from, e.to, d)
		}
		if d := cmp.Diff(e.and, diff(parse(t, "a", edited), parse(t, "b", full))); d != "" {
			t.Errorf("%q back to %q (-want +got):\n%s", e.to, e.from, d)
		}
	}
}

// TestRelaxationsByTheGate: a stricter value can move a rule to a state that the
// gate takes more lightly.
func TestRelaxationsByTheGate(t *testing.T) {
	rules := "rules:\n  - {id: r, metric: m, min: 0.7}\n  - {id: c, metric: m, kind: non_inferiority, margin: 0.1, min_support: 5}\n"
	const warns = ": FAIL can become INSUFFICIENT_EVIDENCE, which only warns"
	for _, test := range []struct {
		lists, from, to string
		want            []string
	}{
		{"block_on: [FAIL]\nwarn_on: [INSUFFICIENT_EVIDENCE]\n", "confidence_level: 0.95", "confidence_level: 0.99", []string{"b:3: confidence_level raised from 0.95 to 0.99" + warns}},
		{"block_on: [FAIL, INSUFFICIENT_EVIDENCE]\n", "confidence_level: 0.95", "confidence_level: 0.99", nil},
		{"block_on: [FAIL]\n", "min_paired_share: 0.9", "min_paired_share: 1", []string{"b:2: min_paired_share raised from 0.9 to 1: FAIL can become INSUFFICIENT_EVIDENCE, which is let through"}},
		{"block_on: [FAIL]\nwarn_on: [INSUFFICIENT_EVIDENCE]\n", "min_support: 5", "min_support: 50", []string{"b:6: rule c: min_support raised from 5 to 50" + warns}},
		{"block_on: [FAIL]\nwarn_on: [INSUFFICIENT_EVIDENCE]\n", "min: 0.7", "min: 0.8", nil},
		{"block_on: [INSUFFICIENT_EVIDENCE]\n", "min: 0.7", "min: 0.8", []string{"b:4: rule r: min raised from 0.7 to 0.8: INSUFFICIENT_EVIDENCE can become FAIL, which is let through"}},
		{"block_on: [FAIL]\nwarn_on: [INSUFFICIENT_EVIDENCE]\n", "families: []", "families: [{id: f, rules: [c]}]", []string{"b:7: family f: c added" + warns}},
		{"", "families: []", "families: [{id: f, rules: [c]}]", nil},
	} {
		text := test.lists + "confidence_level: 0.95\n" + rules + "families: []\n"
		if !strings.Contains(text, test.from) {
			text = strings.Replace(text, "confidence_level: 0.95", test.from, 1)
		}
		edited := strings.Replace(text, test.from, test.to, 1)
		if d := cmp.Diff(test.want, diff(parse(t, "a", text), parse(t, "b", edited))); d != "" {
			t.Errorf("%q: %q to %q (-want +got):\n%s", test.lists, test.from, test.to, d)
		}
	}
	// A level is not read by rules that only count.
	count := "block_on: [FAIL]\nconfidence_level: 0.95\nrules: [{id: n, metric: m, max_failures: 0}]\n"
	if got := diff(parse(t, "a", count), parse(t, "b", strings.Replace(count, "0.95", "0.99", 1))); got != nil {
		t.Errorf("%q", got)
	}
}

// TestRelaxationsKnowEveryKey: a key that is added to policies must be looked at
// here, or be named as one that cannot make a policy laxer.
func TestRelaxationsKnowEveryKey(t *testing.T) {
	cannot := []string{"version", "early_stopping", "early_stopping_seed", "early_stopping_batch_size", "require_approval", "id", "correction"}
	tested := ""
	for _, e := range edits() {
		tested += strings.Join(slices.Concat(e.there, e.and), "\n") + "\n" + e.from + "\n"
	}
	for _, row := range strictyaml.Reference(policy.Key()) {
		key := row.Path[strings.LastIndex(row.Path, ".")+1:]
		if !slices.Contains(cannot, key) && !strings.Contains(tested, key) {
			t.Errorf("no test says what a change of %s relaxes", key)
		}
	}
}

func TestRelaxationsOfTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t).parse(t, "p")
		if got := policy.Relaxations(p, p); len(got) > 0 {
			t.Fatalf("%+v", got)
		}
	})
	files, err := filepath.Glob("../../policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies: %v", err)
	}
	for _, file := range files {
		p, err := policy.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.Relaxations(p, p); len(got) > 0 {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// TestNoRelaxationNoOpenerGate: when nothing is reported, no run gets a more
// permissive gate from the new policy.
func TestNoRelaxationNoOpenerGate(t *testing.T) {
	silent, stricter := 0, 0
	law := func(t *rapid.T) {
		a := anyPolicy(t)
		b := a.edited(t)
		old, new := a.parse(t, "old"), b.parse(t, "new")
		if len(policy.Relaxations(old, new)) > 0 {
			return
		}
		silent++
		for range 20 {
			run := anyRun(t)
			before, after := run.gate(old), run.gate(new)
			if rank(after) > rank(before) {
				stricter++
			}
			if rank(after) < rank(before) {
				t.Fatalf("%s, then %s, and no relaxation is reported from\n%s\nto\n%s\non %+v", before, after, a.yaml(), b.yaml(), run)
			}
		}
	}
	// A stricter gate is rare: draw until one was seen, so that the law was put to the test.
	for round := 0; round == 0 || stricter == 0 && round < 200; round++ {
		rapid.Check(t, law)
	}
	if silent == 0 || stricter == 0 {
		t.Errorf("%d pairs without a relaxation, %d stricter gates: the test looks at nothing", silent, stricter)
	}
}

func rank(a decide.Action) int {
	return slices.Index([]decide.Action{decide.Allow, decide.Warn, decide.Block}, a)
}

// draft is a policy that is drawn.
type draft struct {
	level       string
	block, warn []policy.State
	partial     bool
	rules       []draftRule
}

type draftRule struct {
	id, metric, limit, value, missing string
	review                            bool
}

var (
	levels    = rapid.SampledFrom([]string{"0.8", "0.9", "0.95", "0.99"})
	shares    = rapid.SampledFrom([]string{"0.1", "0.3", "0.5", "0.6", "0.7", "0.9"})
	counts    = rapid.SampledFrom([]string{"0", "1", "3", "9"})
	latencies = rapid.SampledFrom([]string{"100", "300", "500"})
	missing   = rapid.SampledFrom([]string{"", "", "0", "0.1", "0.5", "1"})
	states    = rapid.SliceOfDistinct(rapid.SampledFrom([]policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview, policy.Pass}), rapid.ID[policy.State])
)

func anyPolicy(t *rapid.T) draft {
	d := draft{level: levels.Draw(t, "level"), partial: rapid.Bool().Draw(t, "block on partial run")}
	d.drawLists(t)
	for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
		d.rules = append(d.rules, anyRule(t, fmt.Sprint("r", i)))
	}
	return d
}

func (d *draft) drawLists(t *rapid.T) {
	d.block = states.Draw(t, "block on")
	d.warn = slices.DeleteFunc(states.Draw(t, "warn on"), func(s policy.State) bool { return slices.Contains(d.block, s) })
}

func anyRule(t *rapid.T, id string) draftRule {
	r := draftRule{id: id, metric: rapid.SampledFrom([]string{"rate", "mean", "latency"}).Draw(t, "metric")}
	r.limit = rapid.SampledFrom([]string{"min", "max"}).Draw(t, "limit")
	if r.metric == "rate" && rapid.Bool().Draw(t, "count") {
		r.limit = "max_failures"
	}
	r.draw(t)
	return r
}

// draw draws what an edit of a rule is likely to touch.
func (r *draftRule) draw(t *rapid.T) {
	switch {
	case r.limit == "max_failures":
		r.value = counts.Draw(t, "failures")
	case r.metric == "latency":
		r.value = latencies.Draw(t, "milliseconds")
	default:
		r.value = shares.Draw(t, "share")
	}
	if r.limit != "max_failures" {
		r.missing = missing.Draw(t, "missing")
	}
	r.review = rapid.IntRange(0, 3).Draw(t, "review") == 0
}

// edited returns the policy after some edits.
func (d draft) edited(t *rapid.T) draft {
	d.rules = slices.Clone(d.rules)
	for range rapid.IntRange(1, 2).Draw(t, "edits") {
		i := rapid.IntRange(0, len(d.rules)-1).Draw(t, "rule")
		switch rapid.IntRange(0, 8).Draw(t, "edit") {
		case 0:
			d.level = levels.Draw(t, "level")
		case 1:
			d.drawLists(t)
		case 2:
			d.partial = !d.partial
		case 3:
			d.rules[i] = anyRule(t, d.rules[i].id)
		case 4:
			d.rules[i].id += "x"
		case 5:
			d.rules = append(d.rules, anyRule(t, "new"+fmt.Sprint(len(d.rules))))
		case 6:
			if len(d.rules) > 1 {
				d.rules = slices.Delete(d.rules, i, i+1)
			}
		default:
			d.rules[i].draw(t)
		}
	}
	return d
}

func (d draft) yaml() string {
	var b strings.Builder
	join := func(all []policy.State) string { return strings.ReplaceAll(fmt.Sprint(all), " ", ", ") }
	fmt.Fprintf(&b, "confidence_level: %s\nblock_on: %s\nwarn_on: %s\nblock_on_partial_run: %v\nrules:\n", d.level, join(d.block), join(d.warn), d.partial)
	for _, r := range d.rules {
		fmt.Fprintf(&b, "  - {id: %s, metric: %s, %s: %s, requires_manual_review: %v", r.id, r.metric, r.limit, r.value, r.review)
		if r.missing != "" {
			fmt.Fprintf(&b, ", max_missing_fraction: %s", r.missing)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func (d draft) parse(t *rapid.T, path string) *policy.Policy { return parse(t, path, d.yaml()) }

// run is what a run observed.
type run struct {
	passed, failed, missing int
	scores, latencies       []float64
	completeness            evidence.Completeness
}

func anyRun(t *rapid.T) run {
	sizes := rapid.SampledFrom([]int{0, 1, 5, 20, 60, 200})
	tile := func(value, size string, lo, hi int, by float64) []float64 {
		all := make([]float64, sizes.Draw(t, size))
		v := float64(rapid.IntRange(lo, hi).Draw(t, value)) * by
		for i := range all {
			all[i] = v
		}
		return all
	}
	return run{
		passed: sizes.Draw(t, "passed"), failed: sizes.Draw(t, "failed"), missing: rapid.SampledFrom([]int{0, 0, 1, 5, 30}).Draw(t, "missing"),
		scores:       tile("score", "scores", 0, 10, 0.1),
		latencies:    tile("latency", "latencies", 0, 6, 100),
		completeness: rapid.SampledFrom([]evidence.Completeness{evidence.Complete, evidence.Partial}).Draw(t, "completeness"),
	}
}

// gate decides the run, measured at the level of the policy.
func (r run) gate(p *policy.Policy) decide.Action {
	level := p.ConfidenceLevel
	metric := func(id string, kind evidence.Kind, observed int, values []float64, i stats.Interval) measure.Metric {
		m := measure.Metric{Spec: evidence.MetricSpec{ID: id, Kind: kind, Range: [2]float64{0, 1}, Quantile: 0.5}, Values: values}
		m.Cases = measure.Cases{Observed: observed, Missing: r.missing}
		if m.Cases.Eligible() > 0 {
			m.Interval = &measure.Interval{Lower: bound(i.Lower), Upper: bound(i.Upper), Level: level}
		}
		return m
	}
	rate := metric("rate", evidence.Rate, r.passed+r.failed, nil, stats.Rate(r.passed, r.passed+r.failed, r.missing, level))
	rate.Passed = r.passed
	return decide.Run(p, []measure.Metric{
		rate,
		metric("mean", evidence.Mean, len(r.scores), r.scores, stats.Mean(r.scores, r.missing, 0, 1, level)),
		metric("latency", evidence.Quantile, len(r.latencies), r.latencies, stats.Quantile(r.latencies, r.missing, 0.5, level)),
	}, r.completeness).Gate.Action
}

func bound(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

func renderHTML(t fataler, d *Document, opt HTMLOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d, opt); err != nil {
		t.Fatalf("HTML: %v", err)
	}
	return b.String()
}

// sampleOptions are findings, content and history for a page with everything on it.
func sampleOptions(cases int) HTMLOptions {
	f := &Findings{}
	var lines []evidence.CaseLine
	for i := range cases {
		f.Latencies.Add(&evidence.Outcome{Status: evidence.StatusOK, LatencyMS: 400 + float64(i*i%700)})
		id := fmt.Sprintf("case-%05d", i)
		f.Failing = append(f.Failing, FailingCase{ID: id, Criteria: []FailedCriterion{{ID: "answer_correct"}}})
		l := answered(id, `{"answer":"I could not find <b>that</b> in the knowledge base.","citations":["kb-01"]}`, judged("answer_correct", 0))
		l.Judgments[0].Detail = `"14 days" does not occur in the answer`
		l.Case.Expected = evidence.Value(`{"answer":"14 days"}`)
		lines = append(lines, l)
	}
	return HTMLOptions{Findings: f, Content: caseLines(lines...), History: history(12)}
}

func TestHTMLShows(t *testing.T) {
	got := html.UnescapeString(renderHTML(t, Build(compareInput(exampleComparison(), comparePolicy())), HTMLOptions{}))
	for _, want := range []string{
		"Gate: BLOCK (exit 3)", "answers-not-worse", "non-inferiority, margin 5.0 points", "+6.7 points", "[-26.5, +40.8]", "15 paired · 0 missing · 0 excluded",
		"About 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance).", "interval_overlaps_margin",
		"oloproof inspect " + candidateID, "--case money_back", "excluded 2: no_relevance_labels", "support 3 < 4", comparisonID, "finite-sample betting intervals",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	run := renderHTML(t, Build(exampleInput()), sampleOptions(3))
	for _, want := range []string{"Gate: BLOCK (exit 1)", "About 753 more cases would decide it", "1 failure", "Histogram.", "answer_correct over 12 runs", "14 days", "could not find"} {
		if !strings.Contains(run, want) {
			t.Errorf("no %q on the run's page", want)
		}
	}
}

// The order of the parts is the one of every rendering.
func TestHTMLOrder(t *testing.T) {
	got := renderHTML(t, Build(everythingInput()), sampleOptions(3))
	last := 0
	for _, id := range []string{"rules", "laxer", "flips", "differences", "metrics", "slice-differences", "slices", "time", "cases", "pairing", "notes", "facts", "words"} {
		at := strings.Index(got, `<section id="`+id+`"`)
		if at < last {
			t.Errorf("part %s stands at %d, the one before at %d", id, at, last)
		}
		last = at
	}
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(got, -1)
	seen := map[string]bool{}
	for _, m := range ids {
		if seen[m[1]] {
			t.Errorf("id %s stands twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(got, -1) {
		if !seen[m[1]] {
			t.Errorf("a link to %s, which is not there", m[1])
		}
	}
}

func TestHTMLContentOnlyWhenGiven(t *testing.T) {
	opt := sampleOptions(3)
	with := renderHTML(t, Build(exampleInput()), opt)
	opt.Content = nil
	without := renderHTML(t, Build(exampleInput()), opt)
	for _, content := range []string{"14 days", "could not find", "kb-01", "Where?"} {
		if !strings.Contains(with, content) || strings.Contains(without, content) {
			t.Errorf("%q with content: %t, without: %t", content, strings.Contains(with, content), strings.Contains(without, content))
		}
	}
	if !strings.Contains(without, "case-00001") {
		t.Error("the failing cases are not named")
	}
}

// The page loads nothing, and its policy allows nothing but its own style and script.
func TestHTMLIsSelfContained(t *testing.T) {
	got := renderHTML(t, Build(everythingInput()), sampleOptions(3))
	for _, forbidden := range []string{" src=", "@import", "url(", " style=", "<iframe", "<object", "onclick", "javascript:"} {
		if strings.Contains(got, forbidden) {
			t.Errorf("%q on the page", forbidden)
		}
	}
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(got, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		if hash := m[1] + "-src &#39;sha256-" + base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(strings.ReplaceAll(got, "&#43;", "+"), hash) {
			t.Errorf("the policy does not name the %s", m[1])
		}
	}
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
}

// Whatever the document and the cases say, the page has the tags of the template.
func TestHTMLIsSafe(t *testing.T) {
	tags := regexp.MustCompile(`<([a-z0-9]+)[ >/]`)
	allowed := map[string]bool{}
	for _, m := range tags.FindAllStringSubmatch(pageSource, -1) {
		allowed[m[1]] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		foreign := func(place string) string { return drawForeign(t, place) }
		md := hostileOptions(foreign)
		opt := HTMLOptions{Findings: &Findings{Failing: md.Failing}, Content: md.Content, History: []TrendEntry{
			{Run: foreign("run"), Gate: foreign("gate"), Metrics: []Metric{{ID: "hit_rate_at_2", Kind: evidence.Rate, Estimate: ptr(0.5), Display: Display{Estimate: foreign("estimate")}}}},
			{Metrics: []Metric{{ID: "hit_rate_at_2", Kind: evidence.Rate, Estimate: ptr(0.5)}}},
		}}
		got := renderHTML(t, hostileDocument(foreign), opt)
		for _, m := range tags.FindAllStringSubmatch(got, -1) {
			if !allowed[m[1]] {
				t.Fatalf("a tag %s", m[1])
			}
		}
		if n := strings.Count(got, "<script"); n != 1 {
			t.Fatalf("%d scripts", n)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && unprintable(r) }) {
			t.Fatal("unprintable characters")
		}
	})
}

// bigDocument compares two runs of so many cases that all flipped.
func bigDocument(cases int) *Document {
	c := exampleComparison()
	for i := range cases {
		c.Flips = append(c.Flips, compare.Flip{CaseID: fmt.Sprintf("case-%05d", i), Criterion: "answer_correct"})
	}
	slices.SortStableFunc(c.Flips, func(a, b compare.Flip) int {
		return strings.Compare(strconv.FormatBool(a.Passing), strconv.FormatBool(b.Passing))
	})
	return comparedDocument(c)
}

// TestHTMLHeadings: headings are sentences, whatever they are put together of.
func TestHTMLHeadings(t *testing.T) {
	d, opt := bigDocument(50), sampleOptions(50)
	for want, opt := range map[string]HTMLOptions{"Latency and trend": opt, "Latency": {Findings: opt.Findings}, "Trend": {History: opt.History}} {
		if got := renderHTML(t, d, opt); !strings.Contains(got, ">"+want+"</h2>") {
			t.Errorf("no heading %q", want)
		}
	}
}

// TestHTMLNamesNoRunThatIsGone: what is left out is looked up as the run is named.
func TestHTMLNamesNoRunThatIsGone(t *testing.T) {
	d, opt := bigDocument(500), sampleOptions(500)
	opt.Limit = 20_000
	for look, want := range map[string]string{"": "more are not listed here.<", "oloproof inspect out": "more are not listed here: oloproof inspect out lists all.<"} {
		opt.Case = func(string) string { return look }
		if got := renderHTML(t, d, opt); !strings.Contains(got, want) || strings.Contains(got, "--failures") {
			t.Errorf("no %q", want)
		}
	}
}

// A report of 10,000 cases that all fail, all flipped, with content, stays
// below 5 MB and says what it leaves out.
func TestHTMLStaysSmall(t *testing.T) {
	d := bigDocument(10_000)
	opt := sampleOptions(10_000)
	for name, opt := range map[string]HTMLOptions{"with content": opt, "without": {Findings: opt.Findings, History: opt.History}} {
		got := renderHTML(t, d, opt)
		if len(got) > 5_000_000 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
		rows := strings.Count(got, `<th role="rowheader" scope="row" class="id">case-`) + strings.Count(got, `<span class="id">case-`)
		if rows < 19_000 && !strings.Contains(got, "more are not listed here") {
			t.Errorf("%s: %d rows and nothing said of the others", name, rows)
		}
		t.Logf("%s: %d bytes, %d rows, %d with content", name, len(got), rows, strings.Count(got, "<pre>")/4)
	}
}

func BenchmarkHTML(b *testing.B) {
	d, opt := bigDocument(10_000), sampleOptions(10_000)
	for b.Loop() {
		size := len(renderHTML(b, d, opt))
		b.ReportMetric(float64(size)/1e6, "MB")
	}
}

// constants returns the string constants of a Go file whose names begin so.
func constants(t *testing.T, path, prefix string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) == 0 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			found[spec.Names[0].Name], _ = strconv.Unquote(lit.Value)
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("no constant %s… in %s", prefix, path)
	}
	return found
}

// Every state and every reason code has a definition in plain words.
func TestGlossaryIsComplete(t *testing.T) {
	for _, from := range []struct{ path, prefix string }{
		{"../decide/reasons.go", "Reason"}, {"../decide/reasons.go", "Gate"}, {"../evidence/judgment.go", "Reason"},
	} {
		for name, code := range constants(t, from.path, from.prefix) {
			if define(code) == "" {
				t.Errorf("no definition of %s (%s)", code, name)
			}
		}
	}
	for _, state := range []policy.State{policy.Pass, policy.Fail, policy.InsufficientEvidence, policy.ManualReview} {
		if define(string(state)) == "" {
			t.Errorf("no definition of %s", state)
		}
	}
	if define("no such code") != "" {
		t.Error("a definition of nothing")
	}
}

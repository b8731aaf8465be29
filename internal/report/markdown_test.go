package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	goldmarktext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/compare"
)

func renderMarkdown(t fataler, d *Document, opt MarkdownOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, d, opt); err != nil {
		t.Fatalf("Markdown: %v", err)
	}
	return b.String()
}

// parseMarkdown reads Markdown as GitHub does: tables, bare links, ~~ and tasks.
func parseMarkdown(source []byte) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(goldmarktext.NewReader(source))
}

// foreignMark stands in every hostile string; nothing that holds it may be read
// as anything but code.
const foreignMark = "§"

var hostileStrings = []string{
	"@everyone", "@octo/team", "#1", "owner/repo#1", "GH-1", "a5c3785ed8d6a35868bc169f07e40e889087fd2e", "http://evil.example", "www.evil.example",
	"me@evil.example", "[x](http://evil.example)", "![x](http://evil.example/x.png)", "<img src=x onerror=alert(1)>", "<script>alert(1)</script>",
	"<!-- hidden", "</details>", "| a | b |", `\|`, `\\|`, `\`, "`", "``", "` | `", "`a`|`b`", "|`|", "```\n# h\n```", "\n\n# heading\n\n", "\r\n---\r\n", "- [ ] x",
	"a\u202eb", "a\u200bb", "\ufeff", "\x1b[31mred\x1b[0m", "\x1b]0;title\a", "\x00", "\xff\xfe", "\u1fef", "\u2028x", "*b* _i_ ~~s~~", "$x$", ":tada:",
	"[x]: http://evil.example", "[^1]: note", "&amp;&lt;", "   ", "", "1.", "+", "{{.}}", "$(rm -rf /)", "'; drop", "\\`", "`\\", "a`\\|b",
}

func drawForeign(t *rapid.T, name string) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostileStrings), rapid.StringN(0, 6, 20),
		rapid.StringOfN(rapid.SampledFrom([]rune("`|\\\n@<>[]()!#*_~ a1")), 0, 12, -1)), 1, 4).Draw(t, name)
	return strings.Join(parts, "") + foreignMark + rapid.SampledFrom(hostileStrings).Draw(t, name+"_end")
}

// What goes into a cell comes out of it, as code, and the cells behind it stay.
func TestCodeHoldsInATable(t *testing.T) {
	check := func(t fataler, s string) {
		t.Helper()
		source := "| A | B | C |\n|---|---|---|\n" + row(codeCell(s), codeCell(s), "END")
		var cells []string
		for _, r := range tableRows(parseMarkdown([]byte(source))) {
			if r.Kind() == extast.KindTableHeader {
				continue
			}
			for c := r.FirstChild(); c != nil; c = c.NextSibling() {
				cells = append(cells, plainText(c, []byte(source)))
			}
		}
		want := cutRunes(visible(s), mostCode)
		if strings.Trim(want, " ") == "" {
			want = "–"
		}
		if len(cells) != 3 || strings.TrimSpace(cells[0]) != strings.TrimSpace(want) || strings.TrimSpace(cells[1]) != strings.TrimSpace(want) || cells[2] != "END" {
			t.Fatalf("%q gives %q, want twice %q\n%s", s, cells, want, source)
		}
	}
	for _, s := range hostileStrings {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawForeign(t, "s")) })
}

func tableRows(root ast.Node) []ast.Node {
	var rows []ast.Node
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && (n.Kind() == extast.KindTableRow || n.Kind() == extast.KindTableHeader) {
			rows = append(rows, n)
		}
		return ast.WalkContinue, nil
	})
	return rows
}

// plainText is the text below a node, as it is shown.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if s, ok := n.(*ast.Text); entering && ok {
			b.Write(s.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// ownMethod is the version of a method behind its name, which is no mention.
var ownMethod = regexp.MustCompile(`[a-z]@1\b`)

// problemsOf says what of a rendering is not ours: links, images, tags other
// than our own, and foreign text outside of code.
func problemsOf(source []byte) []string {
	var problems []string
	own := []string{"<details>", "<details open>", "</details>", "<br>"}
	_ = ast.Walk(parseMarkdown(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.FencedCodeBlock, *ast.CodeBlock, *ast.Blockquote:
			problems = append(problems, n.Kind().String())
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				at := n.Segments.At(i)
				if tag := string(at.Value(source)); !slices.Contains(own, tag) {
					problems = append(problems, "tag "+tag)
				}
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				line := strings.TrimSpace(string(at.Value(source)))
				line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "<details open>"), "<details>"), "</details>")
				if title := strings.TrimSuffix(strings.TrimPrefix(line, "<summary>"), "</summary>"); strings.ContainsAny(title, "<>&"+foreignMark) {
					problems = append(problems, "HTML "+line)
				}
			}
		case *ast.Text:
			s := ownMethod.ReplaceAllString(string(n.Segment.Value(source)), "")
			if strings.ContainsAny(s, foreignMark+"@#") {
				problems = append(problems, "text "+s)
			}
		}
		return ast.WalkContinue, nil
	})
	return problems
}

// hostileDocument has foreign text in every place that takes some.
func hostileDocument(foreign func(place string) string) *Document {
	c := exampleComparison()
	c.Candidate.ID, c.Baseline.ID = foreign("candidate"), foreign("baseline")
	c.Candidate.Commit, c.Baseline.System.Name = foreign("commit"), foreign("system")
	c.Added, c.Removed, c.Changed = []string{foreign("added")}, []string{foreign("removed")}, []string{foreign("changed"), "plain"}
	c.Differences[2].Spec.ID = foreign("metric")
	c.Differences[1].Exclusions[0].Reason = foreign("reason")
	c.Flips = []compare.Flip{{CaseID: foreign("flip"), Criterion: foreign("criterion")}, {CaseID: foreign("flip2"), Criterion: "answer_correct", Passing: true}}
	c.Slices[0].Value, c.Slices[1].Name = foreign("slice"), foreign("slice name")
	c.NotComparable = []compare.NotComparable{{Metric: foreign("lost"), Reason: foreign("why"), Detail: foreign("detail")}}
	c.Rejudged = []string{foreign("rejudged")}
	d := comparedDocument(c)
	id := string(c.ID)
	x := &d.Policies[0].Decisions[1]
	x.Rule, x.Metric, x.State, x.Requires, x.Reasons = foreign("rule"), foreign("metric2"), foreign("state"), foreign("requires"), []string{foreign("code")}
	x.Comparison = &id
	x.Planning.Line, x.Planning.Cost = foreign("line"), foreign("cost")
	x.Display = Display{Estimate: foreign("estimate"), Interval: foreign("interval"), Denominator: foreign("denominator")}
	x.Interval = &Interval{Lower: x.Interval.Lower, Upper: x.Interval.Upper, Method: foreign("method")}
	d.Gate.Action, d.Gate.Meaning = foreign("action"), foreign("meaning")
	d.Run.Name, d.Run.ID, d.Run.Reused = foreign("name"), foreign("run"), true
	d.Metrics[0].ID, d.Metrics[1].Display.Estimate = foreign("metric3"), foreign("figure")
	d.Slices[0].Value = foreign("value")
	d.Notes = []string{foreign("note")}
	d.Problems = []CaseProblem{{Kind: foreign("kind"), Count: 3, CaseIDs: []string{foreign("case")}}}
	d.Relaxations = []Relaxation{{File: foreign("file"), Line: 3, Text: foreign("text")}, {File: foreign("file2")}}
	d.Baseline = &Baseline{State: foreign("baseline state"), Reason: foreign("reason"), Branch: foreign("branch"), Age: foreign("age"), Trail: []Rejects{{foreign("candidate2"), foreign("because")}}}
	second := d.Policies[0]
	second.Path, second.Role = foreign("path"), foreign("role")
	second.Gate.Action = foreign("action2")
	d.Policies = append(d.Policies, second)
	return d
}

func hostileOptions(foreign func(place string) string) MarkdownOptions {
	bad := answered(foreign("failing"), `{"answer":"| @everyone <img> [x](y) `+"`"+`"}`, judged("answer_correct", 0))
	return MarkdownOptions{
		Failing: []FailingCase{{ID: bad.Case.ID, Problem: foreign("problem"), Criteria: []FailedCriterion{{ID: foreign("failed")}, {ID: "x", Reason: foreign("errored")}}}},
		Content: caseLines(bad),
		Next:    []string{foreign("next")},
	}
}

// Whatever the suite, the system, the branch and the stored document say, no
// mention, link, image, tag or table break gets out of the block, in no budget.
func TestMarkdownIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		foreign := func(place string) string { return drawForeign(t, place) }
		d, opt := hostileDocument(foreign), hostileOptions(foreign)
		opt.Budget = rapid.SampledFrom([]int{0, 300, 2000, 6000, 20000}).Draw(t, "budget")
		source := []byte(renderMarkdown(t, d, opt))
		if problems := problemsOf(source); len(problems) > 0 {
			t.Fatalf("%q in\n%s", problems, source)
		}
		if opt.Budget > 0 && len(source) > opt.Budget {
			t.Fatalf("%d bytes of %d", len(source), opt.Budget)
		}
		if open, closed := bytes.Count(source, []byte("\n<details")), bytes.Count(source, []byte("\n</details>\n")); open != closed {
			t.Fatalf("%d details opened, %d closed", open, closed)
		}
		if strings.ContainsFunc(string(source), func(r rune) bool { return r != '\n' && unprintable(r) }) || !utf8.Valid(source) {
			t.Fatalf("unprintable characters in %q", source)
		}
		for _, r := range tableRows(parseMarkdown(source)) {
			if got, want := r.ChildCount(), len(r.Parent().(*extast.Table).Alignments); got != want {
				t.Fatalf("a row of %d cells in a table of %d", got, want)
			}
		}
	})
}

// The problems that the test above looks for are found where there are some.
func TestMarkdownProblemsAreFound(t *testing.T) {
	for _, s := range []string{"@everyone", "see #1", "http://evil.example", "[x](y)", "![x](y)", "<img src=x>", "<b>", "me@evil.example", "www.evil.example", foreignMark, "> quote", "```\nx\n```"} {
		if len(problemsOf([]byte(s+"\n"))) == 0 {
			t.Errorf("nothing found in %q", s)
		}
	}
}

func TestMarkdownGoldens(t *testing.T) {
	big := exampleComparison()
	for i := range 400 {
		big.Flips = append(big.Flips, compare.Flip{CaseID: fmt.Sprintf("case-%03d", i), Criterion: "answer_correct", Passing: i%2 == 0})
	}
	slices.SortStableFunc(big.Flips, func(a, b compare.Flip) int {
		if a.Passing == b.Passing {
			return 0
		}
		if b.Passing {
			return -1
		}
		return 1
	})
	for name, tt := range map[string]struct {
		doc *Document
		opt MarkdownOptions
	}{
		"markdown_run.md":     {Build(exampleInput()), MarkdownOptions{Failing: []FailingCase{{ID: "money_back", Criteria: []FailedCriterion{{ID: "answer_correct"}, {ID: "citations_valid"}}}}}},
		"markdown_compare.md": {comparedDocument(exampleComparison()), MarkdownOptions{}},
		"markdown_folded.md":  {comparedDocument(big), MarkdownOptions{Budget: 6000}},
		"markdown_tiny.md":    {comparedDocument(big), MarkdownOptions{Budget: 500}},
	} {
		got := renderMarkdown(t, tt.doc, tt.opt)
		golden(t, name, got)
		if problems := problemsOf([]byte(got)); len(problems) > 0 {
			t.Errorf("%s: %q", name, problems)
		}
	}
}

// The gate, the rules and the planning lines stand whole as long as they fit by
// themselves, and more room never shows less.
func TestMarkdownKeepsTheGate(t *testing.T) {
	d := comparedDocument(exampleComparison())
	whole := renderMarkdown(t, d, MarkdownOptions{})
	m := &markdown{doc: d}
	head := m.head()
	last := 0
	for budget := len(head) + len(m.tail()); budget <= len(whole)+100; budget += 37 {
		got := renderMarkdown(t, d, MarkdownOptions{Budget: budget})
		if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, m.tail()) || len(got) > budget {
			t.Fatalf("budget %d: %d bytes\n%s", budget, len(got), got)
		}
		if rows := strings.Count(got, "\n| "); rows < last-8 {
			t.Errorf("budget %d shows %d rows, a smaller one %d", budget, rows, last)
		} else {
			last = rows
		}
	}
	if got := renderMarkdown(t, d, MarkdownOptions{Budget: len(whole)}); got != whole {
		t.Error("a budget of the whole length folds something")
	}
}

// Of rules that do not fit the gravest stand, with what would decide them.
func TestMarkdownOfManyRules(t *testing.T) {
	d := Build(exampleInput())
	like := d.Policies[0].Decisions[0]
	d.Policies = []Policy{d.Policies[0], d.Policies[0]}
	d.Policies[1].Path = "compare.yaml"
	for i := range d.Policies {
		d.Policies[i].Decisions = nil
		for n := range 400 {
			x := like
			x.Rule, x.State, x.Planning = fmt.Sprintf("rule-%d-%d", i, n), "PASS", nil
			switch {
			case n == 398:
				x.State, x.Planning = "INSUFFICIENT_EVIDENCE", &Planning{Line: "about 7 more cases would decide it"}
			case n == 399 && i == 1:
				x.State = "FAIL"
			}
			d.Policies[i].Decisions = append(d.Policies[i].Decisions, x)
		}
	}
	got := renderMarkdown(t, d, MarkdownOptions{Budget: 60_000})
	for _, want := range []string{
		"The rules do not all fit here: 1 FAIL, 2 INSUFFICIENT_EVIDENCE, 797 PASS. The gravest are shown, the report has them all.",
		"**Rules of `compare.yaml`**", "| `rule-1-399`<br>", "| `rule-0-398`<br>", "- `rule-1-398`: about 7 more cases would decide it\n", "| `rule-0-0`<br>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if rows := strings.Count(got, "<br>`answer_correct`"); len(got) > 60_000 || rows < 150 || rows > 790 {
		t.Errorf("%d bytes with %d rules", len(got), rows)
	}
	d.Policies = d.Policies[1:]
	for budget, want := range map[int]string{1200: "`rule-1-399`", 700: "do not fit here"} {
		if got := renderMarkdown(t, d, MarkdownOptions{Budget: budget}); len(got) > budget || !strings.Contains(got, want) || strings.Contains(got, "`rule-1-0`") {
			t.Errorf("budget %d: %d bytes\n%s", budget, len(got), got)
		}
	}
}

// Content is quoted only where it was given.
func TestMarkdownContent(t *testing.T) {
	d := Build(exampleInput())
	failing := []FailingCase{{ID: "money_back", Criteria: []FailedCriterion{{ID: "answer_correct"}}}}
	lines := caseLines(answered("fine", `"secret of fine"`), answered("money_back", `{"answer":"secret answer"}`))
	if got := renderMarkdown(t, d, MarkdownOptions{Failing: failing}); strings.Contains(got, "secret") {
		t.Errorf("content in\n%s", got)
	}
	got := renderMarkdown(t, d, MarkdownOptions{Failing: failing, Content: lines})
	if !strings.Contains(got, "secret answer") || strings.Contains(got, "secret of fine") {
		t.Errorf("content of the wrong cases in\n%s", got)
	}
}

func TestProse(t *testing.T) {
	for _, s := range []string{
		"about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)",
		"resolving the 2 missing cases first could decide it: if all turn out well, the lower bound reaches 81.2%",
		"calling the system for them takes about 5 s at the latency observed (120 ms on average, 8 at a time)",
		"+6.7 points", "[-26.5, +40.8]", "[no bound, +40.8 ms]", "15 paired · 0 missing · 2 excluded", "11 / 15 observed · 0 missing · 0 excluded",
		"p99.9 of 1100 observed", "equivalence, margin ±10.0 points", "<1%", "not observed", "interval_overlaps_margin", "hit_rate_at_2", "exact_unconditional@1",
		"Blocked because answers-not-worse and citations-not-worse are INSUFFICIENT_EVIDENCE (not established yet).",
		"at least 45.0%, corrected for the judge's error (Rogan-Gladen)",
	} {
		if got := Prose(s); got != s {
			t.Errorf("Prose(%q) = %q", s, got)
		}
	}
	for _, s := range append(hostileStrings, "deadbeef", "a\nb", "x  y", "_em_", "**b**", "a--b", "GH-12", "[x]: y", "foo@1.com", "@1", "x@12") {
		got := Prose(s)
		if got == s && len(problemsOf([]byte(s+"\n"))) > 0 || strings.ContainsAny(got, "\n\r") {
			t.Errorf("Prose(%q) = %q", s, got)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, s := range hostileStrings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		source := []byte("Say " + Code(s+foreignMark) + " and " + Prose(s+foreignMark) + "\n\n| A | B |\n|---|---|\n" + row(codeCell(s+foreignMark), proseCell(s)))
		if problems := problemsOf(source); len(problems) > 0 {
			t.Errorf("%q in\n%s", problems, source)
		}
		if again := visible(visible(s)); again != visible(s) {
			t.Errorf("%q, looked at again %q", visible(s), again)
		}
	})
}

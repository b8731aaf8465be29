package github

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/report"
)

// rendered is Markdown as a reader of GitHub's dialect makes it.
func rendered(t *rapid.T, source string) string {
	var b strings.Builder
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert([]byte(source), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNothingForeignGetsOut: texts of trouble name files and quote lines of
// them, and stand as code in summary and comment.
func TestNothingForeignGetsOut(t *testing.T) {
	code := regexp.MustCompile(`(?s)<code>.*?</code>`)
	tag := regexp.MustCompile(`<[^>]*>`)
	ours := regexp.MustCompile(`^</?(h3|p|strong|ul|li|code)>$`)
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"`", "``", "|", "@everyone", "#1", "<img src=x>", "[x](http://x)", "http://x.example", "-->", "<!--", "\n", "\n\n", "    ", "- ", "# ", "~~~", "a@b.example", "**", "\\"}), rapid.String())
		text := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(r, "text"), "")
		p := Publication{ExitCode: 2, Trouble: &Trouble{Title: "Configuration error", Err: errors.New(text), Remedy: text}}
		source, err := p.markdown(maxComment)
		if err != nil {
			r.Fatal(err)
		}
		if _, _, forged := marked(source); forged {
			r.Fatalf("a mark in\n%s", source)
		}
		outside := code.ReplaceAllString(rendered(r, source), "")
		for _, tag := range tag.FindAllString(outside, -1) {
			if !ours.MatchString(tag) {
				r.Fatalf("%s in the rendering of\n%s", tag, source)
			}
		}
		if strings.ContainsAny(tag.ReplaceAllString(outside, ""), "@#|[~`") {
			r.Fatalf("text outside of code: %s", outside)
		}
	})
}

// TestTroubleBesideADecision: the gate stays the first line, and why it blocks
// stands right below it, a FAIL before the trouble.
func TestTroubleBesideADecision(t *testing.T) {
	p := Publication{ExitCode: 2, Document: aResult(), Trouble: &Trouble{Title: "The baseline could not be looked for", Err: errors.New("GitHub answered 502")}}
	for _, budget := range []int{2000, maxComment} {
		text, err := p.markdown(budget)
		if err != nil || len(text) > budget || !strings.HasPrefix(text, "### 🔴 Gate: BLOCK") || !strings.Contains(text, "**The baseline could not be looked for**\n\n- `GitHub answered 502`\n") {
			t.Errorf("%v, %d bytes\n%s", err, len(text), text)
		}
	}
	trouble := "**The baseline could not be looked for**\n\n- `GitHub answered 502`\n\n"
	for code, want := range map[int]string{2: "### 🔴 Gate: BLOCK (exit 1)\n\n" + trouble, 1: "### 🔴 Gate: BLOCK (exit 1)\n\n" + report.Prose(p.Document.Gate.Meaning) + "\n\n" + trouble} {
		p.ExitCode = code
		if text, err := p.markdown(maxComment); err != nil || !strings.HasPrefix(text, want) {
			t.Errorf("%v, want it to begin with\n%s\ngot\n%s", err, want, text)
		}
	}
	p.Trouble.Err = errors.New(strings.Repeat("a line\n", 100_000))
	text, err := p.markdown(maxComment)
	if err != nil || len(text) > maxComment+100 || !strings.Contains(text, "more lines, which the log has") {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	if s := report.Prose(p.Trouble.Title); s != p.Trouble.Title {
		t.Errorf("the title is taken for a foreign text: %s", s)
	}
}

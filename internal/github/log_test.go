package github

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/github/runnertest"
)

// inStep runs a function as a step that writes a Log.
func inStep(t *testing.T, do func(l *Log)) *runnertest.Result {
	t.Helper()
	return runnertest.Run(t, runnertest.Step{}, func(_ context.Context, p *runnertest.Process) int {
		l := NewLog(p.Stdout, true)
		do(l)
		l.Flush()
		return 0
	})
}

func TestLogText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain text │ 73.3% ±5\n", "plain text │ 73.3% ±5\n"},
		{"no end", "no end\n"},
		{"::set-output name=a::b\n", "| ::set-output name=a::b\n"},
		{" \u3000\u00a0::error::x\n", "|  \u3000\u00a0::error::x\n"},
		{"\ufeff::error::x\n", "\\ufeff::error::x\n"},
		{"\u200d::error::x\n", "| ::error::x\n"},
		{"a ##[error]x\n", "a ## [error]x\n"},
		{"####[error]x\n", "#### [error]x\n"},
		{"#\u200c#[error]x\n", "## [error]x\n"},
		{"# [1] C#[2] a:: b ::c\n", "# [1] C#[2] a:: b ::c\n"},
		{"a\r::error::x\r\n", "a\\r::error::x\n"},
		{"a\vb\x1b[31mred\x1b[0m\x00\n", "a\\u000bb\\u001b[31mred\\u001b[0m\\u0000\n"},
		{"a\tb\n", "a b\n"},
		{"\xff::error::x\n", "| \ufffd::error::x\n"},
		{"\n\n", "\n\n"},
	} {
		var b strings.Builder
		l := NewLog(&b, true)
		for _, c := range []byte(tt.in) { // however it comes in pieces
			l.Write([]byte{c})
		}
		l.Flush()
		if b.String() != tt.want {
			t.Errorf("%q is written as %q, want %q", tt.in, b.String(), tt.want)
		}
	}
}

// hostile makes text of the pieces that commands are made of.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"::", ":", "##[", "#", "[", "]", "\r", "\n", "\r\n", "\x1b[2K", " ", "\t", "\u3000", "\u00a0", "\u0085", "\u2028", "\ufeff", "\u200b", "\u200d", "\ufe0f", "\x00", "\xff",
			"::error::", "::add-mask::", "::stop-commands::x", "::set-output name=a::", "##[error]", "##[add-mask]aaaaaaaa", "%0A", "%0D%0A::error::", "<!--", "@everyone",
		}),
		rapid.String(),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 12), func(p []string) string { return strings.Join(p, "") })
}

// TestNoTextBecomesACommand is the law of the log.
func TestNoTextBecomesACommand(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.SliceOfN(hostile(), 1, 5).Draw(r, "texts")
		result := inStep(t, func(l *Log) {
			for _, s := range texts {
				io.WriteString(l, s)
			}
		})
		if len(result.Commands) != 0 {
			r.Fatalf("commands %+v out of %q", result.Commands, texts)
		}
	})
}

// TestOwnCommandsCarryText checks that what goes into our own commands starts
// no other ones.
func TestOwnCommandsCarryText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, title, file := hostile().Draw(r, "text"), hostile().Draw(r, "title"), hostile().Draw(r, "file")
		result := inStep(t, func(l *Log) {
			io.WriteString(l, s) // a line that has not ended
			l.annotate(Annotation{Level: LevelError, Title: title, Message: s, File: file, Line: 3})
			l.Group(s)
			io.WriteString(l, s)
			l.EndGroup()
		})
		var names []string
		for _, c := range result.Commands {
			names = append(names, c.Name)
		}
		if diff := cmp.Diff([]string{"error", "group", "endgroup"}, names); diff != "" {
			r.Fatalf("commands: %s", diff)
		}
		if result.Failed {
			r.Fatal("the runner refused a command")
		}
	})
}

// TestAnnotationsRoundTrip: what is no command and hides nothing arrives as it is.
func TestAnnotationsRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Z%,;=\]|"é│ ][a-zA-Z0-9%:,;=\]|"é│ ]{0,30}[a-z%]`).Filter(func(s string) bool {
		return !strings.HasPrefix(strings.TrimLeft(s, "é│ "), "::") // the beginning of a command
	})
	rapid.Check(t, func(r *rapid.T) {
		want := runnertest.Annotation{Level: "notice", Title: strings.TrimSpace(text.Draw(r, "title")), Message: text.Draw(r, "message") + "\n" + text.Draw(r, "second line"),
			File: strings.TrimSpace(text.Draw(r, "file")), Line: rapid.IntRange(1, 1e6).Draw(r, "line")}
		if strings.HasPrefix(want.Title, "=") || strings.HasPrefix(want.File, "=") {
			r.Skip("the runner drops an = at the start of a property")
		}
		result := inStep(t, func(l *Log) {
			l.annotate(Annotation{Level: LevelNotice, Title: want.Title, Message: want.Message, File: want.File, Line: want.Line})
		})
		if diff := cmp.Diff([]runnertest.Annotation{want}, result.Annotations); diff != "" {
			r.Fatal(diff)
		}
	})
}

func FuzzLog(f *testing.F) {
	for _, s := range []string{"::error::x", "a\r##[error]x\n", "\u3000::add-mask::secret", "::stop-commands::x\n::error::"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var b strings.Builder
		l := NewLog(&b, true)
		cut = max(0, min(cut, len(text)))
		l.Write(text[:cut])
		l.Write(text[cut:])
		l.Flush()
		for _, line := range strings.FieldsFunc(b.String(), func(c rune) bool { return c == '\n' || c == '\r' }) {
			if c, ok := runnertest.ParseCommand(line); ok {
				t.Fatalf("%q became the command %+v", text, c)
			}
		}
	})
}

func TestSecretsAreMaskedAndRedacted(t *testing.T) {
	const token, lines = "ghs_abc/def+ghi=", "-----BEGIN-----\nab\nkey material\n-----END-----"
	result := inStep(t, func(l *Log) {
		l.Mask(token, lines, "short", "", token)
		io.WriteString(l, "a ghs_abc/")
		io.WriteString(l, "def+ghi= b\n")
		io.WriteString(l, "c "+url.QueryEscape(token)+" "+base64.StdEncoding.EncodeToString([]byte("user:"+token))+"\n")
		io.WriteString(l, "ghs_abc/\u200ddef+ghi=\n")
		io.WriteString(l, "key material, ab, a short one\n")
		l.annotate(Annotation{Level: LevelNotice, Title: token, Message: "x\n" + token})
		l.Group(token)
	})
	if result.Commands[0].Name != "add-mask" {
		t.Error("something was written before the masks")
	}
	for _, want := range []string{token, url.QueryEscape(token), base64.StdEncoding.EncodeToString([]byte(token)), "key material", "-----BEGIN-----"} {
		if !slices.Contains(result.Masks, want) {
			t.Errorf("%q is not masked", want)
		}
	}
	for _, m := range result.Masks {
		if len(m) < 8 || strings.Contains(m, "\n") {
			t.Errorf("%q is masked: it would ruin the log, or the runner masks its short lines", m)
		}
	}
	text := result.Text()
	for _, c := range result.Commands {
		if c.Name != "add-mask" {
			text += c.Data + c.Properties["title"]
		}
	}
	for _, secret := range []string{token, "abc/def", "key material", "short", url.QueryEscape(token)} {
		if strings.Contains(text, secret) {
			t.Errorf("the log shows %q:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, "a [redacted] b") {
		t.Errorf("a secret in two pieces was not redacted as one:\n%s", text)
	}
}

// TestNoCommandsOutsideActions: there a mask would print the secret.
func TestNoCommandsOutsideActions(t *testing.T) {
	var b strings.Builder
	l := NewLog(&b, false)
	l.Mask("a-long-secret")
	l.Group("title")
	io.WriteString(l, "text a-long-secret\n")
	l.EndGroup()
	l.annotate(Annotation{Level: LevelNotice, Title: "T", Message: "m a-long-secret\nsecond"})
	want := "text [redacted]\nnotice: T: m [redacted]\n  second\n"
	if b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestGroupsDoNotNest(t *testing.T) {
	result := inStep(t, func(l *Log) {
		l.EndGroup()
		l.Group("one")
		l.Group("two")
		io.WriteString(l, "inside")
		l.EndGroup()
		l.EndGroup()
		io.WriteString(l, "outside\n")
	})
	want := []string{"##[group]one", "##[endgroup]", "##[group]two", "inside", "##[endgroup]", "outside"}
	if diff := cmp.Diff(want, result.Log); diff != "" {
		t.Error(diff)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	result := inStep(t, func(l *Log) {
		l.annotate(Annotation{Level: LevelNotice, Title: "T", Message: strings.Repeat("𝒳", 3000)})
	})
	m := result.Annotations[0].Message
	if !strings.HasSuffix(m, "…") || len([]rune(m)) != 2048 {
		t.Errorf("%d characters, ends with %q", len([]rune(m)), m[len(m)-4:])
	}
}

// TestLongLineIsNotHeldForever: an answer without line ends must not fill the memory.
func TestLongLineIsNotHeldForever(t *testing.T) {
	var b strings.Builder
	l := NewLog(&b, true)
	for range 40 {
		io.WriteString(l, strings.Repeat("::error::", 10_000))
	}
	if b.Len() == 0 {
		t.Error("nothing was written")
	}
	for line := range strings.Lines(b.String()) {
		if _, ok := runnertest.ParseCommand(line); ok {
			t.Fatalf("a command: %.80q", line)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenLogChangesNothing(t *testing.T) {
	l := NewLog(broken{}, true)
	l.Mask("a-long-secret")
	l.Group("x")
	io.WriteString(l, "text\n")
	l.annotate(Annotation{Level: LevelError, Message: "m"})
}

package child

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/redact"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var out Tail
	for i := range 50_000 {
		fmt.Fprintf(&out, "line %d of a long output\n", i)
	}
	if len(out.buf) > 3*keptOutput {
		t.Errorf("%d bytes are kept", len(out.buf))
	}
	lines := out.Last(nil)
	if len(lines) != shownLines || lines[shownLines-1] != "line 49999 of a long output" {
		t.Errorf("last lines %q", lines)
	}
}

func TestTailShowsNoHalfOfASecret(t *testing.T) {
	var out Tail
	secret := strings.Repeat("s3cr3t", 20)
	fmt.Fprint(&out, strings.Repeat(secret, 2000)+"\nlast "+secret+"\n")
	lines := out.Last(redact.New([]string{secret}))
	if len(lines) != 1 || lines[0] != "last [redacted]" {
		t.Errorf("last lines %q, want the whole line only", lines)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m text\r\n": "red text",
		"\x1b]0;title\x07x":             "0;titlex",
		"a\tb\x00c":                     "a bc",
		"one\r\ntwo\n":                  "one two",
		"  indented":                    "  indented",
		strings.Repeat("ä", 400):        strings.Repeat("ä", shownWidth) + "…",
		"\xff":                          "\ufffd",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

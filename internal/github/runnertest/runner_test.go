package runnertest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// prints is a program that prints a text and ends with a code.
func prints(text string, code int) Program {
	return func(_ context.Context, p *Process) int {
		io.WriteString(p.Stdout, text)
		return code
	}
}

// appends is a program that appends a text to the file that a variable names.
func appends(variable, text string) Program {
	return func(_ context.Context, p *Process) int {
		f, err := os.OpenFile(p.Getenv(variable), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			fmt.Fprintln(p.Stderr, err)
			return 99
		}
		defer f.Close()
		io.WriteString(f, text)
		return 0
	}
}

func TestParseCommand(t *testing.T) {
	for _, tt := range []struct {
		line string
		name string // empty: no command
		data string
	}{
		{"::error::text", "error", "text"},
		{" \t\u00a0\u3000::error::text", "error", "text"},
		{"\u2028::error::text", "error", "text"},
		{"\u200b::error::text", "", ""}, // no white space to .NET
		{"x ::error::text", "", ""},
		{"::ERROR::text", "error", "text"},
		{"::error file=a%3Ab,line=3::50%25 a%0Ab", "error", "50% a\nb"},
		{"::error", "", ""},
		{"::unknown::text", "", ""},
		{"text ##[error]more", "error", "more"},
		{"a ###[add-mask]x", "add-mask", "x"},
		{"##[group title", "", ""},
		{"##[unknown]x ##[error]y", "", ""}, // only the first counts
		{"::unknown:: ##[error]y", "error", "y"},
	} {
		got, ok := ParseCommand(tt.line)
		if ok != (tt.name != "") || got.Name != tt.name || got.Data != tt.data {
			t.Errorf("ParseCommand(%q) = %+v, %v, want %s with %q", tt.line, got, ok, tt.name, tt.data)
		}
	}
	c, _ := ParseCommand("::error file=a%3Ab,line=3,title=x=y::")
	if diff := cmp.Diff(map[string]string{"file": "a:b", "line": "3", "title": "x=y"}, c.Properties); diff != "" {
		t.Errorf("properties: %s", diff)
	}
}

func TestParseEnvFile(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Pair
		err  bool
	}{
		{"a=1\nb=2", []Pair{{"a", "1"}, {"b", "2"}}, false},
		{"a=1<<2\n", []Pair{{"a", "1<<2"}}, false},
		{"a<<E\nx\ny\nE\n", []Pair{{"a", "x\ny"}}, false},
		{"a<<E\nE\n", []Pair{{"a", ""}}, false},
		{"a<<E\n\nE\n", []Pair{{"a", ""}}, false},
		{"a<<E\n\n\nE", []Pair{{"a", "\n"}}, false},
		{"a<<E\nx\r\nE\n", []Pair{{"a", "x\r"}}, false},
		{"a<<E\nx", nil, true},
		{"a<<E\nx\n", nil, true},
		{"ok=1\nnothing\n", []Pair{{"ok", "1"}}, true},
		{"<<E\nx\nE\n", nil, true},
		{"a<<E\nv\nE\nb=forged\nE\n", []Pair{{"a", "v"}, {"b", "forged"}}, true},
	} {
		got, err := ParseEnvFile(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.err {
			t.Errorf("ParseEnvFile(%q): %v %s", tt.text, err, diff)
		}
	}
}

func TestStepEnvironment(t *testing.T) {
	for _, container := range []bool{false, true} {
		workspace := t.TempDir()
		var seen Process
		r := Run(t, Step{
			Inputs:    map[string]string{"output-dir": "out", "with space": "x"},
			Env:       map[string]string{"WHERE": workspace + "/sub", "INSIDE": "at " + workspace},
			GitHub:    map[string]string{"repository": "o/r", "token": "ghs_secret"},
			Event:     `{"action":"opened"}`,
			Workspace: workspace, Container: container,
		}, func(_ context.Context, p *Process) int { seen = *p; return 0 })
		if r.Failed {
			t.Error("the step failed")
		}
		for name, want := range map[string]string{"INPUT_OUTPUT-DIR": "out", "INPUT_WITH_SPACE": "x", "GITHUB_REPOSITORY": "o/r", "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_TOKEN": ""} {
			if got := seen.Getenv(name); got != want {
				t.Errorf("container %v: %s = %q, want %q", container, name, got, want)
			}
		}
		if seen.Getenv("INSIDE") != "at "+workspace {
			t.Error("a path inside a value was translated")
		}
		if translated := seen.Getenv("WHERE") != workspace+"/sub"; translated != container || container && filepath.Base(seen.Dir) != "workspace" {
			t.Errorf("container %v: WHERE = %s, dir %s", container, seen.Getenv("WHERE"), seen.Dir)
		}
		if got := seen.Getenv("ACTIONS_RUNTIME_TOKEN") != ""; got != container {
			t.Errorf("container %v: runtime token %v", container, got)
		}
		if b, err := os.ReadFile(seen.Getenv("GITHUB_EVENT_PATH")); err != nil || string(b) != `{"action":"opened"}` {
			t.Errorf("event: %s, %v", b, err)
		}
	}
}

func TestCommandsOfALog(t *testing.T) {
	r := Run(t, Step{Secrets: []string{"known-secret"}}, prints(strings.Join([]string{
		"\ufeff::notice::first",
		"progress\r::set-output name=forged::x\r\n",
		"::add-mask::abc%0Adefg",
		"abc defg known-secret",
		"::stop-commands::token-123",
		"::error::not taken",
		"::token-123::",
		"##[warning]taken",
		"::set-env name=A::b",
		"the end",
	}, "\n"), 3))
	if r.ExitCode != 3 || !r.Failed {
		t.Errorf("exit code %d, failed %v", r.ExitCode, r.Failed)
	}
	if r.Outputs["forged"] != "x" {
		t.Error("a carriage return does not start a new line")
	}
	if diff := cmp.Diff([]string{"abc\ndefg", "abc", "defg"}, r.Masks); diff != "" {
		t.Errorf("masks: %s", diff)
	}
	for _, want := range []string{"*** *** ***", "::error::not taken", "the end", "##[notice]first"} {
		if !slices.Contains(r.Log, want) {
			t.Errorf("the log lacks %q:\n%s", want, r.Text())
		}
	}
	if len(r.Env) != 0 || len(r.Of("error")) != 0 || len(r.Of("warning")) != 1 {
		t.Errorf("env %v, commands %v", r.Env, r.Commands)
	}
}

func TestLimits(t *testing.T) {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "::notice::%d\n", i)
	}
	fmt.Fprintf(&b, "::error::%s\n", strings.Repeat("é", 5000))
	r := Run(t, Step{}, prints(b.String(), 0))
	if len(r.Annotations) != 11 || len(r.Dropped) != 2 || len([]rune(r.Annotations[10].Message)) != MaxMessage {
		t.Errorf("%d kept, %d dropped", len(r.Annotations), len(r.Dropped))
	}
	r = Run(t, Step{}, appends("GITHUB_STEP_SUMMARY", strings.Repeat("x", MaxSummary+1)))
	if r.Summary != "" || r.Failed || len(r.Annotations) != 1 || r.Annotations[0].Level != "error" {
		t.Errorf("a summary that is too large: %d bytes shown, failed %v, %v", len(r.Summary), r.Failed, r.Annotations)
	}
	r = Run(t, Step{Secrets: []string{"hidden-thing"}}, appends("GITHUB_STEP_SUMMARY", "a hidden-thing"))
	if r.Summary != "a ***\n" {
		t.Errorf("summary %q", r.Summary)
	}
	r = Run(t, Step{}, appends("GITHUB_OUTPUT", "a=1\nb<<E\nx"))
	if !r.Failed || r.Outputs["a"] != "1" {
		t.Errorf("a damaged output file: failed %v, %v", r.Failed, r.Outputs)
	}
}

func TestContainerAnnotation(t *testing.T) {
	r := Run(t, Step{Container: true}, func(_ context.Context, p *Process) int {
		fmt.Fprintf(p.Stdout, "::error file=%s/policy.yaml,line=7::x\n", p.Getenv("GITHUB_WORKSPACE"))
		fmt.Fprintln(p.Stderr, "::notice file=a/policy.yaml::y")
		return 0
	})
	want := []Annotation{{Level: "error", Message: "x", File: "policy.yaml", Line: 7}, {Level: "notice", Message: "y", File: "a/policy.yaml"}}
	if diff := cmp.Diff(want, r.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestBinary(t *testing.T) {
	r := Run(t, Step{}, Binary("/bin/sh", "-c", `echo "n=$INPUT_N" >> "$GITHUB_OUTPUT"; echo ::notice::hi >&2; exit 7`))
	if r.ExitCode != 7 || r.Outputs["n"] != "" || len(r.Annotations) != 1 {
		t.Errorf("%+v", r)
	}
}

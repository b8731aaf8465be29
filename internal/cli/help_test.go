package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands returns the program's command and all below it.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	root := newRoot(&Env{})
	root.InitDefaultHelpCmd()
	all := []*cobra.Command{root}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	if len(all) < 10 {
		t.Fatalf("found %d commands", len(all))
	}
	return all
}

// TestExamplesParse types every example of every --help: its command exists,
// and so do its flags.
func TestExamplesParse(t *testing.T) {
	for _, cmd := range commands(t) {
		lines := strings.Split(strings.Trim(cmd.Example, "\n"), "\n")
		if len(lines) < 2 {
			t.Errorf("%s --help has %d examples, want two", cmd.CommandPath(), len(lines))
		}
		for _, line := range lines {
			if err := parseLine(cmd, line); err != "" {
				t.Errorf("example of %s: %s: %s", cmd.CommandPath(), line, err)
			}
		}
	}
}

// parseLine says what is wrong with a command line, "" when nothing is. of is
// the command that the line must call, or one below it; the root takes any.
func parseLine(of *cobra.Command, line string) string {
	words := shellWords(cutShell(line))
	if len(words) == 0 || words[0] != "oloproof" {
		return "does not begin with oloproof"
	}
	root := newRoot(&Env{})
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err.Error()
	}
	if of.HasParent() && !strings.HasPrefix(cmd.CommandPath()+" ", of.CommandPath()+" ") {
		return "calls " + cmd.CommandPath()
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

var quotedWord = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// shellWords splits a line at its spaces, but for those in quotes.
func shellWords(line string) []string {
	words := quotedWord.FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `'"`)
	}
	return words
}

// cutShell returns what stands before a pipe or a redirection.
func cutShell(line string) string {
	if i := strings.IndexAny(line, "|>"); i >= 0 {
		return line[:i]
	}
	return line
}

func TestParseLineFindsFaults(t *testing.T) {
	root := newRoot(&Env{})
	for line, fine := range map[string]bool{
		"oloproof run --config x.yaml > out": true,
		"oloproof run --confg x.yaml":        false,
		"oloproof gate":                      false,
		"oloproof nosuch":                    false,
		"olo run":                            false,
	} {
		if got := parseLine(root, line); (got == "") != fine {
			t.Errorf("parseLine(%q) = %q", line, got)
		}
	}
}

// TestHelpKeepsToTheTerminal: flags are folded at the width of the terminal.
func TestHelpKeepsToTheTerminal(t *testing.T) {
	for _, cmd := range commands(t) {
		foldFlags(cmd, 80)
		for line := range strings.Lines(cmd.UsageString()) {
			if strings.HasPrefix(line, "      --") && len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s --help: %s", cmd.CommandPath(), line)
			}
		}
	}
}

// TestReadmeNamesEveryCommand reads the README's code spans for them.
func TestReadmeNamesEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range commands(t)[1:] {
		if name := regexp.QuoteMeta(strings.TrimPrefix(cmd.CommandPath(), "oloproof ")); !regexp.MustCompile("`(oloproof )?" + name + "[ `]").Match(readme) {
			t.Errorf("README.md does not name the command %s", cmd.CommandPath())
		}
	}
}

// TestPagesCommandsParse types every command line of the pages' indented blocks.
func TestPagesCommandsParse(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	examples, err := filepath.Glob("../../examples/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, examples...), "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			command, ok := strings.CutPrefix(line, "    ")
			command = strings.TrimPrefix(strings.TrimSpace(command), "./")
			if !ok || !strings.HasPrefix(command, "oloproof ") {
				continue
			}
			found++
			if err := parseLine(newRoot(&Env{}), command); err != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), command, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d command lines", found)
	}
}

// TestCommandsAreGrouped: help lists every command under what it is for.
func TestCommandsAreGrouped(t *testing.T) {
	for _, cmd := range newRoot(&Env{}).Commands() {
		if cmd.GroupID == "" {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
}

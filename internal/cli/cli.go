// Package cli wires the rooms together: one file per command, flags, streams
// and exit codes. It is the only package that knows all others.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// Exit codes. They never depend on the output format.
const (
	ExitOK          = 0   // nothing blocked: ALLOW, WARN, or no policy
	ExitFail        = 1   // blocked by a FAIL
	ExitConfig      = 2   // configuration or usage error, malformed artifact, or no case was answered
	ExitBlocked     = 3   // blocked without a FAIL
	ExitInterrupted = 130 // SIGINT; finished work is kept
	ExitTerminated  = 143 // SIGTERM; finished work is kept
)

// Env is the world that the commands act in.
type Env struct {
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer // the result
	Stderr  io.Writer // progress and trouble
	Lookup  func(string) (string, bool)
	Environ []string // what a launched service inherits
	Now     func() time.Time
	Rand    io.Reader // ids of runs, jitter of retries
	// Sleep waits before a call is tried again. Nil waits as long as it says.
	Sleep func(ctx context.Context, d time.Duration) error
	// Patience is how long one answer of the GitHub API may take; 0 is its client's own.
	Patience time.Duration
}

// Interrupted is the cause of a context that a signal ended.
type Interrupted struct{ Signal os.Signal }

// Error names the signal.
func (i Interrupted) Error() string {
	if i.Signal == syscall.SIGTERM {
		return "interrupted by SIGTERM"
	}
	return "interrupted by SIGINT"
}

func (i Interrupted) exitCode() int {
	if i.Signal == syscall.SIGTERM {
		return ExitTerminated
	}
	return ExitInterrupted
}

// exitError ends a command with a code that is no trouble: the gate at work.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Main runs one command and returns the exit code of the process.
func Main(ctx context.Context, env Env) int {
	root := newRoot(&env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var code exitError
	if errors.As(err, &code) {
		return int(code)
	}
	if readerLeft(err) {
		return ExitOK
	}
	end := ExitConfig
	var interrupted Interrupted
	if errors.As(context.Cause(ctx), &interrupted) {
		end, err = interrupted.exitCode(), stoppedError{interrupted}
		fmt.Fprintf(env.Stderr, "%v\n", interrupted)
	} else {
		printError(env.Stderr, cmd, err)
	}
	if wantsJSON(cmd) {
		printJSONError(env.Stdout, err, end)
	}
	return end
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "oloproof",
		Short: "a quality gate for RAG endpoints",
		Long: `oloproof runs a suite of cases against a deployed RAG endpoint, judges every
answer, retrieval and citation, puts an exact interval behind every number and
decides each rule of a policy: PASS, FAIL, INSUFFICIENT_EVIDENCE or MANUAL_REVIEW.

Exit codes: 0 nothing blocked, 1 blocked by a FAIL, 2 configuration error,
malformed artifact or nothing evaluated, 3 blocked without a FAIL, 130 or 143 interrupted.

Tutorial and reference: https://github.com/oloproof/oloproof-go/tree/main/docs`,
		Example: `  oloproof init --example blackbox_rag my-rag
  oloproof run --config my-rag/oloproof.yaml`,
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			err := fmt.Errorf("unknown command %q", args[0])
			if near := problem.Nearest(args[0], names); near != "" {
				err = fmt.Errorf("unknown command %q, did you mean %q?", args[0], near)
			}
			return usageError{err}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{plainly(cmd, err)} })
	root.SetVersionTemplate(versionLine())
	foldFlags(root, env.width())
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Begin:", []*cobra.Command{newInit(env), newProbe(env), newImport(env), newCheck(env)}},
		{"Run and decide:", []*cobra.Command{newRun(env), newGate(env), newCompare(env), newPlan(env), newMerge(env), newSignoff(env), newCI(env)}},
		{"Look and hand on:", []*cobra.Command{newInspect(env), newRuns(env), newReport(env), newExport(env), newDiagnose(env), newPolicy(env)}},
		{"Judges:", []*cobra.Command{newJudge(env), newLabels(env), newReview(env)}},
		{"Others:", []*cobra.Command{newExampleServer(env), newSchema(env), newCompletion(env), newVersion(env)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("Others:")
	return root
}

// foldFlags lets help tell of flags in lines of so many columns; 0 never folds.
func foldFlags(cmd *cobra.Command, width int) {
	cmd.SetUsageTemplate(strings.ReplaceAll(new(cobra.Command).UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", width)))
}

// args checks the number of arguments, as a usage error.
func args(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError{fmt.Errorf("%s is missing", what)}
		case len(args) > most && most == 0:
			err := fmt.Errorf("%s takes no argument, found %q", cmd.Name(), args[0])
			if cmd.Flags().Lookup("config") != nil && strings.HasSuffix(args[0], ".yaml") {
				err = fmt.Errorf("%w; did you mean --config %s?", err, shellWord(args[0]))
			}
			return usageError{err}
		case len(args) > most:
			return usageError{fmt.Errorf("too many arguments, found %q", args[most])}
		}
		return nil
	}
}

// version is set by the release build; else the module's version is used.
var version = ""

// Version returns the version of the program.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "0.0.0-dev"
}

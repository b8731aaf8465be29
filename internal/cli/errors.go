package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/runner"
)

// usageError is a wrong command line.
type usageError struct{ error }

// stoppedError is why a run that began did not reach its end.
type stoppedError struct{ error }

// Unwrap returns the cause.
func (s stoppedError) Unwrap() error { return s.error }

// readerLeft reports whether an error only says that nobody reads standard
// output any more, as in oloproof inspect latest | head -1.
func readerLeft(err error) bool {
	var write *fs.PathError
	return errors.As(err, &write) && write.Path == os.Stdout.Name() && errors.Is(write.Err, syscall.EPIPE)
}

// plainly returns an error of the command line in words of this program.
func plainly(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		what := map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "float64": "a number",
			"bool": "true or false", "duration": "a time such as 500ms or 10s"}[value.GetFlag().Value.Type()]
		if what == "" {
			return err
		}
		return fmt.Errorf("--%s is %q, it must be %s", value.GetFlag().Name, value.GetValue(), what)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := problem.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w, did you mean --%s?", err, near)
		}
	}
	return err
}

func printError(w io.Writer, cmd *cobra.Command, err error) {
	var list problem.List
	var usage usageError
	switch {
	case errors.As(err, &list):
		fmt.Fprintln(w, list.Error())
	case errors.As(err, &usage):
		if cmd.Name() == "help" { // it explains the others
			cmd = cmd.Root()
		}
		fmt.Fprintf(w, "Usage error: %v\n  run '%s --help' to see what is allowed\n", usage.error, cmd.CommandPath())
	default:
		fmt.Fprintf(w, "Error: %v\n", err)
	}
}

// wantsJSON reports whether a command was asked for JSON.
func wantsJSON(cmd *cobra.Command) bool {
	short, format := cmd.Flags().Lookup("json"), cmd.Flags().Lookup("format")
	return short != nil && short.Value.String() == "true" || format != nil && format.Value.String() == "json"
}

// errorLine is what standard output holds when JSON was asked for and there is
// no document.
type errorLine struct {
	Type     string        `json:"type"` // error
	Kind     string        `json:"kind"` // configuration, run_stopped or internal
	Message  string        `json:"message"`
	ExitCode int           `json:"exit_code"`
	Problems []problemLine `json:"problems,omitempty"`
}

type problemLine struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

func printJSONError(w io.Writer, err error, code int) {
	line := errorLine{Type: "error", Kind: "configuration", Message: err.Error(), ExitCode: code}
	var stopped stoppedError
	var panicked *runner.PanicError
	switch {
	case errors.As(err, &panicked):
		line.Kind = "internal"
	case errors.As(err, &stopped):
		line.Kind = "run_stopped"
	}
	var list problem.List
	if errors.As(err, &list) {
		line.Message = list[0].Message
		for _, p := range list {
			line.Problems = append(line.Problems, problemLine{p.File, p.Line, p.Column, p.Message})
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(line) // the same stands on standard error, and the code says it too
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/report"
)

func newReview(env *Env) *cobra.Command {
	var f sampleFlags
	var by string
	cmd := &cobra.Command{
		Use:   "review RUN",
		Short: "label a blind sample of a run's answers in the terminal",
		Long: `review shows answers that a judge judged, one after the other, with what the judge read and
without its verdict, and asks for yours. Each is kept at once in the suite's labels;
q ends it, and the next review goes on with the answers that have no label.`,
		Example: `  oloproof review latest --criterion groundedness --by NAME
  oloproof review latest --by NAME --sample 10 --seed 7`,
		Args: args(1, 1, "the run"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if by = strings.TrimSpace(by); by == "" {
				return usageError{errors.New("--by says who labels, and is required")}
			}
			return env.review(cmd.Context(), given[0], f, by)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&by, "by", "", "`name` of who labels")
	return cmd
}

func (e *Env) review(ctx context.Context, name string, f sampleFlags, by string) error {
	sheets, _, err := e.sheets(name, f, by)
	if err != nil {
		return err
	}
	in := e.typed()
	given := 0
	for i, s := range sheets {
		fmt.Fprintf(e.Stdout, "\n%d of %d\n", i+1, len(sheets))
		if err := report.Sheet(e.Stdout, s.Ask, s.Input, s.Expected, passagesOf(s), s.Citations, s.Output); err != nil {
			return err
		}
		verdict, end, err := e.askVerdict(ctx, in)
		if err != nil {
			return err
		}
		if end {
			break
		}
		if verdict == "" {
			continue
		}
		s.Verdict = verdict
		j, err := e.openJudged(s.Run, f.config, s.Criterion)
		if err != nil {
			return err
		}
		added, problems, err := e.take(j, []labels.Sheet{s}, "review", by)
		j.run.Close()
		if err = errors.Join(err, problems.Err()); err != nil {
			return err
		}
		if err := appendLabels(j.file.Path, added); err != nil {
			return err
		}
		given++
	}
	_, err = fmt.Fprintf(e.Stdout, "\n%s by %s kept\nNext: oloproof judge validate %s%s\n", countOf(given, "label"), report.Clean(by), name, configFlags{config: f.config}.word())
	return err
}

func passagesOf(s labels.Sheet) [][2]string {
	var all [][2]string
	for _, p := range s.Context {
		all = append(all, [2]string{p.ID, p.Text})
	}
	return all
}

// line is one that a person typed; err is why there are no more.
type line struct {
	text string
	err  error
}

// typed gives the lines of standard input as they come. Nothing ends a read that
// waits for a person, so it is left behind when the command is over.
func (e *Env) typed() <-chan line {
	lines := make(chan line, 1)
	go func() {
		in := bufio.NewScanner(e.Stdin)
		for in.Scan() {
			lines <- line{text: in.Text()}
		}
		lines <- line{err: cmp.Or(in.Err(), io.EOF)}
	}()
	return lines
}

// askVerdict asks until it gets an answer that it knows; end is set at q and at
// the end of the input.
func (e *Env) askVerdict(ctx context.Context, in <-chan line) (verdict string, end bool, err error) {
	for {
		fmt.Fprint(e.Stdout, "[p]ass, [f]ail, [s]kip, [q]uit? ")
		var l line
		select {
		case <-ctx.Done():
			l.err = context.Cause(ctx)
		case l = <-in:
		}
		if l.err != nil {
			fmt.Fprintln(e.Stdout)
			if l.err == io.EOF {
				l.err = nil
			}
			return "", true, l.err
		}
		switch strings.ToLower(strings.TrimSpace(l.text)) {
		case "p", labels.Pass:
			return labels.Pass, false, nil
		case "f", labels.Fail:
			return labels.Fail, false, nil
		case "s", "skip":
			return "", false, nil
		case "q", "quit":
			return "", true, nil
		}
	}
}

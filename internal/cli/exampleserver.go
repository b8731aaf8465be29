package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/demo"
)

func newExampleServer(env *Env) *cobra.Command {
	var opt demo.Options
	cmd := &cobra.Command{
		Use:   "example-server NAME",
		Short: "serve the RAG service of an example project, or the stand-in judge",
		Long: `example-server answers as the service of an example project does, until it is interrupted.
judge is a judge without a model: it speaks the chat completions of OpenAI and the messages of
Anthropic under /v1, compares words, and always says the same of the same text. GET /calls
counts what it was asked. judged_rag serves both, an answering service and the judge. support_rag is
a program: it answers JSON lines on its standard input, in the directory of its project.`,
		Example: `  oloproof example-server blackbox_rag --addr 127.0.0.1:8766
  oloproof example-server blackbox_rag --addr 127.0.0.1:8766 --expand-query
  oloproof example-server judge --addr 127.0.0.1:8767 --error-rate 0.1`,
		Args: args(1, 1, "the name of the example, such as blackbox_rag,"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if demo.IsProgram(args[0]) {
				if cmd.Flags().NFlag() > 0 {
					return usageError{fmt.Errorf("%s is a program that answers on its standard input: it takes no flag", args[0])}
				}
				return demo.Speak(cmd.Context(), args[0], demo.Options{Dir: os.DirFS("."), In: env.Stdin, Out: env.Stdout})
			}
			if !(opt.ErrorRate >= 0 && opt.ErrorRate <= 1) {
				return usageError{fmt.Errorf("--error-rate is %v, it must be from 0 to 1", opt.ErrorRate)}
			}
			opt.Log = env.Stderr
			err := demo.Serve(cmd.Context(), args[0], opt)
			if errors.Is(err, demo.ErrUnknown) {
				return usageError{fmt.Errorf("no example service is called %q; see oloproof init --example list", args[0])}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&opt.Addr, "addr", "127.0.0.1:8766", "`host:port` to listen on")
	cmd.Flags().BoolVar(&opt.ExpandQuery, "expand-query", false, "add synonyms to the question before searching: the tutorial's candidate change")
	cmd.Flags().Float64Var(&opt.ErrorRate, "error-rate", 0, "judge: `share` of the texts that it is wrong about")
	cmd.Flags().BoolVar(&opt.Gullible, "gullible", false, "judge: obey what stands in the text under judgment")
	cmd.Flags().DurationVar(&opt.Delay, "delay", 0, "judge: `time` before it answers, such as 200ms")
	cmd.Flags().StringVar(&opt.Model, "model", "", "judge: `name` of the model that it says it is (default the one it is asked for)")
	return cmd
}

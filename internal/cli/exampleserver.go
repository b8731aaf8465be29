package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/demo"
)

func newExampleServer(env *Env) *cobra.Command {
	var addr string
	var expand bool
	cmd := &cobra.Command{
		Use:   "example-server NAME",
		Short: "serve the RAG service of an example project",
		Long:  "example-server answers as the service of an example project does, until it is interrupted.",
		Example: `  oloproof example-server blackbox_rag --addr 127.0.0.1:8766
  oloproof example-server blackbox_rag --addr 127.0.0.1:8766 --expand-query`,
		Args: args(1, 1, "the name of the example, such as blackbox_rag,"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := demo.Serve(cmd.Context(), args[0], demo.Options{Addr: addr, ExpandQuery: expand, Log: env.Stderr})
			if errors.Is(err, demo.ErrUnknown) {
				return usageError{fmt.Errorf("no example service is called %q; see oloproof init --example list", args[0])}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8766", "`host:port` to listen on")
	cmd.Flags().BoolVar(&expand, "expand-query", false, "add synonyms to the question before searching: the tutorial's candidate change")
	return cmd
}

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/schema"
)

func newSchema(env *Env) *cobra.Command {
	names := []string{"suite", "policy", "document", "diagnosis"}
	return &cobra.Command{
		Use:   "schema suite|policy|document|diagnosis",
		Short: "print a JSON Schema, for editors and for readers of the document or a diagnosis",
		Example: `  oloproof schema suite > oloproof.schema.json
  oloproof schema document > document.schema.json`,
		Args:      args(1, 1, "the name of the schema (suite, policy, document or diagnosis)"),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := schema.FS.ReadFile(args[0] + ".schema.json")
			if err != nil {
				return usageError{fmt.Errorf("no schema is called %q, there are %s", args[0], strings.Join(names, ", "))}
			}
			_, err = env.Stdout.Write(data)
			return err
		},
	}
}

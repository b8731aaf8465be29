package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(env *Env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "write shell completion",
		Long: "completion writes a script that completes commands and flags. Load it in the shell, or\n" +
			"put it where the shell looks for such scripts.",
		Example: `  oloproof completion bash > /etc/bash_completion.d/oloproof
  oloproof completion zsh > "${fpath[1]}/_oloproof"`,
		Args:      args(1, 1, "the shell ("+strings.Join(shells, ", ")+")"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), env.Stdout
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usageError{fmt.Errorf("no completion for the shell %q, there are %s", args[0], strings.Join(shells, ", "))}
		},
	}
}

// newHelp replaces cobra's help command, which says nothing of the command that
// it does not find.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "explain a command, as COMMAND --help does",
		Example: `  oloproof help run
  oloproof help inspect`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cmd.Root().Args(cmd.Root(), args)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersion(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Example: `  oloproof version
  oloproof version | cut -d' ' -f2`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(env.Stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("oloproof %s %s %s/%s\n", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

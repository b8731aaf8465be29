package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/examples"
	"github.com/oloproof/oloproof-go/internal/problem"
)

func newInit(env *Env) *cobra.Command {
	var example, url, preset string
	var streams bool
	var ci ciFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "start a project: a suite of your own, or a copy of an example",
		Long: `init writes oloproof.yaml, release.yaml and data/cases.jsonl for your own endpoint,
or copies a complete example project. With --preset it knows the service: what it is
sent and what its answers mean (oloproof probe --list-presets). With --ci it writes the
workflows that run the suite of DIR: for pull requests, merge queue, pushes, nightly and
release branches.
It never overwrites a file.`,
		Example: `  oloproof init --url http://localhost:8000/answer my-suite
  oloproof init --preset dify --url https://dify.example.com/v1/chat-messages my-suite
  oloproof init --example blackbox_rag my-rag
  oloproof init --ci github --url 'https://pr-${{github.event.number}}.example.com/answer' my-suite`,
		Args: args(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if example == "list" {
				return env.listExamples()
			}
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if ci.forge != "" {
				if example != "" {
					return usageError{errors.New("--ci and --example do not go together: copy the example first")}
				}
				if cmd.Flags().Changed("url") {
					ci.url = url
				}
				return env.initCI(ci, dir)
			}
			if ci.shards != 0 {
				return usageError{errors.New("--shards belongs to --ci")}
			}
			if preset != "" {
				if example != "" {
					return usageError{errors.New("--preset and --example do not go together: an example brings its service")}
				}
				if !cmd.Flags().Changed("url") {
					url = ""
				}
				return env.scaffoldPreset(dir, preset, url, streams)
			}
			if streams {
				return usageError{errors.New("--stream belongs to --preset")}
			}
			if example != "" {
				if url != "" {
					return usageError{errors.New("--url belongs to a suite of your own; an example brings its service")}
				}
				return env.copyExample(example, dir)
			}
			return env.scaffold(dir, url)
		},
	}
	cmd.Flags().StringVar(&example, "example", "", "copy the example `NAME`; list shows what there is")
	cmd.Flags().StringVar(&url, "url", "http://localhost:8000/answer", "`url` of your endpoint")
	cmd.Flags().StringVar(&preset, "preset", "", "a suite for the well-known service `NAME`")
	cmd.Flags().BoolVar(&streams, "stream", false, "with --preset: ask for a stream")
	cmd.Flags().StringVar(&ci.forge, "ci", "", "write the workflows of the suite in DIR for this `forge`: github")
	cmd.Flags().IntVar(&ci.shards, "shards", 0, "with --ci: run the cases in this `number` of jobs")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if example != "" && !cmd.Flags().Changed("url") {
			url = ""
		}
		return nil
	}
	return cmd
}

func (e *Env) listExamples() error {
	for _, x := range examples.List() {
		if _, err := fmt.Fprintf(e.Stdout, "%-14s %s\n", x.Name, x.About); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) copyExample(name, dir string) error {
	var names []string
	for _, x := range examples.List() {
		names = append(names, x.Name)
	}
	files, ok := examples.Open(name)
	if !ok {
		err := fmt.Errorf("no example is called %q, there are: %s", name, strings.Join(names, ", "))
		if near := problem.Nearest(name, names); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		return usageError{err}
	}
	written, err := writeNew(dir, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Copied %s to %s: %s\n\n", name, dir, strings.Join(written, ", "))
	return e.nextAfterInit(filepath.Join(dir, "oloproof.yaml"))
}

// writeNew copies a file tree into dir. Nothing is written when any of its
// files is there already.
func writeNew(dir string, files fs.FS) ([]string, error) {
	var names, there []string
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, path)
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err == nil {
			there = append(there, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(there) > 0 {
		if dir == "." {
			dir = "this directory"
		}
		return nil, problem.Errorf("%s holds %s already: name another directory, or move the file away", dir, strings.Join(there, ", "))
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// nextAfterInit says what the rules can decide and what to type next.
func (e *Env) nextAfterInit(config string) error {
	p, err := openProject(configFlags{config: config})
	if err != nil {
		return err
	}
	defer p.close()
	if err := e.printReach(p); err != nil {
		return err
	}
	flag := given{configFlags: configFlags{config: config}}.flags(false, false)
	_, err = fmt.Fprintf(e.Stdout, "\nNext: oloproof check%s\n      oloproof run%s\n", flag, flag)
	return err
}

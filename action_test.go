package main

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/oloproof/oloproof-go/internal/github"
	"github.com/oloproof/oloproof-go/internal/github/runnertest"
)

// The inputs and outputs that users may rely on. Adding one is fine, together
// with its line here; renaming or dropping one breaks workflows.
var (
	actionInputs = []string{
		"allow-exec", "allowed-hosts", "baseline", "baseline-lock", "baseline-max-age", "command", "comment",
		"compare-policy", "concurrency", "config", "env-allow", "from", "github-token", "include-content", "name",
		"output-dir", "policy", "reports", "shard", "summary", "url", "working-directory",
	}
	actionOutputs = []string{
		"artifact-name", "baseline-run-id", "baseline-sha", "baseline-state", "comment-url", "exit-code", "failed",
		"gate-action", "insufficient", "missing", "output-dir", "passed", "policy-source", "relaxations",
		"report-file", "result-file", "review", "run-id",
	}
)

// action is action.yml.
type action struct {
	Name        string
	Description string
	Author      string
	Branding    map[string]string
	Inputs      map[string]struct {
		Description string
		Default     *string
	}
	Outputs map[string]struct{ Description string }
	Runs    struct{ Using, Image string }
}

func readAction(t *testing.T) *action {
	t.Helper()
	f, err := os.Open("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	a := &action{}
	if err := dec.Decode(a); err != nil {
		t.Fatal(err)
	}
	return a
}

// keys returns the sorted keys of a map.
func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func TestActionNamesAndDescriptions(t *testing.T) {
	a := readAction(t)
	if diff := cmp.Diff(actionInputs, keys(a.Inputs)); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(actionOutputs, keys(a.Outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for name, in := range a.Inputs {
		if !kebab.MatchString(name) {
			t.Errorf("input %s is not kebab-case", name)
		}
		if len(in.Description) < 20 {
			t.Errorf("input %s is hardly described: %q", name, in.Description)
		}
		if in.Default == nil {
			t.Errorf("input %s has no default", name)
		} else if *in.Default == "" && !strings.Contains(in.Description, "Default: ") && name != "from" {
			t.Errorf("input %s is empty by default and its description does not say what that means", name)
		}
	}
	for name, out := range a.Outputs {
		if !kebab.MatchString(name) {
			t.Errorf("output %s is not kebab-case", name)
		}
		if len(out.Description) < 20 {
			t.Errorf("output %s is hardly described: %q", name, out.Description)
		}
	}
	if a.Runs.Using != "docker" || a.Runs.Image != "Dockerfile" {
		t.Errorf("runs %s with %s, want docker with Dockerfile: images are named on the tags of releases only", a.Runs.Using, a.Runs.Image)
	}
}

// TestActionInputsAreRead holds action.yml against what the program reads: the
// same names, and defaults that mean the same as an empty input.
func TestActionInputsAreRead(t *testing.T) {
	a := readAction(t)
	asked := map[string]bool{}
	ask := func(values map[string]string) *github.Inputs {
		in, err := github.ReadInputs(func(name string) string {
			if input, ok := strings.CutPrefix(name, "INPUT_"); ok && !strings.Contains(input, "_") {
				asked[strings.ToLower(input)] = true
			}
			return values[name]
		})
		if err != nil {
			t.Fatalf("the defaults of action.yml are refused: %v", err)
		}
		return in
	}
	bare := ask(nil)
	if diff := cmp.Diff(keys(a.Inputs), keys(asked)); diff != "" {
		t.Errorf("inputs of action.yml (-) and those that are read (+):\n%s", diff)
	}
	defaults := map[string]string{}
	for name, in := range a.Inputs {
		if in.Default != nil && name != "github-token" {
			defaults[github.InputVariable(name)] = *in.Default
		}
	}
	if diff := cmp.Diff(bare, ask(defaults)); diff != "" {
		t.Errorf("empty inputs (-) and the defaults of action.yml (+):\n%s", diff)
	}
	if got := *a.Inputs["github-token"].Default; got != "${{ github.token }}" {
		t.Errorf("github-token is %q by default", got)
	}
}

// TestActionOutputsAreWritten holds action.yml against what the program writes.
func TestActionOutputsAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	github.Publish(context.Background(), github.Publication{Log: github.NewLog(io.Discard, true), OutputPath: path, Random: rand.Reader})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := runnertest.ParseEnvFile(string(text))
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, p := range pairs {
		written[p.Name] = true
	}
	if diff := cmp.Diff(keys(readAction(t).Outputs), keys(written)); diff != "" {
		t.Errorf("outputs of action.yml (-) and those that are written (+):\n%s", diff)
	}
}

// TestImage holds the rules of the image that a build does not show.
func TestImage(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{
		"CGO_ENABLED=0", "-trimpath", "\nFROM scratch\n", "\nENTRYPOINT [\"/oloproof\"]\n", "ca-certificates.crt",
		".version=${VERSION}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	base := regexp.MustCompile(`(?m)^FROM golang:([0-9.]+)-[a-z]+ AS build$`).FindStringSubmatch(text)
	if base == nil || strings.Count(base[1], ".") != 2 {
		t.Fatalf("the builder has no exact version tag")
	}
	if regexp.MustCompile(`(?m)^USER `).MatchString(text) {
		t.Error("the image has a USER: it could not write to the runner's workspace")
	}
}

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/oloproof/oloproof-go"

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// only names who may import a path (or a path below it), as packages of this module.
var only = map[string][]string{
	"gopkg.in/yaml.v3":             {"internal/strictyaml"},
	"modernc.org/sqlite":           {"internal/store"},
	"database/sql":                 {"internal/store"},
	"gonum.org/v1/gonum":           {"internal/stats"},
	"github.com/google/go-github":  {"internal/github"},
	"github.com/sethvargo":         {"internal/github"},
	"github.com/aws":               {"internal/system/http"},
	"github.com/hashicorp":         {"internal/system/http", "internal/github"},
	"github.com/spf13/cobra":       {"internal/cli"},
	module + "/internal/cli":       {""},
	"github.com/santhosh-tekuri":   {"internal/evaluate", "internal/suite"},
	"github.com/jedib0t/go-pretty": {"internal/report"},
	"github.com/itchyny/gojq":      {"internal/mapping"},
	"os/exec":                      {"internal/system/process", "internal/system/service", "internal/github/runnertest", "bench/measure"},
}

// pure packages reach no network, disk, clock, environment or other process.
var pure = []string{"internal/stats", "internal/measure", "internal/compare", "internal/decide", "internal/diagnose", "internal/evaluate", "internal/mapping", "internal/stream"}

var impure = []string{"net", "os", "io/fs", "io/ioutil", "path/filepath", "syscall", "time", "database", "math/rand", "crypto/rand"}

// exceptions to purity, each with its reason.
var exceptions = map[string]string{
	"internal/mapping time": "durations only: how long an expression may run, how often a poll asks",
}

// may lists, for a package, all that it may import of this module.
var may = map[string][]string{
	"internal/problem":  {},
	"internal/labels":   {"internal/evidence", "internal/problem"},
	"internal/mapping":  {"internal/evidence", "internal/problem"},
	"internal/netguard": {},
	"internal/relax":    {},
	"internal/stats":    {},
	"internal/probe":    {"internal/evidence", "internal/stream"},
	"presets":           {},
	"internal/evidence": {"internal/problem"},
	"internal/measure":  {"internal/evidence", "internal/stats"},
	"internal/compare":  {"internal/evidence", "internal/measure", "internal/stats"},
	"internal/decide":   {"internal/compare", "internal/evidence", "internal/measure", "internal/policy", "internal/stats"},
	"internal/diagnose": {"internal/evidence"},
	"internal/report":   {"internal/compare", "internal/decide", "internal/diagnose", "internal/evidence", "internal/measure", "internal/policy"},
	"internal/judge":    {"internal/evidence", "internal/redact", "internal/suite"},
	"internal/runner":   {"internal/evidence", "internal/redact"},
	"internal/evaluate": {"internal/evidence", "internal/problem", "internal/suite"},
	"internal/dataset":  {"internal/dataset/foreign", "internal/evidence", "internal/problem", "internal/relax"},
	"internal/store":    {"internal/evidence", "internal/problem"},
	"internal/stream":   {"internal/evidence"},

	"internal/system/staged": {"internal/evidence", "internal/redact", "internal/system/process"},
}

func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// TestBorders holds the borders between the rooms of the house.
func TestBorders(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages", len(packages))
	}
	for _, p := range packages {
		own := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, name := range []string{"util", "utils", "common", "types", "models", "helpers"} {
			if own == name || strings.HasSuffix(own, "/"+name) {
				t.Errorf("package %s: a name that says nothing", own)
			}
		}
		for _, imported := range p.Imports {
			for path, users := range only {
				if below(imported, path) && !slices.Contains(users, own) {
					t.Errorf("%s imports %s: only %v may", own, imported, users)
				}
			}
			if slices.Contains(pure, own) && exceptions[own+" "+imported] == "" {
				for _, forbidden := range impure {
					if below(imported, forbidden) && imported != "net/url" {
						t.Errorf("%s is pure and imports %s", own, imported)
					}
				}
			}
			if allowed, ok := may[own]; ok && below(imported, module) {
				if rel := strings.TrimPrefix(imported, module+"/"); !slices.Contains(allowed, rel) {
					t.Errorf("%s imports %s: of this module it may import %v", own, rel, allowed)
				}
			}
			if own == "internal/stats" && strings.Contains(imported, ".") && imported != "gonum.org/v1/gonum/mathext" {
				t.Errorf("internal/stats imports %s: the standard library and gonum's mathext only", imported)
			}
		}
	}
}

// TestFixedLibraries holds the libraries that the specification fixes: each is a
// direct dependency, at the version it fixes, and used by the program.
func TestFixedLibraries(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not .Indirect}}{{.Path}} {{.Version}}{{end}}", "all").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			versions[path] = version
		}
	}
	used := map[string]bool{}
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			for path := range versions {
				if below(imported, path) {
					used[path] = true
				}
			}
		}
	}
	for path, version := range map[string]string{
		"github.com/sethvargo/go-githubactions": "v1.3.2",
		"github.com/google/go-github/v62":       "v62.0.0",
		"github.com/hashicorp/go-retryablehttp": "",
		"gopkg.in/yaml.v3":                      "",
	} {
		switch got, direct := versions[path]; {
		case !direct:
			t.Errorf("%s is no direct dependency", path)
		case version != "" && got != version:
			t.Errorf("%s is %s, want %s", path, got, version)
		case !used[path]:
			t.Errorf("%s is not used by the program", path)
		}
	}
}

// TestHouse: CONTRIBUTING.md says what every room holds, and which are pure.
func TestHouse(t *testing.T) {
	page := readFile(t, "CONTRIBUTING.md")
	for _, p := range listPackages(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if strings.HasPrefix(room, "internal/") && !strings.Contains(page, "`"+room+"`") && !strings.Contains(page, "`"+room[strings.LastIndex(room, "/")+1:]+"`") {
			t.Errorf("CONTRIBUTING.md does not name %s", room)
		}
	}
	var names []string
	for _, room := range pure {
		names = append(names, "`"+strings.TrimPrefix(room, "internal/")+"`")
	}
	if sentence := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are pure."; !strings.Contains(page, sentence) {
		t.Errorf("CONTRIBUTING.md does not say %s", sentence)
	}
}

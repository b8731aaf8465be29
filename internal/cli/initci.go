package cli

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/suite"
)

//go:embed ci/*.tmpl
var ciTemplates embed.FS

// Paths of the workflows, from the repository's root.
const (
	gateWorkflow   = ".github/workflows/oloproof.yml"
	reportWorkflow = ".github/workflows/oloproof-report.yml"
)

// Names beside the suite that the workflow uses when they are there.
const (
	nightlyFile = "nightly.yaml"       // decides scheduled runs
	strictFile  = "strict.yaml"        // decides release branches
	lockFile    = "baseline.lock.json" // pins the reference of both
)

// maxShards is the most jobs of a matrix.
const maxShards = 256

// ciFlags are the flags of init --ci.
type ciFlags struct {
	forge  string // github
	url    string // of the endpoint, or with ${{ }} of a pull request's preview
	shards int    // 0: one job
}

func (f ciFlags) check() error {
	if f.forge != "github" {
		return usageError{fmt.Errorf("--ci is %q (allowed: github)", f.forge)}
	}
	if f.shards != 0 && (f.shards < 2 || f.shards > maxShards) {
		return usageError{fmt.Errorf("--shards is %d, want 2 to %d", f.shards, maxShards)}
	}
	return nil
}

// initCI writes the workflows of the suite in dir.
func (e *Env) initCI(f ciFlags, dir string) error {
	if err := f.check(); err != nil {
		return err
	}
	w, err := newWorkflow(f, dir)
	if err != nil {
		return err
	}
	files := fstest.MapFS{}
	for name, from := range map[string]string{gateWorkflow: "oloproof.yml.tmpl", reportWorkflow: "report.yml.tmpl"} {
		text, err := w.render(from)
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	written, err := writeNew(w.root, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Wrote %s in %s.\n", strings.Join(written, ", "), w.root)
	return w.printNext(e)
}

// workflow is what the templates of the workflows show.
type workflow struct {
	root      string // of the repository
	suite     *suite.Suite
	dir       string // of the suite, from the root, with slashes
	Config    string // the suite's path from the root
	Branch    string // whose runs pull requests are compared with
	Hour      int    // of the nightly run, UTC
	Minute    int
	Preview   string   // URL with ${{ }}, or ""
	url       string   // value of the input url, or ""
	hosts     string   // value of the input allowed-hosts, or ""
	Shards    int      // 0: one job
	Exec      bool     // the suite starts programs
	Starts    string   // the key that does
	own       bool     // what is called is named by the suite alone
	ByBranch  bool     // policies depend on the branch
	variables []string // of the environment, that the suite reads
	Version   string
	Release   bool   // Version is that of a release
	Ref       string // of the action and the module
	choices   map[string]string
}

// input is one input of the action in a workflow.
type input struct{ Name, Value string }

// invocation is a step that runs oloproof.
type invocation struct {
	*workflow
	ID       string
	Secrets  []string // variables that the suite reads
	Inputs   []input
	OnRunner bool // rather than in the action's container, which has no programs to start
	Deployed bool // the endpoint is deployed by whoever writes the workflow
}

func newWorkflow(f ciFlags, dir string) (*workflow, error) {
	config := filepath.Join(dir, "oloproof.yaml")
	if absent(config) {
		return nil, problem.Errorf("there is no suite %s: write it first, with oloproof init %s", config, dir)
	}
	s, err := suite.Load(config)
	if err != nil {
		return nil, err
	}
	w := &workflow{suite: s, Shards: f.shards, Version: Version()}
	if w.root, w.Config, err = placeInRepository(config); err != nil {
		return nil, err
	}
	w.dir = path.Dir(w.Config)
	w.Branch = defaultBranch(w.root)
	w.Hour, w.Minute = nightly(s.Project + "\x00" + w.Config)
	if w.Release = regexp.MustCompile(`^[1-9][0-9]*\.[0-9]+\.[0-9]+$`).MatchString(w.Version); w.Release {
		major, _, _ := strings.Cut(w.Version, ".")
		w.Ref = "v" + major
	} else {
		w.Ref = "main"
	}
	if f.url != "" && s.System.HTTP == nil {
		return nil, usageError{fmt.Errorf("--url names an endpoint, and the system of %s is of kind %s, which has none: leave --url out", config, s.System.Kind())}
	}
	_, w.Starts = s.System.Starts(f.url != "")
	w.Exec = w.Starts != ""
	w.own = s.System.HTTP == nil || s.System.Start != nil && f.url == ""
	if err := w.setURL(f.url); err != nil {
		return nil, err
	}
	if err := w.setVariables(f.url); err != nil {
		return nil, err
	}
	return w, w.choose()
}

// placeInRepository returns the root of the repository that a file lies in, or
// else the present directory, and the file's path from there with slashes.
func placeInRepository(file string) (root, rel string, err error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return "", "", err
	}
	for root = filepath.Dir(full); ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", "", problem.Errorf("%s lies in no git repository, and workflows belong to one: git init comes first", file)
		}
	}
	rel, err = filepath.Rel(root, full)
	if err != nil {
		return "", "", err
	}
	rel = filepath.ToSlash(rel)
	if strings.Contains(rel, "${{") || strings.ContainsFunc(rel, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", "", problem.Errorf("the path %q cannot stand in a workflow: name the directory otherwise", rel)
	}
	return root, rel, nil
}

// defaultBranch is the branch that the remote names, or main.
func defaultBranch(root string) string {
	data, err := os.ReadFile(filepath.Join(root, ".git", "refs", "remotes", "origin", "HEAD"))
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/remotes/origin/")
	if err != nil || !ok || !regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`).MatchString(branch) {
		return "main"
	}
	return branch
}

// nightly is a time between 1:01 and 5:59 that depends on the project alone: at
// full hours too many schedules begin, and some are dropped.
func nightly(key string) (hour, minute int) {
	sum := sha256.Sum256([]byte(key))
	n := binary.BigEndian.Uint32(sum[:4])
	return int(1 + n/59%5), int(1 + n%59)
}

// setURL decides where the endpoint is called.
func (w *workflow) setURL(given string) error {
	urls := w.suite.System.URLs()
	if !w.own && len(urls) > 0 {
		urls[0] = given // in place of the suite's own; others stay
	}
	w.hosts = insideHosts(urls)
	if w.own {
		return nil
	}
	w.url = "${{ vars.OLOPROOF_URL }}"
	if given == "" {
		return nil
	}
	if strings.ContainsFunc(given, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return problem.Errorf("--url holds a control character")
	}
	if strings.Contains(given, "${{") {
		if strings.Count(given, "${{") != strings.Count(given, "}}") {
			return problem.Errorf("--url is %q, one of its expressions is not closed: want ${{ … }}", given)
		}
		w.Preview = given
		w.url = "${{ github.event_name == 'pull_request' && env.PREVIEW_URL || vars.OLOPROOF_URL }}"
		return nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return problem.Errorf("--url is %q, it must begin with http:// or https:// and name a host", given)
	}
	if u.User != nil {
		return problem.Errorf("--url holds a user name or password, which would be committed: put it into a header of the suite as ${NAME}")
	}
	w.url = given
	return nil
}

// insideHosts are the hosts of URLs that may be called only if they are listed, as
// the input allowed-hosts takes them.
func insideHosts(urls []string) string {
	var all []string
	for _, u := range urls {
		if host := insideHost(u); host != "" && !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return strings.Join(all, ",")
}

// insideHost is the host of a URL when it may be called only if it is listed:
// a private or loopback address, or a name without a dot.
func insideHost(text string) string {
	u, err := url.Parse(regexp.MustCompile(`\$\{\w+\}`).ReplaceAllString(text, "1"))
	if err != nil {
		return ""
	}
	h, err := netguard.ParseHost(u.Hostname())
	if err != nil {
		return ""
	}
	if c := h.Class(); c == netguard.Private || c == netguard.Loopback || !h.Addr.IsValid() && !strings.Contains(h.Name, ".") {
		return h.Name
	}
	return ""
}

// setVariables finds out which environment variables the suite reads.
func (w *workflow) setVariables(given string) error {
	if w.Preview != "" || given == "" && !w.own {
		given = "https://example.com" // the suite's own URL is not what is called
	}
	lookup := func(name string) (string, bool) {
		if !slices.Contains(w.variables, name) {
			w.variables = append(w.variables, name)
		}
		return "1", true
	}
	// What does not fit with every value 1 is found when the suite is run.
	_, _ = w.suite.Resolve(lookup, suite.ResolveOptions{
		URL: given, AllowExec: true, Bin: "oloproof", Port: func() (int, error) { return 1, nil },
	})
	slices.Sort(w.variables)
	for _, v := range w.variables {
		for _, prefix := range []string{"GITHUB_", "ACTIONS_", "INPUT_", "RUNNER_"} {
			if strings.HasPrefix(strings.ToUpper(v), prefix) {
				return problem.Errorf("%s reads ${%s}: variables that start with %s are the runner's and never reach a suite there; name it otherwise", w.suite.Path, v, prefix)
			}
		}
	}
	return nil
}

// choose says which policies and which lock decide which event, by the files
// that lie beside the suite.
func (w *workflow) choose() error {
	w.choices = map[string]string{}
	type option struct{ when, file string }
	options := []option{{"env.RELEASE == 'true'", strictFile}, {"github.event_name == 'schedule'", nightlyFile}, {"", ""}}
	for input, usual := range map[string]string{"policy": "release.yaml", "compare-policy": "compare.yaml"} {
		var terms []string
		for _, o := range options {
			if o.file == "" {
				o.file = usual
			} else if ok, err := w.decides(o.file, input); err != nil {
				return err
			} else if !ok {
				continue
			}
			if !w.has(o.file) {
				continue
			}
			term := "'" + strings.ReplaceAll(path.Join(w.dir, o.file), "'", "''") + "'"
			if o.when != "" {
				term = o.when + " && " + term
			}
			terms = append(terms, term)
		}
		w.ByBranch = w.ByBranch || len(terms) > 0 && strings.Contains(terms[0], "env.RELEASE")
		w.choices[input] = alternatives(terms)
	}
	if w.has(lockFile) {
		w.ByBranch = true
		w.choices["baseline-lock"] = "${{ (env.RELEASE == 'true' || github.event_name == 'schedule') && '" +
			strings.ReplaceAll(path.Join(w.dir, lockFile), "'", "''") + "' || '' }}"
	}
	return nil
}

// alternatives is an expression that is the first of the terms that holds.
func alternatives(terms []string) string {
	switch {
	case len(terms) == 0:
		return ""
	case strings.Contains(terms[len(terms)-1], "&&"):
		terms = append(terms, "''")
	case len(terms) == 1:
		return strings.ReplaceAll(strings.Trim(terms[0], "'"), "''", "'")
	}
	return "${{ " + strings.Join(terms, " || ") + " }}"
}

func (w *workflow) has(name string) bool { return !absent(filepath.Join(w.suite.Dir, name)) }

// decides reports whether a policy beside the suite has rules for an input.
func (w *workflow) decides(name, input string) (bool, error) {
	if !w.has(name) {
		return false, nil
	}
	p, err := policy.Load(filepath.Join(w.suite.Dir, name))
	if err != nil {
		return false, err
	}
	return input == "policy" || len(p.ComparisonRules()) > 0, nil
}

// Shard is the step that runs a part of the cases.
func (w *workflow) Shard() *invocation {
	x := &invocation{workflow: w, ID: "shard"}
	x.calls()
	x.add("shard", fmt.Sprintf("${{ matrix.shard }}/%d", w.Shards))
	x.add("output-dir", "oloproof-shards/${{ matrix.shard }}")
	return x
}

// Gate is the step that decides.
func (w *workflow) Gate() *invocation {
	x := &invocation{workflow: w, ID: "gate"}
	if w.Shards > 0 {
		x.add("command", "merge")
		x.add("from", "${{ steps.shards.outputs.found }}")
		x.add("config", w.Config)
	} else {
		x.calls()
	}
	for _, name := range []string{"policy", "compare-policy", "baseline-lock"} {
		x.add(name, w.choices[name])
	}
	return x
}

// calls adds what calling the endpoint needs.
func (x *invocation) calls() {
	x.Secrets = x.variables
	x.add("config", x.Config)
	x.add("url", x.url)
	x.add("allowed-hosts", x.hosts)
	x.add("env-allow", strings.Join(x.variables, ","))
	if x.OnRunner = x.Exec; x.OnRunner {
		x.add("allow-exec", "true")
	}
	x.Deployed = strings.Contains(x.url, "vars.")
}

func (x *invocation) add(name, value string) {
	if value != "" {
		x.Inputs = append(x.Inputs, input{name, value})
	}
}

func (w *workflow) render(name string) ([]byte, error) {
	t, err := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{
		"quote":    quote,
		"scalar":   scalar,
		"numbers":  numbers,
		"pin":      pin,
		"variable": func(name string) string { return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) },
	}).ParseFS(ciTemplates, "ci/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, w)
	return b.Bytes(), err
}

// pin is an action of GitHub at the commit that its tag names, as our own
// workflows have it.
func pin(action string) (string, error) {
	commit := ""
	switch action {
	case "checkout":
		commit = "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
	case "setup-go":
		commit = "b7ad1dad31e06c5925ef5d2fc7ad053ef454303e # v7.0.0"
	case "upload-artifact":
		commit = "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"
	case "download-artifact":
		commit = "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"
	default:
		return "", errors.New("no commit of the action " + action)
	}
	return "actions/" + action + "@" + commit, nil
}

// quote is a text as a single-quoted scalar of YAML.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// scalar is a text as a scalar of YAML that is a text to every reader.
func scalar(s string) string {
	plain := regexp.MustCompile(`^([A-Za-z_.][A-Za-z0-9_./-]*[A-Za-z0-9/]|\$\{\{ [^:#"]* \}\})$`)
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n", ".nan", ".inf":
	default:
		if plain.MatchString(s) {
			return s
		}
	}
	return quote(s)
}

// numbers is the list 1 to n.
func numbers(n int) string {
	var all []string
	for i := 1; i <= n; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// printNext says what is left to do by hand.
func (w *workflow) printNext(e *Env) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The gate runs on pull requests into %s and release/**, on pushes to them, in the merge queue, and at %02d:%02d UTC.\n\nNext:\n", w.Branch, w.Hour, w.Minute)
	for _, v := range w.variables {
		fmt.Fprintf(&b, "  gh secret set %s\n      the suite reads it from the environment\n", v)
	}
	if strings.Contains(w.url, "vars.OLOPROOF_URL") {
		fmt.Fprintf(&b, "  gh variable set OLOPROOF_URL\n      the URL of the deployed endpoint; without it the suite's own is called:\n      %s\n", w.suite.System.URL())
	}
	if !w.has("compare.yaml") {
		b.WriteString("  write compare.yaml beside the suite\n      it decides what may not get worse; oloproof compare --help shows how\n")
	}
	fmt.Fprintf(&b, "  commit the workflows, and after the first run require the check \"gate\" on %s\n", w.Branch)
	_, err := fmt.Fprint(e.Stdout, b.String())
	return err
}

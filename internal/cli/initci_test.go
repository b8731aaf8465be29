package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"gopkg.in/yaml.v3"

	"github.com/oloproof/oloproof-go/internal/github"
)

// preview is the URL of a pull request's preview deployment.
const preview = "https://pr-${{ github.event.number }}.example.com/answer"

// gitProject is a git repository with a project in the directory p.
func gitProject(t *testing.T, example bool) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"init", "--url", "https://rag.example.com/answer", filepath.Join(root, "p")}
	if example {
		args = []string{"init", "--example", "blackbox_rag", filepath.Join(root, "p")}
	}
	if got := command(t, nil, args...); got.code != 0 {
		t.Fatal(got.stderr)
	}
	return root
}

// put writes files of a project.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// workflows writes the workflows of a project and returns their texts.
func workflows(t *testing.T, root string, flags ...string) (gate, report string) {
	t.Helper()
	args := append([]string{"init", "--ci", "github", filepath.Join(root, "p")}, flags...)
	if got := command(t, nil, args...); got.code != 0 {
		t.Fatal(got.stderr)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return read(gateWorkflow), read(reportWorkflow)
}

// variant is one project and one way to call init --ci.
type variant struct {
	name    string
	example bool // starts its service
	files   map[string]string
	flags   []string
	version string
}

func variants(t *testing.T) []variant {
	t.Helper()
	policyWith := func(rule string) string {
		return "version: 1\nrules:\n  - {id: r, metric: answer_correct, " + rule + "}\n"
	}
	more := map[string]string{
		"p/compare.yaml": policyWith("kind: non_inferiority, margin: 0.05"),
		"p/nightly.yaml": policyWith("kind: non_inferiority, margin: 0.05"),
		"p/strict.yaml":  policyWith("min: 0.9"), "p/baseline.lock.json": "{}",
	}
	secret := map[string]string{"p/oloproof.yaml": "version: 1\nproject: \"it's # a: [test]\"\ndataset: data/cases.jsonl\nsystem:\n  name: s\n  version: one\n" +
		"  http: {url: \"https://x.example.com/${TENANT}\", headers: {Authorization: \"Bearer ${RAG_TOKEN}\", X-Key: \"${API_KEY}\"}}\n" +
		"evaluators:\n  - {type: contains, criterion: answer_correct}\n"}
	ofKind := func(system string) map[string]string {
		return map[string]string{"p/oloproof.yaml": "version: 1\nproject: p\ndataset: data/cases.jsonl\nsystem:\n  name: s\n  version: one\n" +
			system + "evaluators:\n  - {type: contains, criterion: answer_correct}\n"}
	}
	var all []variant
	for _, version := range []string{"", "1.4.0"} {
		for _, shards := range []string{"", "8", "256"} {
			for _, v := range []variant{
				{name: "plain"},
				{name: "url", flags: []string{"--url", "https://rag.example.com/answer?a=1&b=2#c"}},
				{name: "inside", flags: []string{"--url", "http://10.0.0.7:8000/answer"}},
				{name: "preview", flags: []string{"--url", preview}},
				{name: "policies", files: more, flags: []string{"--url", preview}},
				{name: "no-policy", files: map[string]string{"p/release.yaml": ""}},
				{name: "secrets", files: secret},
				{name: "starts", example: true},
				{name: "callable", files: ofKind("  callable: app:run\n")},
				{name: "command", files: ofKind("  command: {run: [node, app.mjs], env: {MODEL_KEY: \"${MODEL_KEY}\"}}\n")},
				{name: "staged", files: ofKind("  rag: {object: \"app:Rag\", depth: 6, top_k: 2}\n")},
				{name: "staged-http", files: ofKind(stagedHTTP)},
				{name: "token-program", files: ofKind(tokenProgram)},
				{name: "starts-elsewhere", example: true, flags: []string{"--url", preview}},
			} {
				v.version = version
				if shards != "" {
					v.flags = append(slices.Clone(v.flags), "--shards", shards)
				}
				v.name = fmt.Sprintf("%s/shards=%s/version=%s", v.name, shards, version)
				all = append(all, v)
			}
		}
	}
	return all
}

// write makes the project of a variant and writes its workflows.
func (v variant) write(t *testing.T) (gate, report string) {
	t.Helper()
	before := version
	version = v.version
	t.Cleanup(func() { version = before })
	root := gitProject(t, v.example)
	put(t, root, v.files)
	if strings.HasPrefix(v.name, "no-policy") {
		if err := os.Remove(filepath.Join(root, "p", "release.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	return workflows(t, root, v.flags...)
}

func TestWorkflowsPassActionlint(t *testing.T) {
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) {
			gate, report := v.write(t)
			for name, text := range map[string]string{gateWorkflow: gate, reportWorkflow: report} {
				lint(t, name, text)
				// actionlint knows the inputs of actions by their major versions, and these
				// ones at least.
				tagged := regexp.MustCompile(`@[0-9a-f]{40} # v[0-9.]+`).ReplaceAllString(text, "@v4")
				lint(t, name, strings.ReplaceAll(tagged, "setup-go@v4", "setup-go@v5"))
			}
		})
	}
}

func lint(t *testing.T, name, text string) {
	t.Helper()
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Lint(name, []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%v", f)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// job is a job of a generated workflow.
type job struct {
	If          string
	Needs       string
	Permissions map[string]string
	Strategy    struct{ Matrix struct{ Shard []int } }
	Steps       []struct {
		ID, Uses, Run, If string
		With              map[string]string
		Env               map[string]string
	}
}

func jobs(t *testing.T, text string) map[string]job {
	t.Helper()
	var w struct {
		Permissions any
		Jobs        map[string]job
	}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	if w.Permissions == nil {
		t.Error("the workflow states no permissions")
	}
	return w.Jobs
}

// TestWorkflowsAreReadAsWritten holds every step that runs oloproof against what
// the program reads: known inputs, with values that it takes.
func TestWorkflowsAreReadAsWritten(t *testing.T) {
	known := map[string]bool{}
	for _, in := range ciInputs {
		known[in[0]] = true
	}
	expression := regexp.MustCompile(`\$\{\{.*?\}\}`)
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) {
			gate, report := v.write(t)
			steps := 0
			for _, text := range []string{gate, report} {
				for _, j := range jobs(t, text) {
					for _, s := range j.Steps {
						values := map[string]string{}
						switch {
						case strings.HasPrefix(s.Uses, "oloproof/oloproof-go@"):
							for name, value := range s.With {
								if !known[name] {
									t.Errorf("%s is no input", name)
								}
								values[github.InputVariable(name)] = value
							}
						case s.Run == "oloproof ci":
							for name, value := range s.Env {
								input := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "INPUT_"), "_", "-"))
								if strings.HasPrefix(name, "INPUT_") && !known[input] {
									t.Errorf("%s is no input", name)
								}
								values[name] = value
							}
						default:
							if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
								t.Errorf("%s is not pinned by its commit", s.Uses)
							}
							continue
						}
						steps++
						for name := range values {
							values[name] = expression.ReplaceAllString(values[name], "1")
						}
						if _, err := github.ReadInputs(func(name string) string { return values[name] }); err != nil {
							t.Errorf("step %s: %v", s.ID, err)
						}
					}
				}
			}
			if steps < 2 {
				t.Errorf("%d steps run oloproof", steps)
			}
		})
	}
}

func TestWorkflowOfShards(t *testing.T) {
	gate, _ := workflows(t, gitProject(t, false), "--shards", "8")
	all := jobs(t, gate)
	shard, decide := all["shard"], all["gate"]
	if got := fmt.Sprint(shard.Strategy.Matrix.Shard); got != "[1 2 3 4 5 6 7 8]" {
		t.Errorf("the matrix is %s", got)
	}
	if shard.Permissions["pull-requests"] != "" || shard.Permissions["contents"] != "read" {
		t.Errorf("a shard has the permissions %v", shard.Permissions)
	}
	if decide.If != "${{ always() }}" || decide.Needs != "shard" {
		t.Errorf("the gate needs %q and runs if %q", decide.Needs, decide.If)
	}
	last := decide.Steps[len(decide.Steps)-1]
	for _, result := range []string{"failure", "cancelled", "skipped"} {
		if !strings.Contains(last.If, "contains(needs.*.result, '"+result+"')") {
			t.Errorf("a shard that ends as %s does not fail the gate", result)
		}
	}
	if !strings.Contains(last.Run, "exit 2") {
		t.Errorf("the last step runs %q", last.Run)
	}
}

func TestWorkflowOfStartedService(t *testing.T) {
	gate, report := workflows(t, gitProject(t, true))
	for _, want := range []string{"run: oloproof ci", "INPUT_ALLOW_EXEC: 'true'", "INPUT_ALLOWED_HOSTS: '127.0.0.1'", "go install github.com/oloproof/oloproof-go@main"} {
		if !strings.Contains(gate, want) {
			t.Errorf("the workflow lacks %q:\n%s", want, gate)
		}
	}
	if strings.Contains(gate, "uses: oloproof/") {
		t.Error("a service is started in the action's container, which has no programs")
	}
	if !strings.Contains(report, "command: report") {
		t.Errorf("the second workflow does not report:\n%s", report)
	}
	gate, _ = workflows(t, gitProject(t, true), "--url", preview)
	if !strings.Contains(gate, "uses: oloproof/") || strings.Contains(gate, "allow-exec") {
		t.Errorf("with a URL nothing is started, so the container does:\n%s", gate)
	}
}

const (
	stagedHTTP = "  rag:\n    depth: 6\n    top_k: 2\n    http:\n" +
		"      retrieve: {url: \"http://search:9200/find\", request: {headers: {Authorization: \"Bearer ${SEARCH_KEY}\"}, body: {q: \"{{case.input.q}}\"}}, artifacts: {retrieval/v1: {items: hits, fields: {doc_id: id}}}}\n" +
		"      generate: {url: \"https://llm.example.com/write\", request: {body: {q: \"{{case.input.q}}\"}}}\n"
	tokenProgram = "  http: {url: \"https://rag.example.com/answer\", auth: {command: [get-token]}}\n"
)

// The job has the binary when something in the suite starts a program, and only then.
func TestWorkflowOfEachKind(t *testing.T) {
	for _, tt := range []struct {
		system string
		flags  []string
		has    []string
		hasNot []string
	}{
		{"  callable: app:run\n", nil, []string{"run: oloproof ci", "INPUT_ALLOW_EXEC: 'true'", "(system.callable)"}, []string{"INPUT_URL"}},
		{"  command: {run: [node, app.mjs], env: {MODEL_KEY: \"${MODEL_KEY}\"}}\n", nil, []string{"MODEL_KEY: ${{ secrets.MODEL_KEY }}", "INPUT_ENV_ALLOW: MODEL_KEY", "INPUT_ALLOW_EXEC: 'true'", "(system.command)"}, []string{"INPUT_URL"}},
		{"  rag: {object: \"app:Rag\", depth: 6, top_k: 2}\n", nil, []string{"run: oloproof ci", "(system.rag.object)"}, []string{"INPUT_URL"}},
		{stagedHTTP, nil, []string{"uses: oloproof/oloproof-go@main", "allowed-hosts: search", "SEARCH_KEY: ${{ secrets.SEARCH_KEY }}"}, []string{"allow-exec", "url:", "OLOPROOF_URL", "llm.example.com"}},
		{tokenProgram, nil, []string{"run: oloproof ci", "INPUT_ALLOW_EXEC: 'true'", "INPUT_URL: ${{ vars.OLOPROOF_URL }}", "(system.http.auth.command)"}, nil},
		{tokenProgram, []string{"--url", "http://10.0.0.7:8000/answer"}, []string{"run: oloproof ci", "INPUT_URL: 'http://10.0.0.7:8000/answer'", "INPUT_ALLOWED_HOSTS: '10.0.0.7'"}, nil},
	} {
		root := gitProject(t, false)
		put(t, root, map[string]string{"p/oloproof.yaml": "version: 1\nproject: p\ndataset: data/cases.jsonl\nsystem:\n  name: s\n  version: one\n" +
			tt.system + "evaluators:\n  - {type: contains, criterion: answer_correct}\n"})
		gate, _ := workflows(t, root, tt.flags...)
		for _, want := range tt.has {
			if !strings.Contains(gate, want) {
				t.Errorf("the workflow of%s lacks %q:\n%s", tt.system, want, gate)
			}
		}
		for _, other := range tt.hasNot {
			if strings.Contains(gate, other) {
				t.Errorf("the workflow of%s has %q:\n%s", tt.system, other, gate)
			}
		}
	}
}

func TestWorkflowOfRelease(t *testing.T) {
	v := variant{example: true, version: "1.4.0"}
	gate, report := v.write(t)
	if !strings.Contains(gate, "gh release download v1.4.0 ") || !strings.Contains(gate, "gh attestation verify") {
		t.Errorf("a release's workflow does not download it:\n%s", gate)
	}
	if !strings.Contains(report, "uses: oloproof/oloproof-go@v1\n") {
		t.Errorf("a release's workflow does not use its major version:\n%s", report)
	}
}

func TestWorkflowPoliciesByEvent(t *testing.T) {
	root := gitProject(t, false)
	rule := "version: 1\nrules:\n  - {id: r, metric: answer_correct, %s}\n"
	put(t, root, map[string]string{
		"p/strict.yaml":  fmt.Sprintf(rule, "min: 0.9"),
		"p/nightly.yaml": fmt.Sprintf(rule, "kind: non_inferiority, margin: 0.05"),
	})
	gate, _ := workflows(t, root)
	for _, want := range []string{
		"policy: ${{ env.RELEASE == 'true' && 'p/strict.yaml' || github.event_name == 'schedule' && 'p/nightly.yaml' || 'p/release.yaml' }}\n",
		// strict.yaml compares nothing, and there is no compare.yaml.
		"compare-policy: ${{ github.event_name == 'schedule' && 'p/nightly.yaml' || '' }}\n",
	} {
		if !strings.Contains(gate, want) {
			t.Errorf("the workflow lacks %q:\n%s", want, gate)
		}
	}
	if strings.Contains(gate, "baseline-lock") {
		t.Error("a lock that is not there is named")
	}
}

func TestWorkflowsFollowTheRemotesBranch(t *testing.T) {
	root := gitProject(t, false)
	put(t, root, map[string]string{".git/refs/remotes/origin/HEAD": "ref: refs/remotes/origin/trunk\n"})
	gate, _ := workflows(t, root)
	// Pull requests into other branches are left out, as pushes to them are.
	if strings.Count(gate, "    branches: ['trunk', 'release/**']\n") != 2 {
		t.Errorf("the branch is not that of the remote:\n%s", gate)
	}
	root = gitProject(t, false)
	put(t, root, map[string]string{".git/refs/remotes/origin/HEAD": "ref: refs/remotes/origin/x'] # ${{ secrets.X }}\n"})
	gate, _ = workflows(t, root)
	if !strings.Contains(gate, "branches: ['main', 'release/**']") {
		t.Errorf("a strange branch is taken:\n%s", gate)
	}
}

func TestNightlyTime(t *testing.T) {
	seen := map[[2]int]bool{}
	for i := range 300 {
		key := fmt.Sprint("project", i)
		hour, minute := nightly(key)
		if hour < 1 || hour > 5 || minute < 1 || minute > 59 {
			t.Fatalf("%s runs at %d:%02d", key, hour, minute)
		}
		if again, m := nightly(key); again != hour || m != minute {
			t.Fatalf("%s runs at two times", key)
		}
		seen[[2]int{hour, minute}] = true
	}
	if len(seen) < 100 {
		t.Errorf("300 projects share %d times", len(seen))
	}
}

func TestInitCIRefuses(t *testing.T) {
	suiteReading := func(variable string) map[string]string {
		return map[string]string{"p/oloproof.yaml": "version: 1\nproject: p\ndataset: data/cases.jsonl\nsystem:\n  name: s\n  version: one\n" +
			"  http: {url: \"https://x.example.com\", headers: {Authorization: \"${" + variable + "}\"}}\n" +
			"evaluators:\n  - {type: contains, criterion: c}\n"}
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		flags []string
		want  string
	}{
		{name: "forge", flags: []string{"--ci", "gitlab"}, want: `--ci is "gitlab" (allowed: github)`},
		{name: "one shard", flags: []string{"--shards", "1"}, want: "--shards is 1, want 2 to 256"},
		{name: "too many shards", flags: []string{"--shards", "257"}, want: "want 2 to 256"},
		{name: "example", flags: []string{"--example", "blackbox_rag"}, want: "--ci and --example do not go together"},
		{name: "no host", flags: []string{"--url", "rag"}, want: "must begin with http:// or https://"},
		{name: "open expression", flags: []string{"--url", "https://pr-${{ github.event.number }.example.com"}, want: "is not closed"},
		{name: "line end", flags: []string{"--url", "https://x.example.com/\nenv: {}"}, want: "control character"},
		{name: "credentials", flags: []string{"--url", "https://user:secret@x.example.com/"}, want: "which would be committed"},
		{name: "runner's variable", files: suiteReading("GITHUB_TOKEN"), want: "reads ${GITHUB_TOKEN}: variables that start with GITHUB_"},
		{name: "no suite", files: map[string]string{"p/oloproof.yaml": ""}, want: "is empty"},
		{name: "there already", files: map[string]string{gateWorkflow: "mine"}, want: "holds .github/workflows/oloproof.yml already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := gitProject(t, false)
			put(t, root, test.files)
			got := command(t, nil, append([]string{"init", "--ci", "github", filepath.Join(root, "p")}, test.flags...)...)
			if got.code != ExitConfig || !strings.Contains(got.stderr, test.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got.code, ExitConfig, test.want, got.stderr)
			}
			if strings.Contains(got.stderr, "secret@") {
				t.Errorf("the message shows a password:\n%s", got.stderr)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(reportWorkflow))); err == nil {
				t.Error("a workflow was written all the same")
			}
			if data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(gateWorkflow))); err == nil && string(data) != "mine" {
				t.Error("a file was overwritten")
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		root := gitProject(t, false)
		if err := os.Remove(filepath.Join(root, ".git")); err != nil {
			t.Fatal(err)
		}
		got := command(t, nil, "init", "--ci", "github", filepath.Join(root, "p"))
		if got.code != ExitConfig || !strings.Contains(got.stderr, "lies in no git repository") {
			t.Errorf("exit code %d:\n%s", got.code, got.stderr)
		}
	})
}

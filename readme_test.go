package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reader is someone with the program, a page and a directory.
func reader(t *testing.T) *doc { return newDoc(t, "README.md") }

// indented returns the blocks of a page that are indented by four cells, without
// the indent.
func indented(t *testing.T, path string) []string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	open := false
	for line := range strings.Lines(string(page)) {
		switch text, ok := strings.CutPrefix(line, "    "); {
		case ok && open:
			blocks[len(blocks)-1] += text
		case ok:
			blocks, open = append(blocks, text), true
		default:
			open = false
		}
	}
	return blocks
}

func blockWith(t *testing.T, blocks []string, part string) string {
	t.Helper()
	for _, b := range blocks {
		if strings.Contains(b, part) {
			return b
		}
	}
	t.Fatalf("the page has no block with %q", part)
	return ""
}

// TestReadmeExample types the commands around the example, and those that write
// schemas.
func TestReadmeExample(t *testing.T) {
	d := reader(t)
	codes := map[string]int{"init": 0, "run": 1, "inspect": 0, "compare": 3, "report": 0, "schema": 0}
	typed := 0
	for _, b := range indented(t, "README.md") {
		for line := range strings.Lines(b) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "./")
			if !ok || strings.Contains(command, "my-suite") {
				continue
			}
			command, file, redirected := strings.Cut(command, " > ")
			printed := d.run(command)
			if want := codes[strings.Fields(command)[1]]; d.code != want {
				t.Errorf("%s ends with %d, want %d:\n%s", command, d.code, want, printed)
			}
			if redirected {
				d.write(file, printed)
			}
			typed++
		}
	}
	if typed < 5 {
		t.Errorf("typed %d commands", typed)
	}
	for _, name := range regexp.MustCompile(`\$schema=(\S+)`).FindAllStringSubmatch(strings.Join(indented(t, "README.md"), ""), -1) {
		if _, err := os.Stat(filepath.Join(d.dir, name[1])); err != nil {
			t.Errorf("the editor is told to read a file that no command writes: %v", err)
		}
	}
}

// TestReadmeProbe walks from the URL of a service of an unknown shape to a gate,
// by the commands of the README and nothing else.
func TestReadmeProbe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Question string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/ask" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"took": 3, "reply": {"markdown": "A team plan has five seats [1]."}, "grounding": {"hits": [{"page": {"slug": "kb-03"}, "extract": "A team plan has five seats."}]}}`)
	}))
	defer server.Close()
	d := reader(t)
	var typed []string
	for line := range strings.Lines(strings.Join(indented(t, "README.md"), "")) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "./")
		if !ok || !strings.Contains(command, "my-suite") || strings.Contains(command, " init ") {
			continue
		}
		if strings.Contains(command, " check ") { // what the user writes before
			cases := readFile(t, filepath.Join(d.dir, "my-suite/data/cases.jsonl"))
			first, _, _ := strings.Cut(cases, "\n")
			first = regexp.MustCompile(`"answer":"[^"]*"`).ReplaceAllString(first, `"answer":"five seats"`)
			d.write("my-suite/data/cases.jsonl", regexp.MustCompile(`"doc_id":"[^"]*"`).ReplaceAllString(first, `"doc_id":"kb-03"`)+"\n")
		}
		printed := d.run(strings.ReplaceAll(command, "http://localhost:8000", server.URL))
		typed = append(typed, strings.Fields(command)[1])
		switch {
		case strings.Contains(command, " check ") && !(strings.Contains(printed, "answer_correct: passed") && strings.Contains(printed, "hit_rate_at_1: passed")):
			t.Errorf("%s:\n%s", command, printed)
		case strings.Contains(command, " run ") && (d.code != 3 || !strings.Contains(printed, "Gate: BLOCK (exit 3)")):
			t.Errorf("%s ends with %d, want 3: one case establishes nothing\n%s", command, d.code, printed)
		case !strings.Contains(command, " run ") && d.code != 0:
			t.Errorf("%s ends with %d\n%s", command, d.code, printed)
		}
	}
	if got := strings.Join(typed, " "); got != "probe probe check run" {
		t.Errorf("typed %s", got)
	}
}

// TestSuiteByHand makes a suite of the fragments of docs/endpoints.md, for a
// service that is asked and answers as the page says.
func TestSuiteByHand(t *testing.T) {
	blocks := indented(t, "docs/endpoints.md")
	answer, system := blockWith(t, blocks, `{"ok": true`), blockWith(t, blocks, "markers:")
	var asked struct{ Message, Session string }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-of-the-test" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/chat" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	d := reader(t)
	d.env = append(d.env, "RAG_TOKEN=secret-of-the-test")
	command := "oloproof init --url http://localhost:8000/chat by-hand"
	if !strings.Contains(strings.Join(blocks, ""), command+"\n") {
		t.Fatalf("docs/endpoints.md does not type %s", command)
	}
	d.run(command)
	written := regexp.MustCompile("(?m)^- `my-suite/([^`]+)`").FindAllStringSubmatch(readFile(t, "README.md"), -1)
	if len(written) != 3 {
		t.Errorf("README.md names %d files that are written", len(written))
	}
	d.dir = filepath.Join(d.dir, "by-hand")
	for _, name := range written {
		if _, err := os.Stat(filepath.Join(d.dir, name[1])); err != nil {
			t.Error(err)
		}
	}
	system = strings.ReplaceAll(strings.TrimSuffix(system, "\n"), "http://localhost:8000", server.URL)
	d.write("oloproof.yaml", "version: 1\nproject: own\ndataset: data/cases.jsonl\nsystem:\n  name: own\n  version: v\n  "+
		strings.ReplaceAll(system, "\n", "\n  ")+"\n"+blockWith(t, blocks, "evaluators:"))
	d.write("data/cases.jsonl", blockWith(t, blocks, `{"id": "seats"`))
	printed := d.run("oloproof check")
	for _, want := range []string{"answer_correct: passed", "hit_rate_at_2: passed", "citations_valid: passed", "retrieval/v1 (context): depth 4, 1 candidate: kb-03\n", "Next: oloproof run\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("oloproof check does not print %q:\n%s", want, printed)
		}
	}
	if asked.Message != "How many seats?" || len(asked.Session) != 36 {
		t.Errorf("the service was asked %+v", asked)
	}
	if printed := d.run("oloproof run"); d.code != 3 || strings.Contains(printed, "secret-of-the-test") {
		t.Errorf("oloproof run ends with %d, want 3: one case establishes nothing\n%s", d.code, printed)
	}
}

// TestReadmeWorkflow finds the steps of the README in the workflow of
// docs/github.md, which is checked by itself.
func TestReadmeWorkflow(t *testing.T) {
	steps := strings.Split(strings.TrimSpace(blockWith(t, indented(t, "README.md"), "uses: oloproof/")), "\n")
	workflow := readFile(t, "docs/github.md")
	for _, line := range steps {
		if !strings.Contains(workflow, strings.TrimSpace(line)+"\n") {
			t.Errorf("docs/github.md does not have the README's line %s", line)
		}
	}
	if len(steps) != 10 {
		t.Errorf("the README's steps take %d lines, want 10", len(steps))
	}
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	code      = regexp.MustCompile("`[^`\n]*`")
	titleLine = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every link between the pages, to its heading.
func TestLinks(t *testing.T) {
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "*/README.md", "examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	followed := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(readFile(t, page), ""), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			followed++
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !strings.Contains(slugs(readFile(t, target)), "\n"+anchor+"\n") {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], target)
			}
		}
	}
	if followed < 20 {
		t.Errorf("followed %d links", followed)
	}
}

// TestPagesHaveAMap: a long page tells at its beginning where everything stands.
func TestPagesHaveAMap(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text := readFile(t, page)
		if strings.Count(text, "\n") < 90 {
			continue
		}
		top, rest, _ := strings.Cut(text, "\n## ")
		for _, title := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllString("## "+rest, -1) {
			if anchor := "(#" + strings.TrimSpace(slugs(title)) + ")"; !strings.Contains(top, anchor) {
				t.Errorf("%s has no link to %s above its first heading", page, anchor)
			}
		}
	}
}

// slugs returns the names by which a page's headings are linked, one a line.
func slugs(page string) string {
	var b strings.Builder
	for _, m := range titleLine.FindAllStringSubmatch(page, -1) {
		b.WriteString("\n" + strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return b.String() + "\n"
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSuitePage checks every YAML block of docs/suite.md: the first is a whole
// suite, the others replace a part of it.
func TestSuitePage(t *testing.T) {
	d := exampleReader(t, "docs/suite.md")
	if err := os.Remove(filepath.Join(d.dir, "release.yaml")); err != nil { // its metrics are those of the whole suite
		t.Fatal(err)
	}
	d.env = append(d.env, "PREVIEW_URL=http://127.0.0.1", "RAG_TOKEN=token")
	d.write("data/questions.csv", "Nr;Frage;Antwort;Thema\n1;Wie viele Plätze?;fünf;billing\n") // of the page's data set of another form
	whole, parts := yamlBlocks(t, "docs/suite.md")
	if len(parts) < 4 {
		t.Errorf("docs/suite.md has %d fragments", len(parts))
	}
	for _, part := range append([]string{""}, parts...) {
		d.write("oloproof.yaml", withPart(whole, part))
		if printed := d.run("oloproof check --no-call"); d.code != 0 {
			t.Errorf("this part of docs/suite.md is refused:\n%s\n%s", part, printed)
		}
	}
}

// TestSuiteResponse calls a service that answers as docs/suite.md says, for the
// suite that it begins with.
func TestSuiteResponse(t *testing.T) {
	var response string
	for _, b := range splitPage(readFile(t, "docs/suite.md")) {
		if b.info == "json" && strings.Contains(b.text, `"evidence"`) {
			response = b.text
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, response)
	}))
	defer server.Close()
	d := exampleReader(t, "docs/suite.md")
	whole, _ := yamlBlocks(t, "docs/suite.md")
	d.write("oloproof.yaml", whole)
	printed := d.run("oloproof check --case seat_count --url " + server.URL)
	for _, want := range []string{
		"retrieval/v1: depth 6, 2 candidates: kb-03, kb-07\n",
		"context/v1: 1 item: kb-03; dropped kb-07 (top_k)\n",
		"citations/v1: 1 id: kb-03\n",
		"citations_valid: passed\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("oloproof check does not print %q:\n%s", want, printed)
		}
	}
}

// withPart puts a fragment in the place of the same key of a whole suite. A
// fragment of system.http takes the place of the whole system.
func withPart(whole, part string) string {
	if strings.HasPrefix(part, "http:") {
		part = "system:\n  name: s\n  version: v\n  " + strings.ReplaceAll(strings.TrimSuffix(part, "\n"), "\n", "\n  ") + "\n"
		// what the fragment does not record cannot be judged
		whole = regexp.MustCompile(`(?m)^  - \{type: citation_validity.*\n`).ReplaceAllString(whole, "")
	}
	key, _, _ := strings.Cut(part, ":")
	if part == "" {
		return whole
	}
	if key == "system" && !strings.Contains(part, "artifacts:") {
		whole = regexp.MustCompile(`(?m)^  - \{type: (hit_rate|recall|citation_validity).*\n`).ReplaceAllString(whole, "")
	}
	var kept strings.Builder
	skipped := false
	for line := range strings.Lines(whole) {
		if line[0] != ' ' && line[0] != '#' {
			skipped = strings.HasPrefix(line, key+":")
		}
		if !skipped {
			kept.WriteString(line)
		}
	}
	return kept.String() + part
}

// TestPolicyPage decides the example by the policy that docs/policies.md begins
// with, and holds its table of the least cases against what plan says.
func TestPolicyPage(t *testing.T) {
	d := exampleReader(t, "docs/policies.md")
	whole, _ := yamlBlocks(t, "docs/policies.md")
	d.write("release.yaml", whole)
	printed := d.run("oloproof run")
	if d.code != 1 {
		t.Errorf("the example ends with %d, want 1:\n%s", d.code, printed)
	}
	page := readFile(t, "docs/policies.md")
	printed += d.run("oloproof plan")
	for _, f := range regexp.MustCompile("[0-9]+\\.[0-9]%|`about [^`]*`").FindAllString(page, -1) {
		if !strings.Contains(printed, strings.Trim(f, "`")) {
			t.Errorf("docs/policies.md: no command prints %s", f)
		}
	}
	d.least(page)
}

// least holds the page's least numbers of cases against what plan says of a
// suite of three.
func (d *doc) least(page string) {
	t := d.t
	d.write("data/support.jsonl", strings.Join(strings.SplitAfter(d.read("data/support.jsonl"), "\n")[:3], ""))
	quantiles := "metrics:\n"
	for _, q := range []string{"50", "90", "95"} {
		quantiles += fmt.Sprintf("  - {type: quantile, id: p%s, source: latency_ms, quantile: 0.%s}\n", q, q)
	}
	d.write("oloproof.yaml", strings.Replace(d.read("oloproof.yaml"), "evaluators:\n", quantiles+"evaluators:\n  - {type: mrr, k: 2}\n", 1))
	var rules, want []string
	needs := func(rule, cases string) {
		rules = append(rules, fmt.Sprintf("  - {id: r%d, %s}\n", len(rules), rule))
		want = append(want, cases)
	}
	rows := regexp.MustCompile(`(?m)^\| (0\.[0-9]+) \| ([0-9]+) \| ([0-9]+) \|$`).FindAllStringSubmatch(page, -1)
	if len(rows) < 5 {
		t.Errorf("%s: found %d rows of least cases", d.path, len(rows))
	}
	for _, row := range rows {
		needs("metric: answer_correct, min: "+row[1], row[2])
		needs("metric: mrr_at_2, min: "+row[1], row[3])
	}
	ceilings := regexp.MustCompile(`([0-9]+)(?: cases)? for (p[0-9]+)`).FindAllStringSubmatch(page, -1)
	if len(ceilings) != 3 {
		t.Errorf("%s: found %d least cases of quantiles", d.path, len(ceilings))
	}
	for _, c := range ceilings {
		needs("metric: "+c[2]+", max: 100", c[1])
	}
	d.write("least.yaml", "version: 1\nrules:\n"+strings.Join(rules, ""))
	printed := d.run("oloproof plan --policy least.yaml")
	for i, cases := range want {
		if !regexp.MustCompile(fmt.Sprintf("(?m)^r%d .*it needs %s(;|$)", i, cases)).MatchString(printed) {
			t.Errorf("%s says %s cases for %s; plan says\n%s", d.path, cases, strings.TrimSpace(rules[i]), printed)
		}
	}
}

// TestStatisticsPage looks for the page's intervals of rates in what the example
// prints, with and without its candidate change.
func TestStatisticsPage(t *testing.T) {
	d := exampleReader(t, "docs/statistics.md")
	printed := d.run("oloproof run")
	d.write("oloproof.yaml", strings.Replace(d.read("oloproof.yaml"), `"127.0.0.1:${PORT}"]`, `"127.0.0.1:${PORT}", --expand-query]`, 1))
	printed += d.run("oloproof run")
	page := readFile(t, "docs/statistics.md")
	shown := regexp.MustCompile("\\[[0-9.]+%, [0-9.]+%\\]|about [0-9]+ more cases[^`]*").FindAllString(page, -1)
	if len(shown) < 4 {
		t.Errorf("docs/statistics.md shows %d intervals and planning lines", len(shown))
	}
	for _, figure := range shown {
		if !strings.Contains(printed, figure) {
			t.Errorf("docs/statistics.md: the example does not print %s", figure)
		}
	}
}

// exampleReader has the example project in the present directory.
func exampleReader(t *testing.T, page string) *doc {
	d := newDoc(t, page)
	d.run("oloproof init --example blackbox_rag .")
	return d
}

func (d *doc) read(name string) string { return readFile(d.t, filepath.Join(d.dir, name)) }

// yamlBlocks returns the first YAML block of a page and the others.
func yamlBlocks(t *testing.T, path string) (whole string, parts []string) {
	t.Helper()
	for _, b := range splitPage(readFile(t, path)) {
		switch {
		case b.info != "yaml":
		case whole == "":
			whole = b.text
		default:
			parts = append(parts, b.text)
		}
	}
	if whole == "" {
		t.Fatalf("%s has no YAML block", path)
	}
	return whole, parts
}

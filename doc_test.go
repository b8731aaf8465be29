package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTutorial types every command of docs/tutorial.md, in order, and compares
// what it prints with the page.
func TestTutorial(t *testing.T) { newDoc(t, "docs/tutorial.md").test() }

// TestTutorialStaged types every command of docs/tutorial-staged.md.
func TestTutorialStaged(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 is on PATH, and the page tries a reranker in Python")
	}
	newDoc(t, "docs/tutorial-staged.md").test()
}

// doc is a page of documentation that is being run. Its blocks are:
//
//   - ```console: commands behind "$ ", each followed by what it prints. A line
//     "..." stands for any number of lines;
//   - ```console server: one command that goes on beside those that follow;
//   - ```yaml NAME: a file that the reader is to write.
//
// Other blocks are left alone.
type doc struct {
	t       *testing.T
	path    string
	dir     string // where the reader is
	env     []string
	code    int    // of the last command, for echo $?
	port    string // what stands for the page's port
	stable  normaliser
	printed strings.Builder // everything, for the figures of the prose
}

// pagePort is the port that a page's server listens on. It is replaced by a free
// one while the page is run.
const pagePort = "8766"

func newDoc(t *testing.T, path string) *doc {
	t.Helper()
	typed(t)
	t.Parallel()
	port := freePort(t)
	return &doc{
		t: t, path: path, dir: t.TempDir(), port: port, stable: normaliser{port: port},
		env: append(os.Environ(), "OLOPROOF_HOME=", "OLOPROOF_ALLOW_EXEC=1", "GITHUB_SHA="),
	}
}

// typed leaves a test that runs the program hundreds of times to the run without
// -short: the race detector takes ten times as long to start it, and sees the same
// code in the scripts.
func typed(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program many times: left out by -short")
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func (d *doc) test() {
	page, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	blocks := splitPage(string(page))
	commands := 0
	for i := range blocks {
		switch b := &blocks[i]; {
		case b.info == "console":
			commands += d.console(b)
		case b.info == "console server":
			commands++
			d.server(b)
		case strings.HasPrefix(b.info, "yaml "):
			d.write(strings.TrimPrefix(b.info, "yaml "), b.text)
		}
	}
	if commands < 10 {
		d.t.Errorf("%s: found %d commands", d.path, commands)
	}
	d.figures(blocks)
	if now := joinPage(blocks); *update && now != string(page) && !d.t.Failed() {
		if err := os.WriteFile(d.path, []byte(now), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
}

// pageBlock is a fenced block, or the prose between two; info is then "".
type pageBlock struct {
	info string
	line int // of its first line of text, from 1
	text string
}

func splitPage(page string) []pageBlock {
	blocks := []pageBlock{{line: 1}}
	number := 0
	for line := range strings.Lines(page) {
		number++
		last := &blocks[len(blocks)-1]
		switch rest, fence := strings.CutPrefix(line, "```"); {
		case fence && last.info == "":
			blocks = append(blocks, pageBlock{info: strings.TrimSpace(rest), line: number + 1})
			if blocks[len(blocks)-1].info == "" {
				blocks[len(blocks)-1].info = "text"
			}
		case fence:
			blocks = append(blocks, pageBlock{line: number + 1})
		default:
			last.text += line
		}
	}
	return blocks
}

func joinPage(blocks []pageBlock) string {
	var b strings.Builder
	for _, x := range blocks {
		if x.info == "" {
			b.WriteString(x.text)
			continue
		}
		fmt.Fprintf(&b, "```%s\n%s```\n", x.info, x.text)
	}
	return b.String()
}

// step is a command of a block and what the page says it prints.
type step struct {
	line    int
	command string
	output  []string
}

func steps(t *testing.T, path string, b *pageBlock) []step {
	t.Helper()
	var list []step
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, step{line: b.line + i, command: command})
		} else if len(list) == 0 {
			t.Fatalf("%s:%d: a console block begins with a command behind \"$ \"", path, b.line)
		} else {
			last := &list[len(list)-1]
			last.output = append(last.output, line)
		}
	}
	return list
}

// console runs the commands of a block and returns how many there are.
func (d *doc) console(b *pageBlock) int {
	list := steps(d.t, d.path, b)
	for i := range list {
		d.check(&list[i], d.run(list[i].command))
	}
	b.text = blockText(list)
	return len(list)
}

func blockText(list []step) string {
	var lines []string
	for _, s := range list {
		lines = append(append(lines, "$ "+s.command), s.output...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// check compares what a step printed with the page, or corrects the page.
func (d *doc) check(s *step, printed string) {
	d.t.Helper()
	printed = strings.TrimSuffix(d.stable.apply(printed), "\n")
	d.printed.WriteString(printed + "\n")
	var got []string
	if printed != "" {
		got = strings.Split(printed, "\n")
	}
	if matches(s.output, got) {
		return
	}
	if *update {
		fresh, ok := renew(s.output, got)
		if !ok {
			d.t.Errorf("%s:%d: %s: a part between two \"...\" is not found any more; write it by hand from:\n%s", d.path, s.line, s.command, printed)
			return
		}
		s.output = fresh
		return
	}
	d.t.Errorf("%s:%d: %s prints something else (-page +now):\n%s", d.path, s.line, s.command, cmp.Diff(s.output, got))
}

// typed is a command of the page as it is to be typed here.
func (n *normaliser) typed(command string) string {
	command = strings.ReplaceAll(command, pagePort, n.port)
	for id, shown := range n.comparisons {
		command = strings.ReplaceAll(command, shown[:shownWord], id[:shownWord])
	}
	return command
}

// shellWords splits a command at its spaces, but for those in single quotes.
func shellWords(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

// run types a command and returns what it printed.
func (d *doc) run(command string) string {
	d.t.Helper()
	words := shellWords(d.stable.typed(command))
	switch {
	case words[0] == "cd" && len(words) == 2:
		d.dir = filepath.Join(d.dir, words[1])
		if _, err := os.Stat(d.dir); err != nil {
			d.t.Fatal(err)
		}
		return ""
	case command == "echo $?":
		return strconv.Itoa(d.code) + "\n"
	case words[0] == "cat" && len(words) == 2:
		text, err := os.ReadFile(filepath.Join(d.dir, words[1]))
		if err != nil {
			d.t.Fatal(err)
		}
		return string(text)
	case words[0] != "oloproof":
		d.t.Fatalf("%s: the page may type oloproof, cd, cat and echo $?, found %s", d.path, command)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		d.code = exit.ExitCode()
	case err != nil:
		d.t.Fatalf("%s: %v", command, err)
	default:
		d.code = 0
	}
	d.movePort()
	return string(out)
}

// movePort puts the free port in the place of the page's in the files that the
// reader has.
func (d *doc) movePort() {
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(pagePort)) {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(text, []byte(pagePort), []byte(d.port)), 0o644)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// server starts a command that goes on until the page ends, and reads what it
// says when it is ready.
func (d *doc) server(b *pageBlock) {
	list := steps(d.t, d.path, b)
	s := &list[0]
	words := strings.Fields(strings.ReplaceAll(s.command, pagePort, d.port))
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = d.dir, d.env
	said, err := cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		_ = cmd.Wait()
	})
	var printed []byte
	for buf := make([]byte, 1); !bytes.HasSuffix(printed, []byte("\n")); {
		if _, err := io.ReadFull(said, buf); err != nil {
			d.t.Fatalf("%s:%d: %s: %v after %q", d.path, s.line, s.command, err, printed)
		}
		printed = append(printed, buf...)
	}
	d.check(s, string(printed))
	b.text = blockText(list)
}

func (d *doc) write(name, text string) {
	if !filepath.IsLocal(name) {
		d.t.Fatalf("%s: the file %s does not lie in the reader's directory", d.path, name)
	}
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// matches reports whether the page's lines are those printed, where a line "..."
// stands for any number of lines.
func matches(page, printed []string) bool {
	parts := cut(page)
	if len(parts) == 1 {
		return equal(parts[0], printed)
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(first)+len(last) > len(printed) || !equal(first, printed[:len(first)]) || !equal(last, printed[len(printed)-len(last):]) {
		return false
	}
	rest := printed[len(first) : len(printed)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := find(part, rest, equal)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// cut splits lines at each "...".
func cut(lines []string) [][]string {
	parts := [][]string{nil}
	for _, line := range lines {
		if line == "..." {
			parts = append(parts, nil)
		} else {
			parts[len(parts)-1] = append(parts[len(parts)-1], line)
		}
	}
	return parts
}

func equal(a, b []string) bool {
	return strings.Join(a, "\n") == strings.Join(b, "\n") && len(a) == len(b)
}

// find returns where part begins in lines, -1 when it does not.
func find(part, lines []string, same func(a, b []string) bool) int {
	for i := 0; i+len(part) <= len(lines); i++ {
		if same(part, lines[i:i+len(part)]) {
			return i
		}
	}
	return -1
}

// renew returns the page's lines with what is printed now: all of it when the
// page leaves nothing out, else the parts that look the same but for figures.
func renew(page, printed []string) ([]string, bool) {
	parts := cut(page)
	if len(parts) == 1 {
		return printed, true
	}
	var fresh []string
	rest := printed
	for i, part := range parts {
		if i > 0 {
			fresh = append(fresh, "...")
		}
		at := find(part, rest, alike)
		if i == len(parts)-1 && len(part) <= len(rest) {
			at = len(rest) - len(part)
		}
		if at < 0 || i == 0 && at > 0 {
			return nil, false
		}
		fresh = append(fresh, rest[at:at+len(part)]...)
		rest = rest[at+len(part):]
	}
	return fresh, true
}

var figure = regexp.MustCompile(`[0-9.,·━┃●│ ]+`)

// alike compares lines without figures, bars and spaces.
func alike(a, b []string) bool {
	bare := func(lines []string) string { return figure.ReplaceAllString(strings.Join(lines, "\n"), "") }
	return bare(a) == bare(b)
}

// normaliser replaces what differs from run to run by what the pages show. It
// has a rule for run ids, times, ports and latencies, and none for figures.
type normaliser struct {
	port        string            // of the page's server
	ids         map[string]string // run ids, in the order in which they come
	comparisons map[string]string // ids of comparisons, which follow from those
}

// shownIDs are the run ids of the pages, the first for the first run.
var shownIDs = []string{
	"run_01M8PE9Q4ZK7T2V5XWB3D8H6NC", "run_01M8PEC2R6Y0J9F4S1GMA7KQ5T", "run_01M8PEDX3B8W5N2V7HCT4Z9R6J", "run_01M8PEF7V1Q4M9K6D3YSX0G8BH",
	"run_01M8PEGK2D7X4R9W1ZBN6H3T5V", "run_01M8PEH5Q8M1C6Y3KVG0S7J2FA", "run_01M8PEJ9W3B5T8N4RDX2Z6K1HQ", "run_01M8PEKT6Y0F2G9H5MCA4V8S3J",
	"run_01M8PEM1N7R3V6K0WTB5D9X2GC",
}

// shownComparisons are the ids of comparisons and diagnoses of the pages, the
// first for the first one. A page types their beginnings.
var shownComparisons = []string{
	"sha256:5b1e0c7d4a92f86310c5d7e2b94a60f3188d2c7be5f0946a73d1c82eb60f49a7",
	"sha256:c04f7a1b93e8d25610b7f4a9d83c5e21f60a94b7d2e8135c7b90f6a4e31d8c52",
	"sha256:7e92d05b1fa36c84e0d719b5c2483fa6915e70db84c3f2a1697b0e5d38c4a16f",
	"sha256:19c5f8e60a7d423b95e1b0c7f3a86d24e90b17c5d8f24a3b60e7915cd2af4083",
	"sha256:d36a0f914be8527c10f9d3e6a5b7824cf1e08d95b3a7c6420d9e5f18b07c4a2e",
}

// shownWord is how much of the id of a comparison a page types.
const shownWord = len("sha256:5b1e0c7d4a92")

var (
	comparisonID = regexp.MustCompile(`(Comparison |[Dd]iagnosis |oloproof report |oloproof inspect )(sha256:[0-9a-f]{64})`)
	runID        = regexp.MustCompile(`run_[0-9A-HJKMNP-TV-Z]{26}`)
	minute       = regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}\b`)
	local        = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	milliseconds = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ms\b`)
	cost         = regexp.MustCompile(`(?m)^ *calling the system for them takes .*\n`) // only there on a slow machine
)

func (n *normaliser) apply(s string) string {
	s = runID.ReplaceAllStringFunc(s, func(id string) string {
		if n.ids == nil {
			n.ids = map[string]string{}
		}
		if n.ids[id] == "" {
			n.ids[id] = shownIDs[len(n.ids)%len(shownIDs)]
		}
		return n.ids[id]
	})
	s = comparisonID.ReplaceAllStringFunc(s, func(found string) string {
		start := strings.Index(found, "sha256:")
		id := found[start:]
		if n.comparisons == nil {
			n.comparisons = map[string]string{}
		}
		if n.comparisons[id] == "" {
			n.comparisons[id] = shownComparisons[len(n.comparisons)%len(shownComparisons)]
		}
		return found[:start] + n.comparisons[id]
	})
	s = cost.ReplaceAllString(s, "")
	s = minute.ReplaceAllString(s, "2026-11-30 09:15")
	s = local.ReplaceAllStringFunc(s, func(p string) string {
		if p == "127.0.0.1:"+n.port {
			return "127.0.0.1:" + pagePort
		}
		return "127.0.0.1:41207"
	})
	return milliseconds.ReplaceAllString(s, "1.20 ms")
}

var proseFigure = regexp.MustCompile(`[0-9]+(\.[0-9]+)?%|\b[0-9]+ of [0-9]+\b|\b[0-9]+ (more|in total|cases|labelled)\b`)

// figures looks for every figure of the prose in what the commands printed.
func (d *doc) figures(blocks []pageBlock) {
	printed := strings.ReplaceAll(d.printed.String(), " / ", " of ")
	found := 0
	for _, b := range blocks {
		if b.info != "" {
			continue
		}
		for i, line := range strings.Split(b.text, "\n") {
			for _, f := range proseFigure.FindAllString(line, -1) {
				found++
				if !hasFigure(printed, strings.TrimSuffix(strings.TrimSuffix(f, " cases"), " labelled")) && !hasFigure(printed, strings.Replace(f, "%", ".0%", 1)) {
					d.t.Errorf("%s:%d: no command prints the figure %q", d.path, b.line+i, f)
				}
			}
		}
	}
	if found == 0 {
		d.t.Errorf("%s: found no figure in the prose", d.path)
	}
}

// hasFigure looks for a figure that is not the end of a longer one.
func hasFigure(s, f string) bool {
	return regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(f) + `($|[^0-9])`).MatchString(s)
}

// TestMatches compares pages with outputs.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		page, printed string
		want          bool
	}{
		{"a b", "a b", true},
		{"a b", "a b c", false},
		{"a ... c", "a b b c", true},
		{"a ... c", "a c", true},
		{"... b ... d", "a b c d", true},
		{"... b ... d", "a c d", false},
		{"... b ... d ...", "a d b", false},
		{"a ...", "b", false},
		{"a ... a", "a", false},
		{"", "a", false},
		{"...", "a", true},
	} {
		if got := matches(strings.Fields(c.page), strings.Fields(c.printed)); got != c.want {
			t.Errorf("matches(%q, %q) = %t", c.page, c.printed, got)
		}
	}
}

func TestRenew(t *testing.T) {
	for _, c := range []struct{ page, printed, want string }{
		{"a1", "a2 b", "a2 b"},
		{"a1 ... c3", "a2 b c4", "a2 ... c4"},
		{"a1 ... b1 ... d1", "a2 x b2 c d2", "a2 ... b2 ... d2"},
		{"... b1 ...", "a b2 c", "... b2 ..."},
		{"... b1 ...", "a c", ""},
	} {
		got, ok := renew(strings.Fields(c.page), strings.Fields(c.printed))
		if strings.Join(got, " ") != c.want || ok != (c.want != "") {
			t.Errorf("renew(%q, %q) = %q, %t", c.page, c.printed, got, ok)
		}
	}
}

func TestNormalise(t *testing.T) {
	n := normaliser{port: "5000"}
	id := "sha256:" + strings.Repeat("0", 64)
	if got := n.apply("Comparison " + id + ", of " + id); got != "Comparison "+shownComparisons[0]+", of "+id {
		t.Error(got)
	}
	if got := n.typed("oloproof report " + shownComparisons[0][:shownWord] + " at 8766"); got != "oloproof report "+id[:shownWord]+" at 5000" {
		t.Error(got)
	}
	got := n.apply("run_01M4FCBPE0G550CKCVGXCNEM2P at 127.0.0.1:5000, run_01M4FCBPE0G550CKCVGXCNEM2Q at 127.0.0.1:1, 2026-01-02 03:04, 12.5 ms, run_01M4FCBPE0G550CKCVGXCNEM2P 73.3%")
	want := shownIDs[0] + " at 127.0.0.1:8766, " + shownIDs[1] + " at 127.0.0.1:41207, 2026-11-30 09:15, 1.20 ms, " + shownIDs[0] + " 73.3%"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

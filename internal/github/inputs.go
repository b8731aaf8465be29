package github

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// Inputs are the inputs of the action, by the names of action.yml. Paths are as
// the user wrote them, from the working directory.
type Inputs struct {
	Command          Command       // command
	From             []string      // from: shard directories, or the artifact to report
	Config           string        // config
	Policy           string        // policy; empty: the suite's
	ComparePolicy    string        // compare-policy; empty: the suite's
	URL              string        // url; empty: the suite's
	Name             string        // name; empty: the config's path
	Baseline         Choice        // baseline
	BaselineLock     string        // baseline-lock; empty: none
	BaselineMaxAge   time.Duration // baseline-max-age; 0: no bound
	Token            string        // github-token; a secret
	Comment          CommentMode   // comment
	Summary          bool          // summary
	OutputDir        string        // output-dir
	WorkingDirectory string        // working-directory, from the workspace
	IncludeContent   bool          // include-content
	Concurrency      int           // concurrency; 0: the suite's
	Shard            Part          // shard; zero: the whole
	AllowedHosts     []string      // allowed-hosts; empty: the hosts of url and of the base commit's suite
	EnvAllow         []string      // env-allow: names of variables that the suite may read
	AllowExec        bool          // allow-exec
	Reports          []string      // reports, of ReportHTML, ReportJUnit and ReportJSON
}

// Command is what the action does.
type Command string

// The commands.
const (
	CommandGate   Command = "gate"
	CommandMerge  Command = "merge"
	CommandReport Command = "report"
)

// CommentMode says when the pull request gets a comment.
type CommentMode string

// The modes of the comment.
const (
	CommentAlways    CommentMode = "always"
	CommentOnChange  CommentMode = "on-change"  // when gate or states are not those that the comment says
	CommentOnFailure CommentMode = "on-failure" // when the job fails, and when it no longer does
	CommentNever     CommentMode = "never"
)

// The reports that are written beside the run.
const (
	ReportHTML  = "html"
	ReportJUnit = "junit"
	ReportJSON  = "json"
)

// Defaults of the inputs.
const (
	DefaultConfig    = "oloproof.yaml"
	DefaultOutputDir = "oloproof-out"
	// DefaultMaxAge is how old a baseline may be: as long as GitHub keeps
	// artifacts when nobody says otherwise.
	DefaultMaxAge = 90 * 24 * time.Hour
)

// ReadInputs reads the inputs from their environment variables: INPUT_OUTPUT-DIR
// as the runner sets it, or INPUT_OUTPUT_DIR, which a shell can set too. White
// space around a value is no part of it, and an empty one is the default. The
// error is a [problem.List] with everything that is wrong.
func ReadInputs(getenv func(string) string) (*Inputs, error) {
	r := inputReader{getenv: getenv}
	in := &Inputs{
		Command:          Command(r.choice("command", string(CommandGate), string(CommandMerge), string(CommandReport))),
		From:             r.list("from"),
		Config:           r.text("config", DefaultConfig),
		Policy:           r.text("policy", ""),
		ComparePolicy:    r.text("compare-policy", ""),
		URL:              r.text("url", ""),
		Name:             r.text("name", ""),
		Baseline:         r.choiceOfBaseline(),
		BaselineLock:     r.text("baseline-lock", ""),
		BaselineMaxAge:   r.age("baseline-max-age", DefaultMaxAge),
		Token:            r.text("github-token", ""),
		Comment:          CommentMode(r.choice("comment", string(CommentAlways), string(CommentOnChange), string(CommentOnFailure), string(CommentNever))),
		Summary:          r.truth("summary", true),
		OutputDir:        r.text("output-dir", DefaultOutputDir),
		WorkingDirectory: r.text("working-directory", "."),
		IncludeContent:   r.truth("include-content", false),
		Concurrency:      r.count("concurrency"),
		Shard:            r.part("shard"),
		AllowedHosts:     r.list("allowed-hosts"),
		EnvAllow:         r.list("env-allow"),
		AllowExec:        r.truth("allow-exec", false),
		Reports:          r.choices("reports", ReportHTML, ReportJUnit, ReportJSON),
	}
	r.checkNames("env-allow", in.EnvAllow)
	later := in.Command == CommandMerge || in.Command == CommandReport
	if later && len(in.From) == 0 {
		r.fail("from", "is not set: the command %s needs it, one path a line", in.Command)
	}
	if in.Command == CommandGate && len(in.From) > 0 {
		r.fail("from", "is only for the commands merge and report")
	}
	if later && in.Shard != (Part{}) {
		r.fail("shard", "is only for the command gate")
	}
	return in, r.problems.Err()
}

// CheckEvent refuses what must not decide over a proposed change: files that
// the change itself may have brought as its baseline.
func (in *Inputs) CheckEvent(event *Event) error {
	if event.Proposes() && in.Baseline.Path != "" {
		return problem.Errorf("input baseline: a path is not allowed for the event %s, whose files the change itself may have written: want auto, none, or the id of a workflow run", event.Name)
	}
	return nil
}

// InputVariable returns the name of the environment variable of an input, as
// the runner sets it.
func InputVariable(name string) string { return "INPUT_" + strings.ToUpper(name) }

// inputReader reads inputs and collects what is wrong.
type inputReader struct {
	getenv   func(string) string
	problems problem.List
}

func (r *inputReader) fail(name, format string, args ...any) {
	r.problems.Add(problem.Problem{Message: "input " + name + " " + fmt.Sprintf(format, args...)})
}

func (r *inputReader) text(name, fallback string) string {
	variable := InputVariable(name)
	for _, v := range []string{variable, strings.ReplaceAll(variable, "-", "_")} {
		if value := strings.TrimSpace(r.getenv(v)); value != "" {
			if strings.ContainsRune(value, 0) {
				r.fail(name, "holds a zero byte")
				return fallback
			}
			return value
		}
	}
	return fallback
}

// choice reads one of the allowed words; the first is the default.
func (r *inputReader) choice(name string, allowed ...string) string {
	value := r.text(name, allowed[0])
	r.checkChoice(name, value, allowed)
	return value
}

func (r *inputReader) checkChoice(name, value string, allowed []string) {
	if slices.Contains(allowed, value) {
		return
	}
	hint := ""
	if near := problem.Nearest(value, allowed); near != "" {
		hint = ", did you mean " + near + "?"
	}
	r.fail(name, "is %q%s (allowed: %s)", value, hint, strings.Join(allowed, ", "))
}

func (r *inputReader) choiceOfBaseline() Choice {
	c, err := ParseChoice(r.text("baseline", ""))
	if err != nil {
		r.fail("baseline", "is %q, want auto, none, the id of a workflow run, or a path", r.text("baseline", ""))
	}
	return c
}

// choices reads a list of allowed words; all of them when there is none.
func (r *inputReader) choices(name string, allowed ...string) []string {
	values := r.list(name)
	if len(values) == 0 {
		return allowed
	}
	for _, v := range values {
		r.checkChoice(name, v, allowed)
	}
	return values
}

// list reads values, one a line or separated by commas, each once.
func (r *inputReader) list(name string) []string {
	var values []string
	for v := range strings.FieldsFuncSeq(r.text(name, ""), func(c rune) bool { return c == ',' || c == '\n' || c == '\r' }) {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// truth reads a boolean in the spellings of the YAML 1.2 core schema.
func (r *inputReader) truth(name string, fallback bool) bool {
	switch value := r.text(name, strconv.FormatBool(fallback)); value {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	default:
		r.fail(name, "is %q (allowed: true, false)", value)
		return fallback
	}
}

// count reads a number from 1; 0 when there is none.
func (r *inputReader) count(name string) int {
	value := r.text(name, "")
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		r.fail(name, "is %q, want a whole number from 1", value)
		return 0
	}
	return n
}

// Part says which part of the data set a job runs: part Index of Count, counted
// from 1. The zero Part is the whole.
type Part struct{ Index, Count int }

// String returns 3/8, or "" for the whole.
func (p Part) String() string {
	if p.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Count)
}

// maxParts is the most parts of a data set: GitHub's limit for the jobs of a matrix.
const maxParts = 256

var errPart = errors.New("want I/N with I from 1 to N, such as 3/8")

// ParsePart reads a part such as 3/8.
func ParsePart(s string) (Part, error) {
	index, of, ok := strings.Cut(s, "/")
	i, err := strconv.Atoi(strings.TrimSpace(index))
	n, err2 := strconv.Atoi(strings.TrimSpace(of))
	switch {
	case !ok || err != nil || err2 != nil || i < 1 || i > n:
		return Part{}, errPart
	case n > maxParts:
		return Part{}, fmt.Errorf("want at most %d parts, the most jobs of a matrix", maxParts)
	}
	return Part{Index: i, Count: n}, nil
}

func (r *inputReader) part(name string) Part {
	value := r.text(name, "")
	if value == "" {
		return Part{}
	}
	p, err := ParsePart(value)
	if err != nil {
		r.fail(name, "is %q, %v", value, err)
	}
	return p
}

// age reads a time span such as 30d, 12h or 2w; none is no bound.
func (r *inputReader) age(name string, fallback time.Duration) time.Duration {
	value := r.text(name, "")
	switch value {
	case "":
		return fallback
	case "none":
		return 0
	}
	unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[value[len(value)-1]]
	n, err := strconv.Atoi(value[:len(value)-1])
	const most = 10 * 365 * 24 * time.Hour
	if unit == 0 || err != nil || n < 1 || time.Duration(n) > most/unit {
		r.fail(name, "is %q, want hours, days or weeks such as 12h, 30d or 8w, at most ten years, or none", value)
		return fallback
	}
	return time.Duration(n) * unit
}

// reservedPrefixes begin the names of variables in which the runner keeps its
// own tokens: a suite under review must not be able to send them anywhere.
func reservedPrefixes() []string { return []string{"GITHUB_", "ACTIONS_", "INPUT_", "RUNNER_"} }

func (r *inputReader) checkNames(name string, variables []string) {
	for _, v := range variables {
		for _, p := range reservedPrefixes() {
			if strings.HasPrefix(strings.ToUpper(v), p) {
				r.fail(name, "names %s: variables that start with %s are the runner's and never reach a suite", v, p)
			}
		}
		if strings.ContainsAny(v, "= \t*") {
			r.fail(name, "names %q, want the name of a variable, one a line", v)
		}
	}
}

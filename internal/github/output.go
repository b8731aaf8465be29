package github

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
)

// Outputs are the outputs of the action, by the names of action.yml.
type Outputs struct {
	GateAction    string // gate-action: ALLOW, WARN, BLOCK; empty when nothing was decided
	ExitCode      int    // exit-code
	RunID         string // run-id: ours
	ArtifactName  string // artifact-name
	OutputDir     string // output-dir: from the workspace
	ResultFile    string // result-file: from the workspace
	ReportFile    string // report-file: from the workspace
	BaselineRunID int64  // baseline-run-id: GitHub's; 0 for none
	BaselineSHA   string // baseline-sha
	BaselineState string // baseline-state
	CommentURL    string // comment-url
	Passed        int    // passed: rules in that state, as the three after it
	Failed        int    // failed
	Insufficient  int    // insufficient
	Review        int    // review
	Missing       int    // missing: cases
	PolicySource  string // policy-source
	Relaxations   int    // relaxations
}

// The names of the outputs. No other name is ever written.
const (
	outGateAction    = "gate-action"
	outExitCode      = "exit-code"
	outRunID         = "run-id"
	outArtifactName  = "artifact-name"
	outOutputDir     = "output-dir"
	outResultFile    = "result-file"
	outReportFile    = "report-file"
	outBaselineRunID = "baseline-run-id"
	outBaselineSHA   = "baseline-sha"
	outBaselineState = "baseline-state"
	outCommentURL    = "comment-url"
	outPassed        = "passed"
	outFailed        = "failed"
	outInsufficient  = "insufficient"
	outReview        = "review"
	outMissing       = "missing"
	outPolicySource  = "policy-source"
	outRelaxations   = "relaxations"
)

// output is one output.
type output struct{ name, value string }

// list returns every output in a fixed order. One without a value is written
// too: it is empty rather than left from elsewhere.
func (o *Outputs) list() []output {
	baseline := ""
	if o.BaselineRunID != 0 {
		baseline = strconv.FormatInt(o.BaselineRunID, 10)
	}
	return []output{
		{outGateAction, o.GateAction},
		{outExitCode, strconv.Itoa(o.ExitCode)},
		{outRunID, o.RunID},
		{outArtifactName, o.ArtifactName},
		{outOutputDir, o.OutputDir},
		{outResultFile, o.ResultFile},
		{outReportFile, o.ReportFile},
		{outBaselineRunID, baseline},
		{outBaselineSHA, o.BaselineSHA},
		{outBaselineState, o.BaselineState},
		{outCommentURL, o.CommentURL},
		{outPassed, strconv.Itoa(o.Passed)},
		{outFailed, strconv.Itoa(o.Failed)},
		{outInsufficient, strconv.Itoa(o.Insufficient)},
		{outReview, strconv.Itoa(o.Review)},
		{outMissing, strconv.Itoa(o.Missing)},
		{outPolicySource, o.PolicySource},
		{outRelaxations, strconv.Itoa(o.Relaxations)},
	}
}

// describe fills in what a document says. A rule of a file that is decided both
// as it stands at the base commit and as proposed counts once, in its graver
// state.
func (o *Outputs) describe(d *report.Document) {
	o.RunID = d.Run.ID
	if d.Gate != nil {
		o.GateAction = d.Gate.Action
	}
	states := map[[2]string]policy.State{}
	for _, p := range d.Policies {
		for _, x := range p.Decisions {
			rule := [2]string{p.Path, x.Rule}
			if s := policy.State(x.State); gravity(s) > gravity(states[rule]) {
				states[rule] = s
			}
		}
	}
	for _, s := range states {
		switch s {
		case policy.Pass:
			o.Passed++
		case policy.Fail:
			o.Failed++
		case policy.InsufficientEvidence:
			o.Insufficient++
		case policy.ManualReview:
			o.Review++
		}
	}
	o.Missing = d.Run.Counts.Error + d.Run.Counts.NotRun
	for i := range d.Metrics {
		o.Missing = max(o.Missing, d.Metrics[i].Cases.Missing)
	}
	o.Relaxations = len(d.Relaxations)
	if d.Baseline != nil {
		o.BaselineState, o.BaselineSHA = d.Baseline.State, d.Baseline.Commit
	}
}

// gravity orders the states of a rule; 0 is no state.
func gravity(s policy.State) int {
	switch s {
	case policy.Pass:
		return 1
	case policy.InsufficientEvidence:
		return 2
	case policy.ManualReview:
		return 3
	case policy.Fail:
		return 4
	}
	return 0
}

// writeOutputs appends the outputs to the file that GITHUB_OUTPUT names.
// go-githubactions v1.3.2 would write them with a constant delimiter, so that a
// value could end itself and start another output.
func writeOutputs(path string, random io.Reader, secrets *redact.Redactor, o *Outputs) error {
	var b strings.Builder
	for _, x := range o.list() {
		entry, err := outputEntry(random, x.name, secrets.String(x.value))
		if err != nil {
			return err
		}
		b.WriteString(entry)
	}
	return appendLines(path, b.String())
}

// delimiterBytes is 128 bits: no value can be made to hold the delimiter.
const delimiterBytes = 16

// outputEntry is one output in the grammar of the file: NAME=VALUE for a line,
// and otherwise the lines between two lines of a delimiter.
func outputEntry(random io.Reader, name, value string) (string, error) {
	value = strings.ToValidUTF8(value, "\uFFFD")
	if !strings.ContainsAny(value, "\r\n") {
		return name + "=" + value + "\n", nil
	}
	digits := make([]byte, delimiterBytes)
	if _, err := io.ReadFull(random, digits); err != nil {
		return "", fmt.Errorf("write the output %s: %w", name, err)
	}
	delimiter := "oloproof_" + hex.EncodeToString(digits)
	if strings.Contains(value, delimiter) {
		return "", fmt.Errorf("write the output %s: its value holds the delimiter", name)
	}
	return name + "<<" + delimiter + "\n" + value + "\n" + delimiter + "\n", nil
}

// appendLines appends text to a file in one write, on a line of its own.
func appendLines(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	begun, err := lineBegun(f)
	if err == nil {
		if begun {
			text = "\n" + text
		}
		_, err = io.WriteString(f, text)
	}
	return errors.Join(err, f.Close())
}

// lineBegun reports whether a file ends within a line.
func lineBegun(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

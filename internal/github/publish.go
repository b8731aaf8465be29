package github

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
)

// Publication is a result and where it is to be shown. The zero value of a
// field leaves out what it stands for.
type Publication struct {
	// The result.
	ExitCode int
	Document *report.Document // nil when nothing was decided
	Trouble  *Trouble         // why the job ends with 2, or was interrupted
	Review   *Review          // what would release what the suite was relaxed by; nil: nothing waits for that
	Failing  []report.FailingCase
	// Content gives the cases with their questions and answers; nil unless
	// include-content.
	Content report.CaseLines
	Next    []string // commands to try next; nil: the document's own
	// Case returns the command that shows a case once the files were fetched, ""
	// when none can; nil names the run by its id.
	Case func(id string) string

	// Where the result comes from.
	Name             string // of the suite: the key of the comment and the artifact
	Part             Part
	WorkingDirectory string // of policy and suite paths, from the workspace
	PolicySource     string // the output policy-source
	BaselineRunID    int64  // GitHub's id of the baseline's workflow run; 0: none
	BaselineSHA      string // empty: the document's
	BaselineState    string // empty: the document's

	// The files.
	Workspace *Workspace // nil: no files are written
	OutputDir string     // from the workspace; empty: no files are written
	Bundle    fs.FS      // run.json, judgments.jsonl and cases.jsonl of the run; nil: there is none
	Reports   []Rendering

	// Where it is shown.
	Log         *Log   // nil: nowhere
	SummaryPath string // GITHUB_STEP_SUMMARY; empty: no summary
	OutputPath  string // GITHUB_OUTPUT; empty: no outputs
	Comment     CommentPlan
	Ref         string // GITHUB_REF
	RunID       int64  // GitHub's id of this workflow run
	Attempt     int
	RunURL      string    // its page
	Random      io.Reader // for delimiters; nil: the system's
	// Notices are degradations met before: each becomes one annotation.
	Notices []Annotation
}

// Rendering is a file of the output directory that a renderer writes.
type Rendering struct {
	Name   string // HTMLFile or JUnitFile
	Render func(io.Writer) error
}

// Trouble is why nothing was decided, or why the decision does not stand alone.
type Trouble struct {
	Title  string // our own words: Configuration error
	Err    error  // a problem.List gives places
	Remedy string // what to do; our own words
}

// Published says what was shown where.
type Published struct {
	Outputs Outputs
	Comment CommentResult
	Summary bool
	Files   []string // names in the output directory
	// Annotations are those that were written, degradations included.
	Annotations []Annotation
}

// Publish shows a result: files, summary, comment, outputs, annotations, and
// last the line of the gate. Nothing that goes wrong here changes the exit code:
// each trouble is one notice. A context that has ended stops the comment only.
func Publish(ctx context.Context, p Publication) Published {
	if p.Log == nil {
		p.Log = NewLog(io.Discard, false)
	}
	if p.Random == nil {
		p.Random = rand.Reader
	}
	w := publisher{Publication: &p}
	w.done.Outputs = Outputs{ExitCode: p.ExitCode, ArtifactName: ArtifactName(p.Name, p.Ref, p.Part.String()), PolicySource: p.PolicySource}
	if p.Document != nil {
		w.done.Outputs.describe(p.Document)
	}
	w.done.Outputs.baseline(&p)
	w.files()
	w.summary()
	w.comment(ctx)
	w.outputs()
	w.annotations()
	p.Log.EndGroup()
	if g := p.gateLine(); g != "" {
		fmt.Fprintln(p.Log, g)
	}
	return w.done
}

// publisher is one publication on its way.
type publisher struct {
	*Publication
	notices []Annotation
	done    Published
}

// degrade notes that something could not be shown.
func (w *publisher) degrade(title string, err error) {
	w.notices = append(w.notices, Annotation{Level: LevelNotice, Title: title, Message: err.Error()})
}

func (o *Outputs) baseline(p *Publication) {
	o.BaselineRunID = p.BaselineRunID
	if p.BaselineSHA != "" {
		o.BaselineSHA = p.BaselineSHA
	}
	if p.BaselineState != "" {
		o.BaselineState = p.BaselineState
	}
}

// files writes the output directory.
func (w *publisher) files() {
	if w.Workspace == nil || w.OutputDir == "" {
		return
	}
	const title = "Results were not written"
	dir, err := w.Workspace.output(w.OutputDir)
	if err != nil {
		w.degrade(title, err)
		return
	}
	defer dir.close()
	secrets := w.Log.Redactor()
	w.done.Outputs.OutputDir = w.OutputDir
	wrote := func(name string, err error) bool {
		if err != nil {
			w.degrade(title, err)
			return false
		}
		w.done.Files = append(w.done.Files, name)
		return true
	}
	if w.Document != nil {
		if wrote(documentFile, dir.rendered(documentFile, secrets, w.json)) {
			w.done.Outputs.ResultFile = path.Join(w.OutputDir, documentFile)
		}
	}
	if w.Bundle != nil {
		wrote(manifestFile, dir.bundle(w.Bundle, w.Content != nil, secrets))
	}
	for _, r := range w.Reports {
		if wrote(r.Name, dir.rendered(r.Name, secrets, r.Render)) && r.Name == HTMLFile {
			w.done.Outputs.ReportFile = path.Join(w.OutputDir, HTMLFile)
		}
	}
	if w.silent() {
		return
	}
	text, err := fitted(maxComment, secrets, w.markdown)
	if err == nil {
		err = dir.write(CommentFile, func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err
		})
	}
	wrote(CommentFile, err)
}

func (w *publisher) json(to io.Writer) error { return report.JSON(to, w.Document) }

// silent reports whether there is nothing to say: a shard decides nothing.
func (p *Publication) silent() bool { return p.Document == nil && p.Trouble == nil }

func (w *publisher) summary() {
	if w.SummaryPath == "" || w.silent() {
		return
	}
	if err := writeSummary(w.SummaryPath, w.Log.Redactor(), w.markdown); err != nil {
		w.degrade("The job summary was not written", err)
		return
	}
	w.done.Summary = true
}

func (w *publisher) comment(ctx context.Context) {
	result, err := w.newComment().post(ctx)
	w.done.Comment = result
	w.done.Outputs.CommentURL = result.URL
	switch {
	case err != nil:
		w.degrade("No comment was written", fmt.Errorf("%w; the job summary has the result", err))
	case result.Reason != "" && result.State != CommentOff:
		fmt.Fprintf(w.Log, "The comment was left as it is: %s\n", result.Reason)
	}
}

func (w *publisher) outputs() {
	if w.OutputPath == "" {
		return
	}
	if err := writeOutputs(w.OutputPath, w.Random, w.Log.Redactor(), &w.done.Outputs); err != nil {
		w.degrade("The outputs were not written", err)
	}
}

// annotations writes at most one error and eight notices: what could not be
// shown first, then the other rules that do not pass, then what is laxer than before.
func (w *publisher) annotations() {
	var all []Annotation
	e, told, ok := w.blocked()
	if ok {
		all = append(all, e)
	}
	notices := append(append([]Annotation(nil), w.Notices...), w.notices...)
	if w.Trouble != nil && w.ExitCode == decide.ExitFail { // a FAIL is the graver one
		a := w.Trouble.annotation(w.WorkingDirectory, w.secrets())
		a.Level = LevelNotice
		notices = append(notices, a)
	}
	notices = append(notices, w.ruleNotices(told)...)
	notices = append(notices, w.relaxationNotices()...)
	if more := len(notices) - maxNotices; more > 0 {
		last := &notices[maxNotices-1]
		*last = Annotation{Level: LevelNotice, Title: "More", Message: fmt.Sprintf("%d more notices: the report has every rule and every change", more+1)}
		notices = notices[:maxNotices]
	}
	for _, a := range append(all, notices...) {
		w.Log.annotate(a)
		w.done.Annotations = append(w.done.Annotations, a)
	}
}

// blocked is the one error: why the job fails, and the decision that it tells of.
func (w *publisher) blocked() (_ Annotation, told *report.Decision, _ bool) {
	if w.Trouble != nil && w.ExitCode != decide.ExitFail {
		return w.Trouble.annotation(w.WorkingDirectory, w.secrets()), nil, true
	}
	d := w.Document
	if w.ExitCode == 0 || d == nil || d.Gate == nil {
		return Annotation{}, nil, false
	}
	blocking := w.blocking()
	a := Annotation{Level: LevelError, Title: blockedTitle(d.Gate, w.ExitCode, blocking), Message: d.Gate.Meaning}
	if len(blocking) > 0 {
		a.File, a.Line = w.ruleLine(blocking[0])
		told = blocking[0].decision
		a.Message += "\n" + ruleMessage(told)
	}
	return a, told, true
}

// blocking returns the rules that may be why the gate blocks, the gravest
// first: with exit code 3 a FAIL is none of them, the policy only warns of it.
func (w *publisher) blocking() []placed {
	var some []placed
	for _, x := range unpassed(w.Document) {
		blocks := x.policy.Gate.Action == string(decide.Block)
		if blocks && (w.ExitCode != decide.ExitBlocked || x.decision.State != string(policy.Fail)) {
			some = append(some, x)
		}
	}
	return some
}

// blockedTitle tells a failed gate from one that lacks evidence.
func blockedTitle(g *report.Gate, code int, blocking []placed) string {
	switch {
	case code == decide.ExitFail:
		return "Gate failed"
	case code == decide.ExitTrouble:
		return "Nothing was decided"
	case code > 100:
		return "Interrupted"
	case slices.Contains(g.Reasons, "policy_moved"):
		return "Blocked: the policy of the base branch was moved"
	case slices.Contains(g.Reasons, decide.GatePartialRun):
		return "Blocked: not every case ran"
	}
	in := func(s policy.State) bool {
		return slices.ContainsFunc(blocking, func(x placed) bool { return x.decision.State == string(s) })
	}
	switch {
	case in(policy.InsufficientEvidence) && in(policy.ManualReview):
		return "Blocked: insufficient evidence, and a person has to look"
	case in(policy.InsufficientEvidence):
		return "Blocked: insufficient evidence"
	case in(policy.ManualReview):
		return "Blocked: a person has to look"
	}
	return "Blocked"
}

// placed is a decision with the policy that it comes from.
type placed struct {
	policy   *report.Policy
	decision *report.Decision
}

// unpassed returns the decisions that do not pass, each rule of a file once, the
// gravest first.
func unpassed(d *report.Document) []placed {
	var all []placed
	for want := gravity(policy.Fail); want > gravity(policy.Pass); want-- {
		for i := range d.Policies {
			p := &d.Policies[i]
			for j := range p.Decisions {
				x := placed{p, &p.Decisions[j]}
				if gravity(policy.State(x.decision.State)) == want && !has(all, x) {
					all = append(all, x)
				}
			}
		}
	}
	return all
}

func has(all []placed, x placed) bool {
	for _, y := range all {
		if y.policy.Path == x.policy.Path && y.decision.Rule == x.decision.Rule {
			return true
		}
	}
	return false
}

// rolePolicyBase is the role of a policy as it stands at the base commit, whose
// lines are not those of the files under review.
const rolePolicyBase = "base"

// ruleLine returns the place of a rule in the files of the commit that is tested.
func (w *publisher) ruleLine(x placed) (file string, line int) {
	if x.policy.Path == "" || strings.HasPrefix(x.policy.Path, "builtin:") {
		return "", 0
	}
	file, line = w.file(x.policy.Path), x.decision.Line
	if x.policy.Role != rolePolicyBase {
		return file, line
	}
	for _, p := range w.Document.Policies {
		for _, d := range p.Decisions {
			if p.Role != rolePolicyBase && p.Path == x.policy.Path && d.Rule == x.decision.Rule {
				return file, d.Line
			}
		}
	}
	return file, 0
}

// file returns the path of a file from the repository's root; "" when it lies
// elsewhere.
func (w *publisher) file(name string) string { return repositoryFile(w.WorkingDirectory, name) }

func repositoryFile(working, name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if path.IsAbs(name) {
		return ""
	}
	if name = path.Join(working, name); name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
		return ""
	}
	return name
}

// ruleNotices tells of the rules that do not pass, but for the one that the error
// tells of.
func (w *publisher) ruleNotices(told *report.Decision) []Annotation {
	if w.Document == nil {
		return nil
	}
	var all []Annotation
	for _, x := range unpassed(w.Document) {
		if x.decision == told {
			continue
		}
		a := Annotation{Level: LevelNotice, Title: x.decision.Rule + ": " + x.decision.State, Message: ruleMessage(x.decision)}
		a.File, a.Line = w.ruleLine(x)
		all = append(all, a)
	}
	return all
}

// ruleMessage says in a line or two why a rule is in its state.
func ruleMessage(d *report.Decision) string {
	parts := []string{d.Rule + ": " + d.Metric}
	if d.Slice != nil {
		parts[0] += " of " + *d.Slice
	}
	if figure := strings.TrimSpace(d.Figure()); figure != "" {
		parts = append(parts, figure)
	}
	if d.Requires != "" {
		parts = append(parts, "requires "+d.Requires)
	}
	text := strings.Join(parts, ", ") + ": " + d.State
	if len(d.Reasons) > 0 {
		text += " (" + strings.Join(d.Reasons, ", ") + ")"
	}
	if d.Planning != nil && d.Planning.Line != "" {
		text += "\n" + d.Planning.Line
	}
	return text
}

func (w *publisher) relaxationNotices() []Annotation {
	if w.Document == nil {
		return nil
	}
	var all []Annotation
	for _, r := range w.Document.Relaxations {
		all = append(all, Annotation{Level: LevelNotice, Title: "Laxer than before", Message: r.Text, File: w.file(r.File), Line: r.Line})
	}
	return all
}

// annotation is the error of a job in trouble, at its first place.
func (t *Trouble) annotation(working string, secrets *redact.Redactor) Annotation {
	a := Annotation{Level: LevelError, Title: t.Title, Message: strings.Join(t.lines(secrets), "\n")}
	var list problem.List
	if errors.As(t.Err, &list) && len(list) > 0 && list[0].File != "" {
		a.File, a.Line = repositoryFile(working, list[0].File), list[0].Line
	}
	return a
}

// secrets takes the secrets out of text; there are none without a log.
func (p *Publication) secrets() *redact.Redactor {
	if p.Log == nil {
		return nil
	}
	return p.Log.Redactor()
}

// lines is what is known of a trouble, without secrets: nothing knows them any
// more once their text is broken or cut.
func (t *Trouble) lines(secrets *redact.Redactor) []string {
	var all []string
	if t.Err != nil {
		all = strings.Split(secrets.String(t.Err.Error()), "\n")
		for i := range all {
			all[i] = strings.TrimPrefix(all[i], t.Title+": ") // the title says it
		}
	}
	if t.Remedy != "" {
		all = append(all, t.Remedy)
	}
	return all
}

// gateLine is the last line of the log.
func (p *Publication) gateLine() string {
	switch {
	case p.Trouble != nil && p.ExitCode != decide.ExitFail:
		return fmt.Sprintf("%s (exit %d)", p.Trouble.Title, p.ExitCode)
	case p.Document != nil && p.Document.Gate != nil:
		return fmt.Sprintf("Gate: %s (exit %d)", p.Document.Gate.Action, p.ExitCode)
	}
	return ""
}

// markdown is the block of summary and comment in at most so many bytes. Its
// first line is the gate.
func (p *Publication) markdown(budget int) (string, error) {
	trouble, review := p.troubleMarkdown(budget/2), p.reviewMarkdown()
	if p.Document == nil {
		return trouble, nil
	}
	var b strings.Builder
	err := report.Markdown(&b, p.Document, report.MarkdownOptions{Budget: budget - len(trouble) - len(review), Failing: p.Failing, Content: p.Content, Next: p.Next, Case: p.Case})
	// Trouble stands below the gate, or below what it means where that is the graver.
	at := 1
	if p.ExitCode == decide.ExitFail {
		at = 2
	}
	return below(below(b.String(), 2, review), at, trouble), err
}

// below puts a block behind the first so many of a text.
func below(text string, blocks int, block string) string {
	parts := strings.SplitN(text, "\n\n", blocks+1)
	if block = strings.TrimRight(block, "\n"); block == "" {
		return text
	}
	if len(parts) <= blocks {
		return strings.TrimRight(text, "\n") + "\n\n" + block + "\n"
	}
	return strings.Join(slices.Insert(parts, blocks, block), "\n\n")
}

// reviewMarkdown says how people release a change of the suite.
func (p *Publication) reviewMarkdown() string {
	if p.Review == nil {
		return ""
	}
	return fmt.Sprintf("Where the change of the suite is meant, someone with write access sets the label %s after the last push, and runs the job again. So far: %s\n\n",
		report.Code(p.Review.Label), report.Code(p.Review.Why))
}

// troubleMarkdown tells of trouble. Its texts name files and quote lines of
// them, so they are foreign.
func (p *Publication) troubleMarkdown(budget int) string {
	t := p.Trouble
	if t == nil {
		return ""
	}
	var b strings.Builder
	if p.Document == nil {
		fmt.Fprintf(&b, "### ⚪ Gate: none, nothing was decided (exit %d)\n\n", p.ExitCode)
	}
	fmt.Fprintf(&b, "**%s**\n\n", report.Prose(t.Title))
	lines := t.lines(p.secrets())
	for i, line := range lines {
		item := ""
		for n, part := range wrapped(line) { // one item, of several lines
			item += [2]string{"- ", "  "}[min(n, 1)] + report.Code(part) + "\n"
		}
		if b.Len()+len(item) > budget {
			fmt.Fprintf(&b, "- and %d more lines, which the log has\n", len(lines)-i)
			break
		}
		b.WriteString(item)
	}
	return b.String() + "\n"
}

// wrapWidth is the most characters of a line that [report.Code] keeps whole.
const wrapWidth = 180

// wrapped breaks a long line between words.
func wrapped(line string) []string {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	var parts []string
	at := ""
	for _, word := range strings.Fields(line) {
		if at != "" && len([]rune(at))+len([]rune(word)) >= wrapWidth {
			parts, at = append(parts, at), ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(parts, at)
}

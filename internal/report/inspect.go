package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// mostOutput is the most characters of an output in a list of failures.
const mostOutput = 160

// CaseLines calls visit for every recorded case of a run, in data set order,
// and returns the first error, its own or that of visit.
type CaseLines = func(visit func(l evidence.CaseLine) error) error

// Failures lists the cases of a run that failed a pass/fail criterion, whose
// execution or a judgment errored, or that did not finish. At most limit of
// them are shown; 0 shows all. m is the run's manifest.
func Failures(w io.Writer, lines CaseLines, m *evidence.Manifest, limit int) error {
	var list bytes.Buffer // bounded: outputs and messages are cut
	p := newPrinter(&list, 0, false)
	seen, found := 0, 0
	err := lines(func(l evidence.CaseLine) error {
		seen++
		if !failed(&l, m) {
			return nil
		}
		found++
		if limit <= 0 || found <= limit {
			p.failure(&l, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	total := max(m.Counts.Cases, seen)
	unrecorded := total - seen
	out := newPrinter(w, 0, false)
	out.raw(fmt.Sprintf("%d of %s failed, errored or did not finish", found+unrecorded, count(total, "case")))
	if _, err := out.w.Write(list.Bytes()); err != nil {
		return err
	}
	if more := found - limit; limit > 0 && more > 0 {
		out.blank()
		out.raw(fmt.Sprintf("%d more; --limit 0 shows all", more))
	}
	if unrecorded > 0 {
		out.blank()
		out.raw(count(unrecorded, "case") + " did not finish: oloproof run --resume runs what is left")
	}
	return out.flush()
}

func failed(l *evidence.CaseLine, m *evidence.Manifest) bool {
	return l.Execution.Status != evidence.StatusOK || slices.ContainsFunc(l.Judgments, func(j evidence.NamedJudgment) bool {
		return failedWord(j, m) != ""
	})
}

// failedWord says how a judgment failed; "" when it did not. Scores do not fail.
func failedWord(j evidence.NamedJudgment, m *evidence.Manifest) string {
	switch {
	case j.State == evidence.Missing:
		return "errored (" + Clean(j.Reason) + ")"
	case j.State == evidence.Judged && passFail(j, m) && j.Value != 1:
		return "failed"
	}
	return ""
}

// passFail reports whether a criterion judges by pass and fail. One that the
// manifest does not know is taken for one when its value is 0 or 1.
func passFail(j evidence.NamedJudgment, m *evidence.Manifest) bool {
	if i := specIndex(m, j.Criterion); i >= 0 {
		return m.Metrics[i].Kind == evidence.Rate
	}
	return j.Value == 0 || j.Value == 1
}

func specIndex(m *evidence.Manifest, criterion string) int {
	return slices.IndexFunc(m.Metrics, func(s evidence.MetricSpec) bool { return s.ID == criterion })
}

// inOrder returns the judgments in the order of the suite's evaluators.
func inOrder(list []evidence.NamedJudgment, m *evidence.Manifest) []evidence.NamedJudgment {
	place := func(j evidence.NamedJudgment) int {
		if i := specIndex(m, j.Criterion); i >= 0 {
			return i
		}
		return len(m.Metrics)
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b evidence.NamedJudgment) int { return place(a) - place(b) })
}

// failure prints one case of the list.
func (p *printer) failure(l *evidence.CaseLine, m *evidence.Manifest) {
	p.blank()
	p.raw(Clean(l.Case.ID))
	switch e := &l.Execution; {
	case e.Status == evidence.StatusOK:
		p.raw("  output: " + cutRunes(compact(e.Output), mostOutput))
	case e.Status == evidence.StatusNotRun:
		p.raw("  not run: the run stopped before this case finished")
	default:
		p.raw("  error: " + cutRunes(errorLine(e), 3*mostOutput))
	}
	for _, j := range inOrder(l.Judgments, m) {
		if j.Reason == evidence.ReasonExecutionError || j.Reason == evidence.ReasonNotRun {
			continue // the line above says it
		}
		if word := failedWord(j, m); word != "" {
			p.raw("  " + Clean(j.Criterion) + ": " + word)
		}
	}
}

// errorLine says kind, attempts and message of a failed execution.
func errorLine(e *evidence.Execution) string {
	line := Clean(strings.ToLower(string(e.Status)))
	if x := e.Error; x != nil {
		line = Clean(string(x.Kind))
		if x.HTTPStatus != 0 {
			line += " " + strconv.Itoa(x.HTTPStatus)
		}
	}
	if n := len(e.Attempts); n > 0 {
		line += ", " + count(n, "attempt")
	}
	if e.Error != nil && e.Error.Message != "" {
		line += ": " + Clean(e.Error.Message)
	}
	return line
}

// compact returns JSON on one line, with spaces after commas and colons, safe
// to print.
func compact(v evidence.Value) string {
	b, err := jsontext.AppendFormat(nil, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		b = v
	}
	return Clean(string(b))
}

// cutRunes returns at most limit characters of s, the last an ellipsis when
// something was cut.
func cutRunes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n, last := 0, 0
	for i := range s {
		if n == limit-1 {
			last = i
		}
		if n == limit {
			return s[:last] + "…"
		}
		n++
	}
	return s
}

// Case prints everything that was recorded of one case; m is the run's manifest.
func Case(w io.Writer, l evidence.CaseLine, m *evidence.Manifest) error {
	p := newPrinter(w, 0, false)
	p.raw("case " + Clean(l.Case.ID))
	if l.Case.GroupID != "" {
		p.raw("group: " + Clean(l.Case.GroupID))
	}
	p.value("input", l.Case.Input)
	p.value("expected", l.Case.Expected)
	p.value("metadata", l.Case.Metadata)
	p.execution(&l.Execution)
	p.raw("judgments:")
	for _, j := range inOrder(l.Judgments, m) {
		p.judgment(j, m)
	}
	return p.flush()
}

// execution prints what happened when the system was called.
func (p *printer) execution(e *evidence.Execution) {
	p.tries(e)
	if x := e.Error; x != nil {
		p.raw("error: " + errorLine(e))
		if x.URL != "" {
			p.raw("  at " + Clean(x.URL))
		}
		switch {
		case x.Snippet != "" && x.URL != "":
			p.raw("  body: " + Clean(x.Snippet))
		case x.Snippet != "":
			p.lines(x.Snippet)
		}
	}
	if e.Log != "" {
		p.raw("log:")
		p.lines(e.Log)
	}
	p.value("output", e.Output)
	if len(e.RawOutput) > 0 {
		p.value("as it came", e.RawOutput)
	}
	p.artifacts(&e.Artifacts)
}

// lines prints what a program wrote, as it stood there.
func (p *printer) lines(text string) {
	for line := range strings.Lines(text) {
		p.raw("  | " + Clean(strings.TrimRight(line, "\n")))
	}
}

// tries prints how a call went, and its attempts when there were several.
func (p *printer) tries(e *evidence.Execution) {
	p.raw("execution: " + executionWords(e))
	if len(e.Attempts) > 1 {
		p.raw("attempts:")
		for i, a := range e.Attempts {
			p.raw(fmt.Sprintf("  %d  %s", i+1, attemptWords(a)))
		}
	}
}

func executionWords(e *evidence.Execution) string {
	words := []string{Clean(string(e.Status))}
	if e.FromCache {
		words = append(words, "reused from the cache: the system was not called")
	}
	for _, stage := range []struct{ name, how string }{{"retrieval", e.Stages.Retrieve}, {"generation", e.Stages.Generate}} {
		if stage.how == evidence.StageHit {
			words = append(words, stage.name+" reused from the cache")
		}
	}
	if e.Status != evidence.StatusNotRun {
		words = append(words, milliseconds(e.LatencyMS))
	}
	if n := len(e.Attempts); n > 0 {
		words = append(words, count(n, "attempt"))
	}
	return strings.Join(words, ", ")
}

func attemptWords(a evidence.Attempt) string {
	what := "answered"
	if a.Error != "" {
		what = Clean(string(a.Error))
	}
	if a.HTTPStatus != 0 {
		what += " " + strconv.Itoa(a.HTTPStatus)
	}
	what += ", " + milliseconds(a.LatencyMS)
	if a.WaitMS > 0 {
		what += ", after waiting " + milliseconds(a.WaitMS)
	}
	return what
}

func milliseconds(ms float64) string { return QuantileScale("ms", ms).Estimate(ms) }

func (p *printer) artifacts(a *evidence.Artifacts) {
	all := evidence.AppendArtifacts(nil, a)
	if string(all) == "{}" {
		p.raw("artifacts: none")
		return
	}
	p.value("artifacts", all)
}

// value prints JSON over several lines behind its name; nothing when there is none.
func (p *printer) value(name string, v evidence.Value) {
	if len(v) == 0 {
		return
	}
	p.raw(name + ": " + indented(v))
}

// indented returns JSON over several lines, safe to print.
func indented(v evidence.Value) string {
	b, err := jsontext.AppendFormat(nil, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true), jsontext.WithIndent("  "))
	if err != nil {
		b = v
	}
	return strings.Join(cleanAll(strings.Split(string(b), "\n")), "\n")
}

// judgment prints a criterion, what it says, and the detail below.
func (p *printer) judgment(j evidence.NamedJudgment, m *evidence.Manifest) {
	p.raw("  " + Clean(j.Criterion) + ": " + judgmentWord(j, m))
	if j.Detail != "" {
		for line := range strings.SplitSeq(j.Detail, "\n") {
			p.raw("    " + Clean(line))
		}
	}
	if a := j.Asked; a != nil {
		p.raw("    asked: " + Clean(askedWords(a, j.Cached)))
		if a.Reply != "" {
			p.raw("    reply: " + Clean(a.Reply))
		}
	}
}

// askedWords says how a judge came to a judgment.
func askedWords(a *evidence.Asked, cached bool) string {
	words := []string{}
	for _, w := range []string{a.Model, a.Prompt, a.Route} {
		if w != "" {
			words = append(words, w)
		}
	}
	if a.Probability != nil {
		words = append(words, "probability "+strconv.FormatFloat(*a.Probability, 'g', 4, 64))
	}
	switch {
	case cached:
		words = append(words, "in an earlier run")
	case a.Calls > 0:
		words = append(words, count(a.Calls, "call"), grouped(a.InputTokens)+" tokens in", grouped(a.OutputTokens)+" out")
	}
	if a.CostUSD != nil {
		words = append(words, dollars(*a.CostUSD))
	}
	return strings.Join(words, ", ")
}

func judgmentWord(j evidence.NamedJudgment, m *evidence.Manifest) string {
	switch {
	case j.State == evidence.NotApplicable:
		return "excluded (" + Clean(j.Reason) + ")"
	case j.State == evidence.Missing:
		return "errored (" + Clean(j.Reason) + ")"
	case !passFail(j, m):
		return strconv.FormatFloat(j.Value, 'g', -1, 64)
	case j.Passed():
		return "passed"
	}
	return "failed"
}

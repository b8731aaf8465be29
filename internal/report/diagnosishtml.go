package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

//go:embed web/diagnosis.html
var diagnosisSource string

//go:embed web/diagnosis.css
var diagnosisStyle string

// DiagnosisHTMLOptions says what a page holds besides its diagnosis. The case
// lines are nil where content is not to be shown, or is not there any more.
type DiagnosisHTMLOptions struct {
	Recorded  CaseLines // of the run whose cases were selected
	Control   CaseLines // of the run without the intervention
	Changed   CaseLines // of the run with the intervention
	Limit     int       // the most bytes that cases may take; 0: 4.5 MB
	NoContent string    // why there is no content; "" when it was not asked for
}

// DiagnosisHTML writes a diagnosis as one page that needs nothing else: what was
// recorded, what was changed, what followed, case by case.
func DiagnosisHTML(w io.Writer, d *Diagnosis, opt DiagnosisHTMLOptions) error {
	p, err := newDiagnosisPage(d, opt)
	if err != nil {
		return err
	}
	return writePage(w, diagnosisSource, p)
}

// diagnosisPage is all that the template shows. Every string in it is clean.
type diagnosisPage struct {
	Security          string
	Style             template.CSS
	Script            template.JS
	Title, Name, When string
	Headline, Under   string
	Meaning           string
	Warnings          []string
	Runs              []definition
	Labels            []diagnosisLabel
	Implicated        []diagnosisStage
	With, Without     string // headings of the outcomes; Without is "" without a control
	Cases             []diagnosisCase
	More              string
	Facts             []definition
	Notes             []string
	Glossary          []glossaryGroup
	Footer            string
	Carried, Content  bool
	MoreText          string
	Overview          bool     // there are so many cases that a table helps
	Kinds             []string // labels, to filter by

	doc  *Diagnosis
	left int
}

type diagnosisLabel struct {
	Tone, Label, Reason, Phrase, Count string
	Share                              string // width of its bar
}

type diagnosisStage struct {
	Line        string
	Experiments []string
}

// diagnosisCase is one case: what was recorded, what was changed, what followed.
type diagnosisCase struct {
	ID, Anchor                    string
	Tone, Label, Reason, Strength string
	Position                      string
	Recorded, Changed             string
	Strip                         []diagnosisBox
	Unchanged, Intervened         diagnosisOutcome
	Meaning                       string
	Parts                         []definition
}

type diagnosisOutcome struct{ Tone, Glyph, Word string }

// diagnosisBox is one candidate of the retrieval.
type diagnosisBox struct {
	Rank        int
	Class, Text string
}

func newDiagnosisPage(d *Diagnosis, opt DiagnosisHTMLOptions) (*diagnosisPage, error) {
	style := pageStyle + diagnosisStyle
	p := &diagnosisPage{
		Security: security(style, pageScript), Style: template.CSS(style), Script: template.JS(pageScript),
		Name: Clean(cmp.Or(d.Run.Name, d.Run.Suite.Path)), When: moment(d.FinishedAt), Notes: cleanAll(d.Notes),
		Carried: d.LabelsFrom != nil, Content: opt.Recorded != nil,
		doc: d, left: cmp.Or(opt.Limit, defaultLimit),
	}
	p.head()
	p.labels()
	p.cases()
	if err := p.content(opt); err != nil {
		return nil, err
	}
	p.facts()
	p.Glossary = diagnosisWords()
	p.Footer = "Written by " + Clean(strings.TrimSpace(d.Tool.Name+" "+d.Tool.Version)) + ". This page needs no network and holds no figure that its diagnosis does not hold."
	return p, nil
}

func (p *diagnosisPage) head() {
	d := p.doc
	n := d.Counts
	under := Clean(d.Intervention.String())
	criterion := Clean(d.Criterion)
	switch {
	case n.Selected == 0:
		p.Headline, p.Under = "Nothing to diagnose", "no failed case says which passages answer it"
		p.Meaning = fmt.Sprintf("No case that failed %s declares expected.gold_context, so no intervention could be tried.", criterion)
	case !d.Executed:
		p.Headline, p.Under = "Unresolved", "nothing was executed"
		p.Meaning = fmt.Sprintf("%s failed %s. The system answers in one call, so it cannot be handed other passages in place of its own, and nothing can be said about the stage that failed.",
			count(n.Selected, "selected case"), criterion)
	default:
		p.Headline, p.Under = fmt.Sprintf("%d of %d recovered", n.Recovered, n.Selected), "under "+under
		p.With = "With " + under
		p.Meaning = fmt.Sprintf("%s failed %s in the run. Generation was executed again %s: %s recovered.",
			count(n.Selected, "selected case"), criterion, changedWords(d.Intervention), countVerb(n.Recovered))
		if d.Control == diagnose.FreshSample {
			p.Without = "Unchanged"
			p.Meaning += fmt.Sprintf(" Executed again unchanged, %s passed.", countVerb(n.ControlPassed))
		}
	}
	if d.Control == diagnose.NoControl {
		p.Warnings = append(p.Warnings, "There was no control: that a case fails again when nothing is changed is an assumption ("+Clean(d.Assumption)+").")
	}
	for _, x := range d.Selection.Excluded {
		p.Warnings = append(p.Warnings, fmt.Sprintf("Excluded: %s, %s. %s", count(len(x.Cases), "failed case"), Clean(x.Reason), sentence(exclusionRemedy(x.Reason))))
	}
	if u := d.Selection.Unjudged; u > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s could not be judged in the run and are neither selected nor excluded.", count(u, "case")))
	}
	add := func(name, value string) {
		if value != "" {
			p.Runs = append(p.Runs, definition{name, value})
		}
	}
	add("Run", Clean(d.Run.ID))
	add("System", Clean(strings.TrimSpace(d.Run.System.Name+" "+d.Run.System.Version)))
	add("Criterion", criterion)
	add("Intervention", under)
	add("Scope", "these selected cases only; nothing is said of others")
	p.Title = fmt.Sprintf("%s %s · %s", p.Headline, p.Under, p.Name)
}

func countVerb(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// changedWords says what an intervention does, after "executed again".
func changedWords(i diagnose.Intervention) string {
	switch i.Kind {
	case diagnose.GoldContext:
		return "with the passages that answer the question in place of the retrieved context"
	case diagnose.TopK:
		return fmt.Sprintf("with the recorded retrieval cut at top_k %d", i.TopK)
	}
	return "with the recorded retrieval in the order of " + Clean(i.Reranker)
}

func labelTone(l diagnose.Label) string {
	switch l {
	case diagnose.RetrievalMiss, diagnose.RankedOut, diagnose.ContextAssemblyLoss:
		return "review"
	case diagnose.GenerationFailure:
		return "fail"
	}
	return "open"
}

func (p *diagnosisPage) labels() {
	d := p.doc
	for _, l := range d.Labels {
		p.Labels = append(p.Labels, diagnosisLabel{
			Tone: labelTone(l.Label), Label: Clean(string(l.Label)), Reason: Clean(l.Reason), Phrase: sentence(labelPhrase(l)),
			Count: fmt.Sprintf("%d of %d", l.Cases, d.Counts.Selected), Share: percent(float64(l.Cases) / float64(max(d.Counts.Selected, 1))),
		})
	}
	for _, l := range p.Labels {
		p.Kinds = appendNew(p.Kinds, l.Label)
	}
	for _, i := range d.Implicated {
		s := diagnosisStage{Line: implicatedLine(i)}
		for _, e := range i.Experiments {
			s.Experiments = append(s.Experiments, d.experimentLine(e, Clean(d.Parent), ""))
		}
		p.Implicated = append(p.Implicated, s)
	}
}

func outcomeOf(o diagnose.Outcome) diagnosisOutcome {
	switch o {
	case diagnose.Passed:
		return diagnosisOutcome{"pass", "●", "passed"}
	case diagnose.Failed:
		return diagnosisOutcome{"fail", "■", "failed"}
	case diagnose.Missing:
		return diagnosisOutcome{"open", "○", "missing"}
	}
	return diagnosisOutcome{"none", "", ""}
}

// fewCases are so few that they need no table to find one.
const fewCases = 5

// cases adds the cases as far as there is room.
func (p *diagnosisPage) cases() {
	for i := range p.doc.Cases {
		c := &p.doc.Cases[i]
		x := diagnosisCase{
			ID: Clean(c.ID), Anchor: fmt.Sprintf("case-%d", i+1), Tone: labelTone(c.Label), Label: Clean(string(c.Label)), Reason: Clean(c.Reason),
			Strength: Clean(string(c.Strength)), Position: positionWord(c.Position), Meaning: reasonMeaning(c.Reason),
			Recorded: recordedWords(c), Changed: p.changed(c), Strip: strip(c), Unchanged: outcomeOf(c.Control), Intervened: outcomeOf(c.Intervention),
		}
		if !p.take(1500 + 2*len(x.ID) + 110*len(x.Strip)) {
			p.More = fmt.Sprintf("%s more are not shown here: oloproof inspect %s lists all.", count(len(p.doc.Cases)-i, "case"), Clean(string(p.doc.ID)))
			break
		}
		p.Cases = append(p.Cases, x)
	}
	p.Overview = len(p.Cases) > fewCases
}

func (p *diagnosisPage) take(bytes int) bool {
	if p.left < bytes {
		return false
	}
	p.left -= bytes
	return true
}

// recordedWords says what the run recorded of a case.
func recordedWords(c *diagnose.LabelledCase) string {
	if c.Retrieved == nil {
		return "The run recorded no retrieval of this case."
	}
	n := map[string]int{}
	for _, p := range c.Retrieved.Candidates {
		n[p.Fate]++
	}
	if len(c.Retrieved.Candidates) == 0 {
		return "Nothing was retrieved."
	}
	parts := []string{count(len(c.Retrieved.Candidates), "passage") + " retrieved"}
	if c.Position != nil {
		parts = append(parts, fmt.Sprintf("the first relevant one at %d", *c.Position))
	} else {
		parts = append(parts, "none known to be relevant")
	}
	for _, f := range []struct{ fate, words string }{
		{diagnose.FateContext, "reached the model"}, {diagnose.FateBudget, "dropped for the token budget"},
		{diagnose.FateTopK, "below top-k"}, {diagnose.FateUnknown, "of unknown fate"},
	} {
		if n[f.fate] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[f.fate], f.words))
		}
	}
	return strings.Join(parts, "; ") + "."
}

// changed says what was changed for a case.
func (p *diagnosisPage) changed(c *diagnose.LabelledCase) string {
	d := p.doc
	switch i := d.Intervention; {
	case !d.Executed:
		return "Nothing: the system takes no other context."
	case i.Kind == diagnose.GoldContext:
		return sentence(count(c.Gold, "gold passage") + " in place of the context")
	case i.Kind == diagnose.TopK:
		return fmt.Sprintf("The recorded passages, cut at top_k %d.", i.TopK)
	}
	return sentence("the recorded passages, in the order of " + Clean(d.Intervention.Reranker))
}

func strip(c *diagnose.LabelledCase) []diagnosisBox {
	if c.Retrieved == nil {
		return nil
	}
	var boxes []diagnosisBox
	for i, p := range c.Retrieved.Candidates {
		b := diagnosisBox{Rank: i + 1}
		switch p.Fate {
		case diagnose.FateContext:
			b.Class, b.Text = "in", "reached the model"
		case diagnose.FateBudget:
			b.Class, b.Text = "cut", "dropped for the token budget"
		case diagnose.FateTopK:
			b.Class, b.Text = "low", "below top-k"
		default:
			b.Class, b.Text = "lost", "not known what became of it"
		}
		if p.Relevant {
			b.Class, b.Text = b.Class+" rel", "relevant, "+b.Text
		}
		boxes = append(boxes, b)
	}
	return boxes
}

// content adds the texts of the cases, as far as there is room: first what the
// run recorded of each, then what came of executing it again.
func (p *diagnosisPage) content(opt DiagnosisHTMLOptions) error {
	if opt.Recorded == nil {
		p.MoreText = sentence(opt.NoContent)
		return nil
	}
	at := map[string]int{}
	for i := range p.Cases {
		at[p.doc.Cases[i].ID] = i
	}
	without := map[string]bool{}
	gather := func(lines CaseLines, parts func(l *evidence.CaseLine) []definition) error {
		if lines == nil {
			return nil
		}
		return lines(func(l evidence.CaseLine) error {
			i, ok := at[l.Case.ID]
			if !ok {
				return nil
			}
			for _, d := range parts(&l) {
				if !p.take(60 + len(d.Text) + len(d.Text)/8) {
					without[l.Case.ID] = true
					break
				}
				p.Cases[i].Parts = append(p.Cases[i].Parts, d)
			}
			return nil
		})
	}
	err := gather(opt.Recorded, func(l *evidence.CaseLine) []definition {
		parts := []definition{{"Input", cutText(indented(l.Case.Input))}, {"Expected", cutText(indented(l.Case.Expected))}}
		if len(l.Execution.Artifacts.Retrieval) == 1 {
			parts = append(parts, definition{"Retrieved", cutText(passageList(l.Execution.Artifacts.Retrieval[0].Candidates))})
		}
		return append(parts, answerOf("Answer in the run", l))
	})
	if err == nil {
		err = gather(opt.Control, func(l *evidence.CaseLine) []definition { return []definition{answerOf("Answer unchanged", l)} })
	}
	if err == nil {
		name := "Answer with " + Clean(p.doc.Intervention.String())
		err = gather(opt.Changed, func(l *evidence.CaseLine) []definition { return []definition{answerOf(name, l)} })
	}
	if len(without) > 0 {
		p.MoreText = fmt.Sprintf("Some texts of %s do not fit here: oloproof inspect %s --case ID shows them. ", count(len(without), "case"), Clean(p.doc.Run.ID))
	}
	p.MoreText = strings.TrimSpace(p.MoreText + sentence(opt.NoContent))
	return err
}

func answerOf(name string, l *evidence.CaseLine) definition {
	if l.Execution.Error != nil {
		return definition{name, cutText(errorLine(&l.Execution))}
	}
	return definition{name, cutText(indented(l.Execution.Output))}
}

// passageList writes passages one a line, with their ranks.
func passageList(passages []evidence.Passage) string {
	if len(passages) == 0 {
		return "nothing"
	}
	lines := make([]string, len(passages))
	for i := range passages {
		name := passages[i].DocID
		if passages[i].ChunkID != "" {
			name += "#" + passages[i].ChunkID
		}
		text := ""
		if passages[i].Text != nil {
			text = *passages[i].Text
		}
		lines[i] = fmt.Sprintf("%d  %s  %s", i+1, Clean(name), cutRunes(Clean(text), mostOutput))
	}
	return strings.Join(lines, "\n")
}

func (p *diagnosisPage) facts() {
	d := p.doc
	add := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			p.Facts = append(p.Facts, definition{name, Clean(value)})
		}
	}
	add("Diagnosis", string(d.ID))
	add("Rules", d.Rules)
	add("Selection", digested(d.Selection.Rule, string(d.Selection.Digest)))
	if d.LabelsFrom != nil {
		add("Labels from", fmt.Sprintf("%s: %d of %d recovered", d.LabelsFrom.ID, d.LabelsFrom.Recovered, d.LabelsFrom.Selected))
	}
	for _, c := range d.ChildRuns {
		add("Child run", c.Name+" "+c.Run)
	}
	add("Run", d.Run.ID)
	add("Suite", digested(d.Run.Suite.Path, string(d.Run.Suite.Digest)))
	add("Data set", digested(d.Run.Dataset.Path, string(d.Run.Dataset.Digest)))
	add("System", digested(strings.TrimSpace(d.Run.System.Name+" "+d.Run.System.Version), string(d.Run.System.Digest)))
	add("Commit", d.Run.Commit)
	add("Made", strings.Trim(moment(d.StartedAt)+" to "+moment(d.FinishedAt), " to"))
	add("Tool", d.Tool.Name+" "+d.Tool.Version)
}

// reasonMeaning says what a reason establishes, and what not.
func reasonMeaning(reason string) string {
	for _, g := range diagnosisWords() {
		for _, d := range g.Terms {
			if d.Term == reason {
				return d.Text
			}
		}
	}
	return ""
}

// diagnosisWords are the words that a page uses.
func diagnosisWords() []glossaryGroup {
	return []glossaryGroup{
		{"Labels", []definition{
			{string(diagnose.RetrievalMiss), "No relevant passage was retrieved, and the case passes with the gold passages. It does not establish that retrieval is the only trouble, or that some change of it is the cure."},
			{string(diagnose.RankedOut), "A relevant passage was retrieved and stands below top-k, and the case passes with the gold passages. It does not establish that a larger top-k helps other cases."},
			{string(diagnose.ContextAssemblyLoss), "A relevant passage within top-k was left out of the context, and the case passes with the gold passages. It does not establish what budget would be enough."},
			{string(diagnose.GenerationFailure), "The case fails with the gold passages in hand. It does not establish that the model is at fault rather than the prompt or the expected value."},
			{string(diagnose.Unresolved), "Nothing can be concluded about the case."},
		}},
		{"Why a case has its label", []definition{
			{diagnose.ReasonNotRetrieved, "None of the retrieved passages is one that the case names as relevant."},
			{diagnose.ReasonBelowTopK, "The first relevant passage stands below top-k, so it never reached the model."},
			{diagnose.ReasonDropped, "A relevant passage was within top-k and did not fit the context."},
			{diagnose.ReasonFailsWithGold, "The answer fails although the passages that hold it were given."},
			{diagnose.ReasonUnsupported, "The system answers in one call, so no stage of it can be executed alone."},
			{diagnose.ReasonEvidenceMissing, "An execution errored or could not be judged, or the run did not record what the label needs."},
			{diagnose.ReasonUnstable, "The case passed when nothing was changed: its failure comes and goes, and the intervention explains nothing."},
			{diagnose.ReasonNoLabels, "The case does not name relevant passages, so what was retrieved cannot be told to be right or wrong."},
			{diagnose.ReasonUnitMismatch, "The case names chunks, and a passage of such a document does not say which chunk it is."},
			{diagnose.ReasonInContext, "A relevant passage had reached the model, so no loss on the way explains the failure."},
		}},
		{"How strong a label is", []definition{
			{string(diagnose.InterventionRecovery), "The case failed unchanged and passed with the gold passages."},
			{string(diagnose.InterventionNonRecovery), "The case failed with the gold passages as well."},
			{string(diagnose.ReplayConfirmed), "A replay of the recorded retrieval recovered the case too."},
			{string(diagnose.NoStrength), "The label rests on nothing that was changed."},
		}},
	}
}

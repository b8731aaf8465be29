package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

// DiagnosisSchema is the version of a stored diagnosis. A change of meaning is a
// new one.
const DiagnosisSchema = "oloproof/diagnosis/v1"

// Diagnosis is a stored diagnosis, and what diagnose --json prints.
type Diagnosis struct {
	Schema string        `json:"schema" jsonschema:"enum=oloproof/diagnosis/v1"`
	Tool   evidence.Tool `json:"tool"`
	Run    Run           `json:"run"` // whose cases were selected
	diagnose.Diagnosis
	// ChildRuns are the runs that executed cases again; none when nothing was
	// executed. Neither they nor the times are part of the id.
	ChildRuns  []ChildRun `json:"child_runs"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt time.Time  `json:"finished_at"`
	Notes      []string   `json:"notes"`
}

// ChildRun is a run that a diagnosis made.
type ChildRun struct {
	Name string `json:"name"` // gold context, control, top-k 4, replay control
	Role string `json:"role" jsonschema:"enum=intervention,enum=control"`
	Run  string `json:"run"`
	// Carried is set for the runs behind the labels that a replay carries.
	Carried bool `json:"carried,omitzero"`
}

// DiagnosisInput is what a diagnosis document is built from.
type DiagnosisInput struct {
	Manifest              *evidence.Manifest // of the run whose cases were selected
	Tool                  evidence.Tool
	Diagnosis             *diagnose.Diagnosis
	ChildRuns             []ChildRun
	StartedAt, FinishedAt time.Time
	Notes                 []string
}

// BuildDiagnosis makes the document of a diagnosis.
func BuildDiagnosis(in DiagnosisInput) *Diagnosis {
	return &Diagnosis{
		Schema: DiagnosisSchema, Tool: in.Tool, Run: Build(Input{Manifest: in.Manifest}).Run, Diagnosis: *in.Diagnosis,
		ChildRuns: nonNil(slices.Clone(in.ChildRuns)), StartedAt: in.StartedAt, FinishedAt: in.FinishedAt, Notes: nonNil(slices.Clone(in.Notes)),
	}
}

// DiagnosisJSON writes a diagnosis, the same bytes for the same one.
func DiagnosisJSON(w io.Writer, d *Diagnosis) error {
	b, err := json.Marshal(d, jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ReadDiagnosis reads a diagnosis that [DiagnosisJSON] wrote. It refuses one of
// another version, and one that was changed.
func ReadDiagnosis(data []byte) (*Diagnosis, error) {
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("read diagnosis: %w", err)
	}
	switch version.Schema {
	case DiagnosisSchema:
	case "":
		return nil, errors.New("read diagnosis: no schema, so it is no diagnosis of this tool")
	default:
		return nil, fmt.Errorf("read diagnosis: schema %q, this version of the tool reads %q", version.Schema, DiagnosisSchema)
	}
	d := new(Diagnosis)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("read diagnosis: %w", err)
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d, nil
}

// DiagnosisOptions say how a diagnosis is printed.
type DiagnosisOptions struct {
	Color bool
	Cases bool   // with a line for each case
	Flags string // added to every command, so that it finds the same project
	Run   string // how commands name the run whose cases were selected; "" is by its id
}

// DiagnosisText prints a diagnosis for people.
func DiagnosisText(w io.Writer, d *Diagnosis, opt DiagnosisOptions) error {
	p := newPrinter(w, 0, opt.Color) // its lines are never cut
	for _, l := range d.lines(cmp.Or(opt.Run, Clean(d.Parent)), opt.Flags) {
		p.raw(p.paint(l.text, l.style))
	}
	if opt.Cases && len(d.Cases) > 0 {
		p.blank()
		for i := range d.Cases {
			p.raw(caseLine(&d.Cases[i]))
		}
	}
	return p.flush()
}

type styledLine struct {
	text  string
	style style
}

// lines are those of diagnose.
func (d *Diagnosis) lines(run, flags string) []styledLine {
	var all []styledLine
	add := func(st style, format string, args ...any) {
		all = append(all, styledLine{fmt.Sprintf(format, args...), st})
	}
	n := d.Counts.Selected
	add(bold, "Selected: %s with gold context (observed; no population claim)", count(n, "failed case"))
	for _, x := range d.Selection.Excluded {
		add(yellow, "Excluded: %s, %s - %s", count(len(x.Cases), "failed case"), Clean(x.Reason), exclusionRemedy(x.Reason))
	}
	if u := d.Selection.Unjudged; u > 0 {
		add(yellow, "Not judged: %s, neither selected nor excluded; oloproof inspect %s --failures%s shows why", count(u, "case"), run, flags)
	}
	if d.Executed {
		if d.Control == diagnose.NoControl {
			add(yellow, "Control: none; every case is taken to fail again when it is executed unchanged (%s)", Clean(d.Assumption))
		} else {
			add(plain, "Control: %d of %d passed when re-executed without the intervention", d.Counts.ControlPassed, n)
		}
		if m := d.Counts.Missing; m > 0 {
			add(yellow, "Missing: %d of %d could not be executed again or judged; %s", m, n, d.whyMissing(flags))
		}
		name := Clean(d.Intervention.String())
		add(plain, "Recovered under %s: %d of %d", name, d.Counts.Recovered, n)
		if from := d.LabelsFrom; from != nil {
			add(plain, "Confirmed under %s: %d of %d RANKED_OUT cases also recovered", name, d.Counts.Confirmed, d.Counts.RankedOut)
			add(plain, "Labels from gold context (diagnosis %s): %d of %d recovered", Clean(string(from.ID)), from.Recovered, from.Selected)
		}
	}
	for _, l := range d.Labels {
		add(plain, "%s: %d of %d, %s", Clean(string(l.Label)), l.Cases, n, labelPhrase(l))
	}
	for _, i := range d.Implicated {
		add(bold, "%s", implicatedLine(i))
		for _, e := range i.Experiments {
			add(plain, "%s", d.experimentLine(e, run, flags))
		}
	}
	add(dim, "Diagnosis %s", Clean(string(d.ID)))
	if len(d.ChildRuns) > 0 {
		names := make([]string, len(d.ChildRuns))
		for i, c := range d.ChildRuns {
			names[i] = Clean(c.Name) + " " + Clean(c.Run)
		}
		add(dim, "Child runs: %s", strings.Join(names, ", "))
	}
	if n > 0 {
		add(dim, "Cases: oloproof inspect %s%s", Clean(string(d.ID)), flags)
	}
	return all
}

func (d *Diagnosis) whyMissing(flags string) string {
	var runs []string
	for _, c := range d.ChildRuns {
		if !c.Carried {
			runs = append(runs, fmt.Sprintf("oloproof inspect %s --failures%s", Clean(c.Run), flags))
		}
	}
	return strings.Join(runs, " and ") + " show why"
}

func exclusionRemedy(reason string) string {
	if reason == diagnose.NoGoldContext {
		return "declare the passages that would have answered the case in its `expected.gold_context`, as a list of `{doc_id, text}` objects; an intervention needs them to tell a retrieval failure from a generation one"
	}
	return ""
}

// labelPhrase says in words what was observed of the cases of a label.
func labelPhrase(l diagnose.LabelCount) string {
	switch l.Reason {
	case diagnose.ReasonNotRetrieved:
		return "recovered; no relevant evidence was retrieved"
	case diagnose.ReasonBelowTopK:
		return "recovered; relevant evidence was retrieved, but ranked below top-k"
	case diagnose.ReasonDropped:
		return "recovered; relevant evidence within top-k was left out of the context"
	case diagnose.ReasonFailsWithGold:
		return "still failed with the gold context"
	case diagnose.ReasonUnsupported:
		return "the system is not staged, so no case was re-executed"
	case diagnose.ReasonEvidenceMissing:
		return "an outcome, or what the run recorded of the case, is missing"
	case diagnose.ReasonUnstable:
		return "passed when re-executed unchanged, so the failure is not stable"
	case diagnose.ReasonNoLabels:
		return "recovered; the case does not say in expected.relevant what is relevant"
	case diagnose.ReasonUnitMismatch:
		return "recovered; the case names relevant chunks, and what was retrieved does not say which chunk it is"
	case diagnose.ReasonInContext:
		return "recovered; relevant evidence had been in the context all the same"
	}
	return Clean(l.Reason)
}

func implicatedLine(i diagnose.Implication) string {
	if i.Among == "selected" {
		return fmt.Sprintf("Implicated: %s, in %d of the %d selected failures.", Clean(string(i.Stage)), i.Cases, i.Of)
	}
	return fmt.Sprintf("Implicated: %s, in %d of the %d recovered failures.", Clean(string(i.Stage)), i.Cases, i.Of)
}

// experimentLine names an experiment, with the command that tries it on the
// recorded cases where there is one.
func (d *Diagnosis) experimentLine(e diagnose.Experiment, run, flags string) string {
	what := Clean(e.What)
	if r := e.Replay; r != nil {
		what += " (" + d.replayCommand(*r, run) + flags + ")"
	}
	return "Candidate experiment: " + what + ". This is a hypothesis to test, not an established cause."
}

func (d *Diagnosis) replayCommand(i diagnose.Intervention, run string) string {
	setting := ""
	switch i.Kind {
	case diagnose.TopK:
		setting = fmt.Sprintf(" --top-k %d", i.TopK)
	case diagnose.Reranker:
		setting = " --reranker MODULE:FUNCTION"
	}
	return fmt.Sprintf("oloproof diagnose %s --intervention %s%s --criterion %s", run, i.Kind, setting, shellWord(Clean(d.Criterion)))
}

// GoldCommand is the command that makes the diagnosis whose labels a replay
// carries.
func GoldCommand(run, criterion string, noControl bool) string {
	command := "oloproof diagnose " + run + " --intervention gold-context --criterion " + shellWord(Clean(criterion))
	if noControl {
		command += " --no-control"
	}
	return command
}

// caseLine is that of one case.
func caseLine(c *diagnose.LabelledCase) string {
	return fmt.Sprintf("%s: %s, %s, strength %s, best relevant position %s",
		Clean(c.ID), Clean(string(c.Label)), Clean(c.Reason), Clean(string(c.Strength)), positionWord(c.Position))
}

func positionWord(position *int) string {
	if position == nil {
		return "none"
	}
	return fmt.Sprint(*position)
}

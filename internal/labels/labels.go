// Package labels holds what people say of answers that judges judged: the file
// of labels, the blind sheets on which they are given, and what the labels say of
// a judge. It is pure: files are read and written elsewhere.
package labels

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// The verdicts of people and of judges.
const (
	Pass = "pass"
	Fail = "fail"
)

// Label is what a person says of one answer under one criterion.
type Label struct {
	Case      string          `json:"case"`
	Criterion string          `json:"criterion"`
	Evidence  evidence.Digest `json:"evidence"` // content id of what a judge of the criterion reads of the case and its answer
	Verdict   string          `json:"verdict"`  // pass or fail
	By        string          `json:"by"`       // who labelled
	At        time.Time       `json:"at"`
	Judge     *Judged         `json:"judge,omitempty"` // what the judge said of the same evidence; nil when it gave no verdict
}

// Judged is what an instrument said of an answer.
type Judged struct {
	Verdict   string          `json:"verdict"`
	Evaluator evidence.Digest `json:"evaluator"`       // content id of the judge: prompt, options, model
	Model     string          `json:"model,omitempty"` // that served the reply, as its provider names it
}

// Retirement takes the judge of a criterion out of use.
type Retirement struct {
	Criterion string    `json:"criterion"`
	Retired   string    `json:"retired"` // why
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

// File is the labels of a suite, a JSONL file that can live beside it.
type File struct {
	Path    string
	Labels  []Label
	Retired []Retirement
}

// entry is a line of the file.
type entry struct {
	Label
	Retired string `json:"retired"`
}

var lineKeys = []string{"case", "criterion", "evidence", "verdict", "by", "at", "judge", "retired"}

// Parse reads the content of a file of labels. The error is a [problem.List] of
// every problem, with its line.
func Parse(path string, data []byte) (*File, error) {
	f := &File{Path: path}
	var problems problem.List
	given := map[[4]string]int{} // line of a person's label
	for number, line := range lines(data) {
		wrong := func(format string, args ...any) {
			problems.Add(problem.Problem{File: path, Line: number, Column: 1, Message: fmt.Sprintf(format, args...), Source: string(line)})
		}
		var e entry
		if fault := readLine(line, lineKeys, &e); fault != "" {
			wrong("%s", fault)
			continue
		}
		if e.Retired != "" {
			if e.Criterion == "" || e.By == "" {
				wrong("a retirement needs criterion, retired and by")
				continue
			}
			f.Retired = append(f.Retired, Retirement{e.Criterion, e.Retired, e.By, e.At})
			continue
		}
		var lacks []string
		for _, key := range []struct {
			name  string
			empty bool
		}{{"case", e.Case == ""}, {"criterion", e.Criterion == ""}, {"evidence", e.Evidence == ""}, {"verdict", e.Verdict == ""}, {"by", e.By == ""}} {
			if key.empty {
				lacks = append(lacks, key.name)
			}
		}
		if len(lacks) > 0 {
			wrong("a label without %s", strings.Join(lacks, ", "))
			continue
		}
		if !isVerdict(e.Verdict) {
			wrong("verdict is %q, it must be pass or fail", e.Verdict)
			continue
		}
		if e.Judge != nil && (e.Judge.Evaluator == "" || !isVerdict(e.Judge.Verdict)) {
			wrong("judge needs a verdict, pass or fail, and an evaluator, as labels import writes them")
			continue
		}
		l := e.Label
		key := [4]string{l.Case, l.Criterion, string(l.Evidence), l.By}
		if before, twice := given[key]; twice {
			wrong("%s labelled case %s for %s twice: line %d has it too; keep one", l.By, l.Case, l.Criterion, before)
			continue
		}
		given[key] = number
		f.Labels = append(f.Labels, l)
	}
	return f, problems.Err()
}

func isVerdict(s string) bool { return s == Pass || s == Fail }

// lines yields the lines of a file that are not blank, with their numbers from 1.
func lines(data []byte) func(func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		for number := 1; len(data) > 0; number++ {
			line, rest, _ := bytes.Cut(data, []byte("\n"))
			data = rest
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(number, line) {
				return
			}
		}
	}
}

// readLine reads an object with known keys; the fault is "" when it is one.
func readLine(line []byte, keys []string, into any) string {
	v, err := evidence.ParseJSON(line)
	if err != nil {
		return fmt.Sprintf("not valid JSON: %v", err)
	}
	if v.Kind() != '{' {
		return "a line must be a JSON object"
	}
	for key := range evidence.Members(v) {
		if slices.Contains(keys, key) {
			continue
		}
		near := ""
		if n := problem.Nearest(key, keys); n != "" {
			near = ", did you mean " + n + "?"
		}
		return fmt.Sprintf("unknown key %s%s (allowed: %s)", key, near, strings.Join(keys, ", "))
	}
	if err := json.Unmarshal(line, into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Sprintf("%s must not be a JSON %s", strings.TrimPrefix(wrong.Field, "Label."), wrong.Value)
		}
		var when *time.ParseError
		if errors.As(err, &when) {
			return fmt.Sprintf("at is %q, it must be a time such as 2026-11-24T09:30:00Z", when.Value)
		}
		return fmt.Sprintf("cannot be read: %v", err)
	}
	return ""
}

// AppendLine appends a label or a retirement as a line of the file.
func AppendLine(dst []byte, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("a label that JSON cannot hold: %v", err)) // text, booleans and times only
	}
	return append(dst, b.Bytes()...)
}

// Of counts what the labels say of the judge of a metric; nil when they say
// nothing. Answers that people labelled differently are unsettled: a judge cannot
// be held against people who do not agree, nor be made good by leaving these out.
// So are those of which the judge said one thing and then the other.
func (f *File) Of(spec evidence.MetricSpec) *evidence.Trust {
	t := &evidence.Trust{}
	type answer struct {
		pass, fail int
		moved      bool // the judge said one thing, then the other
	}
	people := map[evidence.Digest]*answer{}
	var order []evidence.Digest
	verdicts := map[evidence.Digest]*Judged{}
	said, gone, all, by := false, false, 0, map[string]bool{} // gone: a model that people labelled beside does not serve any more
	models := map[string]bool{}                               // that gave the verdicts beside which people labelled
	for i := range f.Labels {
		l := &f.Labels[i]
		if l.Criterion != spec.ID {
			continue
		}
		said = true
		all++
		by[l.By] = true
		if l.Judge == nil || !same(l.Judge, spec) {
			t.Others++
			gone = gone || l.Judge != nil && l.Judge.Evaluator == spec.Evaluator
			continue
		}
		models[l.Judge.Model] = true
		a := people[l.Evidence]
		if a == nil {
			a = &answer{}
			people[l.Evidence], verdicts[l.Evidence] = a, l.Judge
			order = append(order, l.Evidence)
		}
		a.moved = a.moved || l.Judge.Verdict != verdicts[l.Evidence].Verdict
		if l.Verdict == Pass {
			a.pass++
		} else {
			a.fail++
		}
	}
	for _, id := range order {
		switch a, judge := people[id], verdicts[id].Verdict == Pass; {
		case a.pass > 0 && a.fail > 0, a.moved:
			t.Unsettled++
		case a.pass > 0 && judge:
			t.BothPass++
		case a.pass > 0:
			t.HumanOnly++
		case judge:
			t.JudgeOnly++
		default:
			t.BothFail++
		}
	}
	// Some verdicts are those of a model that no label is of. The second model of a
	// cascade may be asked too seldom to have any; where one went as well, it changed,
	// and the labels that are left are of the easy answers only.
	if unlabelled := slices.ContainsFunc(spec.Served, func(model string) bool { return !models[model] }); unlabelled && (gone || !strings.HasPrefix(spec.Type, "cascade")) {
		t = &evidence.Trust{Others: all}
	}
	for _, r := range f.Retired {
		if r.Criterion == spec.ID {
			said, t.Retired = true, r.Retired
		}
	}
	if !said {
		return nil
	}
	t.People = len(by)
	return t
}

// Among returns the file with those labels only that are of the given evidence.
func (f *File) Among(ids map[evidence.Digest]bool) *File {
	among := &File{Path: f.Path, Retired: f.Retired}
	for _, l := range f.Labels {
		if ids[l.Evidence] {
			among.Labels = append(among.Labels, l)
		}
	}
	return among
}

// same reports whether a verdict was given by the instrument of a metric. A
// provider that does not name its models stays the same one as long as it names
// none.
func same(v *Judged, spec evidence.MetricSpec) bool {
	if len(spec.Served) == 0 {
		return v.Evaluator == spec.Evaluator && v.Model == ""
	}
	return v.Evaluator == spec.Evaluator && slices.Contains(spec.Served, v.Model)
}

// Sort orders labels by criterion, case and person, so that the same labels are
// the same bytes.
func Sort(labels []Label) {
	slices.SortStableFunc(labels, func(a, b Label) int {
		return cmp.Or(cmp.Compare(a.Criterion, b.Criterion), cmp.Compare(a.Case, b.Case), cmp.Compare(a.By, b.By), a.At.Compare(b.At))
	})
}

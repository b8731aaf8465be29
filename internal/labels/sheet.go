package labels

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// Sheet is one answer to be labelled, without the judge's verdict: whoever has
// seen that labels otherwise.
type Sheet struct {
	Case      string          `json:"case"`
	Criterion string          `json:"criterion"`
	Evidence  evidence.Digest `json:"evidence"`
	Run       string          `json:"run"`
	Verdict   string          `json:"verdict"`       // filled in by a person: pass or fail; "" is no label
	Ask       string          `json:"ask,omitempty"` // what the judge was asked to decide
	Input     json.RawMessage `json:"input,omitempty"`
	Expected  json.RawMessage `json:"expected,omitempty"`
	Context   []Passage       `json:"context,omitempty"`
	Citations []string        `json:"citations,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`

	Line int `json:"-"` // of the file that it was read from
}

// Passage is a passage that reached the answering model.
type Passage struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
}

var sheetKeys = []string{"case", "criterion", "evidence", "run", "verdict", "ask", "input", "expected", "context", "citations", "output"}

// Sample returns n of the ids in the order of a seeded shuffle, all when there
// are fewer. The same seed and ids give the same sample, whatever their order.
func Sample(ids []string, n int, seed uint64) []string {
	type ranked struct {
		id   string
		rank [sha256.Size]byte
	}
	all := make([]ranked, len(ids))
	for i, id := range ids {
		all[i] = ranked{id, sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), id...))}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(slices.Compare(a.rank[:], b.rank[:]), cmp.Compare(a.id, b.id))
	})
	sample := make([]string, 0, min(n, len(all)))
	for _, r := range all[:min(n, len(all))] {
		sample = append(sample, r.id)
	}
	return sample
}

// ParseSheets reads filled in sheets. The error is a [problem.List] of every
// problem, with its line.
func ParseSheets(path string, data []byte) ([]Sheet, error) {
	var sheets []Sheet
	var problems problem.List
	seen := map[[2]string]int{}
	for number, line := range lines(data) {
		wrong := func(format string, args ...any) {
			problems.Add(problem.Problem{File: path, Line: number, Column: 1, Message: fmt.Sprintf(format, args...)})
		}
		var s Sheet
		if fault := readLine(line, sheetKeys, &s); fault != "" {
			wrong("%s", fault)
			continue
		}
		if s.Case == "" || s.Criterion == "" || s.Evidence == "" || s.Run == "" {
			wrong("a sheet needs case, criterion, evidence and run, as labels export wrote them")
			continue
		}
		if s.Verdict != "" && !isVerdict(s.Verdict) {
			wrong("verdict is %q, it must be pass or fail, or empty for no label", s.Verdict)
			continue
		}
		s.Line = number
		key := [2]string{s.Case, s.Criterion}
		if before, twice := seen[key]; twice {
			wrong("case %s is labelled twice for %s: line %d has it too; keep one", s.Case, s.Criterion, before)
			continue
		}
		seen[key] = number
		sheets = append(sheets, s)
	}
	return sheets, problems.Err()
}

// Answer is one that a judge judged.
type Answer struct {
	Evidence evidence.Digest // content id of what the judge reads of it
	Judge    *Judged
}

// Said is what the judge of a metric said of a case; nil when it gave no verdict.
func Said(spec evidence.MetricSpec, line evidence.CaseLine) *Judged {
	for _, n := range line.Judgments {
		if n.Criterion != spec.ID || n.Judgment.State != evidence.Judged {
			continue
		}
		v := &Judged{Verdict: Fail, Evaluator: spec.Evaluator}
		if n.Judgment.Passed() {
			v.Verdict = Pass
		}
		if n.Judgment.Asked != nil {
			v.Model = n.Judgment.Asked.Model
		}
		return v
	}
	return nil
}

// Take makes labels of sheets of a run and criterion that a person filled in, each
// with what the judge said of the same answer. The problems, with their lines in the
// file at path, are of sheets of no answer or of another one than the run has, by
// case, and of answers that f has a label of by this person.
func (f *File) Take(path string, filled []Sheet, run string, answers map[string]Answer, by string, now func() time.Time) ([]Label, problem.List) {
	var added []Label
	var problems problem.List
	type answer struct {
		criterion string
		evidence  evidence.Digest
	}
	own := map[answer]bool{}
	for _, l := range f.Labels {
		if l.By == by {
			own[answer{l.Criterion, l.Evidence}] = true
		}
	}
	for _, s := range filled {
		wrong := func(format string, args ...any) {
			problems.Add(problem.Problem{File: path, Line: s.Line, Message: fmt.Sprintf(format, args...)})
		}
		switch there, ok := answers[s.Case]; {
		case !ok:
			wrong("%s has no case %s that %s judged", run, s.Case, s.Criterion)
		case there.Evidence != s.Evidence:
			wrong("case %s: the label is of another answer than %s has: take evidence as labels export wrote it", s.Case, run)
		case own[answer{s.Criterion, s.Evidence}]:
			wrong("case %s: %s has labelled this answer before; a person has one verdict on an answer", s.Case, by)
		default:
			added = append(added, Label{
				Case: s.Case, Criterion: s.Criterion, Evidence: s.Evidence, Verdict: s.Verdict, By: by, At: now().UTC(), Judge: there.Judge,
			})
		}
	}
	return added, problems
}

package labels

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

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

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// FailedWithGold is the rule by which cases are selected: the criterion judged
// the case and it failed, and the case says which passages answer it.
const FailedWithGold = "failed_with_gold_context"

// NoGoldContext is why a failed case is excluded.
const NoGoldContext = "no_gold_context"

// Selection is the failed cases of a run, as the run recorded them.
type Selection struct {
	Run       string // id
	Criterion string
	Evaluator evidence.Digest
	Cases     []Case // by id once a diagnosis is made
	Excluded  []string
	Unjudged  int
}

// Case is a failed case with what the run recorded of it.
type Case struct {
	evidence.Case
	Gold      []evidence.Passage
	Relevant  []evidence.Relevant
	Retrieval *evidence.Retrieval // nil when it was not recorded exactly once
	Context   *evidence.Context   // likewise
	Output    evidence.Value      // nil when the case errored
}

// Exclusion is failed cases on which no intervention can be tried.
type Exclusion struct {
	Reason string   `json:"reason"`
	Cases  []string `json:"cases"`
}

// Select returns an empty selection of the run with that manifest. The error
// says that its cases cannot pass or fail the criterion.
func Select(m *evidence.Manifest, criterion string) (*Selection, error) {
	var rates []string
	for i := range m.Metrics {
		spec := &m.Metrics[i]
		switch {
		case spec.ID != criterion:
			if spec.Kind == evidence.Rate {
				rates = append(rates, spec.ID)
			}
		case spec.Kind != evidence.Rate:
			return nil, fmt.Errorf("%s is a score, and only a case that passes or fails can be selected%s", criterion, choose(ratesOf(m)))
		default:
			return &Selection{Run: m.ID, Criterion: criterion, Evaluator: spec.Evaluator}, nil
		}
	}
	return nil, fmt.Errorf("%s has no criterion %q%s", m.ID, criterion, choose(rates))
}

func ratesOf(m *evidence.Manifest) []string {
	var rates []string
	for i := range m.Metrics {
		if m.Metrics[i].Kind == evidence.Rate {
			rates = append(rates, m.Metrics[i].ID)
		}
	}
	return rates
}

func choose(rates []string) string {
	if len(rates) == 0 {
		return ": the run has no criterion that passes or fails"
	}
	return ": choose " + strings.Join(rates, ", ")
}

// Add looks at the next case of the run. The error says what is malformed in a
// case that is to be selected.
func (s *Selection) Add(l *evidence.CaseLine) error {
	at := slices.IndexFunc(l.Judgments, func(j evidence.NamedJudgment) bool { return j.Criterion == s.Criterion })
	switch {
	case at < 0 || l.Judgments[at].State == evidence.Missing:
		s.Unjudged++
		return nil
	case OutcomeOf(l.Judgments[at].Judgment) != Failed:
		return nil
	}
	c := Case{Case: l.Case, Output: l.Execution.Output}
	var err error
	if c.Gold, err = evidence.GoldContextOf(&l.Case); err != nil {
		return fmt.Errorf("case %q: %w", l.Case.ID, err)
	}
	if len(c.Gold) == 0 {
		s.Excluded = append(s.Excluded, l.Case.ID)
		return nil
	}
	if c.Relevant, err = evidence.RelevantOf(&l.Case); err != nil {
		return fmt.Errorf("case %q: %w", l.Case.ID, err)
	}
	a := &l.Execution.Artifacts
	if len(a.Retrieval) == 1 {
		c.Retrieval = &a.Retrieval[0]
	}
	if len(a.Context) == 1 {
		c.Context = &a.Context[0]
	}
	s.Cases = append(s.Cases, c)
	return nil
}

// sort puts the cases in the order of a diagnosis: by id.
func (s *Selection) sort() {
	slices.SortFunc(s.Cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(s.Excluded)
}

// ID says which cases were selected. Two diagnoses of the same run, criterion
// and cases have the same.
func (s *Selection) ID() (SelectionID, error) {
	s.sort()
	id := SelectionID{Rule: FailedWithGold, Excluded: []Exclusion{}, Unjudged: s.Unjudged}
	if len(s.Excluded) > 0 {
		id.Excluded = append(id.Excluded, Exclusion{Reason: NoGoldContext, Cases: slices.Clone(s.Excluded)})
	}
	type named [2]string
	content := struct {
		Run       string          `json:"run"`
		Criterion string          `json:"criterion"`
		Evaluator evidence.Digest `json:"evaluator"`
		Rule      string          `json:"rule"`
		Cases     []named         `json:"cases"`
		Excluded  []Exclusion     `json:"excluded"`
	}{s.Run, s.Criterion, s.Evaluator, id.Rule, []named{}, id.Excluded}
	for i := range s.Cases {
		content.Cases = append(content.Cases, named{s.Cases[i].ID, string(s.Cases[i].Digest)})
	}
	var err error
	id.Digest, err = evidence.ContentID("selection/v1", content)
	return id, err
}

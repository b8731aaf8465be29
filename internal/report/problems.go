package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// mostCaseIDs is the most ids that a [CaseProblem] names.
const mostCaseIDs = 10

// ProblemTally groups the cases that errored or did not finish by what went
// wrong. The order in which they are added changes nothing. The zero value is
// ready to use.
type ProblemTally struct {
	groups map[problemKey]*problemGroup
}

type problemKey struct {
	kind   string
	status int
}

type problemGroup struct {
	count int
	first []indexedID // of the lowest indexes, in their order
}

type indexedID struct {
	index int
	id    string
}

// Add counts the outcome of the case at an index of the data set.
func (t *ProblemTally) Add(index int, o *evidence.Outcome) {
	if o.Status == evidence.StatusOK {
		return
	}
	kind := cmp.Or(string(o.ErrorKind), strings.ToLower(string(o.Status)))
	if t.groups == nil {
		t.groups = map[problemKey]*problemGroup{}
	}
	key := problemKey{kind, o.HTTPStatus}
	g := t.groups[key]
	if g == nil {
		g = &problemGroup{}
		t.groups[key] = g
	}
	g.count++
	if o.ID == "" { // nothing is stored of the case, not even its id
		return
	}
	at, _ := slices.BinarySearchFunc(g.first, index, func(x indexedID, i int) int { return cmp.Compare(x.index, i) })
	if at < mostCaseIDs {
		g.first = slices.Insert(g.first, at, indexedID{index, o.ID})
		g.first = g.first[:min(len(g.first), mostCaseIDs)]
	}
}

// Problems returns the groups, the largest first, each with the ids of its
// first cases in data set order.
func (t *ProblemTally) Problems() []CaseProblem {
	out := make([]CaseProblem, 0, len(t.groups))
	for key, g := range t.groups {
		p := CaseProblem{Kind: key.kind, Status: key.status, Count: g.count}
		for _, x := range g.first {
			p.CaseIDs = append(p.CaseIDs, x.id)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b CaseProblem) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Status, b.Status))
	})
	return out
}

package compare

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// pairing holds the cases of the baseline, a row each in the order in which
// they came, and turns them into pairs as those of the candidate come.
type pairing struct {
	columns []column
	groups  []group
	reasons reasons
	rows    map[string]int32 // by case id
	base    []baseCase
	paired  []place // the pairs
	changed []place // cases of both runs with different content
	added   []newCase
	isNew   map[string]bool // ids of added, to find those that stand twice
}

// baseCase is a case of the baseline.
type baseCase struct {
	id     string
	digest evidence.Digest
	index  int32 // in the baseline's data set
	state  caseState
}

type caseState uint8

const (
	caseRemoved caseState = iota // not met in the candidate so far
	casePaired
	caseChanged
)

// place is where a case of the candidate met one of the baseline.
type place struct {
	index int32 // in the candidate's data set
	row   int32
}

// newCase is a case that only the candidate has.
type newCase struct {
	index int32
	id    string
}

// newPairing returns a pairing without cases.
func newPairing(candidate, baseline *evidence.Manifest, columns []column) *pairing {
	n := max(0, min(baseline.Dataset.Cases, 1<<20)) // the manifest says so; the file decides
	for i := range columns {
		columns[i].grow(n)
	}
	return &pairing{
		columns: columns,
		groups:  matchSlices(candidate, baseline),
		reasons: reasons{marks: map[reason]mark{}},
		rows:    make(map[string]int32, n),
		base:    make([]baseCase, 0, n),
		isNew:   map[string]bool{},
	}
}

var errTwice = errors.New("its id stands twice in the run: the run was not made by one execution of a suite")

// keep adds a case of the baseline.
func (p *pairing) keep(index int, o *evidence.Outcome) error {
	if _, twice := p.rows[o.ID]; twice {
		return errTwice
	}
	p.rows[o.ID] = int32(len(p.base))
	p.base = append(p.base, baseCase{id: o.ID, digest: o.Digest, index: int32(index)})
	for i := range p.columns {
		if err := p.columns[i].keep(o, &p.reasons); err != nil {
			return err
		}
	}
	for i := range p.groups {
		p.groups[i].keep(o)
	}
	return nil
}

// pair finds what a case of the candidate is paired with.
func (p *pairing) pair(index int, o *evidence.Outcome) error {
	row, known := p.rows[o.ID]
	if !known {
		if p.isNew[o.ID] {
			return errTwice
		}
		p.isNew[o.ID] = true
		p.added = append(p.added, newCase{int32(index), o.ID})
		return nil
	}
	b := &p.base[row]
	if b.state != caseRemoved {
		return errTwice
	}
	if b.digest != o.Digest {
		b.state = caseChanged
		p.changed = append(p.changed, place{int32(index), row})
		return nil
	}
	b.state = casePaired
	p.paired = append(p.paired, place{int32(index), row})
	for i := range p.columns {
		if err := p.columns[i].pair(row, o, &p.reasons); err != nil {
			return err
		}
	}
	for i := range p.groups {
		p.groups[i].pair(row, o)
	}
	return nil
}

// cases says which cases the runs share, in the order of their data sets.
func (p *pairing) cases(c *Comparison) {
	byIndex := func(a, b place) int { return cmp.Compare(a.index, b.index) }
	slices.SortStableFunc(p.paired, byIndex)
	slices.SortStableFunc(p.changed, byIndex)
	slices.SortStableFunc(p.added, func(a, b newCase) int { return cmp.Compare(a.index, b.index) })

	c.BaselineCases, c.Shared = len(p.base), len(p.paired)
	for _, n := range p.added {
		c.Added = append(c.Added, n.id)
	}
	for _, at := range p.changed {
		c.Changed = append(c.Changed, p.base[at.row].id)
	}
	var removed []baseCase
	for _, b := range p.base {
		if b.state == caseRemoved {
			removed = append(removed, b)
		}
	}
	slices.SortStableFunc(removed, func(a, b baseCase) int { return cmp.Compare(a.index, b.index) })
	for _, b := range removed {
		c.Removed = append(c.Removed, b.id)
	}
}

// group holds the value of one slice for each case of the baseline, in the
// order in which they came.
type group struct {
	name            string
	candidate, base int              // places among the slice values of an outcome; base -1: only the candidate declares it
	values          []string         // distinct values
	ids             map[string]int32 // their places in values
	rows            []int32          // place in values; -1: in no slice
}

// metadataSlice begins the name of a slice whose values stand in the case.
const metadataSlice = "metadata."

// matchSlices returns the slices to look at, in the candidate's order. The
// baseline decides which cases belong to one. It need not declare a slice of
// metadata, since paired cases have the same. Positions are not looked at when
// the runs hold them against different values of top_k.
func matchSlices(candidate, baseline *evidence.Manifest) []group {
	var groups []group
	for i, name := range candidate.Slices {
		base := slices.Index(baseline.Slices, name)
		if base < 0 && !strings.HasPrefix(name, metadataSlice) ||
			name == evidence.PositionSlice && otherTopK(candidate.System.Staged, baseline.System.Staged) {
			continue
		}
		groups = append(groups, group{name: name, candidate: i, base: base, ids: map[string]int32{}})
	}
	return groups
}

func otherTopK(a, b *evidence.StagedSettings) bool { return a != nil && b != nil && a.TopK != b.TopK }

func (g *group) keep(o *evidence.Outcome) {
	value := evidence.NoSlice
	if g.base >= 0 {
		value = o.Slices[g.base]
	}
	g.rows = append(g.rows, g.id(value))
}

func (g *group) pair(row int32, o *evidence.Outcome) {
	if g.base < 0 {
		g.rows[row] = g.id(o.Slices[g.candidate])
	}
}

func (g *group) id(value string) int32 {
	if value == evidence.NoSlice {
		return -1
	}
	id, known := g.ids[value]
	if !known {
		id = int32(len(g.values))
		g.ids[value] = id
		g.values = append(g.values, value)
	}
	return id
}

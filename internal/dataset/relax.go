package dataset

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/relax"
)

// Relaxations returns every way in which new asks less than old, or something
// else, by line: a case that is gone, one that was edited, and one with another
// id, which a comparison no longer pairs. Added cases are free. slices are the
// names of the slices whose values are shown. The error says that one of the
// files cannot be read any more.
func Relaxations(old, new *Dataset, slices []string) ([]relax.Relaxation, error) {
	found := relax.Between(old.path, new.path)
	m := match(old, new)
	for i := range old.entries {
		before := &old.entries[i]
		j, kept := m.byID[before.id]
		switch {
		case kept && new.entries[j].sum == before.sum:
		case kept:
			edits, err := edits(old, new, i, j, slices)
			if err != nil {
				return nil, err
			}
			found.Add(new.Line(j), "case %s: %s", short(before.id), edits)
		default:
			if j, ok := m.renamed(before.sum); ok {
				found.Add(new.Line(j), "case %s renamed to %s: it is not paired with a run of before", short(before.id), short(new.ID(j)))
			} else {
				found.Gone(old.Line(i), "case %s removed", short(before.id))
			}
		}
	}
	return found.All(), nil
}

// matched says which case of the new data set is which of the old one.
type matched struct {
	byID  map[string]int
	added map[[32]byte][]int // cases with a new id, by their content
}

func match(old, new *Dataset) matched {
	known := make(map[string]bool, old.Len())
	for i := range old.entries {
		known[old.entries[i].id] = true
	}
	m := matched{byID: make(map[string]int, new.Len()), added: map[[32]byte][]int{}}
	for j, e := range new.entries {
		m.byID[e.id] = j
		if !known[e.id] {
			m.added[e.sum] = append(m.added[e.sum], j)
		}
	}
	return m
}

// renamed takes the first added case of the content.
func (m matched) renamed(sum [32]byte) (j int, ok bool) {
	all := m.added[sum]
	if len(all) == 0 {
		return 0, false
	}
	m.added[sum] = all[1:]
	return all[0], true
}

// edits says what became another in a case.
func edits(old, new *Dataset, i, j int, slices []string) (string, error) {
	before, err := old.Case(i)
	if err != nil {
		return "", err
	}
	after, err := new.Case(j)
	if err != nil {
		return "", err
	}
	var all []string
	if !same(before.Input, after.Input) {
		all = append(all, "input edited")
	}
	all = append(all, expectedEdits(before.Expected, after.Expected)...)
	all = append(all, metadataEdits(before, after, slices)...)
	return strings.Join(all, "; "), nil
}

// expectedEdits says what became another in what a case expects.
func expectedEdits(before, after evidence.Value) []string {
	if same(before, after) {
		return nil
	}
	if before.Kind() != '{' || after.Kind() != '{' {
		return append(droppedLabels(before, after), "expected edited")
	}
	all := droppedLabels(before, after)
	labelled := len(all) > 0
	for name, was := range evidence.Members(before) {
		switch now, ok := evidence.Member(after, name); {
		case name == relevant && labelled, same(was, now):
		case !ok:
			all = append(all, fmt.Sprintf("expected.%s removed", short(name)))
		default:
			all = append(all, fmt.Sprintf("expected.%s edited", short(name)))
		}
	}
	for name := range evidence.Members(after) {
		if _, ok := evidence.Member(before, name); !ok {
			all = append(all, fmt.Sprintf("expected.%s added", short(name)))
		}
	}
	return all
}

// relevant is the key of the relevance labels in expected.
const relevant = "relevant"

// droppedLabels names the relevant documents and chunks that a case no longer has.
func droppedLabels(before, after evidence.Value) []string {
	kept := map[string]bool{}
	for _, label := range labels(after) {
		kept[label] = true
	}
	var dropped []string
	for _, label := range labels(before) {
		if !kept[label] {
			kept[label] = true // named once
			dropped = append(dropped, short(label))
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	return []string{"labels dropped: " + strings.Join(dropped, ", ")}
}

// labels returns each relevant unit as DOC_ID or DOC_ID#CHUNK_ID. A grade of 0
// says that a unit is not relevant.
func labels(expected evidence.Value) []string {
	list, _ := evidence.Member(expected, relevant)
	var all []string
	for v := range evidence.Elements(list) {
		member := func(name string) string {
			m, _ := evidence.Member(v, name)
			s, _ := evidence.Text(m)
			return s
		}
		if grade, ok := evidence.Member(v, "grade"); ok && same(grade, evidence.Value("0")) {
			continue
		}
		unit := member("doc_id")
		if chunk := member("chunk_id"); chunk != "" {
			unit += "#" + chunk
		}
		all = append(all, unit)
	}
	return all
}

// metadataEdits says which slices a case changed, or that its metadata differ.
func metadataEdits(before, after *evidence.Case, slices []string) []string {
	var all []string
	for _, name := range slices {
		if from, to := SliceValue(before, name), SliceValue(after, name); from != to {
			all = append(all, fmt.Sprintf("%s changed from %s to %s", short(name), sliceText(from), sliceText(to)))
		}
	}
	if all == nil && !same(object(before.Metadata), object(after.Metadata)) {
		all = []string{"metadata edited: it is not paired with a run of before"}
	}
	return all
}

// object returns metadata, of which none are as good as an empty object.
func object(v evidence.Value) evidence.Value {
	if v == nil {
		return evidence.Value("{}")
	}
	return v
}

func sliceText(value string) string {
	if value == evidence.NoSlice {
		return relax.None
	}
	return short(value)
}

// same reports whether two values have one canonical form; nil is only like nil.
func same(a, b evidence.Value) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errA := evidence.AppendCanonical(nil, a)
	y, errB := evidence.AppendCanonical(nil, b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

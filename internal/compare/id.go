package compare

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const comparisonDomain = "comparison/v1"

// identity is what a comparison follows from. Its content id names the
// comparison: the same on every machine, whatever policy reads it, and whenever.
type identity struct {
	Candidate  RunRef                `json:"candidate"`
	Baseline   RunRef                `json:"baseline"`
	Level      float64               `json:"level"`
	Method     string                `json:"method"`
	MinSupport int                   `json:"min_support"`
	Metrics    []evidence.MetricSpec `json:"metrics"`
	Unlike     []NotComparable       `json:"not_comparable"`
	Rejudged   []string              `json:"rejudged"`
	Slices     []string              `json:"slices"`
	Cases      string                `json:"cases"` // digest, see caseSum
}

// id returns the content id of the comparison.
func (p *pairing) id(c *Comparison) (evidence.Digest, error) {
	about := identity{
		Candidate: c.Candidate, Baseline: c.Baseline, Level: c.Level, Method: c.Method, MinSupport: c.MinSupport,
		Unlike: c.NotComparable, Rejudged: c.Rejudged, Cases: p.caseSum(c),
	}
	for i := range p.columns {
		spec := p.columns[i].spec
		spec.Trust = nil // labels change no judgment
		about.Metrics = append(about.Metrics, spec)
	}
	for i := range p.groups {
		about.Slices = append(about.Slices, p.groups[i].name)
	}
	return evidence.ContentID(comparisonDomain, about)
}

// caseSum returns a digest of what became of every case: pairs, in the
// candidate's order, with what each metric says of them and the slices that
// they belong to; then the cases that are no pairs.
func (p *pairing) caseSum(c *Comparison) string {
	h := sha256.New()
	w := newSummer(h)
	for _, at := range p.paired {
		w.text(p.base[at.row].id)
		w.text(string(p.base[at.row].digest))
		for i := range p.columns {
			p.columns[i].sum(w, at.row, &p.reasons)
		}
		for i := range p.groups {
			p.groups[i].sum(w, at.row)
		}
	}
	for _, ids := range [][]string{c.Added, c.Removed, c.Changed} {
		w.number(uint64(len(ids)))
		for _, id := range ids {
			w.text(id)
		}
	}
	return w.sum()
}

func (c *column) sum(w *summer, row int32, r *reasons) {
	m := c.marks[row]
	if m >= markReasons {
		why := r.all[m-markReasons]
		const behind = 3 // the other marks, when the first id was made
		w.number(behind + uint64(why.state))
		w.text(why.code)
		return
	}
	w.number(uint64(m))
	if c.values != nil {
		w.number(math.Float64bits(c.values[row]))
	}
}

func (g *group) sum(w *summer, row int32) {
	id := g.rows[row]
	if id < 0 {
		w.text(evidence.NoSlice)
		return
	}
	w.text(g.values[id])
}

// summer writes numbers and texts to a hash so that no two sequences of them
// look the same.
type summer struct {
	hash hash.Hash
	buf  *bufio.Writer
}

func newSummer(h hash.Hash) *summer { return &summer{h, bufio.NewWriterSize(h, 1<<16)} }

// A hash never fails to be written to, so neither does its buffer.

func (w *summer) number(n uint64) {
	var b [binary.MaxVarintLen64]byte
	w.buf.Write(b[:binary.PutUvarint(b[:], n)])
}

func (w *summer) text(s string) {
	w.number(uint64(len(s)))
	w.buf.WriteString(s)
}

func (w *summer) sum() string {
	w.buf.Flush()
	return hex.EncodeToString(w.hash.Sum(nil))
}

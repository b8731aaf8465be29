package evidence

import (
	"iter"
	"strconv"
)

// Standing says where the first relevant passage of a case stands in a list.
type Standing struct {
	Labeled bool // the case names something relevant, of a grade above 0
	// Ambiguous says that a passage without a chunk, of a document of which the
	// case names a chunk, stands before every one that is relevant for certain.
	Ambiguous bool
	Position  int // from 1; 0 when there is none, or it is ambiguous
}

// relevantEntry is one entry of expected.relevant.
type relevantEntry struct{ doc, chunk string } // chunk "" is the whole document

// FirstRelevant finds the first relevant passage of a case among passages, given
// by document and chunk. An entry of expected.relevant that names a document
// holds for each chunk of it, one that names a chunk for that chunk only.
func FirstRelevant(c *Case, passages iter.Seq2[string, string]) Standing {
	entries := relevantEntries(c)
	s := Standing{Labeled: len(entries) > 0}
	position := 0
	for doc, chunk := range passages {
		position++
		for _, e := range entries {
			if e.doc == doc && (e.chunk == "" || e.chunk == chunk) {
				s.Position, s.Ambiguous = position, false
				return s
			}
			s.Ambiguous = s.Ambiguous || e.doc == doc && chunk == ""
		}
		if s.Ambiguous {
			return s
		}
	}
	return s
}

// relevantEntries reads the entries of expected.relevant of a grade above 0.
// Malformed ones, which a data set with such labels does not have, name nothing.
func relevantEntries(c *Case) []relevantEntry {
	relevant, _ := Member(c.Expected, "relevant")
	var entries []relevantEntry
	for v := range Elements(relevant) {
		var e relevantEntry
		doc, _ := Member(v, "doc_id")
		chunk, _ := Member(v, "chunk_id")
		e.doc, _ = Text(doc)
		e.chunk, _ = Text(chunk)
		grade, graded := Member(v, "grade")
		if g, err := strconv.ParseFloat(string(grade), 64); e.doc == "" || graded && (err != nil || g <= 0) {
			continue
		}
		entries = append(entries, e)
	}
	return entries
}

// IDs yields document and chunk of each candidate in order.
func (r *Retrieval) IDs() iter.Seq2[string, string] {
	return func(yield func(doc, chunk string) bool) {
		for i := range r.Candidates {
			if !yield(r.Candidates[i].DocID, r.Candidates[i].ChunkID) {
				return
			}
		}
	}
}

// IDs yields document and chunk of each item in order.
func (c *Context) IDs() iter.Seq2[string, string] {
	return func(yield func(doc, chunk string) bool) {
		for i := range c.Items {
			if !yield(c.Items[i].DocID, c.Items[i].ChunkID) {
				return
			}
		}
	}
}

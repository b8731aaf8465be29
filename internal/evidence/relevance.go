package evidence

import (
	"fmt"
	"iter"
	"strconv"
)

// Relevant is an entry of expected.relevant: a document, any chunk of which is
// meant, or one chunk.
type Relevant struct {
	DocID   string
	ChunkID string  // "" is the whole document
	Grade   float64 // at least 0, which is not relevant
}

// RelevantOf returns what a case names as relevant, in its order: the entries
// with a grade above 0. The error names an entry that is malformed.
func RelevantOf(c *Case) ([]Relevant, error) {
	var all []Relevant
	for r, err := range Judgments(c) {
		if err != nil {
			return nil, err
		}
		if r.Grade > 0 {
			all = append(all, r)
		}
	}
	return all, nil
}

// Judgments are the entries of expected.relevant, in their order. The error
// names one that is malformed; those that follow it come all the same.
func Judgments(c *Case) iter.Seq2[Relevant, error] {
	return func(yield func(Relevant, error) bool) {
		list, _ := Member(c.Expected, "relevant")
		if IsNull(list) {
			return
		}
		if list.Kind() != '[' {
			yield(Relevant{}, fmt.Errorf("expected.relevant: want a list of {doc_id, chunk_id, grade}, found %s", Shorten(list, 60)))
			return
		}
		n := 0
		for v := range Elements(list) {
			r, err := relevant(v)
			if err != nil {
				err = fmt.Errorf("expected.relevant[%d]: %w", n, err)
			}
			if !yield(r, err) {
				return
			}
			n++
		}
	}
}

func relevant(v Value) (r Relevant, err error) {
	if r.DocID, r.ChunkID, err = passageName(v); err != nil {
		return r, err
	}
	r.Grade = 1
	if g, ok := Member(v, "grade"); ok {
		if r.Grade, err = strconv.ParseFloat(string(g), 64); g.Kind() != '0' || err != nil || r.Grade < 0 {
			return r, fmt.Errorf("grade: want a finite number of at least 0, found %s", Shorten(g, 60))
		}
	}
	return r, nil
}

// passageName reads doc_id and chunk_id of an entry.
func passageName(v Value) (doc, chunk string, err error) {
	if v.Kind() != '{' {
		return "", "", fmt.Errorf("want an object such as {\"doc_id\": \"…\"}, found %s", Shorten(v, 60))
	}
	d, ok := Member(v, "doc_id")
	if !ok {
		return "", "", fmt.Errorf("no doc_id")
	}
	if doc, _ = Text(d); doc == "" {
		return "", "", fmt.Errorf("doc_id: want a string that is not empty, found %s", Shorten(d, 60))
	}
	c, _ := Member(v, "chunk_id")
	if chunk, _ = Text(c); chunk == "" && !IsNull(c) {
		return "", "", fmt.Errorf("chunk_id: want a string that is not empty, found %s", Shorten(c, 60))
	}
	return doc, chunk, nil
}

// GoldContextOf returns the passages of expected.gold_context, in their order.
// The error names an entry that is malformed.
func GoldContextOf(c *Case) ([]Passage, error) {
	list, _ := Member(c.Expected, "gold_context")
	if IsNull(list) {
		return nil, nil
	}
	if list.Kind() != '[' {
		return nil, fmt.Errorf("expected.gold_context: want a list of {doc_id, text}, found %s", Shorten(list, 60))
	}
	var all []Passage
	for v := range Elements(list) {
		doc, chunk, err := passageName(v)
		if err != nil {
			return nil, fmt.Errorf("expected.gold_context[%d]: %w", len(all), err)
		}
		t, _ := Member(v, "text")
		text, ok := Text(t)
		if !ok {
			return nil, fmt.Errorf("expected.gold_context[%d]: text: want the passage as a string, found %s", len(all), Shorten(t, 60))
		}
		all = append(all, Passage{DocID: doc, ChunkID: chunk, Text: &text})
	}
	return all, nil
}

// Match says whether a passage is one of the relevant ones: by its document
// where an entry names a document, by both where it names a chunk. A passage
// that does not say which chunk it is, of a document of which a chunk is named,
// is ambiguous, unless the document is named as well.
func Match(relevant []Relevant, doc, chunk string) (found, ambiguous bool) {
	for _, r := range relevant {
		switch {
		case r.DocID != doc:
		case r.ChunkID == "" || r.ChunkID == chunk:
			return true, false
		case chunk == "":
			ambiguous = true
		}
	}
	return false, ambiguous
}

// FirstRelevant returns the rank, from 1, of the first relevant candidate, and 0
// when none is relevant. It is ambiguous when a candidate before it may be, and
// then there is no rank.
func FirstRelevant(relevant []Relevant, candidates []Passage) (rank int, ambiguous bool) {
	for i := range candidates {
		found, unsure := Match(relevant, candidates[i].DocID, candidates[i].ChunkID)
		switch {
		case found:
			return i + 1, false
		case unsure:
			return 0, true
		}
	}
	return 0, false
}

package diagnose

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Retrieved is a retrieval without its content.
type Retrieved struct {
	Candidates []Place `json:"candidates"` // in the retriever's order
}

// Place says what became of one candidate of a retrieval. Its rank is its place
// in the list.
type Place struct {
	Relevant bool   `json:"relevant"`
	Fate     string `json:"fate" jsonschema:"enum=context,enum=token_budget,enum=top_k,enum=unknown"`
}

// The fates of a candidate.
const (
	FateContext = "context"      // it reached the model
	FateBudget  = "token_budget" // dropped, for the token budget
	FateTopK    = "top_k"        // dropped, for standing below top_k
	FateUnknown = "unknown"      // the recorded context does not say
)

// places says what became of the candidates; nil when no retrieval was recorded.
func (c *Case) places() *Retrieved {
	if c.Retrieval == nil {
		return nil
	}
	all := make([]Place, len(c.Retrieval.Candidates))
	out := &Retrieved{all}
	for i := range all {
		p := &c.Retrieval.Candidates[i]
		all[i].Relevant, _ = evidence.Match(c.Relevant, p.DocID, p.ChunkID)
		all[i].Fate = FateUnknown
	}
	if c.Context == nil {
		return out
	}
	for i := range c.Context.Dropped {
		if at := c.rank(&c.Context.Dropped[i].ContextItem); at > 0 {
			all[at-1].Fate = c.Context.Dropped[i].Reason
		}
	}
	for i := range c.Context.Items {
		if at := c.rank(&c.Context.Items[i]); at > 0 {
			all[at-1].Fate = FateContext
		}
	}
	return out
}

// rank returns which candidate an item of the context is, from 1: the one at its
// position, or the first of its name when it has none. It is 0 when it is none.
func (c *Case) rank(item *evidence.ContextItem) int {
	candidates := c.Retrieval.Candidates
	if item.Position != nil {
		if *item.Position > len(candidates) {
			return 0
		}
		return *item.Position
	}
	for i := range candidates {
		if candidates[i].DocID == item.DocID && candidates[i].ChunkID == item.ChunkID {
			return i + 1
		}
	}
	return 0
}

// Passages returns what reached the model in the run, as generation was given
// it: the candidates that the items of the context stand for, or the items
// themselves where the retrieval does not have them. It is nil when the context
// was not recorded.
func (c *Case) Passages() []evidence.Passage {
	if c.Context == nil {
		return nil
	}
	all := make([]evidence.Passage, 0, len(c.Context.Items))
	for i := range c.Context.Items {
		item := &c.Context.Items[i]
		p := evidence.Passage{DocID: item.DocID, ChunkID: item.ChunkID, Text: item.Text}
		if c.Retrieval != nil {
			if at := c.rank(item); at > 0 && c.Retrieval.Candidates[at-1].DocID == item.DocID {
				p = c.Retrieval.Candidates[at-1]
				if p.Text == nil {
					p.Text = item.Text
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// HasTexts reports whether the texts of all that reached the model are known.
func (c *Case) HasTexts() bool {
	for _, p := range c.Passages() {
		if p.Text == nil {
			return false
		}
	}
	return c.Context != nil
}

// Reorder returns the recorded candidates in the order in which a reranker gave
// them back. It may leave some out. The error says that it gave back a passage
// that it was not given, or one twice. Scores and metadata are its own affair.
func (c *Case) Reorder(given []evidence.Passage) ([]evidence.Passage, error) {
	candidates := c.Retrieval.Candidates
	used := make([]bool, len(candidates))
	order := make([]evidence.Passage, 0, len(given))
	for n := range given {
		g, at, twice := &given[n], -1, false
		for i := range candidates {
			if !samePassage(&candidates[i], g) {
				continue
			}
			if twice = used[i]; !twice {
				at = i
				break
			}
		}
		switch {
		case twice:
			return nil, &RerankError{c.ID, n, g.DocID, true}
		case at < 0:
			return nil, &RerankError{c.ID, n, g.DocID, false}
		}
		used[at] = true
		order = append(order, candidates[at])
	}
	return order, nil
}

func samePassage(a, b *evidence.Passage) bool {
	if a.DocID != b.DocID || a.ChunkID != b.ChunkID || (a.Text == nil) != (b.Text == nil) {
		return false
	}
	return a.Text == nil || *a.Text == *b.Text
}

// RerankError is a passage that a reranker must not have given back.
type RerankError struct {
	Case  string
	At    int // its place in what was given back, from 0
	DocID string
	Twice bool
}

// Error names case and passage.
func (e *RerankError) Error() string {
	what := "which the run did not retrieve for this case"
	if e.Twice {
		what = "which it has given back already"
	}
	return fmt.Sprintf("case %q: the reranker gave back %q at place %d, %s: it may change the order of the recorded passages and leave some out, with their texts as they are", e.Case, e.DocID, e.At+1, what)
}

package evidence

import "fmt"

// The kinds of artifact with a schema of their own.
const (
	RetrievalKind = "retrieval/v1"
	ContextKind   = "context/v1"
	CitationsKind = "citations/v1"
)

// Artifacts is the typed evidence that a system recorded for one case, each
// kind as often as it was recorded.
type Artifacts struct {
	Retrieval []Retrieval
	Context   []Context
	Citations []Citations
	Other     map[string][]Value // kinds without a schema here, kept as they came
}

// Retrieval is a retrieval/v1 artifact: what a search returned, in its order.
// A candidate's rank is its place in the list, from 1.
type Retrieval struct {
	Query      Value     // any JSON; nil is null
	Depth      int       // places asked for, at least 1 and at least len(Candidates)
	Candidates []Passage // never nil in a decoded artifact
	// Source is "context" or "cited" when the list is not what a search returned,
	// but what reached the model, or only what the answer cites.
	Source string
}

// Passage is one candidate of a retrieval.
type Passage struct {
	DocID    string   // not empty
	ChunkID  string   // "" is null
	Score    *float64 // finite; nil is null; never used for ranking
	Text     *string
	Metadata Value // an object; nil is absent
}

// Context is a context/v1 artifact: what reached the model.
type Context struct {
	Items       []ContextItem // never nil in a decoded artifact
	Dropped     []DroppedItem // never nil in a decoded artifact
	TokenBudget *int          // at least 0; nil is null
	Source      string        // retrieval (the default), gold_context, top_k_replay or reranker
}

// ContextItem is a passage that reached the model.
type ContextItem struct {
	DocID    string
	ChunkID  string // "" is null
	Position *int   // rank in the retrieval, from 1; nil is null
	Tokens   *int   // at least 0; nil is null
	Text     *string
}

// DroppedItem is a passage that was left out of the context.
type DroppedItem struct {
	ContextItem
	Reason string // top_k or token_budget
}

// Citations is a citations/v1 artifact: each id is DOC_ID or DOC_ID#CHUNK_ID.
type Citations struct {
	IDs []string // never nil in a decoded artifact
}

// ContextNote says in one sentence where a context contradicts the retrieval
// that it was assembled from: a position beyond the candidates, or another
// passage at that rank. It returns "" when they agree, or when there is not
// exactly one retrieval to compare with. Gold context has no positions there.
func ContextNote(a *Artifacts) string {
	if len(a.Retrieval) != 1 {
		return ""
	}
	candidates := a.Retrieval[0].Candidates
	for i := range a.Context {
		c := &a.Context[i]
		if c.Source == "gold_context" {
			continue
		}
		for j := range c.Items {
			if note := positionNote("item", &c.Items[j], candidates); note != "" {
				return note
			}
		}
		for j := range c.Dropped {
			if note := positionNote("dropped item", &c.Dropped[j].ContextItem, candidates); note != "" {
				return note
			}
		}
	}
	return ""
}

func positionNote(what string, item *ContextItem, candidates []Passage) string {
	if item.Position == nil {
		return ""
	}
	position, passage := *item.Position, passageID(item.DocID, item.ChunkID)
	if position > len(candidates) {
		return fmt.Sprintf("context %s %q says position %d, but the retrieval has %d candidates", what, passage, position, len(candidates))
	}
	at := candidates[position-1]
	if at.DocID != item.DocID || at.ChunkID != item.ChunkID && at.ChunkID != "" && item.ChunkID != "" {
		return fmt.Sprintf("context %s %q says position %d, but the retrieval has %q there", what, passage, position, passageID(at.DocID, at.ChunkID))
	}
	return ""
}

// passageID names a passage as a citation does, shortened for a message.
func passageID(doc, chunk string) string {
	if chunk == "" {
		return shorten(doc, 60)
	}
	return shorten(doc, 60) + "#" + shorten(chunk, 60)
}

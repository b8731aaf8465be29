package staged

import "github.com/oloproof/oloproof-go/internal/evidence"

// The reasons why a candidate is not in the context.
const (
	droppedForTopK   = "top_k"
	droppedForBudget = "token_budget"
)

// Assemble makes the context of a retrieval's candidates: the first topK of
// them, of which the last ones are dropped while their tokens exceed the budget.
// A large early passage is never passed over for a small later one. tokens
// counts each of the first topK candidates; without a budget it is not read.
// It returns the context as it is recorded and the passages to generate with.
func Assemble(candidates []evidence.Passage, topK int, budget *int, tokens []int) (evidence.Context, []evidence.Passage) {
	within := min(topK, len(candidates))
	kept := within
	if budget != nil {
		used := 0
		for _, n := range tokens[:within] {
			used += n
		}
		for ; kept > 0 && used > *budget; kept-- {
			used -= tokens[kept-1]
		}
	}
	c := evidence.Context{
		Items: make([]evidence.ContextItem, kept), Dropped: make([]evidence.DroppedItem, 0, len(candidates)-kept),
		TokenBudget: budget, Source: SourceRetrieval,
	}
	for i := range candidates {
		item := evidence.ContextItem{DocID: candidates[i].DocID, ChunkID: candidates[i].ChunkID, Position: pointer(i + 1)}
		if budget != nil && i < within {
			item.Tokens = pointer(tokens[i])
		}
		switch {
		case i < kept:
			item.Text = candidates[i].Text
			c.Items[i] = item
		case i < within:
			c.Dropped = append(c.Dropped, evidence.DroppedItem{ContextItem: item, Reason: droppedForBudget})
		default:
			c.Dropped = append(c.Dropped, evidence.DroppedItem{ContextItem: item, Reason: droppedForTopK})
		}
	}
	return c, candidates[:kept:kept]
}

func pointer(n int) *int { return &n }

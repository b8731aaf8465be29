package evaluate

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// citationValidity passes when every cited id names a passage that reached the
// model: a document, or a chunk as DOC_ID#CHUNK_ID, of the items of context/v1.
type citationValidity struct {
	required bool // an answer that cites nothing fails
}

func newCitationValidity(o *suite.Evaluator) (Evaluator, error) {
	return citationValidity{o.RequireCitations}, nil
}

// Applicable implements [Evaluator]: every case can be judged.
func (citationValidity) Applicable(*evidence.Case) string { return "" }

// Judge implements [Evaluator].
func (e citationValidity) Judge(_ *evidence.Case, x *evidence.Execution) evidence.Judgment {
	contexts, citations := x.Artifacts.Context, x.Artifacts.Citations
	switch {
	case len(contexts) != 1:
		return notOnce(evidence.ContextKind, len(contexts))
	case len(citations) != 1:
		return notOnce(evidence.CitationsKind, len(citations))
	}
	ids := citations[0].IDs
	if len(ids) == 0 && e.required {
		return failed("nothing is cited")
	}
	var invalid []string
	for _, id := range ids {
		if !reached(id, contexts[0].Items) {
			invalid = append(invalid, id)
		}
	}
	if len(invalid) == 0 {
		return passed()
	}
	return failed("not in the context: " + quoteSome(invalid))
}

// reached reports whether an id names one of the items.
func reached(id string, items []evidence.ContextItem) bool {
	for i := range items {
		rest, ok := strings.CutPrefix(id, items[i].DocID)
		if !ok {
			continue
		}
		chunk, named := strings.CutPrefix(rest, "#")
		if rest == "" || named && chunk == items[i].ChunkID && chunk != "" {
			return true
		}
	}
	return false
}

// quoteSome lists the first few ids.
func quoteSome(ids []string) string {
	const most = 10
	var b strings.Builder
	for i, id := range ids[:min(most, len(ids))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(cut(id))
	}
	if len(ids) > most {
		fmt.Fprintf(&b, " and %d more", len(ids)-most)
	}
	return b.String()
}

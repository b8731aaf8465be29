package mapping

import "github.com/oloproof/oloproof-go/internal/evidence"

// FieldsOf lists the fields that an element of an artifact's list may have; nil
// is any.
func FieldsOf(kind string) []string {
	switch kind {
	case evidence.RetrievalKind:
		return []string{"doc_id", "chunk_id", "score", "text", "metadata"}
	case evidence.ContextKind:
		return []string{"doc_id", "chunk_id", "position", "tokens", "text"}
	case evidence.CitationsKind:
		return []string{"doc_id", "chunk_id"}
	}
	return nil
}

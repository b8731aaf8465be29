package evidence

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendArtifacts appends a as one object, kind to the list of what was
// recorded, with sorted keys. Fields of a schema that hold nothing are null;
// a candidate's metadata is left out when absent.
func AppendArtifacts(dst []byte, a *Artifacts) []byte {
	dst = append(dst, '{')
	start := len(dst)
	kinds := [...]string{CitationsKind, ContextKind, RetrievalKind}
	if len(a.Other) == 0 {
		for _, kind := range kinds {
			dst = appendKind(dst, start, a, kind)
		}
		return append(dst, '}')
	}
	for _, kind := range slices.SortedFunc(maps.Keys(withKinds(a.Other, kinds[:])), compareNames) {
		dst = appendKind(dst, start, a, kind)
	}
	return append(dst, '}')
}

func withKinds(other map[string][]Value, kinds []string) map[string]bool {
	all := map[string]bool{}
	for kind := range other {
		all[kind] = true
	}
	for _, kind := range kinds {
		all[kind] = true
	}
	return all
}

// appendKind appends the member of one kind, and nothing when none was recorded.
func appendKind(dst []byte, start int, a *Artifacts, kind string) []byte {
	switch kind {
	case CitationsKind:
		return appendMember(dst, start, kind, a.Citations, appendCitations)
	case ContextKind:
		return appendMember(dst, start, kind, a.Context, appendContext)
	case RetrievalKind:
		return appendMember(dst, start, kind, a.Retrieval, appendRetrieval)
	}
	return appendMember(dst, start, kind, a.Other[kind], func(dst []byte, v *Value) []byte { return appendRaw(dst, *v) })
}

func appendMember[T any](dst []byte, start int, kind string, all []T, appendOne func([]byte, *T) []byte) []byte {
	if len(all) == 0 {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ',')
	}
	dst = appendString(dst, kind)
	return appendList(append(dst, ':'), all, appendOne)
}

func appendList[T any](dst []byte, all []T, appendOne func([]byte, *T) []byte) []byte {
	dst = append(dst, '[')
	for i := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOne(dst, &all[i])
	}
	return append(dst, ']')
}

func appendRetrieval(dst []byte, r *Retrieval) []byte {
	dst = append(dst, `{"candidates":`...)
	dst = appendList(dst, r.Candidates, appendPassage)
	dst = append(dst, `,"depth":`...)
	dst = strconv.AppendInt(dst, int64(r.Depth), 10)
	dst = append(dst, `,"query":`...)
	dst = appendRaw(dst, r.Query)
	if r.Source != "" {
		dst = appendString(append(dst, `,"source":`...), r.Source)
	}
	return append(dst, '}')
}

func appendPassage(dst []byte, p *Passage) []byte {
	dst = append(dst, `{"chunk_id":`...)
	dst = appendNameOrNull(dst, p.ChunkID)
	dst = append(dst, `,"doc_id":`...)
	dst = appendString(dst, p.DocID)
	if p.Metadata != nil {
		dst = append(dst, `,"metadata":`...)
		dst = appendRaw(dst, p.Metadata)
	}
	dst = append(dst, `,"score":`...)
	if p.Score == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendFloat(dst, *p.Score)
	}
	dst = append(dst, `,"text":`...)
	return append(appendTextOrNull(dst, p.Text), '}')
}

func appendContext(dst []byte, c *Context) []byte {
	dst = append(dst, `{"dropped":`...)
	dst = appendList(dst, c.Dropped, func(dst []byte, item *DroppedItem) []byte {
		return appendContextItem(dst, &item.ContextItem, item.Reason)
	})
	dst = append(dst, `,"items":`...)
	dst = appendList(dst, c.Items, func(dst []byte, item *ContextItem) []byte {
		return appendContextItem(dst, item, "")
	})
	dst = append(dst, `,"source":`...)
	dst = appendString(dst, c.Source)
	dst = append(dst, `,"token_budget":`...)
	return append(appendIntOrNull(dst, c.TokenBudget), '}')
}

// appendContextItem appends an item, with a reason when it was dropped.
func appendContextItem(dst []byte, item *ContextItem, reason string) []byte {
	dst = append(dst, `{"chunk_id":`...)
	dst = appendNameOrNull(dst, item.ChunkID)
	dst = append(dst, `,"doc_id":`...)
	dst = appendString(dst, item.DocID)
	dst = append(dst, `,"position":`...)
	dst = appendIntOrNull(dst, item.Position)
	if reason != "" {
		dst = append(dst, `,"reason":`...)
		dst = appendString(dst, reason)
	}
	dst = append(dst, `,"text":`...)
	dst = appendTextOrNull(dst, item.Text)
	dst = append(dst, `,"tokens":`...)
	return append(appendIntOrNull(dst, item.Tokens), '}')
}

func appendCitations(dst []byte, c *Citations) []byte {
	dst = append(dst, `{"ids":`...)
	return append(appendList(dst, c.IDs, func(dst []byte, id *string) []byte { return appendString(dst, *id) }), '}')
}

func appendNameOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

func appendTextOrNull(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return appendString(dst, *s)
}

func appendIntOrNull(dst []byte, n *int) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(*n), 10)
}

// appendRaw appends v without white space and with sorted keys. Numbers keep
// their spelling, since an evaluator may read it: 1.0 as text is not 1.
// What is no JSON, or absent, becomes null.
func appendRaw(dst []byte, v Value) []byte {
	if len(v) == 0 {
		return append(dst, "null"...)
	}
	out, err := jsontext.AppendFormat(dst, v, jsontext.ReorderRawObjects(true))
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// appendFloat appends a double as RFC 8785 spells it. What is not finite
// becomes null.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0') // also for negative zero
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n-start >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 becomes e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

package evidence

import (
	"slices"
	"strconv"
	"strings"
)

// MetadataSlice is how the name of a slice of the metadata begins.
const MetadataSlice = "metadata."

// The slices of staged systems, which depend on what happened and not on the
// case alone.
const (
	// PositionSlice tells where the first relevant passage was retrieved: top_k,
	// beyond_top_k or not_retrieved.
	PositionSlice = "relevant_position"
	// TruncatedSlice tells whether a passage was left out for the token budget:
	// true or false.
	TruncatedSlice = "context_truncated"
)

// SliceValues returns the value of a case and its execution in each slice of a
// run; [NoSlice] where it is in none.
func SliceValues(m *Manifest, c *Case, e *Execution) []string {
	values := make([]string, len(m.Slices))
	for i, name := range m.Slices {
		switch name {
		case PositionSlice:
			values[i] = positionValue(m.System.Staged, c, e)
		case TruncatedSlice:
			values[i] = truncatedValue(e)
		default:
			values[i] = SliceValue(c, name)
		}
	}
	return values
}

func positionValue(settings *StagedSettings, c *Case, e *Execution) string {
	if settings == nil || e.Status != StatusOK || len(e.Artifacts.Retrieval) != 1 {
		return NoSlice
	}
	relevant, err := RelevantOf(c)
	if err != nil || len(relevant) == 0 {
		return NoSlice
	}
	switch rank, ambiguous := FirstRelevant(relevant, e.Artifacts.Retrieval[0].Candidates); {
	case ambiguous:
		return NoSlice
	case rank == 0:
		return "not_retrieved"
	case rank > settings.TopK:
		return "beyond_top_k"
	}
	return "top_k"
}

func truncatedValue(e *Execution) string {
	if e.Status != StatusOK || len(e.Artifacts.Context) != 1 {
		return NoSlice
	}
	dropped := e.Artifacts.Context[0].Dropped
	return strconv.FormatBool(slices.ContainsFunc(dropped, func(d DroppedItem) bool { return d.Reason == "token_budget" }))
}

// SliceValue returns the value of a case in a slice named metadata.KEY, where
// KEY is one key of its metadata (a dot in it is a part of the key). A string
// is taken as it is, a boolean or a number as its JSON text. Without the key,
// or with null, the case is in no slice: [NoSlice].
func SliceValue(c *Case, name string) string {
	v := SliceMember(c, name)
	switch v.Kind() {
	case '"':
		s, _ := Text(v)
		return s
	case '0':
		return NumberText(v)
	case 't', 'f':
		return string(v)
	}
	return NoSlice
}

// SliceMember returns the member of the metadata that a slice names, or nil.
func SliceMember(c *Case, name string) Value {
	key, ok := strings.CutPrefix(name, MetadataSlice)
	if !ok {
		return nil
	}
	v, _ := Member(c.Metadata, key)
	return v
}

package dataset

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// SliceValue is [evidence.SliceValue].
func SliceValue(c *evidence.Case, name string) string { return evidence.SliceValue(c, name) }

// checkSlices says which slices the metadata of a case cannot name a value of.
func checkSlices(c *evidence.Case, names []string) []string {
	var messages []string
	for _, name := range names {
		v := evidence.SliceMember(c, name)
		switch kind := v.Kind(); {
		case kind == '{' || kind == '[':
			messages = append(messages, fmt.Sprintf("%s is %s, so it cannot name a slice: want a string, a number or a boolean", name, typeName(v)))
		case kind == '"' && SliceValue(c, name) == evidence.NoSlice:
			messages = append(messages, fmt.Sprintf("%s is the text of one zero character, which cannot name a slice", name))
		}
	}
	return messages
}

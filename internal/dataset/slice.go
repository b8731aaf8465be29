package dataset

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const metadataPrefix = "metadata."

// SliceValue returns the value of a case in a slice named metadata.KEY, where
// KEY is one key of its metadata (a dot in it is a part of the key). A string
// is taken as it is, a boolean or a number as its JSON text. Without the key,
// or with null, the case is in no slice: [evidence.NoSlice].
func SliceValue(c *evidence.Case, name string) string {
	v := sliceMember(c, name)
	switch v.Kind() {
	case '"':
		s, _ := evidence.Text(v)
		return s
	case '0':
		return evidence.NumberText(v)
	case 't', 'f':
		return string(v)
	}
	return evidence.NoSlice
}

// sliceMember returns the member of the metadata that a slice names, or nil.
func sliceMember(c *evidence.Case, name string) evidence.Value {
	key, ok := strings.CutPrefix(name, metadataPrefix)
	if !ok {
		return nil
	}
	v, _ := evidence.Member(c.Metadata, key)
	return v
}

// checkSlices says which slices the metadata of a case cannot name a value of.
func checkSlices(c *evidence.Case, names []string) []string {
	var messages []string
	for _, name := range names {
		v := sliceMember(c, name)
		switch kind := v.Kind(); {
		case kind == '{' || kind == '[':
			messages = append(messages, fmt.Sprintf("%s is %s, so it cannot name a slice: want a string, a number or a boolean", name, typeName(v)))
		case kind == '"' && SliceValue(c, name) == evidence.NoSlice:
			messages = append(messages, fmt.Sprintf("%s is the text of one zero character, which cannot name a slice", name))
		}
	}
	return messages
}

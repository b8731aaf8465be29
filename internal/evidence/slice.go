package evidence

import "strings"

// MetadataSlice is how the name of a slice of the metadata begins.
const MetadataSlice = "metadata."

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

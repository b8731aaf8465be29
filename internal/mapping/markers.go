package mapping

// MarkerStyles lists the ways of citing that have a name.
func MarkerStyles() []string {
	var names []string
	for _, s := range styles() {
		names = append(names, s.name)
	}
	return names
}

// style is a way of citing in the text of an answer.
type style struct {
	name    string
	pattern string // its first group is the number or id
	base    int
	ids     bool
}

func styles() []style {
	return []style{
		{name: "[1]", pattern: `\[([0-9]+(?:\s*,\s*[0-9]+)*)\]`, base: 1},
		{name: "[doc1]", pattern: `\[doc([0-9]+)\]`, base: 1},
		{name: "##0$$", pattern: `##([0-9]+)\$\$`},
		{name: "[ID:0]", pattern: `\[ID:\s*([0-9]+)\]`},
		{name: "[[1]](url)", pattern: `\[\[([0-9]+)\]\]\([^()\s]*\)`, base: 1},
		{name: "【4:0†f】", pattern: `【[0-9]+:([0-9]+)†[^】]*】`},
		{name: "[citation:ID]", pattern: `\[citation:\s*([^\[\]\s]+)\s*\]`, ids: true},
	}
}

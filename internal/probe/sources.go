package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is a member that the elements of a list have, at the same place below
// each of them.
type column struct {
	path   []string // keys from the element down; the last may be an index
	values []*node  // one for each element, nil where it is absent or null
}

func (c *column) key() string { return c.path[len(c.path)-1] }

// parent is the key above the last one that is no index, "" when there is none.
func (c *column) parent() string {
	if len(c.path) < 2 {
		return ""
	}
	return c.path[len(c.path)-2]
}

func (c *column) name() string { return strings.Join(c.path, ".") }

// texts returns the values as texts, "" where there is none; ok is false when a
// value is no text and no whole number.
func (c *column) texts() (texts []string, ok bool) {
	texts = make([]string, len(c.values))
	for i, v := range c.values {
		switch {
		case v == nil:
		case v.kind == '"' && v.inner == nil:
			texts[i] = v.text
		case v.kind == '0' && !strings.ContainsAny(v.text, ".eE"):
			texts[i] = v.text
		default:
			return nil, false
		}
	}
	return texts, true
}

func (c *column) filled() int {
	n := 0
	for _, v := range c.values {
		if v != nil && (v.kind != '"' || v.text != "") {
			n++
		}
	}
	return n
}

// columns returns the members of elements in the order of the body. Lists are
// not entered, but for the first text of a list of texts.
func columns(elements []*node) []*column {
	var all []*column
	index := map[string]*column{}
	var visit func(i int, path []string, n *node)
	visit = func(i int, path []string, n *node) {
		switch {
		case n.kind == '{' && len(path) < 6:
			for _, key := range n.keys {
				visit(i, append(path[:len(path):len(path)], key), n.value[key])
			}
			return
		case n.kind == '[' && len(n.items) > 0 && n.items[0].kind == '"' && len(path) > 0:
			n, path = n.items[0], append(path[:len(path):len(path)], "0")
		case n.kind == '[' && len(n.items) > 0 && n.items[0].kind == '{' && len(path) > 0 && has(flat(path[len(path)-1]), "content", "snippet", "highlight", "part"):
			visit(i, append(path[:len(path):len(path)], "0"), n.items[0])
			return
		case n.kind == '[' || n.kind == '{' || n.kind == 'n' || len(path) == 0:
			return
		}
		name := strings.Join(path, "\x00")
		c := index[name]
		if c == nil {
			c = &column{path: path, values: make([]*node, len(elements))}
			index[name] = c
			all = append(all, c)
		}
		c.values[i] = n
	}
	for i, n := range elements {
		visit(i, nil, n)
	}
	return all
}

// choice is a column, or several that stand in for each other, with how well it fits.
type choice struct {
	columns []*column
	points  float64
	cut     bool // only the last part of the path-like value names the document
	texts   []string
}

func (c *choice) ok() bool { return c != nil && len(c.columns) > 0 }

func (c *choice) names() []string {
	var names []string
	for _, col := range c.columns {
		names = append(names, col.name())
	}
	return names
}

// documents chooses what names the document of each element. cited are values
// that occur among the citations.
func documents(cols []*column, under string, cited map[string]bool) *choice {
	best := &choice{}
	consider := func(c *choice) {
		if c.points > best.points {
			best = c
		}
	}
	var partial []*choice
	for _, col := range cols {
		texts, ok := col.texts()
		if !ok {
			continue
		}
		parent := col.parent()
		if parent == "" {
			parent = under
		}
		points, fits := documentPoints(col.key(), parent, texts, cited)
		filled := col.filled()
		if !fits || filled == 0 {
			continue
		}
		c := &choice{columns: []*column{col}, points: points, texts: texts}
		if filled < len(texts) {
			partial = append(partial, c)
			c = &choice{columns: c.columns, points: points * float64(filled) / float64(len(texts)), texts: texts}
		}
		consider(c)
	}
	for _, c := range together(partial) {
		consider(c)
	}
	if best.ok() {
		best.cut = resourceNames(best.texts)
	}
	return best
}

// together joins columns below one member that stand in for each other: where
// one is absent another is there, and never two at once.
func together(partial []*choice) []*choice {
	var joined []*choice
	for i, first := range partial {
		all := &choice{columns: first.columns, points: first.points, texts: slices.Clone(first.texts)}
		for _, other := range partial[i+1:] {
			if other.columns[0].path[0] != first.columns[0].path[0] || len(first.columns[0].path) < 2 {
				continue
			}
			apart := true
			for j := range all.texts {
				apart = apart && (all.texts[j] == "" || other.texts[j] == "")
			}
			if !apart {
				continue
			}
			all.columns = append(all.columns[:len(all.columns):len(all.columns)], other.columns...)
			all.points = min(all.points, other.points)
			for j, text := range other.texts {
				all.texts[j] += text
			}
		}
		if len(all.columns) > 1 && !slices.Contains(all.texts, "") {
			joined = append(joined, all)
		}
	}
	return joined
}

func documentPoints(key, parent string, texts []string, cited map[string]bool) (points float64, fits bool) {
	word := docWord(key, parent)
	if word < 0 {
		return 0, false
	}
	points = float64(word)
	files, spaced, hashes, known := true, false, true, false
	for _, t := range texts {
		if t == "" {
			continue
		}
		if strings.ContainsAny(t, "\n\r") || len(t) > 400 || dateLike().MatchString(t) {
			return 0, false
		}
		file := fileLike().MatchString(t)
		files = files && file
		spaced = spaced || strings.Contains(t, " ") && !file && !urlLike().MatchString(t)
		hashes = hashes && hashLike().MatchString(t)
		known = known || cited[t]
	}
	switch {
	case files && word < 7:
		points += 3
	case files:
		points += 2
	}
	if spaced {
		points -= 3
	}
	if hashes {
		points -= 3
	}
	if known {
		points += 4
	}
	return points, points > 0
}

// resourceNames reports whether ids are the long names of a resource, such as
// projects/1/…/documents/kb-102, which differ in their last part only.
func resourceNames(ids []string) bool {
	head := ""
	for _, id := range ids {
		i := strings.LastIndexByte(id, '/')
		if i < 0 || strings.Count(id, "/") < 3 || urlLike().MatchString(id) || strings.HasPrefix(id, "/") || head != "" && id[:i] != head {
			return false
		}
		head = id[:i]
	}
	return head != ""
}

func cutAll(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id[strings.LastIndexByte(id, '/')+1:]
	}
	return out
}

// other chooses a column by its words and a test of its values.
func other(cols []*column, word func(c *column) int, fits func(v *node) bool) *choice {
	best := &choice{}
	for _, col := range cols {
		points := float64(word(col)) * float64(col.filled()) / float64(max(len(col.values), 1))
		if points <= best.points || slices.ContainsFunc(col.values, func(v *node) bool { return v != nil && !fits(v) }) {
			continue
		}
		best = &choice{columns: []*column{col}, points: points}
	}
	return best
}

// list is a list of sources that was found.
type list struct {
	place    *place
	key      string
	elements []*node
	doc      *choice
	parent   *choice // what names the document in the element above; doc is empty then
	chunk    *choice
	score    *choice
	text     *choice
	cited    bool // holds what the answer cites
	zip      *zipped
	repeats  bool // the same element occurs twice
	points   float64
}

// findLists returns the lists of sources in a body, the best first.
func findLists(places []*place, cited map[string]bool) []*list {
	var lists []*list
	seen := map[*node]*list{}
	for _, p := range places {
		l := sourceList(p, cited)
		if l == nil {
			continue
		}
		// The same elements, once by their kind: the kind is the safer way.
		if twin := seen[l.elements[0]]; twin != nil && sameNodes(twin.elements, l.elements) {
			if len(filters(l.place.path)) > len(filters(twin.place.path)) && len(filters(twin.place.path)) == 0 {
				*twin = *l
			}
			continue
		}
		seen[l.elements[0]] = l
		lists = append(lists, l)
	}
	slices.SortStableFunc(lists, func(a, b *list) int { return cmp.Compare(b.points, a.points) })
	return lists
}

func filters(path []step) (on []step) {
	for _, s := range path {
		if s.on != "" {
			on = append(on, s)
		}
	}
	return on
}

func sameNodes(a, b []*node) bool { return slices.Equal(a, b) }

// sourceList returns the list of sources that stands at a place, or nil.
func sourceList(p *place, cited map[string]bool) *list {
	if z := zip(p); z != nil {
		return z.list(p, cited)
	}
	n := len(p.path)
	if n == 0 || !p.path[n-1].each || p.kind() != '{' {
		return nil
	}
	l := &list{place: p, key: lastKey(p.path), elements: p.nodes, cited: ofCitations(p.path)}
	for _, s := range p.path {
		if isAsker(s.is) && !is(flat(s.is), "tool", "function") || is(flat(s.key), "toolcalls", "failures", "logprobs", "followupprompts", "suggestions") && !strings.Contains(flat(s.key), "toolcall") {
			return nil
		}
	}
	for _, e := range p.nodes {
		for _, name := range []string{"role", "author", "type"} {
			if v := e.value[name]; v != nil && v.kind == '"' && (isSpeaker(v.text) || name == "type" && is(flat(v.text), "function", "toolcall", "toolcalls", "filesearch", "reasoning")) {
				return nil
			}
		}
	}
	cols := columns(p.nodes)
	l.choose(cols, cited)
	if !l.doc.ok() || l.doc.points < 6 && has(flat(l.key), "chunk", "passage", "snippet", "segment") {
		l.above()
	}
	if !l.doc.ok() && !l.parent.ok() {
		return nil
	}
	if l.doc.ok() && 2*blanks(l.doc.texts) > len(l.doc.texts) {
		return nil
	}
	l.repeats = repeated(p.nodes)
	l.rate()
	if l.points < 5 {
		return nil
	}
	return l
}

// ofCitations reports whether a list holds what the answer cites: it stands
// below citations, and is no list of sources that only shares their place.
func ofCitations(path []step) bool {
	at := slices.IndexFunc(path, func(s step) bool { return isCited(s.key) })
	if at < 0 {
		return false
	}
	if has(flat(path[at].key), "annotation") {
		return !slices.ContainsFunc(path[at+1:], func(s step) bool { return listWord(s.key) >= 8 && !has(flat(s.key), "reference") })
	}
	return true
}

func blanks(texts []string) int {
	n := 0
	for _, t := range texts {
		if t == "" {
			n++
		}
	}
	return n
}

func (l *list) choose(cols []*column, cited map[string]bool) {
	l.doc = documents(cols, "", cited)
	passages := slices.DeleteFunc(slices.Clone(cols), func(c *column) bool {
		return !slices.ContainsFunc(c.values, func(v *node) bool { return v != nil && v.kind == '"' && strings.ContainsAny(v.text, " \n") })
	}) // one word is no passage
	l.text = other(passages, func(c *column) int {
		key := c.key()
		if _, err := strconv.Atoi(key); err == nil && len(c.path) > 1 {
			key = c.parent()
		}
		word := textWord(key)
		if word < 0 {
			return word
		}
		return word*2 + min(averageLength(c.values)/20, 6)
	}, func(v *node) bool { return v.kind == '"' && v.inner == nil })
	l.score = other(cols, func(c *column) int { return scoreWord(c.key())*4 - len(c.path) }, func(v *node) bool { return v.kind == '0' })
	if l.score.ok() && isRank(l.score.columns[0].values) {
		l.score = &choice{}
	}
	l.chunk = other(cols, func(c *column) int {
		if l.doc.ok() && slices.Contains(l.doc.columns, c) || constant(c.values) {
			return -1
		}
		return chunkWord(c.key(), c.parent())
	}, func(v *node) bool {
		return v.kind == '0' || v.kind == '"' && len(v.text) < 200 && !strings.Contains(v.text, " ")
	})
	if l.chunk.ok() && l.doc.ok() {
		if texts, ok := l.chunk.columns[0].texts(); ok && slices.Equal(texts, l.doc.texts) {
			l.chunk = &choice{} // the document once more
		}
	}
}

// isRank reports whether numbers only count the elements.
func isRank(values []*node) bool {
	for i, v := range values {
		if v == nil {
			return false
		}
		if n, err := strconv.Atoi(v.text); err != nil || n != i && n != i+1 {
			return false
		}
	}
	return len(values) > 1
}

// constant reports whether several values are all the same.
func constant(values []*node) bool {
	if len(values) < 2 {
		return false
	}
	return !slices.ContainsFunc(values, func(v *node) bool { return v == nil || values[0] == nil || v.text != values[0].text })
}

func averageLength(values []*node) int {
	total, n := 0, 0
	for _, v := range values {
		if v != nil && v.kind == '"' {
			total, n = total+len(v.text), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return total / n
}

// above looks for the document in the elements that hold this list.
func (l *list) above() {
	for p, up := l.place, identity(len(l.place.nodes)); p.from != nil; {
		here := p.up
		for i := range up {
			up[i] = here[up[i]]
		}
		p = p.from
		if n := len(p.path); n == 0 || !p.path[n-1].each || p.kind() != '{' {
			continue
		}
		if l.cited {
			return
		}
		parents := make([]*node, len(up))
		for i, j := range up {
			parents[i] = p.nodes[j]
		}
		if mixedSpeakers(p, len(p.path)-1) || slices.ContainsFunc(p.path, func(s step) bool { return isSpeaker(s.is) }) {
			return // turns of a conversation
		}
		c := documents(columns(parents), lastKey(p.path), nil)
		if c.ok() && c.points >= 5 {
			l.parent, l.doc = c, &choice{}
		}
		return
	}
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (l *list) rate() {
	words := listWord(l.key)
	if words < 0 {
		l.points = -1
		return
	}
	l.points = float64(words)
	for _, s := range l.place.path[:len(l.place.path)-1] {
		if s.key != "" && s.key != l.key {
			l.points += float64(max(listWord(s.key), 0)) / 8
		}
	}
	if l.text.ok() {
		l.points += 3
	}
	if l.score.ok() {
		l.points += 2
	}
	if l.doc.ok() {
		l.points += l.doc.points / 3
	} else {
		l.points += l.parent.points/3 - 1
	}
	if len(l.elements) > 1 {
		l.points++
	}
	if !l.text.ok() && !l.score.ok() {
		l.points -= 4
	}
}

func repeated(elements []*node) bool {
	seen := map[string]bool{}
	for _, e := range elements {
		text := e.String()
		if seen[text] {
			return true
		}
		seen[text] = true
	}
	return false
}

// String returns a value as text that is equal for equal values.
func (n *node) String() string {
	switch n.kind {
	case '{':
		var b strings.Builder
		for _, k := range n.keys {
			fmt.Fprintf(&b, "%q:%s,", k, n.value[k])
		}
		return "{" + b.String() + "}"
	case '[':
		var b strings.Builder
		for _, item := range n.items {
			b.WriteString(item.String() + ",")
		}
		return "[" + b.String() + "]"
	case '"':
		return strconv.Quote(n.text)
	}
	return n.text
}

// zipped is a list of sources that came as lists side by side: texts, what is
// known of each, and scores.
type zipped struct {
	texts, facts, scores string // keys; facts and scores may be ""
	elements             []*node
}

// zip returns the lists side by side that the objects at a place hold, or nil.
func zip(p *place) *zipped {
	if p.kind() != '{' || len(p.nodes) == 0 {
		return nil
	}
	first := p.nodes[0]
	if first.kind != '{' {
		return nil
	}
	z := &zipped{}
	length := -1
	for _, key := range first.keys {
		v := first.value[key]
		if v.kind != '[' || len(v.items) == 0 {
			continue
		}
		kind := v.items[0].kind
		switch {
		case kind == '"' && z.texts == "" && averageLength(v.items) > 20 && textOrListWord(key):
			z.texts = key
		case kind == '{' && z.facts == "" || kind == '"' && z.facts == "" && has(flat(key), "id", "source", "name"):
			z.facts = key
		case kind == '0' && z.scores == "" && has(flat(key), "distance", "score", "similar", "relevan"):
			z.scores = key
		default:
			continue
		}
		if length >= 0 && length != len(v.items) {
			return nil
		}
		length = len(v.items)
	}
	if z.texts == "" || z.facts == "" {
		return nil
	}
	for _, n := range p.nodes {
		texts, facts := n.value[z.texts], n.value[z.facts]
		if texts == nil || facts == nil || len(texts.items) != len(facts.items) {
			return nil
		}
		for i := range texts.items {
			e := &node{kind: '{', keys: []string{z.texts, z.facts}, value: map[string]*node{z.texts: texts.items[i], z.facts: facts.items[i]}}
			if s := n.value[z.scores]; s != nil && i < len(s.items) {
				e.keys, e.value["score"] = append(e.keys, "score"), s.items[i]
			}
			z.elements = append(z.elements, e)
		}
	}
	return z
}

func textOrListWord(key string) bool { return textWord(key) > 0 || listWord(key) >= 5 }

func (z *zipped) list(p *place, cited map[string]bool) *list {
	l := &list{place: p, key: z.texts, elements: z.elements, zip: z}
	cols := columns(z.elements)
	l.choose(slices.DeleteFunc(slices.Clone(cols), func(c *column) bool { return c.path[0] == z.texts }), cited)
	l.text = &choice{columns: []*column{{path: []string{z.texts}}}, points: 10}
	if facts := cols[1:]; !l.doc.ok() && len(facts) > 0 && len(facts[0].path) == 1 {
		texts, _ := facts[0].texts()
		l.doc = &choice{columns: facts[:1], points: 6, texts: texts}
	}
	if !l.doc.ok() {
		return nil
	}
	l.rate()
	l.points = max(l.points, 0) + 8
	return l
}

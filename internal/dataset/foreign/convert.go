package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// built is a case in the making.
type built struct {
	id                        string
	input, expected, metadata node
	conflict                  string // what stands where something else should
}

// node is a value that is put together by paths.
type node struct {
	value   evidence.Value // of a leaf; nil for an object
	names   []string       // of an object, in their order
	members map[string]*node
}

func (n *node) empty() bool { return n.value == nil && len(n.names) == 0 }

// at returns the member at a path, made when it is not there.
func (n *node) at(path []string) *node {
	for _, name := range path {
		n.open()
		member := n.members[name]
		if member == nil {
			member = &node{}
			if n.members == nil {
				n.members = map[string]*node{}
			}
			n.members[name] = member
			n.names = append(n.names, name)
		}
		n = member
	}
	return n
}

// open makes a leaf that is an object one of members.
func (n *node) open() {
	if n.value == nil {
		return
	}
	v := n.value
	n.value = nil
	for name, member := range evidence.Members(v) {
		n.at([]string{name}).value = member
	}
}

func (n *node) append(dst []byte) []byte {
	if n.value != nil {
		return append(dst, n.value...)
	}
	dst = append(dst, '{')
	first := true
	for _, name := range n.names {
		member := n.members[name]
		if member.empty() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(quote(dst, name), ':')
		dst = member.append(dst)
	}
	return append(dst, '}')
}

// json is the case as one line.
func (b *built) json() []byte {
	dst := []byte{'{'}
	key := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), '"', ':')
	}
	if b.id != "" {
		key("id")
		dst = quote(dst, b.id)
	}
	for _, part := range []struct {
		name string
		node *node
	}{{"input", &b.input}, {"expected", &b.expected}, {"metadata", &b.metadata}} {
		if !part.node.empty() {
			key(part.name)
			dst = part.node.append(dst)
		}
	}
	return append(dst, '}')
}

// put puts a value at a target.
func (b *built) put(target string, v evidence.Value) {
	root, path, _ := strings.Cut(target, ".")
	var steps []string
	if path != "" {
		steps = strings.Split(path, ".")
	}
	n := map[string]*node{"input": &b.input, "expected": &b.expected, "metadata": &b.metadata}[root]
	for i := range steps {
		if n.value != nil && n.value.Kind() != '{' && b.conflict == "" {
			b.conflict = fmt.Sprintf("%s stands in a place that is %s already", target, evidence.Shorten(n.value, 40))
		}
		n = n.at(steps[i : i+1])
	}
	n.value, n.names, n.members = v, nil, nil
}

// convert makes the case of a row, or says why there is none.
func (r *reader) convert(number int, v evidence.Value, table bool) (line []byte, fault string) {
	for _, f := range r.own {
		if !r.seen[f.Target] && has(v, f.Sources) {
			r.seen[f.Target] = true
		}
	}
	if r.format.own != nil && r.format.own(r, v, table) {
		return r.ownRow(number, v)
	}
	var b built
	used := map[string]bool{}
	for _, f := range r.fields {
		name, value := find(v, f.Sources)
		if name == "" {
			continue
		}
		used[name] = true
		if table && r.format.cells {
			value = nested(value)
		}
		if fault := r.set(&b, number, f, value, table); fault != "" {
			return nil, fmt.Sprintf("field %q: %s", shorten(name), fault)
		}
	}
	if r.format.row != nil {
		if fault := r.format.row(r, &b, number, v, used); fault != "" {
			return nil, fault
		}
	}
	for name, member := range evidence.Members(v) {
		if !used[name] && !evidence.IsNull(member) {
			r.leave(name, number)
		}
	}
	return r.finish(&b)
}

// leave counts a field of a row that is not taken.
func (r *reader) leave(name string, number int) {
	t := r.untaken[name]
	if t == nil {
		t = &tally{}
		r.untaken[strings.Clone(name)] = t
	}
	t.add(number)
}

// finish checks a case that was put together and joins its judgments.
func (r *reader) finish(b *built) (line []byte, fault string) {
	if b.conflict != "" {
		return nil, b.conflict
	}
	if b.input.empty() {
		return nil, "nothing to ask: " + r.wantInput()
	}
	if r.qrels != nil {
		if fault := r.qrels.join(r, b); fault != "" {
			return nil, fault
		}
	}
	return oneLine(b.json())
}

// oneLine takes the white space out of a case, whose parts come from files that
// spread values over lines.
func oneLine(c evidence.Value) (line []byte, fault string) {
	if err := c.Compact(jsontext.AllowInvalidUTF8(false), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// wantInput says where the input is looked for.
func (r *reader) wantInput() string {
	var sources []string
	for _, f := range r.fields {
		if f.Target == "input" || strings.HasPrefix(f.Target, "input.") {
			sources = append(sources, f.Sources...)
		}
	}
	if len(sources) == 0 {
		return "say with fields which field is the input, such as input.question: question"
	}
	message := fmt.Sprintf("none of the fields %s holds anything", strings.Join(slices.Compact(sources), ", "))
	for _, name := range r.first { // Question, of a table that people wrote
		if slices.ContainsFunc(sources, func(s string) bool { return s != name && strings.EqualFold(s, name) }) {
			return message + fmt.Sprintf(" (to read %q, say with fields input.question: %s)", name, name)
		}
	}
	return message + " (another one is named with fields, such as input.question: FIELD)"
}

// has reports whether a row has one of the fields, be it empty.
func has(v evidence.Value, sources []string) bool {
	return slices.ContainsFunc(sources, func(source string) bool {
		if _, ok := evidence.Member(v, source); ok {
			return true
		}
		_, err := evidence.Lookup(v, source)
		return err == nil
	})
}

// find returns the first of the sources that a row has: a field by its name, which
// may hold dots, or what stands at a dotted path.
func find(v evidence.Value, sources []string) (name string, value evidence.Value) {
	for _, source := range sources {
		if member, ok := evidence.Member(v, source); ok && !evidence.IsNull(member) {
			return source, member
		}
		if member, err := evidence.Lookup(v, source); err == nil && !evidence.IsNull(member) {
			first, _, _ := strings.Cut(source, ".")
			return first, member
		}
	}
	return "", nil
}

// set puts the value of a field into the case, as its target asks for it.
func (r *reader) set(b *built, number int, f Field, v evidence.Value, table bool) (fault string) {
	as := f.As
	if as == "" {
		as = usual(f.Target)
	}
	text, isText := evidence.Text(v)
	if isText && strings.HasPrefix(f.Target, "expected") && strings.TrimSpace(text) == "" {
		// Every answer contains nothing: what is not there must not pass.
		r.note(number, "the "+f.Target+" of %s is an empty text, so that nothing is expected")
		return ""
	}
	switch as {
	case "name":
		return r.setID(b, number, v, table)
	case "text":
		if !isText {
			v = evidence.Value(quote(nil, plain(v)))
		}
	case "number":
		if isText {
			n := evidence.Value(strings.TrimSpace(text))
			if !n.IsValid() || n.Kind() != '0' {
				return fmt.Sprintf("want a number, found %s", evidence.Shorten(v, 60))
			}
			v = n
		} else if v.Kind() != '0' {
			return fmt.Sprintf("want a number, found %s", evidence.Shorten(v, 60))
		}
	case "boolean":
		return setBoolean(b, f.Target, v)
	case "json":
		if isText {
			parsed, err := evidence.ParseJSON([]byte(text))
			if err != nil {
				if parsed = nested(v); parsed.Kind() == '"' {
					return fmt.Sprintf("want JSON, found %s: %v", evidence.Shorten(v, 60), message(err))
				}
			}
			v = parsed
		}
	case "value": // what it is; in a table JSON where it looks like some
		if table {
			v = nested(v)
		}
	case "list", "any_of", "all_of":
		list, fault := listOf(v, f.Split)
		if fault != "" {
			return fault
		}
		if v = list; as != "list" {
			v = evidence.Value(append(append([]byte(`{"`+as+`":`), list...), '}'))
		}
	case "question":
		return setQuestion(b, f.Target, v, table)
	case "answer":
		return r.setAnswer(b, number, f, v, table)
	case "labels":
		return r.setLabels(b, number, f, v)
	case "passages":
		return setPassages(b, f, v)
	}
	if f.Target == "metadata" && v.Kind() != '{' {
		return "metadata: want an object, found " + evidence.Shorten(v, 60)
	}
	b.put(f.Target, v)
	return ""
}

// usual is how a target is read when nothing says so.
func usual(target string) string {
	switch target {
	case "id":
		return "name"
	case "expected.relevant":
		return "labels"
	case "expected.gold_context":
		return "passages"
	case "expected.refusal":
		return "boolean"
	}
	return "value"
}

// plain is a value as text: a text as it is, others as JSON.
func plain(v evidence.Value) string {
	if s, ok := evidence.Text(v); ok {
		return s
	}
	return string(v)
}

const fractionOfZero = "the id of %s is a number with a fraction of zero, which is left out"

// setID takes a name: text, a whole number, or a number that a table made one of
// it, such as 123.0.
func (r *reader) setID(b *built, number int, v evidence.Value, table bool) string {
	switch v.Kind() {
	case '"':
		b.id, _ = evidence.Text(v)
		if trimmed := strings.TrimSpace(b.id); trimmed != b.id {
			r.note(number, "the id of %s was written with white space around it, which is left out")
			b.id = trimmed
		}
		if whole, ok := strings.CutSuffix(b.id, ".0"); ok && table && strings.Trim(whole, "0123456789") == "" && whole != "" {
			r.note(number, fractionOfZero)
			b.id = whole
		}
		if b.id == "" {
			return "the id is empty"
		}
		return ""
	case '0':
		text := evidence.NumberText(v)
		if whole, ok := strings.CutSuffix(text, ".0"); ok {
			r.note(number, fractionOfZero)
			text = whole
		}
		if strings.ContainsAny(text, ".e") {
			return "the id is the number " + text + ": want text or a whole number"
		}
		b.id = text
		return ""
	}
	return "the id is " + evidence.Shorten(v, 60) + ": want text or a whole number"
}

func setBoolean(b *built, target string, v evidence.Value) string {
	switch strings.ToLower(strings.TrimSpace(plain(v))) {
	case "true", "yes", "1":
		b.put(target, evidence.Value("true"))
	case "false", "no", "0":
		b.put(target, evidence.Value("false"))
	default:
		return "want true or false, found " + evidence.Shorten(v, 60)
	}
	return ""
}

// setQuestion takes a question: text under the target, a conversation under
// input.messages, an object as the whole input.
func setQuestion(b *built, target string, v evidence.Value, table bool) string {
	if text, ok := evidence.Text(v); ok && table && strings.HasPrefix(text, "[{") {
		v = nested(v)
	}
	switch v.Kind() {
	case '[':
		if len(distinct(v)) == 0 {
			return "the question is empty"
		}
		b.put("input.messages", v)
	case '{':
		b.put("input", v)
	case '"':
		if text, _ := evidence.Text(v); strings.TrimSpace(text) == "" {
			return "the question is empty"
		}
		b.put(target, v)
	default:
		return "want a question, found " + evidence.Shorten(v, 60)
	}
	return ""
}

// setAnswer takes what is expected: an object as all of it, of a list any one, and
// else the value.
func (r *reader) setAnswer(b *built, number int, f Field, v evidence.Value, table bool) string {
	if text, ok := evidence.Text(v); ok && table && strings.HasPrefix(text, "[") {
		if list, fault := listOf(v, f.Split); fault == "" {
			v = list
		}
	}
	switch v.Kind() {
	case '{':
		b.put("expected", v)
	case '[':
		answers := distinct(v)
		switch len(answers) {
		case 0:
			r.note(number, "the "+f.Target+" of %s is an empty list, so that nothing is expected")
		case 1:
			return r.set(b, number, Field{Target: f.Target}, answers[0], false)
		default:
			b.put(f.Target, evidence.Value(append(join([]byte(`{"any_of":[`), answers), "]}"...)))
		}
	default:
		b.put(f.Target, v)
	}
	return ""
}

// distinct are the elements of a list, each once.
func distinct(list evidence.Value) []evidence.Value {
	var all []evidence.Value
	for v := range evidence.Elements(list) {
		if !slices.ContainsFunc(all, func(other evidence.Value) bool { return string(other) == string(v) }) {
			all = append(all, v)
		}
	}
	return all
}

func join(dst []byte, values []evidence.Value) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return dst
}

// setLabels takes relevant passages: ids, or objects under usual names.
func (r *reader) setLabels(b *built, number int, f Field, v evidence.Value) string {
	list, fault := listOf(v, f.Split)
	if fault != "" {
		return fault
	}
	dst := []byte{'['}
	n := 0
	for element := range evidence.Elements(list) {
		label, fault := r.label(number, nested(element))
		if fault != "" {
			return fmt.Sprintf("[%d]: %s", n, fault)
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, label...)
	}
	if n > 0 {
		b.put(f.Target, append(dst, ']'))
	}
	return ""
}

// label is one relevant passage as {doc_id, chunk_id, grade}.
func (r *reader) label(number int, v evidence.Value) (label []byte, fault string) {
	doc, chunk, grade := v, evidence.Value(nil), evidence.Value(nil)
	if v.Kind() == '{' {
		_, doc = find(v, []string{"doc_id", "document_id", "docid", "corpus-id", "corpus_id", "id", "_id"})
		_, chunk = find(v, []string{"chunk_id", "chunk"})
		_, grade = find(v, []string{"grade", "query_relevance_label", "relevance", "score", "label"})
	}
	id, fault := docID(doc)
	if fault != "" {
		return nil, fault
	}
	label = quote([]byte(`{"doc_id":`), id)
	if chunk != nil {
		id, fault := docID(chunk)
		if fault != "" {
			return nil, "chunk_id: " + fault
		}
		label = quote(append(label, `,"chunk_id":`...), id)
	}
	if grade != nil {
		g, ok := finite(plain(grade))
		if !ok {
			return nil, "grade: want a finite number, found " + evidence.Shorten(grade, 40)
		}
		label = append(label, `,"grade":`...)
		label = append(label, r.grade(number, "", g)...)
	}
	return append(label, '}'), ""
}

// finite reads a number as judgments write it.
func finite(text string) (g float64, ok bool) {
	g, err := strconv.ParseFloat(text, 64)
	return g, err == nil && !math.IsNaN(g) && !math.IsInf(g, 0)
}

// grade is a grade as JSON. A negative one says that a passage is not relevant. of
// names the file when the row is none of the data set.
func (r *reader) grade(number int, of string, g float64) string {
	if g < 0 {
		r.note(number, "a grade below 0 of %s"+of+" is taken as 0, not relevant")
		g = 0
	}
	return strconv.FormatFloat(g, 'f', -1, 64)
}

func docID(v evidence.Value) (id, fault string) {
	switch v.Kind() {
	case '"':
		id, _ = evidence.Text(v)
	case '0':
		id = strings.TrimSuffix(evidence.NumberText(v), ".0")
	}
	if id == "" {
		return "", "want the id of a document, found " + evidence.Shorten(v, 60)
	}
	return id, ""
}

// setPassages takes the text of gold passages. Texts without ids are numbered.
func setPassages(b *built, f Field, v evidence.Value) string {
	list, fault := listBy(v, f.Split, "|") // semicolons and line ends are part of a text
	if fault != "" {
		return fault
	}
	dst := []byte{'['}
	n := 0
	for element := range evidence.Elements(list) {
		passage := []byte(element)
		if element.Kind() != '{' {
			text, ok := evidence.Text(element)
			if !ok {
				return fmt.Sprintf("[%d]: want the text of a passage, found %s", n, evidence.Shorten(element, 60))
			}
			passage = quote([]byte(`{"doc_id":"gold-`+strconv.Itoa(n+1)+`","text":`), text)
			passage = append(passage, '}')
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, passage...)
	}
	if n > 0 {
		b.put(f.Target, append(dst, ']'))
	}
	return ""
}

// ownRow takes a row that is a case already.
func (r *reader) ownRow(number int, v evidence.Value) (line []byte, fault string) {
	if r.qrels == nil && len(r.own) == 0 {
		return oneLine(v.Clone())
	}
	var b built
	used := map[string]bool{}
	for _, f := range r.own {
		name, _ := find(v, f.Sources)
		used[name] = true
	}
	for name, member := range evidence.Members(v) {
		if evidence.IsNull(member) {
			continue
		}
		switch name {
		case "id":
			if r.spec.ID != "" && r.spec.ID != "id" { // another field names the case
				if !used[name] {
					r.leave(name, number)
				}
				continue
			}
			if fault := r.setID(&b, number, member, false); fault != "" {
				return nil, fault
			}
		case "input", "expected", "metadata":
			b.put(name, member)
		default:
			if !used[name] {
				r.leave(name, number)
			}
		}
	}
	for _, f := range r.own {
		if _, value := find(v, f.Sources); value != nil {
			if fault := r.set(&b, number, f, value, false); fault != "" {
				return nil, fmt.Sprintf("%s: %s", f.Target, fault)
			}
		}
	}
	return r.finish(&b)
}

package foreign

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// qrels are judgments of relevance by the id of a case.
type qrels struct {
	path   string
	labels map[string][]byte // elements of a list of labels, joined by commas
	joined map[string]bool
	order  []string
	seen   map[uint64]bool // hashes of queries with a document
	seed   maphash.Seed
	// without counts the cases that were looked up and have no judgment.
	without int
}

// readQrels reads judgments: QUERY ITERATION DOCUMENT GRADE as TREC has them, or
// QUERY DOCUMENT GRADE as BEIR, separated by tabs, else by any white space.
func (r *reader) readQrels(path string) (*qrels, error) {
	f, err := openText(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, r.fail("the judgments %s do not exist", path)
		}
		return nil, unreadable(path, err)
	}
	defer f.Close()
	q := &qrels{path: path, labels: map[string][]byte{}, joined: map[string]bool{}, seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for line := 1; scan.Scan(); line++ {
		f.next()
		if err := q.line(r, line, scan.Text()); err != "" {
			r.refuse(Refusal{File: path, Line: line, Message: err, Source: shorten(scan.Text())})
		}
	}
	if err := scan.Err(); err != nil {
		return nil, r.fail("the judgments %s cannot be read: %v", path, err)
	}
	if len(q.labels) == 0 {
		return nil, r.fail("%s holds no judgment: want lines QUERY ITERATION DOCUMENT GRADE, or QUERY DOCUMENT GRADE", path)
	}
	return q, nil
}

func (q *qrels) line(r *reader, line int, text string) (fault string) {
	words := strings.Fields(text)
	if tabs := strings.Count(text, "\t"); tabs == 2 || tabs == 3 { // ids may hold blanks
		words = strings.Split(strings.TrimRight(text, "\r"), "\t")
		for i, w := range words {
			words[i] = strings.TrimSpace(w)
		}
	}
	var query, doc, grade string
	switch len(words) {
	case 0:
		return ""
	case 3:
		query, doc, grade = words[0], words[1], words[2]
	case 4:
		query, doc, grade = words[0], words[2], words[3]
	default:
		return fmt.Sprintf("a judgment has 3 or 4 columns, this line has %d", len(words))
	}
	g, ok := finite(grade)
	if !ok {
		if line == 1 { // query-id corpus-id score
			r.note(1, fmt.Sprintf("the first line of %s names the columns", filepath.Base(q.path)))
			return ""
		}
		return fmt.Sprintf("the grade %q is no finite number", shorten(grade))
	}
	if query == "" || doc == "" {
		return "a judgment names a query and a document, and one of the two is empty"
	}
	pair := maphash.String(q.seed, query+"\x00"+doc)
	if q.seen[pair] {
		r.note(line, "a judgment in %s of "+filepath.Base(q.path)+" names a query and a document that were judged before: the highest grade counts")
	}
	q.seen[pair] = true
	labels, known := q.labels[query]
	if !known {
		q.order = append(q.order, query)
	} else {
		labels = append(labels, ',')
	}
	labels = quote(append(labels, `{"doc_id":`...), doc)
	labels = append(labels, `,"grade":`...)
	q.labels[query] = append(append(labels, r.grade(line, " of "+filepath.Base(q.path), g)...), '}')
	return ""
}

// join adds the judgments of a case to it.
func (q *qrels) join(r *reader, b *built) (fault string) {
	if b.id == "" {
		return "judgments are joined by id, and the row has none: say with id which field names it"
	}
	labels, ok := q.labels[b.id]
	if !ok {
		q.without++
		return ""
	}
	q.joined[b.id] = true
	if n := b.expected; n.value != nil && n.value.Kind() != '{' {
		return "expected is " + evidence.Shorten(n.value, 40) + ", and judgments stand beside it: write it as an object, such as {\"answer\": …}"
	}
	if !b.expected.at([]string{"relevant"}).empty() {
		r.note(r.rows, "the labels of %s give way to the judgments of "+filepath.Base(q.path))
	}
	b.put("expected.relevant", append(append([]byte{'['}, labels...), ']'))
	return ""
}

// unjoined notes judgments of which there is no case.
func (r *reader) unjoined() {
	if r.qrels == nil {
		return
	}
	n, first := 0, ""
	for _, id := range r.qrels.order {
		if !r.qrels.joined[id] {
			if n++; n == 1 {
				first = id
			}
		}
	}
	if n > 0 {
		r.note(0, fmt.Sprintf("the judgments of %s no case (first: %s)", count(n, "id has", "ids have"), shorten(first)))
	}
	if without := r.qrels.without; without > 0 {
		r.note(0, fmt.Sprintf("%s no judgment, so that retrieval metrics leave them out", count(without, "row has", "rows have")))
	}
}

// readBEIR reads the directory of a data set of BEIR: the queries that a split
// judges.
func (r *reader) readBEIR() error {
	if err := r.choose(formats()["beir"]); err != nil {
		return err
	}
	queries := filepath.Join(r.path, "queries.jsonl")
	if _, err := os.Stat(queries); err != nil {
		return r.fail("%s is a directory without queries.jsonl: want a data set of BEIR, or name one file", r.path)
	}
	if r.qrels == nil {
		split := cmp.Or(r.spec.Split, "test")
		path := filepath.Join(r.path, "qrels", split+".tsv")
		if _, err := os.Stat(path); err != nil {
			return r.fail("there is no %s: say with split which judgments to take", path)
		}
		var err error
		if r.qrels, err = r.readQrels(path); err != nil {
			return err
		}
	}
	f, err := openText(queries)
	if err != nil {
		return unreadable(queries, err)
	}
	defer f.Close()
	take, skipped := r.take, 0
	directory := r.path
	r.path = queries
	before := r.rows
	r.take = func(row Row) error {
		v, _ := evidence.Member(row.Case, "id")
		if id, _ := evidence.Text(v); !r.qrels.joined[id] {
			skipped++
			return nil
		}
		return take(row)
	}
	err = r.readJSON(f)
	r.path, r.take = directory, take
	if err != nil {
		return err
	}
	r.rows = before + (r.rows - before) - skipped
	r.qrels.without = 0 // they are those that were skipped
	if skipped > 0 {
		r.note(0, count(skipped, "query is not judged in this split and does not", "queries are not judged in this split and do not")+" belong to it")
	}
	r.unjoined()
	return r.unseen()
}

// readTopics reads topics of TREC: <top> blocks, or lines ID TAB TEXT. Lines of
// JSON are read as such.
func (r *reader) readTopics(f *text) error {
	if err := r.choose(formats()["trec"]); err != nil {
		return err
	}
	start, _ := f.Peek(512)
	trimmed := strings.TrimSpace(string(start))
	switch {
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
		return r.readJSON(f)
	case strings.HasPrefix(trimmed, "<"):
		return r.readTopBlocks(f)
	}
	for line := 1; ; {
		text, at, err := nextLine(f, line)
		if err != nil && err != io.EOF {
			return unreadable(r.path, err)
		}
		if len(text) == 0 {
			return nil
		}
		line = at + 1
		id, query, ok := strings.Cut(string(text), "\t")
		if !ok {
			id, query, ok = strings.Cut(string(text), ":") // 301:text
		}
		if !ok {
			r.bad(r.rows+1, at, string(text), "want a line ID TAB TEXT")
			continue
		}
		if err := r.topic(at, strings.TrimSpace(id), strings.TrimSpace(query)); err != nil {
			return err
		}
	}
}

func (r *reader) topic(line int, id, query string) error {
	v := quote([]byte(`{"id":`), id)
	v = append(quote(append(v, `,"text":`...), query), '}')
	return r.row(r.rows+1, line, v, false)
}

// readTopBlocks reads <top> <num> … <title> … </top>, whose tags need no end.
func (r *reader) readTopBlocks(f *text) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return unreadable(r.path, err)
	}
	line := 1
	for i, block := range strings.Split(string(data), "<top>") {
		at := line
		line += strings.Count(block, "\n")
		if i == 0 {
			continue
		}
		num := strings.TrimSpace(strings.TrimPrefix(tag(block, "num"), "Number:"))
		title := strings.TrimSpace(strings.TrimPrefix(tag(block, "title"), "Topic:"))
		if num == "" || title == "" {
			r.bad(r.rows+1, at, block, "a topic needs <num> and <title>")
			continue
		}
		if err := r.topic(at, num, strings.Join(strings.Fields(title), " ")); err != nil {
			return err
		}
	}
	return nil
}

// tag returns the text behind a tag up to the next one.
func tag(block, name string) string {
	_, rest, ok := strings.Cut(block, "<"+name+">")
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "<")
	return strings.TrimSpace(text)
}

package dataset

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

const (
	maxProblems = 50  // shown of one file
	maxSource   = 400 // bytes of a line kept for a problem
	maxUnknown  = 20  // names of unknown fields that are counted
)

// indexer is the state of the pass over the file.
type indexer struct {
	d        *Dataset
	opt      Options
	problems problem.List
	more     int            // problems beyond maxProblems
	lines    map[string]int // id to line
	batch    []*parsedLine  // lines with text that wait
	waiting  int            // bytes of the batch

	inputs map[uint64]int // hash of the input to the first case with it

	withoutID, firstWithoutID int // cases, line
	repeated                  int // cases whose input an earlier case has
	firstRepeated, original   int // the first such case, and the earlier one
	unknown                   map[string]int
	sliced                    map[string]int  // cases with a value of the slice
	metadata                  map[string]bool // keys that cases have
	refused                   map[string]refusal
	rows                      int // lines that hold an object
}

// parsedLine is a line with what can be said of it by itself.
type parsedLine struct {
	number int   // 1-based
	at     int64 // offset in the file
	text   []byte
	row    row
	faults []rowFault
	sum    [32]byte // digest of the case
	err    error    // why there is none
	seen   uint64   // hash of the text
	input  uint64   // hash of the canonical input
}

// A batch is parsed when it has so many lines or bytes.
const (
	batchLines = 512
	batchBytes = 4 << 20
)

// refusal counts the cases with a field that is not supported yet.
type refusal struct {
	cases int
	first problem.Problem // where it stands first
}

// index reads the whole file once.
func (d *Dataset) index(opt Options) error {
	x := &indexer{
		d: d, opt: opt, lines: map[string]int{}, inputs: map[uint64]int{},
		unknown: map[string]int{}, refused: map[string]refusal{}, sliced: map[string]int{}, metadata: map[string]bool{},
	}
	if err := x.read(io.NewSectionReader(d.source, 0, d.size)); err != nil {
		return problem.At(d.path, "cannot read the data set: %v", reason(err))
	}
	x.finish()
	if len(x.problems) > 0 {
		list := x.problems.Err().(problem.List)
		if x.more > 0 {
			list.Add(problem.Problem{File: d.path, Message: fmt.Sprintf("and %d more problems", x.more)})
		}
		return list
	}
	d.digest = evidence.DatasetDigest(d.Len(), d.ID, d.CaseDigest)
	d.notes = x.notes()
	return nil
}

// read takes each line of the file. A fault of the file as a whole ends it.
func (x *indexer) read(file io.Reader) error {
	r := bufio.NewReaderSize(file, 1<<20)
	var at int64
	if start, _ := r.Peek(foreign.SealedBytes); foreign.Sealed(start) != "" {
		x.add(1, -1, nil, "the file is "+foreign.Sealed(start))
		return nil
	} else if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		n, _ := r.Discard(3)
		at = int64(n)
	} else if isUTF16(start) {
		x.add(1, -1, nil, "the file is UTF-16, want UTF-8: oloproof import FILE --to cases.jsonl converts it")
		return nil
	}
	var long []byte
	for line := 1; ; line++ {
		text, err := readLine(r, &long)
		if err != nil && err != io.EOF {
			return err
		}
		read := int64(len(text))
		text = bytes.TrimSuffix(text, []byte("\n"))
		if blank := bytes.TrimSpace(text); len(blank) > 0 {
			if fault := wholeFile(blank, len(x.d.entries) == 0 && len(x.problems) == 0 && len(x.batch) == 0); fault != "" {
				x.add(line, -1, text, fault)
				return nil
			}
			x.batch = append(x.batch, &parsedLine{number: line, at: at, text: bytes.Clone(text)})
			if x.waiting += len(text); len(x.batch) >= batchLines || x.waiting >= batchBytes {
				x.flush()
			}
		}
		if at += read; err == io.EOF {
			x.flush()
			return nil
		}
	}
}

// flush parses the batch on two goroutines and takes its lines in order.
func (x *indexer) flush() {
	half := len(x.batch) / 2
	var other sync.WaitGroup
	other.Go(func() { x.parse(x.batch[:half]) })
	x.parse(x.batch[half:])
	other.Wait()
	for _, l := range x.batch {
		x.line(l)
	}
	x.batch, x.waiting = x.batch[:0], 0
}

func (x *indexer) parse(lines []*parsedLine) {
	var buf []byte // canonical JSON of the case at hand
	for _, l := range lines {
		if l.row, l.faults = parseRow(l.text); len(l.faults) > 0 {
			continue
		}
		l.seen = maphash.Bytes(x.d.seed, l.text)
		if l.sum, buf, l.err = evidence.AppendCaseSum(buf[:0], &l.row.Case); l.err != nil {
			continue
		}
		if buf, l.err = evidence.AppendCanonical(buf[:0], l.row.Input); l.err == nil {
			l.input = maphash.Bytes(x.d.seed, buf)
		}
	}
}

// readLine returns the next line with its line feed. It is valid until the next call.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return text, err
	}
	*long = append((*long)[:0], text...)
	for err == bufio.ErrBufferFull {
		text, err = r.ReadSlice('\n')
		*long = append(*long, text...)
		if len(*long) > foreign.MaxRow {
			return nil, foreign.ErrLong
		}
	}
	return *long, err
}

func isUTF16(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) ||
		len(start) >= 2 && (start[0] == 0) != (start[1] == 0)
}

// wholeFile recognises, at the first line with text, a file that is JSON but
// not JSON Lines.
func wholeFile(text []byte, first bool) string {
	switch {
	case !first:
		return ""
	case text[0] == '[':
		return "the file is a JSON array, want one object a line (JSON Lines): say dataset: {path: FILE, format: json}, or oloproof import FILE --to cases.jsonl"
	case string(text) == "{":
		return "the object does not end on its line, want one object a line (JSON Lines): say dataset: {path: FILE, format: json}, or oloproof import FILE --to cases.jsonl"
	}
	return ""
}

// line takes one line with text.
func (x *indexer) line(l *parsedLine) {
	number, text, r := l.number, l.text, l.row
	for _, f := range l.faults {
		x.add(number, f.offset, text, f.message)
	}
	if r.read {
		x.rows++
	}
	for _, name := range r.unknown {
		if _, known := x.unknown[name]; known || len(x.unknown) < maxUnknown {
			x.unknown[strings.Clone(name)]++
		}
	}
	for _, f := range r.refused {
		refused := x.refused[f.name]
		if refused.cases++; refused.cases == 1 {
			refused.first = x.problem(number, f.offset, text, "")
		}
		x.refused[f.name] = refused
	}
	if len(l.faults) > 0 {
		return
	}
	if l.err != nil {
		x.add(number, -1, text, l.err.Error())
		return
	}
	c := &r.Case
	e := entry{offset: l.at, length: len(text), line: number, seen: l.seen, sum: l.sum}
	c.Index, c.Line, c.Digest = len(x.d.entries), x.d.lineOf(number), evidence.DigestOf(e.sum)
	if c.ID == "" {
		c.ID = c.Digest.Hex()[:16]
		if x.withoutID++; x.withoutID == 1 {
			x.firstWithoutID = number
		}
	}
	if earlier, ok := x.lines[c.ID]; ok {
		x.add(number, -1, text, duplicate(c.ID, x.named(earlier), r))
		return
	}
	e.id = c.ID
	x.lines[c.ID] = number
	x.d.entries = append(x.d.entries, e)
	x.countInput(l.input, c.Index)
	for _, message := range checkSlices(c, x.opt.Slices) {
		x.add(number, -1, text, message)
	}
	x.countSlices(c)
	if x.opt.Visit != nil {
		for _, message := range x.opt.Visit(c) {
			x.add(number, -1, text, message)
		}
	}
}

// named says which line, or row of a foreign file, is meant.
func (x *indexer) named(line int) string {
	if line >= 1 && line <= len(x.d.places) {
		return fmt.Sprintf("row %d", x.d.places[line-1].row)
	}
	return fmt.Sprintf("line %d", line)
}

func duplicate(id, earlier string, r row) string {
	if !r.hasID {
		return fmt.Sprintf("the case equals that of %s and neither has an id: remove it, or give it an id", earlier)
	}
	note := ""
	if strings.Trim(id, "-0123456789") == "" {
		note = fmt.Sprintf(" (%s and \"%s\" are one id)", short(id), short(id))
	}
	return fmt.Sprintf("duplicate id %q: %s has it too%s", short(id), earlier, note)
}

// countInput notes cases with an input that an earlier case has.
func (x *indexer) countInput(hash uint64, index int) {
	earlier, ok := x.inputs[hash]
	if !ok {
		x.inputs[hash] = index
		return
	}
	if x.repeated++; x.repeated == 1 {
		x.firstRepeated, x.original = index, earlier
	}
}

// countSlices counts the cases that have a value of a slice by metadata.
func (x *indexer) countSlices(c *evidence.Case) {
	for _, name := range x.opt.Slices {
		if !strings.HasPrefix(name, "metadata.") {
			continue
		}
		if SliceValue(c, name) != evidence.NoSlice {
			x.sliced[name]++
		} else if len(x.metadata) < maxUnknown && x.sliced[name] == 0 {
			for key := range evidence.Members(c.Metadata) {
				x.metadata["metadata."+key] = true
			}
		}
	}
}

// finish adds the problems of the file as a whole.
func (x *indexer) finish() {
	for _, name := range []string{"group_id", "time_order", "initial_state"} {
		r := x.refused[name]
		if r.cases == 0 {
			continue
		}
		p := r.first
		row := p.Message // "row N: " in a foreign file
		p.Message = fmt.Sprintf("%s%s is not supported yet: remove it", row, name)
		if r.cases < x.rows {
			p.Message = row + fmt.Sprintf("%d of %d cases have %s: all cases have it or none, and it is not supported yet", r.cases, x.rows, name)
		}
		x.problems.Add(p)
	}
	if x.d.Len() == 0 && len(x.problems) == 0 {
		x.problems.Add(problem.Problem{File: x.d.path, Message: "the data set holds no case: want one JSON object a line, such as {\"id\": \"a\", \"input\": {\"question\": \"…\"}, \"expected\": {\"answer\": \"…\"}}"})
	}
}

// notes says what is no problem but worth knowing.
func (x *indexer) notes() []string {
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(x.unknown)) {
		note := fmt.Sprintf("field %q of %s is not read", short(name), cases(x.unknown[name]))
		if near := problem.Nearest(name, knownFields); near != "" {
			note += fmt.Sprintf(": is %q meant?", near)
		}
		notes = append(notes, note)
	}
	for _, name := range x.opt.Slices {
		if !strings.HasPrefix(name, "metadata.") || x.sliced[name] > 0 {
			continue
		}
		note := fmt.Sprintf("no case has a value of the slice %s", name)
		if near := problem.Nearest(name, slices.Sorted(maps.Keys(x.metadata))); near != "" {
			note += fmt.Sprintf(": is %s meant?", near)
		}
		notes = append(notes, note)
	}
	if x.withoutID > 0 {
		notes = append(notes, fmt.Sprintf("%s no id (first: %s): 16 digits of the digest stand in, and change whenever the case changes", have(x.withoutID), x.named(x.firstWithoutID)))
	}
	if x.repeated > 0 {
		notes = append(notes, fmt.Sprintf("%s the input of an earlier case, such as %q (%s) that of %q (%s): each is executed and counted by itself",
			have(x.repeated), short(x.d.ID(x.firstRepeated)), x.named(x.d.entries[x.firstRepeated].line), short(x.d.ID(x.original)), x.named(x.d.entries[x.original].line)))
	}
	return notes
}

func cases(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}

func have(n int) string {
	if n == 1 {
		return "1 case has"
	}
	return fmt.Sprintf("%d cases have", n)
}

// add records a problem of a line; offset is -1 when the whole line is meant.
func (x *indexer) add(line, offset int, text []byte, message string) {
	if len(x.problems) >= maxProblems {
		x.more++
		return
	}
	x.problems.Add(x.problem(line, offset, text, message))
}

func (x *indexer) problem(line, offset int, text []byte, message string) problem.Problem {
	p := problem.Problem{File: x.d.path, Line: line, Message: message}
	if line >= 1 && line <= len(x.d.places) {
		at := x.d.places[line-1]
		p.Line, p.Message, offset = at.line, fmt.Sprintf("row %d: %s", at.row, message), -1
	}
	if offset >= 0 {
		p.Column = utf8.RuneCount(text[:min(offset, len(text))]) + 1
	}
	p.Source = strings.ToValidUTF8(strings.TrimRight(string(text[:min(len(text), maxSource)]), "\r\n"), "�")
	return p
}

// short cuts a name for a message.
func short(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}

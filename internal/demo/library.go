package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
)

// passage is one entry of a corpus.
type passage struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	terms map[string]bool
}

// tokens is the length of the passage in words, the unit of the prompt's budget.
func (p *passage) tokens() int { return len(strings.Fields(p.Text)) }

// candidate is a passage that a search found, with the number of different
// terms it shares with the query.
type candidate struct {
	*passage
	score int
}

// library is a corpus that can be searched.
type library []passage

// readLibrary reads a corpus: one JSON object with id and text a line.
func readLibrary(fsys fs.FS, name string) (library, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var lib library
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var p passage
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		p.terms = terms(p.Text)
		lib = append(lib, p)
	}
	return lib, lines.Err()
}

// search returns the passages that share a term with the query, best first, at
// most depth of them. Equal scores keep the order of the corpus.
func (lib library) search(query string, depth int) []candidate {
	wanted := terms(query)
	var found []candidate
	for i := range lib {
		if n := shared(wanted, lib[i].terms); n > 0 {
			found = append(found, candidate{&lib[i], n})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return b.score - a.score })
	return found[:min(len(found), depth)]
}

// stopWords say nothing about what a question is about.
const stopWords = ` a about after an and any are as at be been before between but by can did do does
for from get had has have how i if in into is it its me my no not of on only or our so still than that
many much the their them then there these they this to was we were what when where which who why will with
would you your `

// terms returns the different words of a text without stop words, in lower
// case and without a plural s.
func terms(text string) map[string]bool {
	set := map[string]bool{}
	notWord := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, w := range strings.FieldsFunc(strings.ToLower(text), notWord) {
		if isStopWord(w) {
			continue
		}
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = strings.TrimSuffix(w, "s")
		}
		set[w] = true
	}
	return set
}

func isStopWord(w string) bool {
	return slices.Contains(strings.Fields(stopWords), w)
}

func shared(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// bestSentence returns the sentence that shares most terms with the question
// and the index of its passage. The first of equals wins.
func bestSentence(question string, texts []string) (sentence string, index int) {
	wanted, best := terms(question), -1
	for i, text := range texts {
		for s := range strings.SplitSeq(text, ". ") {
			if n := shared(wanted, terms(s)); n > best {
				sentence, index, best = strings.TrimSuffix(s, ".")+".", i, n
			}
		}
	}
	return sentence, index
}

// synonyms gives a word of a question the words that the help centre uses for
// the same thing.
func synonyms() map[string][]string {
	return map[string][]string{
		"bill":       {"invoice"},
		"colleague":  {"seat"},
		"erase":      {"deleted"},
		"membership": {"plan"},
		"money":      {"refund"},
		"yearly":     {"annual"},
	}
}

// expand appends to a question the synonyms of its words, in order.
func expand(question string) string {
	var added []string
	table := synonyms()
	for w := range terms(question) {
		added = append(added, table[w]...)
	}
	slices.Sort(added)
	return strings.Join(append([]string{question}, added...), " ")
}

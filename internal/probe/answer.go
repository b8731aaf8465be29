package probe

import (
	"cmp"
	"slices"
	"strings"
)

// answer is a place that may hold the answer.
type answer struct {
	place  *place
	turn   int    // index in path of the step into a conversation; -1 when there is none
	newest string // first or last: which turn is the answer
	text   string
	points float64
	inside bool // in the list of sources
	partly bool // the first of several texts that are no alternatives
}

// findAnswers returns the places that may hold the answer, the best first.
func findAnswers(places []*place, question []string) []*answer {
	var found []*answer
	for _, p := range places {
		if a := answerAt(p, question); a != nil {
			found = append(found, a)
		}
	}
	slices.SortStableFunc(found, func(a, b *answer) int { return cmp.Compare(b.points, a.points) })
	return found
}

// blocks are keys of lists whose texts make one answer together.
func isBlocks(key string) bool {
	return is(flat(key), "parts", "fragments", "blocks", "content", "contents", "segments", "spans", "output")
}

func answerAt(p *place, question []string) *answer {
	if len(p.path) > 0 && p.path[len(p.path)-1].json {
		return nil
	}
	var texts []int
	for i, n := range p.nodes {
		if n.kind == '"' && n.inner == nil {
			texts = append(texts, i)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	a := &answer{place: p, turn: -1}
	last := lastKey(p.path)
	word := answerWord(last)
	if word < 0 || len(p.path) > 0 && outside(p.path) {
		return nil
	}
	a.points = float64(word)
	bonus := 0
	for i, s := range p.path {
		if s.key != "" && s.key != last {
			bonus = max(bonus, answerWord(s.key))
		}
		switch {
		case s.on == "" || s.on == "name":
			if s.each && s.many && s.on == "" && mixedSpeakers(p, i) {
				return nil
			}
			if s.on == "name" {
				a.points -= 3
			}
		case isAsker(s.is):
			return nil
		case isAssistant(s.is):
			a.points += 4
			if a.turn < 0 && !isBlocks(keyBefore(p.path, i)) {
				a.turn = i
			}
		case isTextBlock(s.is):
			a.points++
		default: // a reasoning step, a call of a tool, a list of sources
			return nil
		}
	}
	a.points += float64(bonus) / 3
	a.points -= 0.3 * float64(len(p.path))
	a.pick(texts)
	for _, q := range question {
		if strings.TrimSpace(a.text) == strings.TrimSpace(q) && q != "" {
			return nil
		}
	}
	trimmed := strings.TrimSpace(a.text)
	switch {
	case trimmed == "", hashLike().MatchString(trimmed), urlLike().MatchString(trimmed), dateLike().MatchString(trimmed):
		return nil
	case strings.Contains(trimmed, " "):
		a.points += 4
	case word < 8:
		a.points -= 4
	}
	if len(trimmed) > 20 {
		a.points++
	}
	if a.points < 5 {
		return nil
	}
	return a
}

// outside reports whether a place lies in what is certainly not the answer.
func outside(path []step) bool {
	for i, s := range path {
		k := flat(s.key)
		switch {
		case has(k, "generat"): // retrieval_augmented_generation
			continue
		case k == "history" && i+1 < len(path) && isAssistant(path[i+1].is): // with what was just said
			continue
		}
		if has(k, "source", "citation", "annotation", "reference", "retriev", "document", "chunk", "snippet", "passage", "hits", "error", "usage", "history", "failure", "toolcall", "grounding", "searchresult", "metadata", "feedback", "prompt", "logprob", "highlight", "followup") ||
			is(k, "context", "contexts", "input", "inputs", "query", "request", "params", "args", "arguments", "kwargs", "queries", "nodes", "matches", "steps", "debug", "trace") && i < len(path)-1 {
			return k != "answercitationless"
		}
	}
	return false
}

func keyBefore(path []step, i int) string { return lastKey(path[:i]) }

// mixedSpeakers reports whether a list on the way holds what several said.
func mixedSpeakers(p *place, i int) bool {
	for p != nil && len(p.path) > i+1 {
		p = p.from
	}
	if p == nil {
		return false
	}
	for _, n := range p.nodes {
		for _, name := range []string{"role", "type", "author"} {
			if v := n.value[name]; v != nil && v.kind == '"' && isSpeaker(v.text) {
				return true
			}
		}
	}
	return false
}

// pick makes the text of the answer: of a conversation the newest turn, of
// blocks all, of other lists the first.
func (a *answer) pick(texts []int) {
	p := a.place
	if a.turn >= 0 {
		a.newest = "last"
		q := p
		up := identity(len(p.nodes))
		for len(q.path) > a.turn+1 {
			for i := range up {
				up[i] = q.up[up[i]]
			}
			q = q.from
		}
		if newestFirst(q) {
			a.newest = "first"
		}
		turn := up[texts[len(texts)-1]]
		if a.newest == "first" {
			turn = up[texts[0]]
		}
		texts = slices.DeleteFunc(slices.Clone(texts), func(i int) bool { return up[i] != turn })
	} else if !a.joins() {
		several := slices.ContainsFunc(p.path, func(s step) bool { return s.each }) && !slices.ContainsFunc(p.path, func(s step) bool { return isAlternatives(s.key) })
		a.partly = several && len(texts) > 1
		texts = texts[:1]
	}
	var b strings.Builder
	for _, i := range texts {
		b.WriteString(p.nodes[i].text)
	}
	a.text = b.String()
}

// joins reports whether the texts of the place make one answer together.
func (a *answer) joins() bool {
	for i, s := range a.place.path {
		if i > a.turn && s.each && (s.on != "" || isBlocks(keyBefore(a.place.path, i))) {
			return true
		}
	}
	return false
}

// newestFirst reports whether the turns at a place run backwards in time.
func newestFirst(p *place) bool {
	if p.from == nil {
		return false
	}
	for _, list := range p.from.nodes {
		if list.kind != '[' || len(list.items) < 2 {
			continue
		}
		first, last := list.items[0], list.items[len(list.items)-1]
		for _, key := range []string{"created_at", "createdAt", "created", "timestamp"} {
			a, b := first.value[key], last.value[key]
			if a != nil && b != nil && a.kind == b.kind {
				return len(a.text) > len(b.text) || len(a.text) == len(b.text) && a.text > b.text
			}
		}
		for _, key := range []string{"role", "type", "author"} {
			a, b := first.value[key], last.value[key]
			if a != nil && b != nil && isAssistant(a.text) && isAsker(b.text) {
				return true
			}
		}
	}
	return false
}

// expression returns where the answer stands, as a dotted path or as jq.
func (a *answer) expression() (path, expression string) {
	p := a.place.path
	if a.turn < 0 && !a.joins() {
		if path, ok := dotted(p); ok {
			return path, ""
		}
		return "", "[" + jq(p) + "] | first"
	}
	if a.turn < 0 {
		return "", "[" + jq(firsts(p)) + " // empty] | join(\"\")"
	}
	head, rest := jq(p[:a.turn+1]), p[a.turn+1:]
	if len(rest) >= 2 && rest[0].key == "content" && rest[1].each || len(rest) == 1 && rest[0].key == "content" {
		block := ".text"
		if len(rest) > 3 {
			block = jq(rest[2:])
		}
		return "", "[" + head + "] | " + a.newest + " | .content | if type == \"array\" then map(" + block + "? // \"\") | join(\"\") else . end"
	}
	return "", "[" + head + "] | " + a.newest + " | [" + jq(rest) + "] | join(\"\")"
}

// firsts takes the first element of lists that hold alternatives.
func firsts(path []step) []step {
	out := slices.Clone(path)
	for i := range out {
		if out[i].each && out[i].on == "" && isAlternatives(keyBefore(path, i)) {
			out[i].one = true
		}
	}
	return out
}

// isAlternatives reports whether a key names a list of alternative answers, of
// which the first counts.
func isAlternatives(key string) bool {
	return is(flat(key), "choices", "candidates", "replies", "generations", "predictions", "outputs")
}

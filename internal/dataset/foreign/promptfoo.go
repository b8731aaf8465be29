package foreign

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Where the assertions of a test go in expected. The evaluators that read them
// are those of [PromptfooEvaluators].
const (
	expectEquals    = "equals"
	expectContains  = "contains"
	expectIContains = "icontains"
	expectRefusal   = "refusal"
)

// promptfooRow takes a test: vars are the input, assertions what is expected.
func promptfooRow(r *reader, b *built, number int, v evidence.Value, used map[string]bool) string {
	if _, listed := evidence.Member(v, "vars"); listed {
		return promptfooTest(r, b, number, v, used)
	}
	if _, listed := evidence.Member(v, "assert"); listed {
		return promptfooTest(r, b, number, v, used)
	}
	for name, cell := range evidence.Members(v) {
		if used[name] { // a field that the user named
			continue
		}
		used[name] = true
		text, _ := evidence.Text(cell)
		column, isSpecial := strings.CutPrefix(name, "__")
		switch key, isMetadata := strings.CutPrefix(column, "metadata:"); {
		case !isSpecial:
			if strings.HasPrefix(text, "file://") {
				return fmt.Sprintf("the variable %s stands in another file (%s): put its text here", name, shorten(text))
			}
			if strings.Contains(text, "{{") {
				r.note(number, "the variable "+shorten(name)+" of %s holds a template, which is sent as it stands")
			}
			b.input.at([]string{name}).value = cell
		case strings.HasPrefix(column, "expected"):
			if fault := assertCell(r, b, number, text); fault != "" {
				return fault
			}
		case column == "description":
			b.metadata.at([]string{"description"}).value = cell
		case isMetadata:
			b.metadata.at([]string{strings.TrimSuffix(key, "[]")}).value = cell
		default:
			r.note(number, "column "+name+" of %s is not taken: it says how promptfoo asks or counts")
		}
	}
	return ""
}

func promptfooTest(r *reader, b *built, number int, v evidence.Value, used map[string]bool) string {
	for name, member := range evidence.Members(v) {
		used[name] = true
		switch name {
		case "vars":
			if member.Kind() != '{' {
				return "vars: want a mapping, found " + evidence.Shorten(member, 60)
			}
			for variable, value := range evidence.Members(member) {
				text, _ := evidence.Text(value)
				switch {
				case value.Kind() == '[':
					return fmt.Sprintf("vars.%s is a list, of which promptfoo makes a test for each element: write the tests out", variable)
				case strings.HasPrefix(text, "file://"):
					return fmt.Sprintf("vars.%s stands in another file (%s): put its text here", variable, shorten(text))
				}
				if strings.Contains(text, "{{") {
					r.note(number, "vars."+shorten(variable)+" of %s holds a template, which is sent as it stands")
				}
				b.input.at([]string{variable}).value = value
			}
		case "assert":
			if member.Kind() != '[' {
				return "assert: want a list, found " + evidence.Shorten(member, 60)
			}
			for a := range evidence.Elements(member) {
				if fault := listedAssertion(r, b, number, a); fault != "" {
					return fault
				}
			}
		case "description":
			b.metadata.at([]string{"description"}).value = member
		case "metadata":
			if member.Kind() != '{' {
				return "metadata: want a mapping, found " + evidence.Shorten(member, 60)
			}
			for key, value := range evidence.Members(member) {
				b.metadata.at([]string{key}).value = value
			}
		default:
			r.note(number, name+" of %s is not taken: it says how promptfoo asks or counts")
		}
	}
	return ""
}

// listedAssertion takes an assertion of a list, {type: …, value: …}.
func listedAssertion(r *reader, b *built, number int, a evidence.Value) string {
	kind, _ := evidence.Member(a, "type")
	name, ok := evidence.Text(kind)
	if !ok {
		return "assert: want {type: …, value: …}, found " + evidence.Shorten(a, 60)
	}
	value, _ := evidence.Member(a, "value")
	for key := range evidence.Members(a) {
		if key != "type" && key != "value" && perCase(name) {
			r.note(number, shorten(key)+" of an assertion "+name+" of %s is not taken")
		}
	}
	return assertion(r, b, number, name, value)
}

// asTexts turns numbers, true and false into texts: promptfoo compares texts.
func asTexts(v evidence.Value) evidence.Value {
	switch v.Kind() {
	case '0', 't', 'f':
		return evidence.Value(quote(nil, string(v)))
	case '[':
		var all []evidence.Value
		for element := range evidence.Elements(v) {
			all = append(all, asTexts(element))
		}
		return append(join([]byte{'['}, all), ']')
	}
	return v
}

// elsewhere says why a text of an assertion is not what the answer is compared
// with: promptfoo puts something in its place. "" when it is.
func elsewhere(v evidence.Value) string {
	if v.Kind() == '[' {
		for element := range evidence.Elements(v) {
			if fault := elsewhere(element); fault != "" {
				return fault
			}
		}
		return ""
	}
	switch text, _ := evidence.Text(v); {
	case strings.HasPrefix(text, "file://"):
		return fmt.Sprintf("what is expected stands in another file (%s): put its text here", shorten(text))
	case strings.Contains(text, "{{"), strings.Contains(text, "{%"):
		return fmt.Sprintf("what is expected is a template (%s): write it out", shorten(text))
	}
	return ""
}

// assertCell takes an assertion of a table, TYPE: VALUE or TYPE(THRESHOLD): VALUE;
// a text without a type means equals.
func assertCell(r *reader, b *built, number int, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	// similar:cosine and trajectory:… are types of two words.
	match := regexp.MustCompile(`^(not-)?((?:similar:(?:cosine|dot|euclidean)|trajectory:[a-z-]+)|[a-z][a-z0-9-]*)(\(\d+(?:\.\d+)?\))?(?::\s*|$)`).FindStringSubmatch(text)
	if match == nil || !strings.Contains(match[2], ":") && !promptfooTypes(match[2]) {
		return assertion(r, b, number, "equals", evidence.Value(quote(nil, text)))
	}
	return assertion(r, b, number, match[1]+match[2], evidence.Value(quote(nil, strings.TrimSpace(text[len(match[0]):]))))
}

// alternatives are the texts that promptfoo reads in one: separated by commas,
// in quotes where they hold some.
func alternatives(text string) (list evidence.Value, fault string) {
	list = evidence.Value{'['}
	for {
		if text = strings.TrimLeft(text, ", \t\r\n"); text == "" {
			return append(list, ']'), ""
		}
		var part string
		if text[0] != '"' {
			part, text, _ = strings.Cut(text, ",")
			part = strings.TrimSpace(part)
		} else if match := regexp.MustCompile(`^"((?:[^"\\]|""|\\(?s:.))*)"\s*(?:,|$)`).FindStringSubmatch(text); match != nil {
			part, text = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `""`, `"`).Replace(match[1]), text[len(match[0]):]
		} else {
			return nil, "a text in quotes does not end, or no comma follows it: " + shorten(text)
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = quote(list, part)
	}
}

// promptfooTypes reports whether a word is a type of assertion.
func promptfooTypes(word string) bool {
	switch word {
	case "equals", "contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "starts-with", "regex",
		"is-json", "contains-json", "is-xml", "contains-xml", "is-html", "contains-html", "is-sql", "contains-sql",
		"is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call", "tool-call-f1", "finish-reason", "guardrails",
		"javascript", "python", "ruby", "fn", "eval", "webhook", "file", "similar", "llm-rubric", "search-rubric", "agent-rubric", "grade", "pi",
		"model-graded-closedqa", "model-graded-factuality", "factuality", "answer-relevance", "conversation-relevance", "context-recall", "context-relevance",
		"context-faithfulness", "cost", "latency", "perplexity", "perplexity-score", "levenshtein", "rouge-n", "bleu", "gleu", "meteor", "word-count",
		"is-refusal", "moderation", "select-best", "max-score", "human", "classifier", "g-eval", "skill-used", "trace-error-spans", "trace-span-count", "trace-span-duration":
		return true
	}
	return false
}

// assertion puts one assertion into expected, or notes that it has no counterpart.
func assertion(r *reader, b *built, number int, kind string, value evidence.Value) string {
	key, group := "", "all_of"
	if perCase(kind) {
		if kind != "equals" || value.Kind() != '[' { // a list is compared as JSON
			value = asTexts(value)
		}
		if fault := elsewhere(value); fault != "" {
			return fault
		}
	}
	switch kind {
	case "equals":
		n := b.expected.at([]string{expectEquals})
		if n.value != nil {
			r.note(number, "a second equals of %s has no counterpart: an answer equals one text")
			return ""
		}
		if n.value = value; value == nil {
			return "an equals without a value"
		}
		if kind := value.Kind(); kind == '{' || kind == '[' {
			r.note(number, "an equals of %s is a list or an object: an answer that holds it as text does not equal it")
		}
		return ""
	case "is-refusal", "not-is-refusal":
		b.expected.at([]string{expectRefusal}).value = evidence.Value(map[bool]string{true: "true", false: "false"}[kind == "is-refusal"])
		return ""
	case "contains", "contains-all":
		key = expectContains
	case "contains-any":
		key, group = expectContains, "any_of"
	case "icontains", "icontains-all":
		key = expectIContains
	case "icontains-any":
		key, group = expectIContains, "any_of"
	default:
		r.note(number, "the assertion "+shorten(kind)+" of %s has no counterpart in a case: see docs/datasets.md for what judges it")
		return ""
	}
	list := value
	switch text, isText := evidence.Text(value); {
	case isText && (group == "any_of" || strings.HasSuffix(kind, "-all")):
		var fault string
		if list, fault = alternatives(text); fault != "" {
			return "the assertion " + kind + ": " + fault
		}
	case isText && text == "", evidence.IsNull(value):
		list = nil
	case value.Kind() != '[':
		list = append(append(evidence.Value{'['}, value...), ']')
	}
	if len(distinct(list)) == 0 {
		return "the assertion " + kind + " has no value"
	}
	n := b.expected.at([]string{key, group})
	if n.value == nil {
		n.value = list
		return ""
	}
	if group == "any_of" {
		r.note(number, "a second "+kind+" of %s has no counterpart: one list of alternatives is kept")
		return ""
	}
	both := distinct(append(append(n.value[:len(n.value)-1:len(n.value)-1], ','), list[1:]...))
	n.value = append(join([]byte{'['}, both), ']')
	return ""
}

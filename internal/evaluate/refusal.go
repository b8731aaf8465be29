package evaluate

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// refusalPatterns is the list refusal_patterns@1: how services decline in
// English. They are searched in casefolded text with straight apostrophes, as it
// is and with I am in place of I'm. A change is a new list with a new name;
// docs/suite.md shows it.
var refusalPatterns = []string{
	`\b(i|we) (can ?not|can't|could not|couldn't|am unable to|are unable to|am not able to|are not able to|won't|will not) (answer|help|assist|provide|say|tell|find|determine|confirm|comment|share|discuss|give|comply)`,
	`\b(sorry|afraid)\b.{0,60}\b(i|we) (can ?not|can't|could not|couldn't|am unable|are unable|am not able|are not able|do not have|don't have|have no)\b`,
	`\b(i|we) (do not|don't) (know|have (an answer|(any |enough |sufficient |the )?information|access to (that|this)))\b`,
	`\b(there is|there's|i have|we have|i found|i find|we found) (no|not enough|insufficient) (answer|information|data|mention|context)\b`,
	`\b(is|are|was|were) not (mentioned|covered|specified|stated|contained|included|described|provided|available) (in|by) (the|this|these|my|our) (\w+ ){0,2}(document|documents|documentation|context|text|passage|passages|source|sources|knowledge base|information)\b`,
	`\bthe (\w+ ){0,2}(document|documents|documentation|context|text|passage|passages|source|sources|knowledge base) (do not|does not|don't|doesn't) (mention|cover|specify|state|contain|include|say|provide|describe|answer)\b`,
	`\b(not enough|insufficient) (information|context|data) to (answer|say|tell|determine)\b`,
	`\b(outside|beyond) (of )?(the scope|my scope|what i can|what we can)\b`,
	`\b(can ?not|can't|could not|couldn't) be (answered|determined|found) (from|in|by|with|using|based on)\b`,
	`\bunanswerable\b`,
	`^\s*(no answer|n/a|unknown)\s*[.!]?\s*$`,
}

// refusal passes when the output declines exactly where the case expects it.
type refusal struct {
	fields
	patterns []*pattern
}

func newRefusal(o *suite.Evaluator) (Evaluator, error) {
	e := refusal{fields: fields{field: o.Field, expected: o.ExpectedField}}
	if e.expected == nil {
		at := "refusal"
		e.expected = &at
	}
	var all []string
	if o.Builtin != "none" {
		all = refusalPatterns
	} else if len(o.Patterns) == 0 {
		return nil, &optionError{"builtin", "builtin: none leaves no pattern that tells a refusal: add patterns"}
	}
	for _, text := range all {
		p, err := compilePattern(text)
		if err != nil {
			return nil, err
		}
		e.patterns = append(e.patterns, p)
	}
	for _, text := range o.Patterns {
		if source := text; !strings.HasPrefix(text, "(?i") {
			text = "(?i)" + source
		}
		p, err := compilePattern(text)
		if err != nil {
			return nil, &optionError{"patterns", fmt.Sprintf("patterns: %q: %v", text, err)}
		}
		e.patterns = append(e.patterns, p)
	}
	return e, nil
}

// checkCase refuses an expectation that is neither true nor false.
func (e refusal) checkCase(c *evidence.Case) []string {
	v, path, ok := e.want(c)
	if kind := v.Kind(); !ok || kind == 't' || kind == 'f' || kind == 'n' {
		return nil
	}
	return []string{fmt.Sprintf("expected.%s: want true (the service should decline) or false, found %s", path, evidence.Shorten(v, 60))}
}

// Applicable implements [Evaluator]: the case must say true or false.
func (e refusal) Applicable(c *evidence.Case) string {
	if v, _, ok := e.want(c); !ok || v.Kind() != 't' && v.Kind() != 'f' {
		return evidence.ReasonNoExpected
	}
	return ""
}

// want is nothing when expected is no object.
func (e refusal) want(c *evidence.Case) (evidence.Value, string, bool) {
	if c.Expected.Kind() != '{' {
		return nil, "", false
	}
	return e.fields.want(c)
}

// Judge implements [Evaluator].
func (e refusal) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	want, _, _ := e.want(c)
	declined := e.declines(pythonText(actual))
	switch {
	case declined == (want.Kind() == 't'):
		return passed()
	case declined:
		return failed("declined, and an answer is expected: " + evidence.Shorten(actual, shown))
	}
	return failed("answered, and declining is expected: " + evidence.Shorten(actual, shown))
}

// declines reports whether a text says that there is no answer.
func (e refusal) declines(text string) bool {
	text = casefold(norm.NFKC.String(text))
	text = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'").Replace(text)
	full := strings.NewReplacer("i'm ", "i am ", "we're ", "we are ").Replace(text)
	for _, p := range e.patterns {
		if p.MatchString(text) || full != text && p.MatchString(full) {
			return true
		}
	}
	return false
}

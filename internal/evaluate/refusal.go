package evaluate

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

const (
	// unable is how one says that one cannot, documents what an answer comes from,
	// and ends the end of a sentence.
	unable    = `(can ?not|can't|could not|couldn't|(am|are|was|were|have been) unable to|(am|are|was|were|have) not (been )?able to|(aren't|wasn't|weren't|haven't) (been )?able to|won't|will not)`
	documents = `(document|documents|documentation|context|text|passage|passages|source|sources|knowledge base|information)`
	ends      = `\s*([.!?]|$)`
)

// refusalPatterns is the list refusal_patterns@1: how services decline in
// English. They are searched in casefolded text with straight apostrophes, as it
// is and with I am in place of I'm. What we cannot or do not have is an answer
// (we cannot ship to Norway, we have no data centres in Asia) where it is no
// answer or information that is lacking. A change after a release is a new list
// with a new name; docs/suite.md shows it.
var refusalPatterns = []string{
	`\bi ` + unable + ` (answer|help|assist|provide|say|tell|find|determine|confirm|comment|share|discuss|give|comply)\b`,
	`\bwe ` + unable + ` (comment|comply|determine|(answer|assist|help|find|provide|say|tell|confirm|share|discuss|give)( you)?( with)?( (that|this|it|your question|the question|(an|any|the) answer|(any |the |that |this |enough )?information (about|on|for)|any information|anything)\b|` + ends + `))`,
	`\b(sorry|afraid)\b.{0,60}\bi (can ?not|can't|could not|couldn't|(am|was) unable|(am|was) not able|do not have|don't have|have no)\b`,
	`\b(sorry|afraid)\b.{0,60}\bwe (` + unable + ` (do|help|assist)( you)?( with)? (that|this|it)\b|(do not have|don't have|have no) (\w+ ){0,3}(answer|information|details)\b)`,
	`\bi (do not|don't) (know|have (an answer|(any |enough |sufficient |the |that )?information|(enough|sufficient) (context|details|data)|access to (that|this)))\b`,
	`\bwe (do not|don't) (know( (that|this|the answer)\b|` + ends + `)|have (an answer|(any |enough |sufficient |the |that )?information|access to (that|this))\b)`,
	`\b(there is|there's|i have|we have|i found|i find|we found) (no|not enough|insufficient) (information|mention)( (available|provided|given))?( (about|on|of|regarding|concerning|to|in|that|for|whether|how|what|when|where|which|who|why)\b|\s*[,;:]|` + ends + `)`,
	`\b(there is|there's|i have|we have|i found|i find|we found) (no|not enough|insufficient) (answer|data|context)( (available|provided|given))?( (about|regarding|concerning|to (answer|determine|say|tell|help|that|this|your)|for (that|this|your)|in (the|this|these|my|our) (\w+ ){0,2}` + documents + `)\b|` + ends + `)`,
	`\b(is|are|was|were) not (mentioned|covered|specified|stated|contained|included|described|provided|available) (in|by) (the|this|these|my|our) (\w+ ){0,2}` + documents + `\b`,
	`\bthe (\w+ ){0,2}(document|documents|documentation|context|text|passage|passages|source|sources|knowledge base) (do not|does not|don't|doesn't) (mention|cover|specify|state|contain|include|say|provide|describe|answer)\b`,
	`\b(not enough|insufficient) (information|context|data) to (answer|say|tell|determine)\b`,
	`\b(outside|beyond) (of )?(my scope|what i can|what we can|the scope( of (this|that|my|our|the) (\w+ ){0,2}(assistant|bot|chat|chatbot|conversation|service|system|` + documents + `)\b|` + ends + `))`,
	`\b(can ?not|can't|could not|couldn't) be ((answered|determined)( (from|in|by|with|using|based on)\b|` + ends + `)|found (from|in|by|with|using|based on)\b)`,
	`\bunanswerable\b`,
	`^\s*(no answer|n/a|unknown)` + ends + `\s*$`,
	`^\s*(not enough|insufficient) (information|context|data)` + ends,
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
	full := strings.NewReplacer("i'm ", "i am ", "we're ", "we are ", "i've ", "i have ", "we've ", "we have ").Replace(text)
	for _, p := range e.patterns {
		if p.MatchString(text) || full != text && p.MatchString(full) {
			return true
		}
	}
	return false
}

package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// CheckRegex says what is wrong with a regular expression, or "". KEY stands
// for the path of its key.
func CheckRegex(pattern string) string {
	if _, err := regexp.Compile(pattern); err != nil {
		return "KEY is " + regexFault(err)
	}
	return ""
}

// regexFault says why RE2 refuses a pattern.
func regexFault(err error) string {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("no regular expression: %v", err)
	}
	text := fmt.Sprintf("no regular expression that RE2 can run: %s at %q", e.Code, e.Expr)
	if e.Code == syntax.ErrInvalidPerlOp {
		text += " (look-around and back-references do not exist there: match the neighbours too, and put what counts into a group)"
	}
	return text
}

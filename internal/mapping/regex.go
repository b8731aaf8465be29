package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
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
	what, at := e.Code.String(), e.Expr
	switch {
	case strings.HasPrefix(e.Expr, "(?<=") || strings.HasPrefix(e.Expr, "(?<!"):
		what, at = "look-behind", e.Expr[:4]
	case e.Code == syntax.ErrInvalidPerlOp && (e.Expr == "(?=" || e.Expr == "(?!"):
		what = "look-ahead"
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) == 2 && '1' <= e.Expr[1] && e.Expr[1] <= '9':
		what = "a back-reference"
	default:
		return fmt.Sprintf("no regular expression that RE2 can run: %s at %q", what, e.Expr)
	}
	return fmt.Sprintf("no regular expression that RE2 can run: %s at %q (match the neighbours too, and put what counts into a group)", what, at)
}

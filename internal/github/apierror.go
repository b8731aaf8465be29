package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/google/go-github/v62/github"
)

// Reason says why a call of the API failed.
type Reason string

// The reasons.
const (
	NotFound    Reason = "not found"    // 404; also for want of access
	Gone        Reason = "gone"         // 410
	Denied      Reason = "denied"       // 401, 403
	RateLimited Reason = "rate limited" // 429, and 403 of a rate limit
	Refused     Reason = "refused"      // 422 and other 4xx
	Broken      Reason = "broken"       // 5xx
	Unreachable Reason = "unreachable"  // no answer
	OutOfTime   Reason = "out of time"
	Unexpected  Reason = "unexpected" // an answer that is none of the API's
)

// APIError is a call of the API that failed. It shows no address and no token.
type APIError struct {
	Doing   string // what the call was for: list the artifacts of run 5
	Status  int    // 0 when there was no answer
	Reason  Reason
	Message string // GitHub's own, cleaned
	Needs   string // permissions that would do, as GitHub names them: actions=read
	Err     error
}

// Error says what was done, what was answered, and what may help.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(e.Doing)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": GitHub answered %d", e.Status)
	}
	if text := cmp.Or(e.Message, string(e.Reason)); text != "" {
		b.WriteString(": " + text)
	}
	if hint := e.hint(); hint != "" {
		b.WriteString("; " + hint)
	}
	return b.String()
}

func (e *APIError) hint() string {
	switch {
	case e.Reason == Denied && e.Needs != "":
		return "the job's permissions need " + strings.ReplaceAll(e.Needs, "=", ": ")
	case e.Reason == Denied && e.Status == http.StatusUnauthorized:
		return "the token is not valid here"
	case e.Reason == Denied:
		return "the job's permissions need contents: read, actions: read and pull-requests: read or write"
	case e.Reason == RateLimited:
		return "run the job again later"
	case e.Reason == Unexpected && e.Status >= 300 && e.Status < 400:
		return "redirects are not followed; was the repository renamed?"
	}
	return ""
}

// Unwrap returns the cause.
func (e *APIError) Unwrap() error { return e.Err }

// IsNotFound reports whether an error is the API's answer 404.
func IsNotFound(err error) bool { return reasonOf(err) == NotFound }

// IsDenied reports whether an error is the API's answer to a token that may not
// do what it was used for: 401, 403, or 404 where it may not even see.
func IsDenied(err error) bool { return reasonOf(err) == Denied || IsNotFound(err) }

// IsRefused reports whether an error is that bytes are there which must not be
// used: they are not what was announced, or lie where nothing is fetched from.
func IsRefused(err error) bool {
	var refused refusal
	return errors.As(err, &refused)
}

// reasonOf returns the reason of an [APIError], or "".
func reasonOf(err error) Reason {
	var e *APIError
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Explain turns an error of go-github or of the transport into an *APIError.
// The call's own context ending stays visible to errors.Is.
func Explain(doing string, err error) *APIError {
	var known *APIError
	if errors.As(err, &known) {
		return known
	}
	e := &APIError{Doing: doing, Err: err}
	var answer *github.ErrorResponse
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	switch {
	case errors.As(err, &answer):
		e.describe(answer.Response, detailed(answer))
	case errors.As(err, &primary):
		e.describe(primary.Response, primary.Message)
		e.Reason = RateLimited
	case errors.As(err, &secondary):
		e.describe(secondary.Response, secondary.Message)
		e.Reason = RateLimited
	default:
		e.Reason, e.Message = Unreachable, transportMessage(err)
		if errors.Is(err, errOutOfTime) || errors.Is(err, context.DeadlineExceeded) {
			e.Reason, e.Message = OutOfTime, errOutOfTime.Error()
		}
	}
	return e
}

// detailed returns GitHub's message with those of its parts.
func detailed(r *github.ErrorResponse) string {
	parts := []string{r.Message}
	for _, one := range r.Errors {
		if one.Message != "" {
			parts = append(parts, one.Message)
		}
	}
	return strings.Join(parts, ": ")
}

func (e *APIError) describe(res *http.Response, message string) {
	e.Message = clean(message)
	if res == nil {
		e.Reason = Unreachable
		return
	}
	e.Status = res.StatusCode
	e.Needs = clean(res.Header.Get("X-Accepted-GitHub-Permissions"))
	switch s := res.StatusCode; {
	case isLimit(res):
		e.Reason = RateLimited
	case s == http.StatusNotFound:
		e.Reason = NotFound
	case s == http.StatusGone:
		e.Reason = Gone
	case s == http.StatusForbidden || s == http.StatusUnauthorized:
		e.Reason = Denied
	case s >= 500:
		e.Reason = Broken
	case s >= 400:
		e.Reason = Refused
	default:
		e.Reason = Unexpected
	}
}

// transportMessage is the error of a connection without its address, which may
// carry a signature.
func transportMessage(err error) string {
	var of *url.Error
	for errors.As(err, &of) {
		err = of.Err
	}
	return clean(err.Error())
}

// maxMessage is the most characters of a foreign message that are shown.
const maxMessage = 200

// clean makes a foreign text one short line.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	if r := []rune(strings.Join(strings.Fields(s), " ")); len(r) > maxMessage {
		return string(r[:maxMessage]) + "…"
	} else {
		return string(r)
	}
}

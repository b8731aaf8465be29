package httpsystem

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	maxSnippet = 200 // characters of a body that an error shows
	maxReason  = 500 // characters of an error's own text
	maxAround  = 300 // characters of the object around a value that could not be mapped
)

// safe returns the first n characters of s as an error may show them. Secrets
// go first, so that the cut leaves no half of one.
func (s *System) safe(text string, n int) string { return clean(s.cfg.Redact.String(text), n) }

// quoted returns the first n characters of a piece of an answer as an error may
// show them: as safe does, and without the queries of URLs, in which services
// put signatures that open what they point to.
func (s *System) quoted(text string, n int) string {
	return clean(query().ReplaceAllString(s.cfg.Redact.String(text), "$1?…"), n)
}

// query matches a URL with a query.
var query = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(https?://[^\s"'<>?\\]+)\?[^\s"'<>\\]+`)
})

// clean returns the first n characters of s as one line: what is not printed
// becomes a space, what is not UTF-8 the replacement character, and runs of
// spaces become one.
func clean(s string, n int) string {
	var b strings.Builder
	count, space := 0, false
	for _, r := range s {
		if r == ' ' || !unicode.IsPrint(r) && r != unicode.ReplacementChar {
			space = b.Len() > 0
			continue
		}
		if count >= n {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			count++
		}
		b.WriteRune(r)
		count++
		space = false
	}
	return b.String()
}

// reason returns what an error of the transport says, without the URL around
// it and without the userinfo of any other, such as a proxy's.
func reason(err error) string {
	text := withoutURL(err).Error()
	if strings.Contains(text, "invalid proxy address") { // goes on with the address
		return "the proxy address in the environment is invalid"
	}
	return withoutUserinfo(text)
}

// withoutUserinfo drops USER:PASSWORD@ from the URLs in a text.
func withoutUserinfo(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "//")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("//")
		end := strings.IndexAny(rest, "/?# \t\n\"")
		if end < 0 {
			end = len(rest)
		}
		text = rest[strings.LastIndexByte(rest[:end], '@')+1:]
	}
}

// withoutURL unwraps the errors that quote the whole URL, its query included.
func withoutURL(err error) error {
	var quoted *url.Error
	for errors.As(err, &quoted) {
		err = quoted.Err
	}
	return err
}

// ErrorText returns what an error of a transport says, as it may be shown: without
// the URL that was called and without credentials.
func ErrorText(err error) string { return clean(reason(err), maxReason) }

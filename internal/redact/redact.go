// Package redact takes secrets out of text before it leaves the program.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// Marker stands where a secret stood.
const Marker = "[redacted]"

const (
	// minSecret is the shortest secret that is replaced, in bytes: shorter
	// ones stand in too much ordinary text.
	minSecret = 4
	// minPart is the shortest secret whose single lines are looked for, in bytes.
	minPart = 8
	// minDigits is how many digits a secret must decide of longer base64 text to
	// be looked for there.
	minDigits = 6
	// maxRest is how far before the mark of a cut the beginning of a secret is
	// looked for, in bytes. What is cut for a message is shorter.
	maxRest = 512
)

// Redactor replaces secrets and the forms that they take on their way:
// URL-encoded, in hex, in base64 (alone or inside longer text, as in basic
// authentication), JSON-escaped, both also twice, and HTML-escaped. The nil
// Redactor knows no secret. It is
// safe for concurrent use.
type Redactor struct {
	adding sync.Mutex
	known  atomic.Pointer[table]
}

// table is what a Redactor looks for. It does not change.
type table struct {
	forms  map[[2]byte][]string // by their first two bytes
	starts [1 << 10]uint64      // bit set over the keys of forms
	whole  map[string]bool      // the secrets themselves
}

// New returns a Redactor of the secrets. Secrets of fewer than 4 bytes, outer
// white space not counted, are left alone.
func New(secrets []string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add makes more secrets known, such as a token that was asked for with another
// one. What was redacted before is not looked at again. The nil Redactor takes
// none.
func (r *Redactor) Add(secrets ...string) {
	if r == nil {
		return
	}
	r.adding.Lock()
	defer r.adding.Unlock()
	t := &table{forms: map[[2]byte][]string{}, whole: map[string]bool{}}
	if old := r.known.Load(); old != nil {
		t.starts = old.starts
		t.whole = maps.Clone(old.whole)
		for key, forms := range old.forms {
			t.forms[key] = slices.Clone(forms)
		}
	}
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) < minSecret || t.whole[secret] {
			continue
		}
		t.whole[secret] = true
		for _, form := range formsOf(secret) {
			t.add(form)
		}
	}
	r.known.Store(t)
}

func (r *Redactor) table() *table {
	if r == nil {
		return nil
	}
	return r.known.Load()
}

// Empty reports whether there is nothing to redact.
func (r *Redactor) Empty() bool { return r.table().empty() }

func (r *table) empty() bool { return r == nil || len(r.forms) == 0 }

func (r *table) add(form string) {
	key := [2]byte{form[0], form[1]}
	if slices.Contains(r.forms[key], form) {
		return
	}
	r.forms[key] = append(r.forms[key], form)
	bit := uint(key[0])<<8 | uint(key[1])
	r.starts[bit/64] |= 1 << (bit % 64)
}

// formsOf returns the secret and what is made of it, each of minSecret bytes
// or more.
func formsOf(secret string) []string {
	forms := []string{secret}
	for _, escaped := range urlForms(secret) {
		for _, once := range []string{escaped, lowerHex(escaped)} {
			forms = append(forms, once, strings.ReplaceAll(once, "%", "%25"))
		}
	}
	short := html.EscapeString(secret)
	forms = append(forms, short, strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(short))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(secret)))
	}
	for _, once := range jsonForms(secret) {
		forms = append(append(forms, once), jsonForms(once)...)
	}
	forms = append(forms, hex.EncodeToString([]byte(secret)), fmt.Sprintf("%X", secret))
	forms = append(forms, insideBase64(secret)...)
	if len(secret) >= minPart {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minPart {
				forms = append(forms, line)
			}
		}
	}
	return forms
}

// urlForms returns the secret as URLs hold it: as a parameter, as a segment of a
// path, and with what the common functions of Python and JavaScript leave as it is.
func urlForms(secret string) []string {
	query := url.QueryEscape(secret)
	all := strings.ReplaceAll(query, "+", "%20")
	component := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(all)
	whole := strings.NewReplacer("%3B", ";", "%2C", ",", "%2F", "/", "%3F", "?", "%3A", ":", "%40", "@", "%26", "&", "%3D", "=", "%2B", "+", "%24", "$", "%23", "#").Replace(component)
	return []string{query, url.PathEscape(secret), all, strings.ReplaceAll(all, "%2F", "/"), component, whole}
}

// lowerHex writes the escapes of a URL as some servers do: %2f for %2F.
func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := range b {
		if b[i] == '%' && i+2 < len(b) {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// insideBase64 returns what base64 text holds when the secret stands in it
// after other bytes: at each of the three alignments, the digits that the
// secret alone decides.
func insideBase64(secret string) []string {
	var forms []string
	for shift := range 3 {
		padded := append(make([]byte, shift), secret...)
		first, end := (shift*8+5)/6, len(padded)*8/6 // a digit is six bits
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if digits := encoding.EncodeToString(padded)[first:end]; len(digits) >= minDigits {
				forms = append(forms, digits)
			}
		}
	}
	return forms
}

// jsonForms returns the secret as JSON strings hold it: with as few escapes as
// possible, with \/ as PHP writes, as HTML-safe writers do, and in ASCII.
func jsonForms(secret string) []string {
	secret = strings.ToValidUTF8(secret, "\uFFFD")
	quoted, err := jsontext.AppendQuote(nil, secret)
	if err != nil {
		return nil
	}
	short := string(quoted[1 : len(quoted)-1])
	forms := []string{short, strings.ReplaceAll(short, "/", `\/`), asciiJSON(short, "0123456789abcdef"), asciiJSON(short, "0123456789ABCDEF")}
	if safe, err := json.Marshal(secret); err == nil {
		forms = append(forms, string(safe[1:len(safe)-1]))
	}
	return forms
}

// asciiJSON escapes every character of s outside ASCII.
func asciiJSON(s, digits string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[unit>>shift&15])
			}
		}
	}
	return b.String()
}

// Bytes returns b without its secrets: b itself when it holds none.
func (r *Redactor) Bytes(b []byte) []byte { return r.table().bytes(b) }

func (r *table) bytes(b []byte) []byte {
	if next(r, b, 0) == len(b) {
		return b
	}
	return []byte(replaced(r, b))
}

// String returns s without its secrets, and without what is left of one before
// the mark of a cut, … or three dots: texts are cut where they are made, often
// before they come here.
func (r *Redactor) String(s string) string {
	t := r.table()
	if t.empty() {
		return s
	}
	if next(t, s, 0) < len(s) {
		s = replaced(t, s)
	}
	if !strings.Contains(s, "…") && !strings.Contains(s, "...") {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		n := markAt(s, i)
		if n == 0 {
			continue
		}
		b.WriteString(t.rest(s[done:i]))
		b.WriteString(s[i : i+n])
		done, i = i+n, i+n-1
	}
	b.WriteString(s[done:])
	return b.String()
}

// markAt returns the length of the mark of a cut that starts at i, or 0.
func markAt(s string, i int) int {
	if strings.HasPrefix(s[i:], "…") {
		return len("…")
	}
	n := 0
	for i+n < len(s) && s[i+n] == '.' {
		n++
	}
	if n < len("...") {
		return 0
	}
	return n
}

// rest returns the text before a cut without the beginning of a form at its end,
// quotes and spaces behind it not counted.
func (r *table) rest(s string) string {
	trimmed := len(strings.TrimRight(s, " \"'`\\"))
	for _, end := range []int{len(s), trimmed} {
		for i := max(0, end-maxRest); i <= end-minSecret; i++ {
			if !r.mayStart(s[i], s[i+1]) {
				continue
			}
			for _, form := range r.forms[[2]byte{s[i], s[i+1]}] {
				if strings.HasPrefix(form, s[i:end]) {
					return s[:i] + Marker + s[end:]
				}
			}
		}
	}
	return s
}

// next returns the first offset from i on where a form may start, or the
// length of text. Every answer of a system goes through it, so it looks at two
// bytes at a time and allocates nothing.
func next[T string | []byte](r *table, text T, i int) int {
	if r.empty() {
		return len(text)
	}
	for ; i+1 < len(text); i++ {
		if r.mayStart(text[i], text[i+1]) && longest(r, text, i) > 0 {
			return i
		}
	}
	return len(text)
}

// mayStart reports whether a form starts with two bytes.
func (r *table) mayStart(first, second byte) bool {
	bit := uint(first)<<8 | uint(second)
	return r.starts[bit/64]>>(bit%64)&1 == 1
}

// longest returns the length of the longest form that starts at i, or 0.
func longest[T string | []byte](r *table, text T, i int) int {
	n := 0
	for _, form := range r.forms[[2]byte{text[i], text[i+1]}] {
		if len(form) > n && len(text)-i >= len(form) && string(text[i:i+len(form)]) == form {
			n = len(form)
		}
	}
	return n
}

// replaced puts one marker in place of every stretch that forms cover, those
// that overlap together: a longer secret wins over a shorter one inside it,
// and of two that overlap no end stays behind.
func replaced[T string | []byte](r *table, text T) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		start := next(r, text, at)
		b.WriteString(string(text[at:start]))
		if start == len(text) {
			break
		}
		end := start + longest(r, text, start)
		for i := start + 1; i < end && i+1 < len(text); i++ {
			end = max(end, i+longest(r, text, i))
		}
		b.WriteString(Marker)
		at = end
	}
	return b.String()
}

// JSON returns the valid JSON value v without its secrets: v itself when it
// holds none. Strings and names are redacted; a number is only when it is a
// secret as a whole, and becomes a string. The result is valid JSON; names
// that would become equal are numbered.
func (r *Redactor) JSON(v jsontext.Value) jsontext.Value { return r.table().json(v) }

func (r *table) json(v jsontext.Value) jsontext.Value {
	if next(r, []byte(v), 0) == len(v) {
		return v
	}
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	enc := jsontext.NewEncoder(&out, jsontext.PreserveRawStrings(true))
	for {
		if err := r.copyToken(enc, in); err == io.EOF {
			return bytes.TrimSpace(out.Bytes())
		} else if err != nil {
			return jsontext.Value(`"` + Marker + `"`) // not valid JSON: keep nothing of it
		}
	}
}

func (r *table) copyToken(enc *jsontext.Encoder, in *jsontext.Decoder) error {
	switch in.PeekKind() {
	case '{', '}', '[', ']', 0: // 0 is the end, or no JSON
		token, err := in.ReadToken()
		if err != nil {
			return err
		}
		return enc.WriteToken(token)
	case '"':
		return r.copyString(enc, in)
	}
	scalar, err := in.ReadValue()
	if err != nil {
		return err
	}
	if scalar.Kind() == '0' && r.whole[string(scalar)] {
		return enc.WriteToken(jsontext.String(Marker))
	}
	return enc.WriteValue(scalar)
}

func (r *table) copyString(enc *jsontext.Encoder, in *jsontext.Decoder) error {
	raw, err := in.ReadValue()
	if err != nil {
		return err
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return err
	}
	clean := r.bytes(text)
	if bytes.Equal(clean, text) {
		if err := enc.WriteValue(raw); !errors.Is(err, jsontext.ErrDuplicateName) {
			return err
		}
	}
	return writeString(enc, string(clean))
}

// writeString writes a string that was redacted, or a name that no other name
// of its object equals.
func writeString(enc *jsontext.Encoder, s string) error {
	err := enc.WriteToken(jsontext.String(s))
	for n := 2; errors.Is(err, jsontext.ErrDuplicateName); n++ {
		err = enc.WriteToken(jsontext.String(fmt.Sprintf("%s %d", s, n)))
	}
	return err
}

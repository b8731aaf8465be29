package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Domains of the content ids made here. A domain keeps ids of different things
// with equal content apart.
const (
	caseDomain    = "case/v1"
	datasetDomain = "dataset/v1"
)

const digestPrefix = "sha256:"

// AppendCanonical appends the canonical JSON of v: RFC 8785 (members sorted by
// UTF-16 code units, shortest strings, numbers as doubles), except that
// integers keep their digits. The error is of the syntax of v.
func AppendCanonical(dst []byte, v Value) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, v,
		jsontext.CanonicalizeRawFloats(true),
		jsontext.ReorderRawObjects(true))
	if err != nil {
		return dst, syntaxError(v, err)
	}
	return out, nil
}

// Canonical returns the canonical JSON of v, which is a [Value] or any Go value
// that JSON can hold.
func Canonical(v any) (Value, error) {
	raw, ok := v.(Value)
	if !ok {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("canonical JSON: %w", err)
		}
	}
	return AppendCanonical(nil, raw)
}

// ContentID returns the content id of v, which is a [Value] or any Go value
// that JSON can hold: the SHA-256 of the domain, a zero byte and the canonical
// JSON of v. The error is of v, which is no JSON.
func ContentID(domain string, v any) (Digest, error) {
	canonical, err := Canonical(v)
	if err != nil {
		return "", err
	}
	h := newID(domain)
	h.Write(canonical)
	return sumID(h), nil
}

// newID starts a content id in a domain.
func newID(domain string) hash.Hash {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write([]byte{0})
	return h
}

func sumID(h hash.Hash) Digest {
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return DigestOf(sum)
}

// CaseDigest returns the content id of a case: its input, expected, metadata
// and, when it has one, group id. An absent expected equals null and an absent
// metadata equals {}. The id of the case is not part of it.
func CaseDigest(c *Case) (Digest, error) {
	sum, _, err := AppendCaseSum(nil, c)
	if err != nil {
		return "", err
	}
	return DigestOf(sum), nil
}

// AppendCaseSum is [CaseDigest] as bytes. It builds the canonical JSON of the
// case at the end of buf and returns the buffer, so that it can be used again.
func AppendCaseSum(buf []byte, c *Case) (sum [sha256.Size]byte, used []byte, err error) {
	start := len(buf)
	b := append(buf, caseDomain+"\x00"...)
	b = append(b, `{"expected":`...)
	if b, err = appendCanonicalOr(b, c.Expected, "null"); err != nil {
		return sum, buf, fmt.Errorf("expected: %w", err)
	}
	if c.GroupID != "" {
		b = append(b, `,"group_id":`...)
		b = appendString(b, c.GroupID)
	}
	b = append(b, `,"input":`...)
	if b, err = appendCanonicalOr(b, c.Input, "null"); err != nil {
		return sum, buf, fmt.Errorf("input: %w", err)
	}
	b = append(b, `,"metadata":`...)
	if b, err = appendCanonicalOr(b, c.Metadata, "{}"); err != nil {
		return sum, buf, fmt.Errorf("metadata: %w", err)
	}
	b = append(b, '}')
	return sha256.Sum256(b[start:]), b, nil
}

func appendCanonicalOr(dst []byte, v Value, absent string) ([]byte, error) {
	if len(v) == 0 {
		return append(dst, absent...), nil
	}
	return AppendCanonical(dst, v)
}

// DatasetDigest returns the content id of a data set of n cases: over [id,
// digest] of each, sorted by id. The path and the order of the file are not
// part of it.
func DatasetDigest(n int, id func(i int) string, digest func(i int) Digest) Digest {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(id(a), id(b)) })
	h := newID(datasetDomain)
	b := []byte{'['}
	for at, i := range order {
		if at > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendString(b, id(i))
		b = append(b, `,"`...)
		b = append(b, digest(i)...)
		b = append(b, `"]`...)
		h.Write(b)
		b = b[:0]
	}
	h.Write(append(b, ']'))
	return sumID(h)
}

// DigestOf returns the content id with these bytes.
func DigestOf(sum [sha256.Size]byte) Digest {
	var b [len(digestPrefix) + 2*sha256.Size]byte
	copy(b[:], digestPrefix)
	hex.Encode(b[len(digestPrefix):], sum[:])
	return Digest(b[:])
}

// Hex returns the 64 hex digits of a content id.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// valid reports whether d has the form of a content id, in lower case.
func (d Digest) valid() bool {
	digits, ok := strings.CutPrefix(string(d), digestPrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return false
	}
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// appendString appends s as a JSON string in its shortest form. What is not
// UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error only reports the replacement
	return dst
}

// EvaluatorDigest returns the content id of an evaluator, given as JSON in the
// keys of the suite. The criterion, which is only its name, is not part of it.
// The error says that options is no JSON object.
func EvaluatorDigest(options Value) (Digest, error) {
	var m map[string]Value
	if err := json.Unmarshal(options, &m); err != nil {
		return "", fmt.Errorf("options of an evaluator: %w", err)
	}
	delete(m, "criterion")
	return ContentID("evaluator/v1", m)
}

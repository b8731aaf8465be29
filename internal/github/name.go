package github

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Part says which part of the data set a job runs: part Index of Count, counted
// from 1. The zero Part is the whole.
type Part struct{ Index, Count int }

// String returns 3/8, or "" for the whole.
func (p Part) String() string {
	if p.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.Index, p.Count)
}

// ArtifactName returns the name under which a run of the suite called name is
// uploaded by a job on ref (refs/heads/main, refs/pull/7/merge). No other name,
// ref or part gives the same one, and it holds nothing but a-z, 0-9 and -:
// upload-artifact forbids " : < > | * ? \ / and line ends.
func ArtifactName(name, ref string, part Part) string {
	s := "oloproof-" + slug(name) + "-" + shortHash("artifact/v1", name, ref)
	if part.Count > 0 {
		s += fmt.Sprintf("-shard-%d-of-%d", part.Index, part.Count)
	}
	return s
}

// CommentKey returns the key by which the comment of the suite called name is
// found again, of a-z, 0-9 and -. No other name gives the same one.
func CommentKey(name string) string { return slug(name) + "-" + shortHash("comment/v1", name) }

// maxSlug is the most characters of a name that its slug keeps.
const maxSlug = 40

// slug makes a name readable in a place that takes little but letters.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "suite"
}

// shortHash returns 12 hex digits, 48 bits, of SHA-256 over the parts, each
// with its length before it.
func shortHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

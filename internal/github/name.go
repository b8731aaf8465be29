package github

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ArtifactName returns the name under which a run is uploaded: readable, and
// one that no other suite, ref or shard has. Name is the suite's, ref is a full
// ref such as GITHUB_REF; shard is "" or "1/8".
func ArtifactName(name, ref, shard string) string {
	short := ref
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/pull/"} {
		short = strings.TrimPrefix(short, prefix)
	}
	parts := []string{"oloproof", slug(name, 40), slug(short, 40)}
	if shard != "" {
		parts = append(parts, "shard", strings.ReplaceAll(slug(shard, 20), "/", "-"))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(name), name, len(ref), ref, shard))
	return strings.Join(append(parts, hex.EncodeToString(sum[:8])), "-")
}

// slug keeps what is allowed everywhere: artifact names exclude " : < > | * ? \ /
// and line ends.
func slug(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() == most {
			break
		}
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-.")
}

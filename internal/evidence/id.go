package evidence

import (
	"io"
	"time"

	"github.com/oklog/ulid/v2"
)

// Digest is a content id: "sha256:" and 64 hex digits.
type Digest string

const runPrefix = "run_"

// NewRunID returns the id of a run that starts now: "run_" and a ULID, 48 bits
// of milliseconds and 80 bits of rand in 26 characters, so that ids sort by
// time. It panics when rand, the system's random source, fails.
func NewRunID(now time.Time, rand io.Reader) string {
	return runPrefix + ulid.MustNew(ulid.Timestamp(now), rand).String()
}

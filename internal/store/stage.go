package store

import (
	"encoding/hex"
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Stage returns what was kept of a stage's answer under a content id, if
// anything was.
func (c *Cache) Stage(id evidence.Digest) (row []byte, ok bool, err error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, false, err
	}
	row, err = c.find(c.get, key)
	return row, row != nil, err
}

// KeepStage keeps the answer of a stage under a content id, unless there is one.
// It returns before the row is written; trouble with that is [Cache.Close]'s to
// report.
func (c *Cache) KeepStage(id evidence.Digest, row []byte) error {
	key, err := keyOf(id)
	if err != nil {
		return err
	}
	c.puts <- cachePut{key: key, line: row}
	return nil
}

// keyOf is a content id as a key of the cache: its domain keeps it apart from
// the keys of executions.
func keyOf(id evidence.Digest) (key cacheKey, err error) {
	if n, err := hex.Decode(key[:], []byte(id.Hex())); err != nil || n != len(key) {
		return key, fmt.Errorf("%q is no content id", id)
	}
	return key, nil
}

package store

import (
	"database/sql"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Verdict returns what was kept under a content id, if anything was.
func (c *Cache) Verdict(id evidence.Digest) (line []byte, ok bool, err error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, false, err
	}
	line, err = c.find(c.getVerdict, key)
	return line, line != nil, err
}

// KeepVerdict keeps a line under a content id, in place of an older one. It
// returns before the line is written; trouble with that is [Cache.Close]'s to
// report.
func (c *Cache) KeepVerdict(id evidence.Digest, line []byte) error {
	key, err := keyOf(id)
	if err != nil {
		return err
	}
	c.puts <- cachePut{verdict: true, key: key, line: line}
	return nil
}

func writeVerdict(tx *sql.Tx, put cachePut) error {
	if _, err := tx.Exec("DELETE FROM verdict WHERE hash = ? AND key = ?", put.key.hash(), put.key[:]); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT INTO verdict (hash, key, line) VALUES (?, ?, ?)", put.key.hash(), put.key[:], put.line)
	return err
}

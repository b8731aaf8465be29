package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// executionDomain keeps keys of executions apart from keys of other work.
const executionDomain = "execution/v1"

const (
	cacheVersion = 2
	// putsWaiting bounds what waits for the cache's writer, in executions.
	putsWaiting = 256
	// A cache that another process is making is opened again, for 5 s.
	openTries = 100
	openPause = 50 * time.Millisecond
)

// cacheSchema: rows get ascending ids, since rows under random keys cost six
// times as much to insert. The small index finds them by the first 8 bytes of
// their key; the whole key is compared.
const cacheSchema = `
CREATE TABLE IF NOT EXISTS execution (
	id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key BLOB NOT NULL, line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS execution_hash ON execution (hash);
CREATE TABLE IF NOT EXISTS verdict (
	id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key BLOB NOT NULL, line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS verdict_hash ON verdict (hash);
PRAGMA user_version = 2;`

// Cache keeps executions across runs, for systems whose answers may be used
// again, answers of stages, and the verdicts of judges. Its methods may be called
// by several goroutines, and several processes may use one cache. Close it in the
// end.
type Cache struct {
	path       string
	db         *sql.DB
	get        *sql.Stmt
	getVerdict *sql.Stmt

	puts    chan cachePut
	written sync.WaitGroup
	err     error // the first failure of writing; read after written
}

type cacheKey [sha256.Size]byte

func (k cacheKey) hash() int64 { return int64(binary.BigEndian.Uint64(k[:8])) }

type cachePut struct {
	verdict bool // else an execution
	key     cacheKey
	line    []byte
}

// Cache opens cache.sqlite of the store and creates it when there is none.
func (s *Store) Cache() (*Cache, error) {
	if err := s.ensure("."); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(filepath.Join(s.dir, cacheFile))
	if err != nil {
		return nil, err
	}
	c := &Cache{path: path, puts: make(chan cachePut, putsWaiting)}
	for tries := 1; ; tries++ {
		err := c.open()
		if err == nil {
			break
		}
		if c.db != nil {
			c.db.Close()
		}
		if !busy(err) || tries == openTries {
			return nil, c.trouble(err)
		}
		time.Sleep(openPause)
	}
	c.written.Go(c.writePuts)
	return c, nil
}

func (c *Cache) open() (err error) {
	slashed := filepath.ToSlash(c.path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/…
	}
	// A busy cache is waited for, 10 s at most. A power cut may cost the newest
	// rows, not the file.
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: "_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"}
	if c.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return err
	}
	version := 0
	if err := c.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > cacheVersion {
		return fmt.Errorf("it has version %d and this program reads %d: update oloproof, or delete the file", version, cacheVersion)
	}
	if version < cacheVersion {
		if err := c.createTables(); err != nil {
			return err
		}
	}
	if c.get, err = c.db.Prepare("SELECT key, line FROM execution WHERE hash = ?"); err != nil {
		return err
	}
	c.getVerdict, err = c.db.Prepare("SELECT key, line FROM verdict WHERE hash = ?")
	return err
}

func (c *Cache) createTables() error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec(cacheSchema); err != nil {
		return err
	}
	return tx.Commit()
}

// busy reports whether another process held the cache. SQLite waits for it by
// itself, but not while the first one turns a new file to its write-ahead log.
func busy(err error) bool {
	var coded *sqlite.Error
	return errors.As(err, &coded) && coded.Code()&0xff == sqlite3.SQLITE_BUSY
}

// trouble names the file, and the fix when the file is damaged.
func (c *Cache) trouble(err error) error {
	var coded *sqlite.Error
	if errors.As(err, &coded) {
		switch coded.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("the cache %s is damaged (%w): delete it with its -wal and -shm; runs do not depend on it", c.path, err)
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
			return fmt.Errorf("the cache %s cannot be written (%w): give the right to write there, or run without --reuse", c.path, err)
		}
	}
	return fmt.Errorf("the cache %s: %w", c.path, err)
}

// executionKey is the content key of a call: the system's identity and the
// input.
func executionKey(system evidence.Digest, input evidence.Value) (cacheKey, error) {
	b := append([]byte(executionDomain), 0)
	b = append(append(b, system...), 0)
	b, err := evidence.AppendCanonical(b, input)
	return sha256.Sum256(b), err
}

// Get returns the stored execution of a system for a case's input, if there is
// one. It is marked FromCache and has no attempts; its latency is the one that
// was measured when it was called.
func (c *Cache) Get(system evidence.Digest, one *evidence.Case) (e evidence.Execution, ok bool, err error) {
	key, err := executionKey(system, one.Input)
	if err != nil {
		return e, false, fmt.Errorf("input of case %s: %w", one.ID, err)
	}
	line, err := c.find(c.get, key)
	if err != nil || line == nil {
		return e, false, err
	}
	stored, err := evidence.DecodeCaseLine(line)
	if err != nil {
		return e, false, fmt.Errorf("the cache %s is damaged (%w): delete it; runs do not depend on it", c.path, err)
	}
	e = stored.Execution
	e.FromCache, e.Attempts, e.Stages = true, nil, evidence.StageUse{}
	return e, true, nil
}

func (c *Cache) find(get *sql.Stmt, key cacheKey) ([]byte, error) {
	rows, err := get.Query(key.hash())
	if err != nil {
		return nil, c.trouble(err)
	}
	defer rows.Close()
	for rows.Next() {
		var k, line []byte
		if err := rows.Scan(&k, &line); err != nil {
			return nil, c.trouble(err)
		}
		if bytes.Equal(k, key[:]) {
			return line, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, c.trouble(err)
	}
	return nil, nil
}

// Put stores an execution for later runs, if its status is OK and it was not
// itself taken from the cache. It returns before the row is written; trouble
// with that is [Cache.Close]'s to report.
func (c *Cache) Put(system evidence.Digest, one *evidence.Case, e *evidence.Execution) error {
	if e.Status != evidence.StatusOK || e.FromCache {
		return nil
	}
	key, err := executionKey(system, one.Input)
	if err != nil {
		return fmt.Errorf("input of case %s: %w", one.ID, err)
	}
	// The codec of cases.jsonl serves here too; what the row says of the case
	// besides its input is of no use to another.
	kept := evidence.Case{ID: one.ID, Input: one.Input}
	line := evidence.AppendCaseLine(nil, &evidence.Manifest{}, &kept, e, nil)
	c.puts <- cachePut{key: key, line: line}
	return nil
}

// writePuts writes what waits, as much as there is in one transaction.
func (c *Cache) writePuts() {
	for put := range c.puts {
		if c.err == nil {
			c.err = c.writeBatch(put)
		}
	}
}

// writeBatch writes what is given and what waits behind it.
func (c *Cache) writeBatch(put cachePut) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.Prepare("INSERT INTO execution (hash, key, line) SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM execution WHERE hash = ?1 AND key = ?2)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for n := 0; ; n++ {
		if put.verdict {
			err = writeVerdict(tx, put)
		} else {
			_, err = insert.Exec(put.key.hash(), put.key[:], put.line)
		}
		if err != nil {
			return err
		}
		more := n < putsWaiting
		if more {
			select {
			case put, more = <-c.puts:
			default:
				more = false
			}
		}
		if !more {
			return tx.Commit()
		}
	}
}

// Close writes what still waits and closes the cache. No other method may be
// running or called later. The error says that answers were not kept for other
// runs; this run does not depend on it.
func (c *Cache) Close() error {
	close(c.puts)
	c.written.Wait()
	err := c.err
	err = errors.Join(err, c.get.Close(), c.getVerdict.Close(), c.db.Close())
	if err != nil {
		return c.trouble(err)
	}
	return nil
}

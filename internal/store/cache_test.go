package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const systemA, systemB = evidence.Digest("sha256:a"), evidence.Digest("sha256:b")

func openCache(t testing.TB, s *Store) *Cache {
	t.Helper()
	return must[*Cache](t)(s.Cache())
}

func get(t testing.TB, c *Cache, system evidence.Digest, one *evidence.Case) (evidence.Execution, bool) {
	t.Helper()
	e, ok, err := c.Get(system, one)
	check(t, err)
	return e, ok
}

func TestCache(t *testing.T) {
	s := openTest(t)
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("opening a store created it")
	}
	c := openCache(t, s)
	ok, failed := testRecord(1, 50), testRecord(3, 50)
	if _, hit := get(t, c, systemA, ok.Case); hit {
		t.Error("a hit in an empty cache")
	}
	check(t, c.Put(systemA, ok.Case, &ok.Execution))
	check(t, c.Put(systemA, failed.Case, &failed.Execution))
	check(t, c.Close())

	c = openCache(t, s)
	want := ok.Execution
	want.FromCache, want.Attempts = true, nil
	got, hit := get(t, c, systemA, ok.Case)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !hit || diff != "" {
		t.Errorf("hit %v (-put +got):\n%s", hit, diff)
	}
	if _, hit := get(t, c, systemA, failed.Case); hit {
		t.Error("an errored execution was stored")
	}
	if _, hit := get(t, c, systemB, ok.Case); hit {
		t.Error("another system has the execution")
	}
	// The key is the input's meaning, whoever asks.
	same := *ok.Case
	same.ID, same.Expected, same.Input = "other", nil, evidence.Value(`{ "question" : "what is 1?" }`)
	if _, hit := get(t, c, systemA, &same); !hit {
		t.Error("an equal input is not found")
	}
	same.Input = evidence.Value(`{"question":"what is 10?"}`)
	if _, hit := get(t, c, systemA, &same); hit {
		t.Error("another input has the execution")
	}
	// Large integers are not rounded into one another.
	first, second := *ok.Case, *ok.Case
	first.Input, second.Input = evidence.Value(`50000000014435121`), evidence.Value(`50000000014435120`)
	check(t, c.Put(systemA, &first, &ok.Execution))
	check(t, c.Put(systemA, &first, &ok.Execution))
	check(t, c.Put(systemA, ok.Case, &want)) // came from the cache
	check(t, c.Close())
	c = openCache(t, s)
	defer c.Close()
	if _, hit := get(t, c, systemA, &second); hit {
		t.Error("a neighbouring integer has the execution")
	}
	rows := 0
	check(t, c.db.QueryRow("SELECT count(*) FROM execution").Scan(&rows))
	if rows != 2 {
		t.Errorf("%d rows, want 2", rows)
	}
}

// A place with a character that means something in a URL is a place.
func TestCachePlace(t *testing.T) {
	s := must[*Store](t)(Open(filepath.Join(t.TempDir(), "a b%20#c&d=é", ".oloproof")))
	rec := testRecord(1, 5)
	c := openCache(t, s)
	check(t, c.Put(systemA, rec.Case, &rec.Execution))
	check(t, c.Close())
	if got := names(contents(t, s.Dir())); !slices.Equal(got, []string{".gitignore", cacheFile}) {
		t.Errorf("files %q", got)
	}
}

// Several caches, as several processes open them, write one file.
func TestCacheShared(t *testing.T) {
	const each, shared = 200, 4
	s := openTest(t)
	var group sync.WaitGroup
	for p := range shared {
		group.Go(func() {
			c, err := s.Cache()
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each {
				rec := testRecord(7*i, 50) // half of them are everybody's
				rec.Case.Input = evidence.Value(fmt.Sprintf(`"%d of %d"`, i, p*(i%2)))
				if err := c.Put(systemA, rec.Case, &rec.Execution); err != nil {
					t.Error(err)
				}
				if _, _, err := c.Get(systemA, rec.Case); err != nil {
					t.Error(err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	c := openCache(t, s)
	defer c.Close()
	rows := 0
	check(t, c.db.QueryRow("SELECT count(*) FROM execution").Scan(&rows))
	if want := each/2 + shared*each/2; rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

func TestDamagedCache(t *testing.T) {
	s := openTest(t)
	c := openCache(t, s)
	for i := range 200 {
		rec := testRecord(7*i, 500)
		check(t, c.Put(systemA, rec.Case, &rec.Execution))
	}
	check(t, c.Close())
	path := filepath.Join(s.Dir(), cacheFile)
	whole := must[[]byte](t)(os.ReadFile(path))
	use := func() error {
		c, err := s.Cache()
		if err != nil {
			return err
		}
		for i := range 200 {
			if _, _, err := c.Get(systemA, testRecord(7*i, 1).Case); err != nil {
				c.Close()
				return err
			}
		}
		return c.Close()
	}
	check(t, use())
	zeros := slices.Clone(whole)
	clear(zeros[4096:])
	for name, b := range map[string][]byte{
		"text":  bytes.Repeat([]byte("no database "), 1000),
		"short": whole[:len(whole)/3],
		"zeros": zeros,
	} {
		check(t, os.WriteFile(path, b, 0o644))
		err := use()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantError(t, err, "the cache", cacheFile, "is damaged", "delete it")
	}
	check(t, os.Remove(path))
	check(t, use())
	c = openCache(t, s)
	_, err := c.db.Exec("PRAGMA user_version = 99")
	check(t, err)
	check(t, c.Close())
	_, err = s.Cache()
	wantError(t, err, "version 99", "update oloproof, or delete the file")
}

// A write that fails is told in the end, and nothing waits for it meanwhile.
func TestCacheCannotWrite(t *testing.T) {
	s := openTest(t)
	c := openCache(t, s)
	_, err := c.db.Exec("DROP TABLE execution")
	check(t, err)
	for i := range 3 * putsWaiting {
		rec := testRecord(7*i, 5)
		check(t, c.Put(systemA, rec.Case, &rec.Execution))
	}
	wantError(t, c.Close(), "the cache", cacheFile)
}

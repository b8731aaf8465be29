package store

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// What a stage answered is found by its content id in the next run, and the first
// answer stays.
func TestStageCache(t *testing.T) {
	dir := t.TempDir()
	id := func(name string) evidence.Digest {
		d, err := evidence.ContentID("stage-test/v1", name)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	open := func() *Cache {
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Cache()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	for _, row := range []string{"first", "second"} {
		if err := c.KeepStage(id("a"), []byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open()
	if row, ok, err := c.Stage(id("a")); err != nil || !ok || string(row) != "first" {
		t.Errorf("%q %v %v", row, ok, err)
	}
	if row, ok, err := c.Stage(id("b")); err != nil || ok {
		t.Errorf("%q %v %v", row, ok, err)
	}
	if _, _, err := c.Stage("nonsense"); err == nil {
		t.Error("a key that is no content id is taken")
	}
	if err := c.KeepStage("sha256:12", nil); err == nil {
		t.Error("a key that is no content id is taken")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

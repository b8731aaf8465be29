package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShardsPartTheDataSet(t *testing.T) {
	var lines strings.Builder
	const cases = 200
	for i := range cases {
		fmt.Fprintf(&lines, `{"id":"case-%d","input":%d}`+"\n", i, i+1)
	}
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, n := range []int{1, 2, 7, 300} {
		seen := map[string]int{}
		for i := range n {
			s := d.Shard(i, n)
			last := -1
			for k := range s.Len() {
				c, err := s.Case(k)
				if err != nil {
					t.Fatal(err)
				}
				if place := s.Places()[k]; place <= last || d.ID(place) != c.ID || c.Index != k || c.Digest != s.CaseDigest(k) || s.ID(k) != c.ID {
					t.Fatalf("shard %d of %d, case %d: place %d, %+v", i, n, k, place, c)
				} else {
					last = place
				}
				seen[c.ID]++
			}
		}
		if len(seen) != cases {
			t.Errorf("%d shards hold %d cases, want %d", n, len(seen), cases)
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("%d shards hold %s %d times", n, id, times)
			}
		}
	}
}

// The part of a case is a contract: runs of different versions of the program
// are merged. The values were computed with hashlib of Python.
func TestShardOfIsStable(t *testing.T) {
	for _, x := range []struct {
		id   string
		n    int
		want int
	}{{"a", 8, 0}, {"refund_review", 8, 5}, {"refund_review", 3, 2}, {"é", 5, 3}} {
		if got := ShardOf(x.id, x.n); got != x.want {
			t.Errorf("ShardOf(%q, %d) = %d, want %d", x.id, x.n, got, x.want)
		}
	}
}

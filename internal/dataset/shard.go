package dataset

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Shard is a stable part of a data set: which part a case belongs to depends on
// its id and on the number of parts alone.
type Shard struct {
	data   *Dataset
	places []int // in the whole data set, ascending
}

// shardDomain keeps the hash of a case id apart from other ones.
const shardDomain = "shard/v1\x00"

// ShardOf returns the part, from 0 to n-1, of the case with an id: the first
// eight bytes of SHA-256 over the domain and the id, modulo n.
func ShardOf(id string, n int) int {
	sum := sha256.Sum256([]byte(shardDomain + id))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// Shard returns part i of n, counted from 0. A part may be empty.
func (d *Dataset) Shard(i, n int) *Shard {
	s := &Shard{data: d}
	for place := range d.entries {
		if ShardOf(d.entries[place].id, n) == i {
			s.places = append(s.places, place)
		}
	}
	return s
}

// Places returns the places of the part's cases in the whole data set, in
// ascending order.
func (s *Shard) Places() []int { return s.places }

// Len returns the number of cases of the part.
func (s *Shard) Len() int { return len(s.places) }

// ID returns the id of the part's case i, from 0.
func (s *Shard) ID(i int) string { return s.data.ID(s.places[i]) }

// CaseDigest returns the content id of the part's case i.
func (s *Shard) CaseDigest(i int) evidence.Digest { return s.data.CaseDigest(s.places[i]) }

// Case reads the part's case i; its Index is i. See [Dataset.Case].
func (s *Shard) Case(i int) (*evidence.Case, error) {
	c, err := s.data.Case(s.places[i])
	if err != nil {
		return nil, err
	}
	c.Index = i
	return c, nil
}

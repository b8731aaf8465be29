package staged

import (
	"bytes"
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Cache keeps the answers of stages across runs, under content ids. It is safe
// for concurrent use.
type Cache interface {
	Stage(key evidence.Digest) (row []byte, ok bool, err error)
	KeepStage(key evidence.Digest, row []byte) error
}

// Domains of the keys of the cache.
const (
	retrieveDomain = "stage-retrieve/v1"
	generateDomain = "stage-generate/v1"
)

// retrieveKey is the content id of a call of the retrieval. Neither top_k nor
// the token budget is part of it.
func (x *execution) retrieveKey() (evidence.Digest, error) {
	return evidence.ContentID(retrieveDomain, map[string]any{"identity": x.cfg.Retrieval, "input": x.c.Input, "depth": x.cfg.Depth})
}

// generateKey is the content id of a call of the generation with passages.
func (x *execution) generateKey(passages []evidence.Passage, sample int) (evidence.Digest, error) {
	return evidence.ContentID(generateDomain, map[string]any{
		"identity": x.cfg.Generation, "input": x.c.Input, "passages": evidence.Value(appendPassages(nil, passages)), "sample": sample,
	})
}

// appendPassages appends passages as a list, as generation is given them.
func appendPassages(dst []byte, passages []evidence.Passage) []byte {
	recorded := evidence.AppendArtifacts(nil, &evidence.Artifacts{Retrieval: []evidence.Retrieval{{Candidates: passages}}})
	list, err := evidence.Lookup(recorded, "retrieval/v1.0.candidates")
	if err != nil {
		panic(fmt.Sprintf("passages as JSON: %v", err))
	}
	return append(dst, list...)
}

// find returns what a stage answered to a call that was made before. Without a cache, or when
// the call is to be made anyway, there is none.
func (x *execution) find(key evidence.Digest) (e evidence.Execution, ok bool, err error) {
	if x.cfg.Cache == nil || x.fresh {
		return e, false, nil
	}
	row, ok, err := x.cfg.Cache.Stage(key)
	if err != nil || !ok {
		return e, false, err
	}
	e, err = readRow(row)
	return e, true, err
}

// keep keeps what a stage answered for later runs. One that holds a secret is not kept: without
// it, it would be another answer.
func (x *execution) keep(key evidence.Digest, e evidence.Execution) error {
	if x.cfg.Cache == nil || x.fresh {
		return nil
	}
	row := rowOf(e)
	if !x.cfg.Redact.Empty() && !bytes.Equal(x.cfg.Redact.JSON(row), row) {
		return nil
	}
	return x.cfg.Cache.KeepStage(key, row)
}

// stageCase stands for the case in a row, which the codec of cases.jsonl wants:
// what belongs to the case is in the key.
var stageCase = evidence.Case{ID: "stage", Input: evidence.Value("0")}

// rowOf returns what a stage answered as a row of the cache.
func rowOf(e evidence.Execution) []byte {
	e.Status = evidence.StatusOK
	if e.Output == nil {
		e.Output = evidence.Value("null")
	}
	return evidence.AppendCaseLine(nil, &evidence.Manifest{}, &stageCase, &e, nil)
}

// readRow returns what a stage answered.
func readRow(row evidence.Value) (evidence.Execution, error) {
	line, err := evidence.DecodeCaseLine(row)
	if err != nil {
		return evidence.Execution{}, fmt.Errorf("an answer of a stage in the cache is damaged (%w): delete cache.sqlite in .oloproof; runs do not depend on it", err)
	}
	return line.Execution, nil
}

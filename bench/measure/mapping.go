package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// The targets of mapping one answer.
const (
	fieldsTime = 20 * time.Microsecond
	jqTime     = 100 * time.Microsecond
)

// mapping times what an answer of another shape costs beside its request, in
// this process and on one core.
func (p plan) mapping(ctx context.Context) (table, error) {
	var t table
	for _, m := range []struct {
		what, keys string
		limit      time.Duration
	}{
		{"output, two lists of six passages, citations and usage by paths and fields", workload.MappedByFields, fieldsTime},
		{"output and a list of six passages by jq, citations", workload.MappedByJQ, jqTime},
	} {
		log.Printf("mapping: %s", m.what)
		s, err := suite.Parse("oloproof.yaml", workload.MappedSuite(m.keys), os.ReadFile)
		if err != nil {
			return nil, err
		}
		u, err := best(max(1, p.repetitions), func() (usage, error) { return mapMany(ctx, s.System.HTTP.Mapping) })
		if err != nil {
			return nil, err
		}
		t = append(t, row{
			what:  fmt.Sprintf("mapping of one answer: %s, minimum of %d", m.what, p.repetitions),
			usage: u, targets: []target{atMostTime(u, m.limit)},
		})
	}
	return t, nil
}

// mapMany maps an answer many times; the time is that of one.
func mapMany(ctx context.Context, m *mapping.Mapping) (usage, error) {
	const times = 20_000
	document := evidence.Value(workload.MappedAnswer())
	c := &evidence.Case{ID: "one", Input: evidence.Value(`{}`)}
	start := time.Now()
	for range times {
		if _, err := m.Map(&mapping.Documents{Main: document}, c); err != nil {
			return usage{}, err
		}
	}
	return usage{wall: time.Since(start) / times}, ctx.Err()
}

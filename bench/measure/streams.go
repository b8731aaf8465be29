package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/bench/workload"
)

const (
	streamsInFlight = 1000
	streamsMemory   = 200 * megabyte
)

// streams measures the memory of a run with many answers that come in pieces at
// one time.
func (p plan) streams(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	dir := filepath.Join(p.work, "streams")
	const cases = 2 * streamsInFlight
	url := strings.TrimSuffix(m.url, "/answer") + "/stream"
	if err := workload.WriteStreams(dir, cases, url, streamsInFlight); err != nil {
		return nil, err
	}
	var all []usage
	for i := range max(1, p.repetitions) {
		log.Printf("streams: repetition %d of %d", i+1, p.repetitions)
		if err := os.RemoveAll(filepath.Join(dir, ".oloproof")); err != nil {
			return nil, err
		}
		u, err := m.asked(cases, func() (usage, error) { return p.program(ctx, dir, "oloproof", "run") })
		if err != nil {
			return nil, err
		}
		if err := checkCounts(u.stdout, cases); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	u := shortest(all)
	return table{{
		what: fmt.Sprintf("`oloproof run`: %d answers in %d pieces over %v each, %d at one time, minimum of %d",
			cases, workload.StreamPieces, workload.StreamTime, streamsInFlight, len(all)),
		usage: u, targets: []target{atMostMemory(u, streamsMemory)},
	}}, nil
}

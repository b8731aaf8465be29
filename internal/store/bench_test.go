package store

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const benchRecord = 1400 // bytes of an answer; the line of cases.jsonl has about 2 kB

func benchRecords(n int) []*Record {
	all := make([]*Record, n)
	for i := range all {
		all[i] = testRecord(i, benchRecord)
	}
	return all
}

// store writes a run of the records by 16 goroutines.
func benchStore(b testing.TB, s *Store, id string, n int, record func(i int) *Record) {
	m := testManifest(n)
	m.ID = id
	w := must[*Writer](b)(s.Create(m))
	work := make(chan int, 16)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := range work {
				if err := w.Add(record(i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	group.Wait()
	check(b, w.Finish(ended(m, evidence.RunExplored)))
}

// peakMB is the most memory this process has had so far, in MB, or 0 where
// that is not told.
func peakMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func BenchmarkAddFinish(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			shared := benchRecords(1000) // memory is the store's, not the records'
			record := func(i int) *Record {
				rec, one := *shared[i%1000], *shared[i%1000].Case
				one.Index, one.ID = i, fmt.Sprintf("case_%06d", i)
				rec.Case = &one
				return &rec
			}
			for b.Loop() {
				b.StopTimer()
				s := must[*Store](b)(Open(b.TempDir()))
				b.StartTimer()
				benchStore(b, s, testID, n, record)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/case")
			b.ReportMetric(peakMB(), "peak-MB")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	const n = 100_000
	s := must[*Store](b)(Open(b.TempDir()))
	benchStore(b, s, testID, n, func(i int) *Record { return testRecord(i, benchRecord) })
	runtime.GC()
	r := must[*Run](b)(s.Resolve("latest"))
	b.Run("outcomes", func(b *testing.B) {
		for b.Loop() {
			check(b, r.Outcomes(func(int, *evidence.Outcome) error { return nil }))
		}
		b.ReportMetric(peakMB(), "peak-MB")
	})
	b.Run("case-lines", func(b *testing.B) {
		for b.Loop() {
			check(b, r.CaseLines(func(evidence.CaseLine) error { return nil }))
		}
		b.ReportMetric(peakMB(), "peak-MB")
	})
	b.Run("case-line", func(b *testing.B) {
		for b.Loop() {
			must[evidence.CaseLine](b)(r.CaseLine("case_099999"))
		}
	})
}

func BenchmarkCache(b *testing.B) {
	const n = 10_000
	records := benchRecords(n)
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := must[*Store](b)(Open(b.TempDir()))
			b.StartTimer()
			c := must[*Cache](b)(s.Cache())
			for _, rec := range records {
				check(b, c.Put(systemA, rec.Case, &rec.Execution))
			}
			check(b, c.Close())
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/case")
	})
	s := must[*Store](b)(Open(b.TempDir()))
	c := must[*Cache](b)(s.Cache())
	for _, rec := range records {
		check(b, c.Put(systemA, rec.Case, &rec.Execution))
	}
	check(b, c.Close())
	c = must[*Cache](b)(s.Cache())
	defer c.Close()
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			for _, rec := range records {
				if _, _, err := c.Get(systemA, rec.Case); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/case")
	})
}

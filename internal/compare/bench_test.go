package compare

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// large returns two runs of n cases with two rates, a mean of scores with as
// many decimals as a double has, and a latency, in two slices.
func large(n int) (candidate, baseline *run) {
	names := []string{"metadata.topic", "metadata.product"}
	metrics := []evidence.MetricSpec{correct, hit, ndcg, p90}
	candidate, baseline = newRun("run_c", names, metrics...), newRun("run_b", names, metrics...)
	random := rand.New(rand.NewPCG(1, 2))
	verdict := func() evidence.Judgment { return judged(float64(min(random.IntN(10), 1))) }
	for i := range n {
		id := fmt.Sprintf("case_%07d", i)
		values := []string{fmt.Sprint("topic_", random.IntN(5)), fmt.Sprint("product_", random.IntN(50))}
		for _, r := range []*run{candidate, baseline} {
			answer := verdict()
			if random.IntN(200) == 0 {
				answer = missing(evidence.ReasonMissingField)
			}
			retrieved := verdict()
			if i%10 == 0 {
				retrieved = excluded(evidence.ReasonNoRelevanceLabels)
			}
			r.add(id, values, answer, retrieved, judged(random.Float64())).LatencyMS = random.Float64() * 1000
		}
	}
	return candidate, baseline
}

func BenchmarkRuns(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		candidate, baseline := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compared(b, candidate, baseline, Options{})
			}
			b.ReportMetric(float64(live(func() any { return compared(b, candidate, baseline, Options{}) }))/1e6, "MB-kept")
		})
	}
}

// live returns the bytes that the result of make keeps.
func live(make func() any) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

package evidence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shardOf is the manifest of a shard of a run with judges.
func shardOf(index int) *Manifest {
	cost := float64(index)
	at := time.Date(2026, 3, 1, 12, index, 0, 0, time.UTC)
	return &Manifest{
		Tool: Tool{Name: "oloproof", Version: "1.0.0"}, ID: "run_of_a_shard", SuiteDigest: "suite", Commit: "c1",
		Dataset: DatasetID{Digest: "data", Cases: 3}, Slices: []string{"metadata.topic"},
		System: SystemID{Digest: "system", Deployed: &Deployment{Of: "version", First: "v1", Last: "v1"}},
		Metrics: []MetricSpec{
			{ID: "grounded", Kind: Rate, Type: "groundedness_judge", Served: []string{"m1"}, Trust: &Trust{BothPass: 9}},
			{ID: "tone", Kind: Rate, Type: "rubric_judge", Served: []string{"m1"}, Trust: &Trust{BothPass: 5}},
			{ID: "polite", Kind: Rate, Type: "rubric_judge", Served: []string{"m1"}, Trust: &Trust{BothPass: 3}},
		},
		Shard: &Shard{Index: index, Of: 2, Total: 6}, Judges: &JudgeUse{Calls: 3, InputTokens: 100, OutputTokens: 10, CostUSD: &cost},
		StartedAt: at, FinishedAt: at.Add(time.Hour), Notes: []string{"of both"}, Gate: "BLOCK", Stopped: "killed",
		Policies: []PolicyRef{{Path: "release.yaml"}}, Files: []File{{Name: "cases.jsonl"}},
	}
}

func TestShardsThatDoNotBelongTogether(t *testing.T) {
	const other = " is another one than that of one: these shards are of different runs"
	for _, x := range []struct {
		change func(m *Manifest)
		want   string // "" when they do
	}{
		{func(*Manifest) {}, ""},
		{func(m *Manifest) { m.Metrics[0].Served, m.Metrics[0].Trust = []string{"m2"}, nil }, ""},
		{func(m *Manifest) { m.Shard = nil }, "this is a whole run and not a shard: run it with --shard I/N"},
		{func(m *Manifest) { m.Shard.Index = 1 }, "this is shard 1, as one is: name each shard once"},
		{func(m *Manifest) { m.Dataset.Digest = "x" }, "the data set" + other},
		{func(m *Manifest) { m.Shard.Total = 7 }, "the data set" + other},
		{func(m *Manifest) { m.System.Digest = "x" }, "the system" + other},
		{func(m *Manifest) { m.SuiteDigest = "x" }, "the suite" + other},
		{func(m *Manifest) { m.Metrics[1].Evaluator = "x" }, "the suite" + other},
		{func(m *Manifest) { m.Metrics = m.Metrics[:1] }, "the suite" + other},
		{func(m *Manifest) { m.Slices = nil }, "the suite" + other},
		{func(m *Manifest) { m.Shard.Of = 3 }, "the number of shards" + other},
		{func(m *Manifest) { m.Tool.Version = "2.0.0" }, "the version of oloproof" + other},
		{func(m *Manifest) { m.Commit = "c2" }, "the commit" + other},
	} {
		second := shardOf(2)
		x.change(second)
		got := ""
		if _, err := MergeShards([]ShardRun{{"one", shardOf(1)}, {"two", second}}); err != nil {
			got = err.Error()
		}
		want := x.want
		if want != "" {
			want = "Configuration error: " + want + "\n  at two"
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMergeShards(t *testing.T) {
	first, second := shardOf(1), shardOf(2)
	second.Metrics[1].Served, second.Metrics[1].Trust = []string{"m0"}, &Trust{BothPass: 5}
	second.Metrics[2].Trust = &Trust{BothPass: 4}
	second.System.Deployed = &Deployment{Of: "version", First: "v2", Last: "v2"}
	second.Notes = append(second.Notes, "of the second")
	kept := shardOf(1)
	got, err := MergeShards([]ShardRun{{"one", first}, {"two", second}})
	if err != nil {
		t.Fatal(err)
	}
	want := shardOf(1)
	cost := 3.0
	want.Shard, want.Gate, want.Stopped, want.Policies, want.Files = nil, "", "", nil, nil
	want.Dataset.Cases = 6
	want.FinishedAt = second.FinishedAt
	want.Judges = &JudgeUse{Calls: 6, InputTokens: 200, OutputTokens: 20, CostUSD: &cost}
	want.System.Deployed = &Deployment{Of: "version", First: "v1", Last: "v2", Changed: true}
	want.Metrics[1].Served, want.Metrics[1].Trust = []string{"m0", "m1"}, nil // labels of one model are not those of another
	want.Metrics[2].Trust = nil
	want.Notes = []string{"of both", "of the second"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(kept, first); diff != "" {
		t.Errorf("a shard was changed: %s", diff)
	}
}

// TestMergedCost: a cost that some shard cannot say is not known of the whole,
// unless that shard called no judge.
func TestMergedCost(t *testing.T) {
	for calls, known := range map[int]bool{0: true, 3: false} {
		second := shardOf(2)
		second.Judges.Calls, second.Judges.CostUSD = calls, nil
		m, err := MergeShards([]ShardRun{{"one", shardOf(1)}, {"two", second}})
		if err != nil || (m.Judges.CostUSD != nil) != known {
			t.Errorf("%d calls without a price: %v, %v", calls, m, err)
		}
	}
}

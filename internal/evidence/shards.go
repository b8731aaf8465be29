package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// ShardRun is a run that covers a shard of a data set.
type ShardRun struct {
	Place    string // where it lies, for messages
	Manifest *Manifest
}

// MergeShards proves that shards are parts of one run and makes its manifest, of
// which the caller says what it came to: its id, counts, status and files. The
// error is a [problem.List] of every shard that does not belong to the first one.
func MergeShards(shards []ShardRun) (*Manifest, error) {
	if err := belongTogether(shards); err != nil {
		return nil, err
	}
	m := *shards[0].Manifest
	m.Dataset.Cases = m.Shard.Total
	m.Shard, m.Files, m.Stopped, m.Gate, m.Policies, m.Notes = nil, nil, "", "", nil, nil
	m.Metrics, m.Judges = asAsked(m.Metrics), nil
	for _, s := range shards {
		addJudges(&m, s.Manifest)
		if s.Manifest.StartedAt.Before(m.StartedAt) {
			m.StartedAt = s.Manifest.StartedAt
		}
		if s.Manifest.FinishedAt.After(m.FinishedAt) {
			m.FinishedAt = s.Manifest.FinishedAt
		}
		m.System.Deployed = deployedTogether(m.System.Deployed, s.Manifest.System.Deployed)
		for _, note := range s.Manifest.Notes {
			if !slices.Contains(m.Notes, note) {
				m.Notes = append(m.Notes, note)
			}
		}
	}
	for i := range m.Metrics {
		m.Metrics[i].Trust = commonTrust(shards, i)
	}
	return &m, nil
}

// belongTogether proves that the shards are parts of one run.
func belongTogether(shards []ShardRun) error {
	var problems problem.List
	first := shards[0]
	seen := map[int]string{}
	for _, s := range shards {
		fault := func(format string, args ...any) {
			problems.Add(problem.Problem{File: s.Place, Message: fmt.Sprintf(format, args...)})
		}
		if s.Manifest.Shard == nil {
			fault("this is a whole run and not a shard: run it with --shard I/N")
			continue
		}
		index := s.Manifest.Shard.Index
		if other, twice := seen[index]; twice {
			fault("this is shard %d, as %s is: name each shard once", index, other)
		}
		seen[index] = s.Place
		if what := differs(first.Manifest, s.Manifest); what != "" {
			fault("%s is another one than that of %s: these shards are of different runs", what, first.Place)
		}
	}
	return problems.Err()
}

// differs names what keeps two shards from being parts of one run; "" when
// nothing does.
func differs(a, b *Manifest) string {
	switch {
	case a.Shard == nil || b.Shard == nil:
		return ""
	case a.Dataset.Digest != b.Dataset.Digest || a.Shard.Total != b.Shard.Total:
		return "the data set"
	case a.System.Digest != b.System.Digest:
		return "the system"
	case a.SuiteDigest != b.SuiteDigest || !sameMetrics(a.Metrics, b.Metrics) || !slices.Equal(a.Slices, b.Slices):
		return "the suite"
	case a.Shard.Of != b.Shard.Of:
		return "the number of shards"
	case a.Tool != b.Tool:
		return "the version of " + a.Tool.Name
	case a.Commit != b.Commit:
		return "the commit"
	}
	return ""
}

func sameMetrics(a, b []MetricSpec) bool {
	a, b = asAsked(a), asAsked(b)
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// asAsked leaves out which models judged and what people's labels say of them, which
// shards need not share.
func asAsked(specs []MetricSpec) []MetricSpec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Served, specs[i].Trust = nil, nil
	}
	return specs
}

// addJudges joins what two shards say of their judges.
func addJudges(m, shard *Manifest) {
	for i := range m.Metrics {
		for _, model := range shard.Metrics[i].Served {
			if !slices.Contains(m.Metrics[i].Served, model) {
				m.Metrics[i].Served = append(m.Metrics[i].Served, model)
			}
		}
		slices.Sort(m.Metrics[i].Served)
	}
	switch u := shard.Judges; {
	case u == nil:
	case m.Judges == nil:
		sum := *u
		m.Judges = &sum
	default:
		m.Judges.Calls += u.Calls
		m.Judges.InputTokens += u.InputTokens
		m.Judges.OutputTokens += u.OutputTokens
		if m.Judges.CostUSD != nil && u.CostUSD != nil {
			cost := *m.Judges.CostUSD + *u.CostUSD
			m.Judges.CostUSD = &cost
		} else if u.Calls > 0 {
			m.Judges.CostUSD = nil
		}
	}
}

// commonTrust is what every shard says of the judge of a metric; nil when they do
// not say the same, since the labels of one model are not those of another.
func commonTrust(shards []ShardRun, metric int) *Trust {
	first := shards[0].Manifest.Metrics[metric]
	for _, s := range shards {
		spec := s.Manifest.Metrics[metric]
		if first.Trust == nil || spec.Trust == nil || *spec.Trust != *first.Trust || !slices.Equal(spec.Served, first.Served) {
			return nil
		}
	}
	return first.Trust
}

// deployedTogether is what the service said of its version over two shards: one of
// several versions makes the whole so.
func deployedTogether(a, b *Deployment) *Deployment {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &Deployment{Of: a.Of, First: a.First, Last: b.Last, Changed: a.Changed || b.Changed || a.First != b.First}
}

package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

// fact is a line of where a document comes from. The name is our own word, the
// value is foreign.
type fact struct{ name, value string }

// facts says what ran on what, and what it was held against.
func (d *Document) facts() []fact {
	r := &d.Run
	var all []fact
	add := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			all = append(all, fact{name, value})
		}
	}
	add("Run", r.ID)
	add("Status", fmt.Sprintf("%s/%s", r.Status, r.Completeness))
	add("Suite", digested(r.Suite.Path, string(r.Suite.Digest)))
	add("Data set", digested(r.Dataset.Path, string(r.Dataset.Digest)))
	add("System", digested(strings.TrimSpace(r.System.Name+" "+r.System.Version+" "+r.System.URL), string(r.System.Digest)))
	add("Commit", r.Commit)
	add("Started", moment(r.StartedAt))
	add("Finished", moment(r.FinishedAt))
	add("Cases", fmt.Sprintf("%d answered, %d errored, %d not run, of %d", r.Counts.OK, r.Counts.Error, r.Counts.NotRun, r.Counts.Cases))
	add("Cache", fmt.Sprintf("execution %d hit/%d miss; judgment %d hit/%d miss",
		d.Cache.ExecutionHits, d.Cache.ExecutionMisses, d.Cache.JudgmentHits, d.Cache.JudgmentMisses))
	add("Stages", stagesWords(d.Stages))
	add("Judges", judgesWords(d.Judges))
	for _, p := range d.Policies {
		add("Policy", digested(p.Path+" ("+p.Role+")", p.Digest))
	}
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		add("Comparison", string(c.ID))
		add("Compared with", refWords(c.Baseline))
		add("Pairs", fmt.Sprintf("%d observed; %d of the baseline's %d cases are the same in both", c.Paired, c.Shared, c.BaselineCases))
	}
	if b := d.Baseline; b != nil {
		add("Baseline", strings.Join(strings.Fields(strings.Join([]string{b.State, b.Run, b.Commit, b.Branch, b.Age}, " ")), " ")+since(b, func(s string) string { return s }))
		add("Found as", b.How)
		for _, t := range b.Trail {
			add("Not taken", t.Candidate+": "+t.RejectedBecause)
		}
	}
	add("Tool", d.Tool.Name+" "+d.Tool.Version)
	return all
}

func digested(name, digest string) string { return strings.TrimSpace(name + " " + digest) }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func refWords(r compare.RunRef) string {
	s := strings.TrimSpace(r.ID + " " + r.System.Name + " " + r.System.Version)
	if r.Commit != "" {
		s += " commit " + r.Commit
	}
	return s
}

// stagesWords says which answers of stages were reused; "" when no stage was
// needed, as for a run whose executions were all reused.
// called is what the calls of judges came to; nil when none was made.
func called(u *evidence.JudgeUse) *evidence.JudgeUse {
	if u == nil || u.Calls == 0 {
		return nil
	}
	return u
}

// judgesWords says what the calls of judges came to; "" when none was made.
func judgesWords(u *evidence.JudgeUse) string {
	if u == nil {
		return ""
	}
	words := fmt.Sprintf("%s, %s tokens in, %s out", count(u.Calls, "call"), grouped(u.InputTokens), grouped(u.OutputTokens))
	if u.CostUSD != nil {
		words += ", " + dollars(*u.CostUSD)
	}
	return words
}

// grouped is a count with its digits in threes.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// dollars is a sum to two significant digits at the least.
func dollars(usd float64) string {
	for decimals := 2; decimals < 8; decimals++ {
		if math.Abs(usd)*math.Pow10(decimals) >= 10 || usd == 0 {
			return strconv.FormatFloat(usd, 'f', decimals, 64) + " USD"
		}
	}
	return strconv.FormatFloat(usd, 'g', 2, 64) + " USD"
}

func stagesWords(c *evidence.StageCounts) string {
	if c.Empty() {
		return ""
	}
	return fmt.Sprintf("retrieve %d hit/%d miss; generate %d hit/%d miss", c.RetrieveHits, c.RetrieveMisses, c.GenerateHits, c.GenerateMisses)
}

package diagnose

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// SystemChange names the first difference that can be seen between the system of
// a run and that of now, which is another one.
func SystemChange(run string, was, now *evidence.SystemID) string {
	differ := func(what string, a, b any) string {
		return fmt.Sprintf("its %s was %v in %s and is %v now", what, a, run, b)
	}
	switch {
	case was.Name != now.Name:
		return differ("name", was.Name, now.Name)
	case was.Version != now.Version:
		return differ("version", was.Version, now.Version)
	case was.Staged == nil || now.Staged == nil:
		return fmt.Sprintf("its code or configuration changed since %s", run)
	}
	a, b := was.Staged, now.Staged
	switch {
	case a.Depth != b.Depth:
		return differ("depth", a.Depth, b.Depth)
	case a.TopK != b.TopK:
		return differ("top_k", a.TopK, b.TopK)
	case budgetWord(a.TokenBudget) != budgetWord(b.TokenBudget):
		return differ("token_budget", budgetWord(a.TokenBudget), budgetWord(b.TokenBudget))
	case a.IndexVersion != b.IndexVersion:
		return differ("index_version", a.IndexVersion, b.IndexVersion)
	}
	return fmt.Sprintf("its code or configuration changed since %s", run)
}

func budgetWord(budget *int) string {
	if budget == nil {
		return "none"
	}
	return fmt.Sprint(*budget)
}

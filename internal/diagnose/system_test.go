package diagnose

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestSystemChange(t *testing.T) {
	const unseen = "its code or configuration changed since run_1"
	for _, x := range []struct {
		change func(*evidence.SystemID)
		want   string
	}{
		{func(s *evidence.SystemID) { s.Name, s.Version = "other", "2" }, "its name was rag in run_1 and is other now"},
		{func(s *evidence.SystemID) { s.Version, s.Staged.TopK = "2", 4 }, "its version was 1 in run_1 and is 2 now"},
		{func(s *evidence.SystemID) { s.Staged.Depth, s.Staged.TopK = 8, 4 }, "its depth was 10 in run_1 and is 8 now"},
		{func(s *evidence.SystemID) { s.Staged.TopK = 4 }, "its top_k was 3 in run_1 and is 4 now"},
		{func(s *evidence.SystemID) { *s.Staged.TokenBudget = 120 }, "its token_budget was 40 in run_1 and is 120 now"},
		{func(s *evidence.SystemID) { s.Staged.TokenBudget = nil }, "its token_budget was 40 in run_1 and is none now"},
		{func(s *evidence.SystemID) { s.Staged.IndexVersion = "may" }, "its index_version was april in run_1 and is may now"},
		{func(s *evidence.SystemID) { s.Staged = nil }, unseen},
		{func(s *evidence.SystemID) { s.Digest = "other" }, unseen},
	} {
		system := func() *evidence.SystemID {
			budget := 40
			return &evidence.SystemID{
				Name: "rag", Version: "1", Digest: "first",
				Staged: &evidence.StagedSettings{Depth: 10, TopK: 3, TokenBudget: &budget, IndexVersion: "april"},
			}
		}
		now := system()
		x.change(now)
		if got := SystemChange("run_1", system(), now); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

package diagnose

import (
	"cmp"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Label associates a failed case with a stage. It proves no cause.
type Label string

// The labels, in the order in which they are shown.
const (
	RetrievalMiss       Label = "RETRIEVAL_MISS"
	RankedOut           Label = "RANKED_OUT"
	ContextAssemblyLoss Label = "CONTEXT_ASSEMBLY_LOSS"
	GenerationFailure   Label = "GENERATION_FAILURE"
	Unresolved          Label = "UNRESOLVED"
)

// The reasons of labels, in the order in which those of one label are shown.
const (
	ReasonNotRetrieved    = "relevant_not_retrieved"
	ReasonBelowTopK       = "relevant_ranked_below_top_k"
	ReasonDropped         = "relevant_dropped_from_context"
	ReasonFailsWithGold   = "fails_with_gold_context"
	ReasonUnsupported     = "intervention_unsupported"
	ReasonEvidenceMissing = "intervention_evidence_missing"
	ReasonUnstable        = "unstable_under_control"
	ReasonNoLabels        = "no_relevance_labels"
	ReasonUnitMismatch    = "relevance_unit_mismatch"
	ReasonInContext       = "recovered_with_relevant_in_context"
)

var labelOrder = []Label{RetrievalMiss, RankedOut, ContextAssemblyLoss, GenerationFailure, Unresolved}

var reasonOrder = []string{
	ReasonNotRetrieved, ReasonBelowTopK, ReasonDropped, ReasonFailsWithGold,
	ReasonUnsupported, ReasonEvidenceMissing, ReasonUnstable, ReasonNoLabels, ReasonUnitMismatch, ReasonInContext,
}

// Strength says what a label rests on.
type Strength string

// The strengths of a label.
const (
	NoStrength              Strength = "none"
	InterventionRecovery    Strength = "intervention_recovery"     // failed unchanged, passed with the gold passages
	InterventionNonRecovery Strength = "intervention_non_recovery" // failed with the gold passages as well
	ReplayConfirmed         Strength = "replay_confirmed"          // and a replay recovered it too
)

// Finding is what is said of one case.
type Finding struct {
	Label    Label    `json:"label" jsonschema:"enum=RETRIEVAL_MISS,enum=RANKED_OUT,enum=CONTEXT_ASSEMBLY_LOSS,enum=GENERATION_FAILURE,enum=UNRESOLVED"`
	Reason   string   `json:"reason"`
	Strength Strength `json:"strength" jsonschema:"enum=none,enum=intervention_recovery,enum=intervention_non_recovery,enum=replay_confirmed"`
	// Position is the rank, from 1, of the first relevant passage in the retrieval
	// of the run; null when there is none, or when it is not known.
	Position *int `json:"best_relevant_position" jsonschema:"nullable"`
}

// LabelCount counts the cases of one label and reason.
type LabelCount struct {
	Label  Label  `json:"label"`
	Reason string `json:"reason"`
	Cases  int    `json:"cases"`
}

// find is the label table: the first row that holds.
func find(c *Case, r Result, staged bool, topK int) Finding {
	position, ambiguous := c.position()
	unresolved := func(reason string) Finding { return Finding{Unresolved, reason, NoStrength, position} }
	recovered := func(label Label, reason string) Finding {
		return Finding{label, reason, InterventionRecovery, position}
	}
	switch {
	case !staged:
		return unresolved(ReasonUnsupported)
	case !observed(r.Control) || !observed(r.Intervention):
		return unresolved(ReasonEvidenceMissing)
	case r.Control == Passed:
		return unresolved(ReasonUnstable)
	case r.Intervention == Failed:
		return Finding{GenerationFailure, ReasonFailsWithGold, InterventionNonRecovery, position}
	case len(c.Relevant) == 0:
		return unresolved(ReasonNoLabels)
	case c.Retrieval == nil || c.Context == nil || topK < 1:
		return unresolved(ReasonEvidenceMissing)
	}
	in, unsure := c.inContext()
	switch {
	case ambiguous || unsure:
		return unresolved(ReasonUnitMismatch)
	case position == nil:
		return recovered(RetrievalMiss, ReasonNotRetrieved)
	case *position > topK:
		return recovered(RankedOut, ReasonBelowTopK)
	case !in:
		return recovered(ContextAssemblyLoss, ReasonDropped)
	}
	return unresolved(ReasonInContext)
}

func observed(o Outcome) bool { return o == Passed || o == Failed }

// position returns the rank of the first relevant passage that the run
// retrieved; nil when there is none. It is ambiguous when a passage before it
// may be relevant.
func (c *Case) position() (rank *int, ambiguous bool) {
	if c.Retrieval == nil || len(c.Relevant) == 0 {
		return nil, false
	}
	n, ambiguous := evidence.FirstRelevant(c.Relevant, c.Retrieval.Candidates)
	if n == 0 {
		return nil, ambiguous
	}
	return &n, false
}

// inContext reports whether a relevant passage reached the model.
func (c *Case) inContext() (in, ambiguous bool) {
	for i := range c.Context.Items {
		item := &c.Context.Items[i]
		switch found, unsure := evidence.Match(c.Relevant, item.DocID, item.ChunkID); {
		case found:
			return true, false
		case unsure:
			return false, true
		}
	}
	return false, false
}

func countLabels(cases []LabelledCase) []LabelCount {
	counts := []LabelCount{}
	for i := range cases {
		f := &cases[i].Finding
		at := slices.IndexFunc(counts, func(n LabelCount) bool { return n.Label == f.Label && n.Reason == f.Reason })
		if at < 0 {
			at = len(counts)
			counts = append(counts, LabelCount{Label: f.Label, Reason: f.Reason})
		}
		counts[at].Cases++
	}
	slices.SortFunc(counts, func(a, b LabelCount) int {
		return cmp.Or(slices.Index(labelOrder, a.Label)-slices.Index(labelOrder, b.Label),
			slices.Index(reasonOrder, a.Reason)-slices.Index(reasonOrder, b.Reason))
	})
	return counts
}

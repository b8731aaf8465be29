package report

import (
	"cmp"
	"slices"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// definition says in plain words what a word or a code of a report means.
type definition struct{ Term, Text string }

// define returns the definition of a code; "" of one that it does not know.
func define(term string) string {
	for _, g := range glossary() {
		for _, d := range g.Terms {
			if d.Term == term {
				return d.Text
			}
		}
	}
	return ""
}

// glossaryGroup is some definitions of one kind.
type glossaryGroup struct {
	Title string
	Terms []definition
}

// glossary holds every state and reason code that a report may show.
func glossary() []glossaryGroup {
	return []glossaryGroup{
		{"The gate", []definition{
			{string(decide.Allow), "Nothing that the policy blocks or warns on has happened. The process ends with exit code 0."},
			{string(decide.Warn), "A rule is in a state that the policy warns on, and none blocks. The process ends with exit code 0."},
			{string(decide.Block), "A rule is in a state that the policy blocks on, or the evidence that a decision needs is missing. The process ends with exit code 1 when a blocking rule is FAIL, else with 3."},
		}},
		{"States of a rule", []definition{
			{string(policy.Pass), "Established: the whole interval lies on the right side of the threshold or margin, or the count is within its limit however the missing cases had gone."},
			{string(policy.Fail), "Ruled out: the whole interval lies on the wrong side, or the count is above its limit."},
			{string(policy.InsufficientEvidence), "Not established yet: these cases allow neither PASS nor FAIL. It is no sign that something is wrong, nor that all is well."},
			{string(policy.ManualReview), "A person decides."},
		}},
		{"Why a rule has its state", ruleReasons()},
		{"Why a gate blocks by itself", []definition{
			{decide.GateMissingEvidence, "A rule's metric observed no case, or more cases are missing than the rule allows. A gate must not open for want of evidence, so this blocks whatever the policy says."},
			{decide.GateNotLookedUp, "Policies and suite of the base commit, or the baseline, could not be looked up, so what was decided is not all."},
			{decide.GatePartialRun, "Not every case ran."},
			{"policy_moved", "The base branch has a gate of this name, but no policy lies where it is named now, nor where it was named then."},
		}},
		{"Why a case does not count", []definition{
			{evidence.ReasonNoExpected, "Excluded: the case declares nothing that the evaluator could compare with."},
			{evidence.ReasonNoRelevanceLabels, "Excluded: the case does not say which passages answer its question."},
			{evidence.ReasonNotApplicable, "Excluded: the metric does not apply to this case; the case itself says why."},
			{evidence.ReasonExecutionError, "Missing: the system gave no answer."},
			{evidence.ReasonNotRun, "Missing: the run stopped before this case finished."},
			{evidence.ReasonMissingField, "Missing: the answer has nothing at the field that the evaluator reads."},
			{evidence.ReasonMissingArtifact, "Missing: what the evaluator reads (a retrieval, a context, citations) was not recorded."},
			{evidence.ReasonDepthBelowK, "Missing: fewer passages were retrieved than the evaluator looks at."},
			{evidence.ReasonNotRecorded, "Missing: the system does not say what the answer took: tokens, cost, or the time to the first token."},
			{evidence.ReasonEvaluatorError, "Missing: the evaluator could not judge."},
			{evidence.ReasonMissingText, "Missing: a passage that the judge has to read was recorded without its text."},
			{evidence.ReasonNotAsked, "Missing: a judge would have to be called, and nothing was called."},
			{evidence.ReasonJudgeFailed, "Missing: the judge gave no reply."},
			{evidence.ReasonJudgeRefused, "Missing: the judge declined to judge."},
			{evidence.ReasonJudgeReply, "Missing: the judge replied without a verdict, or with several that disagree."},
		}},
		{"Figures", []definition{
			{"estimate", "The figure of these cases alone."},
			{"interval", "The values that these cases do not rule out at the stated level, if cases are independent and stand for the traffic. Limits are rounded outward."},
			{"paired difference", "Candidate minus baseline on the same case, over all cases that are the same in both runs."},
			{"margin", "The largest loss that is accepted as not worse, in the metric's unit, fixed before the run."},
			{"observed, missing, excluded", "Judged; should have been judged but was not, and counted at its worst for the interval; outside the denominator."},
			{"discordance", "The share of pairs whose verdict differs."},
			{"slice", "The cases that share a declared value. A slice decides nothing unless a rule names it; looking at many slices finds some that look odd by chance."},
		}},
	}
}

// ruleReasons are the reason codes of rules, by code.
func ruleReasons() []definition {
	list := []definition{
		{decide.ReasonPolicyRequiresReview, "The rule asks for a person whatever the evidence says."},
		{decide.ReasonUnsupportedMethod, "No method decides this kind of rule on this kind of metric."},
		{decide.ReasonNoObservations, "No case was judged. This blocks always."},
		{decide.ReasonMissingnessExceedsPolicy, "More cases are missing than the rule allows. This blocks always."},
		{decide.ReasonMissingnessUnbounded, "Cases are missing and the metric has no range, so their worst value is unknown."},
		{decide.ReasonIntervalUnavailable, "There is no interval: no case to count, or too few for either end."},
		{decide.ReasonLowerMeetsMinimum, "The lower end of the interval is at or above the floor."},
		{decide.ReasonUpperBelowMinimum, "The upper end of the interval is below the floor."},
		{decide.ReasonUpperMeetsMaximum, "The upper end of the interval is at or below the ceiling."},
		{decide.ReasonLowerAboveMaximum, "The lower end of the interval is above the ceiling."},
		{decide.ReasonIntervalOverlaps, "The threshold lies inside the interval: these cases do not settle on which side the system is."},
		{decide.ReasonIntervalUnbounded, "One end of the interval does not exist at this number of cases, and the other does not decide."},
		{decide.ReasonFailuresWithinLimit, "Failures and missing cases together are within the limit."},
		{decide.ReasonFailuresExceedLimit, "More failures were observed than the limit allows."},
		{decide.ReasonMissingCouldChange, "The observed failures are within the limit, but the missing cases could exceed it."},
		{decide.ReasonAboveZero, "The whole interval of the difference lies above zero: better."},
		{decide.ReasonBelowZero, "The whole interval of the difference lies at or below zero: not better."},
		{decide.ReasonOverlapsZero, "Zero lies inside the interval of the difference."},
		{decide.ReasonLowerAboveMargin, "The interval rules out a loss larger than the margin: not worse."},
		{decide.ReasonUpperBelowMargin, "The whole interval lies beyond the margin: worse by more than is accepted."},
		{decide.ReasonOverlapsMargin, "The margin lies inside the interval of the difference: these pairs neither rule out a loss larger than the margin nor show one."},
		{decide.ReasonWithinMargins, "The whole interval of the difference lies within the margins: equivalent."},
		{decide.ReasonOutsideMargins, "The whole interval of the difference lies beyond a margin: not equivalent."},
		{decide.ReasonOverlapsMargins, "A margin lies inside the interval of the difference."},
		{decide.ReasonInsufficientSupport, "The slice has fewer pairs than the rule asks for."},
		{decide.ReasonFamilyWithheld, "By itself the rule would be FAIL. Held against all rules of its family together, the evidence does not suffice."},
		{decide.ReasonNoBaseline, "There is no usable baseline to compare with."},
		{decide.ReasonBaselineIncompatible, "The baseline was measured with another suite."},
		{decide.ReasonEvaluatorChanged, "The two runs judged different things under this name, and the baseline does not hold what is needed to judge it again."},
		{decide.ReasonTooFewPairs, "Too few of the baseline's cases are the same in both runs."},
		{decide.ReasonNotValidated, "A model gives this metric, and nobody has labelled an answer that it judged: what it is worth is not known."},
		{decide.ReasonRecalibration, "The labels are of answers that another instrument judged: the judge, or the model that served it, changed."},
		{decide.ReasonBelowBar, "The labels do not show the agreement with people, or the freedom from bias, that the policy asks of a judge."},
		{decide.ReasonEvaluatorRetired, "People took the judge of this metric out of use."},
		{decide.ReasonArmBiasNotShown, "Labels of both runs' answers do not show that the judge is as biased on one side as on the other."},
		{"suite_relaxed", "Cases or evaluators were removed or edited, and counting them as the baseline judged them would make the rule less favourable."},
		{"version_changed_during_run", "The system's version changed between the first and the last case."},
	}
	slices.SortFunc(list, func(a, b definition) int { return cmp.Compare(a.Term, b.Term) })
	return list
}

package judge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// leastCoverage is the least probability that the possible answers must have
// together: below it the model was about to say something else.
const leastCoverage = 0.5

// token is a token that might have come first, with its log probability.
type token struct {
	text    string
	logprob float64
}

// weigh asks a judge that answers with one token.
func (p *Panel) weigh(ctx context.Context, s *stage, shown shown) (opinion, error) {
	var o opinion
	r, fault, err := p.call(ctx, s, shown.tokenPrompt(s.evaluator), &o)
	if err != nil {
		return opinion{}, err
	}
	if fault != nil {
		o.missing(fault)
		return o, nil
	}
	o.Model = r.model
	if r.refusal != "" {
		o.missing(&Fault{Reason: evidence.ReasonJudgeRefused, Message: "the judge refused: " + r.refusal, Reply: r.refusal})
		return o, nil
	}
	j := s.evaluator.Judge
	if len(r.tokens) == 0 {
		o.missing(&Fault{Reason: evidence.ReasonJudgeReply, Message: "the reply has no probabilities of tokens (logprobs): this server, or this model, does not report them", Reply: cmp.Or(r.text, r.raw)})
		return o, nil
	}
	weights, coverage := weightsOf(j, r.tokens)
	if coverage < leastCoverage {
		o.missing(&Fault{Reason: evidence.ReasonJudgeReply, Message: fmt.Sprintf("the possible answers have probability %.3g together, less than %v: the model was about to say something else", coverage, leastCoverage), Reply: tokensText(r.tokens)})
		return o, nil
	}
	probability := calibrated(j.Calibration, passing(j, weights, coverage))
	o.State, o.Probability = evidence.Judged, &probability
	o.Passed = probability >= j.MinProbability
	o.Detail = fmt.Sprintf("probability of passing %.4g, wanted at least %v", probability, j.MinProbability)
	return o, nil
}

// answersOf lists the answers of a question in the order of their letters.
func answersOf(j *suite.Judge) []suite.Answer {
	switch j.Form {
	case suite.FormChoice:
		return j.Options
	case suite.FormScore:
		return j.Levels
	}
	return []suite.Answer{{Name: "yes"}, {Name: "no"}}
}

// weightsOf sums, for each answer, the probability of the tokens that begin it;
// coverage is that of all together.
func weightsOf(j *suite.Judge, tokens []token) (weights []float64, coverage float64) {
	answers := answersOf(j)
	weights = make([]float64, len(answers))
	for _, t := range tokens {
		word := strings.TrimRight(strings.TrimSpace(t.text), ".):")
		at := -1
		if j.Form == suite.FormYesNo {
			at = slices.IndexFunc(answers, func(a suite.Answer) bool { return strings.EqualFold(a.Name, word) })
		} else if len(word) == 1 {
			at = strings.IndexByte(letters[:len(answers)], word[0])
		}
		if at >= 0 {
			weights[at] += math.Exp(t.logprob)
			coverage += math.Exp(t.logprob)
		}
	}
	return weights, coverage
}

// passing is the share of the coverage that the passing answers have.
func passing(j *suite.Judge, weights []float64, coverage float64) float64 {
	sum := 0.0
	for i, a := range answersOf(j) {
		pass := a.Name == "yes"
		switch j.Form {
		case suite.FormChoice:
			pass = slices.Contains(j.PassOptions, a.Name)
		case suite.FormScore:
			pass = i >= slices.IndexFunc(j.Levels, func(l suite.Answer) bool { return l.Name == j.PassAtLeast })
		}
		if pass {
			sum += weights[i]
		}
	}
	return min(1, sum/coverage)
}

// calibrated maps the log odds of a probability.
func calibrated(c *suite.Calibration, p float64) float64 {
	if c == nil {
		return p
	}
	return 1 / (1 + math.Exp(-(c.Slope*math.Log(p/(1-p)) + c.Intercept)))
}

func tokensText(tokens []token) string {
	var words []string
	for _, t := range tokens[:min(len(tokens), 5)] {
		words = append(words, fmt.Sprintf("%q %.3g", t.text, math.Exp(t.logprob)))
	}
	return strings.Join(words, ", ")
}

package stats

// Pairs counts what became of a pass/fail judgment between a baseline and a
// candidate that answered the same cases.
type Pairs struct {
	Wins     int // the candidate passes, the baseline fails
	Losses   int // the candidate fails, the baseline passes
	Observed int // pairs judged on both sides, wins and losses included
	Missing  int // pairs that should have been judged on both sides but were not
}

// ties counts the observed pairs without a difference.
func (p Pairs) ties() int { return p.Observed - p.Wins - p.Losses }

// mirror exchanges candidate and baseline.
func (p Pairs) mirror() Pairs {
	p.Wins, p.Losses = p.Losses, p.Wins
	return p
}

// Difference returns the mean paired difference, candidate minus baseline, in
// [-1, 1]. It needs at least one observed pair.
func (p Pairs) Difference() float64 { return float64(p.Wins-p.Losses) / float64(p.Observed) }

// Discordance returns the share of observed pairs that differ, in [0, 1]. It
// needs at least one observed pair.
func (p Pairs) Discordance() float64 { return float64(p.Wins+p.Losses) / float64(p.Observed) }

// counted returns the differences on the unit scale: (d+1)/2.
func (p Pairs) counted() counted {
	return counted{values: []float64{0, 0.5, 1}, counts: []int{p.Losses, p.ties(), p.Wins}}
}

// PairedVerdicts returns the betting interval of [Mean] for the mean paired
// difference of a pass/fail judgment, in [-1, 1]. A missing pair counts as a
// loss for the lower limit and as a win for the upper one.
func PairedVerdicts(p Pairs, level float64) Interval {
	return Interval{
		Lower: scaleDown(-1, 1, p.counted().bettingLimit(p.Missing, level)),
		Upper: scaleUp(-1, 1, p.mirror().counted().bettingLimit(p.Missing, level)),
	}
}

// PairedScores returns the betting interval of [Mean] for the mean of paired
// differences of scores, each in [-width, width]; width is that of the scores' range.
func PairedScores(differences []float64, missing int, width, level float64) Interval {
	return Mean(differences, missing, -width, width, level)
}

// PairedConditionalExact returns an interval for the mean paired difference
// of a pass/fail judgment from two Clopper-Pearson intervals: psi, of the
// share of discordant pairs, and pi, of the wins among those, each limit
// erring with (1-level)/4. The difference is psi * (2 pi - 1), and by
// Bonferroni's inequality its limits err with (1-level)/2 each. A missing
// pair counts as a loss for the lower limit and as a win for the upper one.
func PairedConditionalExact(p Pairs, level float64) Interval {
	return Interval{
		Lower: conditionalExactLower(p, level),
		Upper: -conditionalExactLower(p.mirror(), level),
	}
}

func conditionalExactLower(p Pairs, level float64) float64 {
	t := tail(level) / 2
	discordant, n := p.Wins+p.Losses+p.Missing, p.Observed+p.Missing
	wins := 0.0
	if discordant > 0 {
		wins = rateLower(p.Wins, discordant, t)
	}
	share := rateLower(discordant, n, t)
	if 2*wins < 1 { // the difference is negative: the worst share is the largest
		share = rateUpper(discordant, n, t)
	}
	return float64(2*wins-1) * share
}

// PairedQuantile returns the interval of [Quantile] for the q quantile of
// paired differences without a range, such as those of latencies.
func PairedQuantile(differences []float64, missing int, q, level float64) Interval {
	return Quantile(differences, missing, q, level)
}

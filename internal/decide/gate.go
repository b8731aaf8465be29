package decide

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// The exit codes that a gate ends with, and those of [Ending] besides.
const (
	ExitAllowed = 0 // ALLOW or WARN
	ExitFail    = 1 // BLOCK, and a rule that the policy blocks on is FAIL
	ExitTrouble = 2 // nothing could be decided, or not all that the decision needs could be read
	ExitBlocked = 3 // BLOCK without such a FAIL
)

// gateOf is what the states of all rules come to. A state in neither block_on
// nor warn_on allows; missing evidence and a partial run block whatever the
// two lists say.
func gateOf(p *policy.Policy, decisions []Decision, completeness evidence.Completeness) Gate {
	g := Gate{Action: Allow, ExitCode: ExitAllowed}
	if slices.ContainsFunc(decisions, func(d Decision) bool { return d.MissingEvidence }) {
		g.Reasons = append(g.Reasons, GateMissingEvidence)
		g.block(ExitBlocked)
	}
	if completeness != evidence.Complete && p.BlockOnPartialRun {
		g.Reasons = append(g.Reasons, GatePartialRun)
		g.block(ExitBlocked)
	}
	for _, d := range decisions {
		switch {
		case d.Released:
			g.warn()
		case slices.Contains(p.BlockOn, d.State):
			g.block(blockCode(d.State))
		case d.Otherwise != "" && slices.Contains(p.BlockOn, d.Otherwise):
			g.block(ExitBlocked)
		case slices.Contains(p.WarnOn, d.State):
			g.warn()
		}
	}
	return g
}

// block turns the gate to BLOCK; a FAIL outranks every other reason to block.
func (g *Gate) block(code int) {
	g.Action = Block
	if g.ExitCode != ExitFail {
		g.ExitCode = code
	}
}

// warn turns ALLOW to WARN.
func (g *Gate) warn() {
	if g.Action == Allow {
		g.Action = Warn
	}
}

func blockCode(s policy.State) int {
	if s == policy.Fail {
		return ExitFail
	}
	return ExitBlocked
}

// Ending is all that can hold when a command that gates ends.
type Ending struct {
	Interrupted    int    // exit code of the signal that ended it, 130 or 143; 0 without one
	NothingDecided bool   // configuration or usage error, malformed artifact, or no case answered
	Unreadable     bool   // decided, but the baseline could not be looked for, or policy or suite not read at the base commit
	Gates          []Gate // of every policy that decided
}

// ExitCode is the exit code of the command. Where several things hold: the
// interruption, else 2 when nothing was decided, else 1 for a FAIL that blocks,
// else 2 when something could not be read, else 3 for any other block, else 0.
func (e Ending) ExitCode() int {
	ends := func(code int) bool {
		return slices.ContainsFunc(e.Gates, func(g Gate) bool { return g.ExitCode == code })
	}
	switch {
	case e.Interrupted != 0:
		return e.Interrupted
	case e.NothingDecided:
		return ExitTrouble
	case ends(ExitFail):
		return ExitFail
	case e.Unreadable:
		return ExitTrouble
	case ends(ExitBlocked):
		return ExitBlocked
	}
	return ExitAllowed
}

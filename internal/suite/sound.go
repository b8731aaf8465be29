package suite

import (
	"maps"
	"slices"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// keepSound drops the evaluators and metrics that a problem lies in: what is
// found of the others is true whatever becomes of those.
func (s *Suite) keepSound(found problem.List) {
	// What is wrong in a preset lies in none of them.
	found = slices.DeleteFunc(slices.Clone(found), func(p problem.Problem) bool { return p.File != s.Path })
	var places []Position // of evaluators, of metrics, then of the other keys' values
	for _, e := range s.Evaluators {
		places = append(places, e.Pos)
	}
	for _, q := range s.Measures {
		places = append(places, q.Pos)
	}
	places = slices.AppendSeq(places, maps.Values(s.KeyPos))
	sound := func(i int) bool {
		return places[i].Line > 0 && !slices.ContainsFunc(found, func(p problem.Problem) bool { return within(p, places, i) })
	}
	evaluators, quantiles := s.Evaluators, s.Measures
	s.Evaluators, s.Measures = nil, nil
	for i, e := range evaluators {
		if sound(i) {
			s.Evaluators = append(s.Evaluators, e)
		}
	}
	for i, q := range quantiles {
		if sound(len(evaluators) + i) {
			s.Measures = append(s.Measures, q)
		}
	}
	s.Unread = len(evaluators) == 0 || len(s.Evaluators) < len(evaluators) || len(s.Measures) < len(quantiles)
}

// within reports whether a problem lies in the list element that begins at
// places[i]: behind its beginning, before the next place, and indented like it.
func within(p problem.Problem, places []Position, i int) bool {
	at, from := Position{Line: p.Line, Column: p.Column}, places[i]
	if before(at, from) || at.Line > from.Line && at.Column < from.Column {
		return false
	}
	return !slices.ContainsFunc(places, func(other Position) bool { return before(from, other) && !before(at, other) })
}

func before(a, b Position) bool { return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column }

package runner

import (
	"fmt"
	"net/http"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	// deadAfter is how many cases in a row, at the least, must have failed before
	// an endpoint that answered none is called dead.
	deadAfter = 8
	// brokenAfter is how many times as many it takes when the failures do not all
	// say that nobody is there, or after an answer.
	brokenAfter = 5
)

// DeadError says that so many cases in a row were not answered that the rest was
// not tried.
type DeadError struct {
	Cases  int    // how many
	Before int    // cases that were answered before
	CaseID string // the first of them in data set order
	First  evidence.ExecutionError
}

// Error names the first cause.
func (e *DeadError) Error() string {
	if e.Before == 0 {
		return fmt.Sprintf("no answer to any of the first %d cases, so the rest was not tried; case %q: %s", e.Cases, e.CaseID, e.First.Message)
	}
	return fmt.Sprintf("no answer to %d cases in a row, after %d that were answered, so the rest was not tried; case %q: %s", e.Cases, e.Before, e.CaseID, e.First.Message)
}

// breaker counts the cases that failed in a row, in the order in which their
// calls ended.
type breaker struct {
	limit *int // what the user says; nil leaves it to concurrency, 0 never stops
	base  int

	row, answered int
	absent        bool // all of the row say that nobody is there
	place         int  // of the first in data set order
	caseID        string
	first         evidence.ExecutionError
}

func newBreaker(limit *int, concurrency int) breaker {
	return breaker{limit: limit, base: max(deadAfter, concurrency)}
}

// add counts a case whose call has ended.
func (b *breaker) add(place int, caseID string, e *evidence.Execution) {
	if e.Error == nil {
		b.row = 0
		b.answered++
		return
	}
	if b.row == 0 {
		b.absent = true
	}
	b.absent = b.absent && isAbsent(e.Error)
	if b.row == 0 || place < b.place {
		b.place, b.caseID, b.first = place, caseID, *e.Error
	}
	b.row++
}

// open returns a DeadError when it is not worth while to go on.
func (b *breaker) open() *DeadError {
	limit := b.base
	switch {
	case b.limit != nil:
		limit = *b.limit
	case b.answered > 0 || !b.absent:
		limit *= brokenAfter
	}
	if limit == 0 || b.row < limit {
		return nil
	}
	return &DeadError{Cases: b.row, Before: b.answered, CaseID: b.caseID, First: b.first}
}

// isAbsent reports whether an error says that nobody is there who answers, or
// nobody who answers us.
func isAbsent(e *evidence.ExecutionError) bool {
	switch e.Kind {
	case evidence.ErrConnection, evidence.ErrTimeout, evidence.ErrAuth, evidence.ErrQuota:
		return true
	case evidence.ErrStatus:
		switch e.HTTPStatus {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
			return true
		}
	}
	return false
}

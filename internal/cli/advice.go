package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/runner"
)

// shapes are the least that each kind of artifact must hold, as they are told
// to someone whose service answers with something else.
var shapes = map[string]string{
	evidence.RetrievalKind: `{"query": …, "depth": 6, "candidates": [{"doc_id": "kb-03", "score": 1.5, "text": …}]}`,
	evidence.ContextKind:   `{"items": [{"doc_id": "kb-03", "position": 1, "text": …}], "dropped": [{"doc_id": "kb-07", "reason": "top_k"}]}`,
	evidence.CitationsKind: `{"ids": ["kb-03"]}`,
}

// explainContract turns a missing or malformed artifact into a problem that
// says what the service has to send. Other errors stay as they are.
func explainContract(err error) error {
	var contract *evidence.ContractError
	if !errors.As(err, &contract) {
		return err
	}
	if shape := shapes[contract.Artifact]; shape != "" && contract.Key == "" {
		if contract.Path != "" { // a service's; a program makes the shape itself
			shape += "; a list of another shape is described by items and fields"
		}
		return problem.Errorf("%v\n  %s looks like %s", contract, contract.Artifact, shape)
	}
	return problem.Errorf("%v", contract)
}

// quotingError is an error that quotes what the system answered.
type quotingError struct {
	error
	bare error // the same without that
}

// Unwrap returns the error.
func (e *quotingError) Unwrap() error { return e.error }

// unansweredError says that no case of a run was answered.
type unansweredError struct {
	caseID string
	first  evidence.ExecutionError
}

// Error names the most frequent cause.
func (e *unansweredError) Error() string {
	return fmt.Sprintf("no case was answered, so nothing was evaluated: case %s: %s", e.caseID, e.first.Message)
}

// Unwrap makes a problem of it.
func (e *unansweredError) Unwrap() error { return problem.Errorf("%s", e.Error()) }

// withoutContent is why a run stopped without what the system answered.
func withoutContent(err error) error {
	var dead *runner.DeadError
	var unanswered *unansweredError
	var contract *evidence.ContractError
	var said interface{ Bare() error } // of a program
	switch {
	case errors.As(err, &said):
		return said.Bare()
	case errors.As(err, &dead):
		bare := *dead
		bare.First.Message = dead.First.Outline()
		return &bare
	case errors.As(err, &unanswered):
		bare := *unanswered
		bare.first.Message = unanswered.first.Outline()
		return &bare
	case errors.As(err, &contract):
		bare := *contract
		bare.Found, bare.Around = "", ""
		bare.Problem, _, _ = strings.Cut(contract.Problem, ", found ")
		return &bare
	}
	return err
}

// explained is why a run stopped, as a person is told it.
func explained(err error) error {
	told, bare := explainContract(err), explainContract(withoutContent(err))
	if told.Error() == bare.Error() {
		return told
	}
	return &quotingError{told, bare}
}

// bare is an explained error as files without content may hold it.
func bare(err error) error {
	var quoting *quotingError
	if errors.As(err, &quoting) {
		return quoting.bare
	}
	return err
}

// advice says what most likely mends a call that failed; "" when the error says
// it already.
func advice(e *evidence.ExecutionError, systemKind string) string {
	switch e.Kind {
	case evidence.ErrConnection:
		return "start the service, correct system.http.url, or name another one with --url"
	case evidence.ErrTimeout:
		key := "system." + systemKind + ".timeout_s"
		switch systemKind {
		case "callable":
			key = "system.timeout_s"
		case "rag":
			key = "timeout_s of the stage"
		}
		return "raise " + key + ", in seconds, if the system is only slow"
	case evidence.ErrMissingOutput:
		return "let output or output_path of system.http name the place of the answer in this body"
	case evidence.ErrMapping:
		return "correct the key that is named; oloproof probe proposes a mapping for an answer"
	case evidence.ErrStatus:
		switch e.HTTPStatus {
		case http.StatusUnauthorized, http.StatusForbidden:
			return `give system.http.headers what the service asks for, such as Authorization: "Bearer ${RAG_TOKEN}"`
		case http.StatusNotFound:
			return "correct the path in system.http.url"
		case http.StatusMethodNotAllowed:
			return "set system.http.method to what the service takes: POST, PUT or GET"
		case http.StatusBadRequest, http.StatusUnprocessableEntity:
			return "the input of a case is the JSON body of the request: give it the shape that the service takes, or write another body under system.http.request"
		}
	}
	return ""
}

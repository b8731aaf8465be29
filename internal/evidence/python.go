package evidence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What the lines of the Python tool say in words of its own.

// decodePythonJudgment reads {status, outcome: {passed | score},
// not_applicable_reason, error: {type, message}} of the Python tool.
func decodePythonJudgment(v Value, j *Judgment) error {
	status, _ := Member(v, "status")
	switch word, _ := Text(status); word {
	case "OK":
		j.State = Judged
		return j.decodePythonOutcome(v)
	case "NOT_APPLICABLE":
		reason, _ := Member(v, "not_applicable_reason")
		text, _ := Text(reason)
		if text == "" {
			return errors.New("no reason")
		}
		j.State, j.Reason = NotApplicable, text
		if !isCode(text) { // an evaluator of the user's own
			j.Reason, j.Detail = ReasonNotApplicable, text
		}
	case "ERROR":
		kind, _ := Lookup(v, "error.type")
		message, _ := Lookup(v, "error.message")
		name, _ := Text(kind)
		j.State, j.Reason = Missing, pythonReason(name)
		j.Detail, _ = Text(message)
	default:
		return fmt.Errorf("status %q is none", shorten(word, 40))
	}
	return nil
}

func (j *Judgment) decodePythonOutcome(v Value) (err error) {
	if passed, err := Lookup(v, "outcome.passed"); err == nil && !IsNull(passed) {
		switch passed.Kind() {
		case 't':
			j.Value = 1
		case 'f':
		default:
			return fmt.Errorf("outcome.passed: %w", want("true or false", passed))
		}
		return nil
	}
	score, err := Lookup(v, "outcome.score")
	if err != nil {
		return err
	}
	j.Value, _, err = double(score, 0)
	return err
}

// pythonReason returns our code for an error of an evaluator.
func pythonReason(kind string) string {
	switch kind {
	case "MissingFieldError":
		return ReasonMissingField
	case "ShallowRetrievalError":
		return ReasonDepthBelowK
	}
	return ReasonEvaluatorError
}

// fromPython puts an error of the Python tool, whose type is the name of an
// exception, in our words.
func (e *ExecutionError) fromPython(kind string) {
	e.Kind = ErrProgram
	status, isStatus := strings.CutPrefix(e.Message, "system returned HTTP ")
	switch {
	case kind == "TransientError" && isStatus:
		e.Kind = ErrStatus
		if n, err := strconv.Atoi(status); err == nil && n >= 100 && n <= 599 {
			e.HTTPStatus = n
		}
	case kind == "TransientError" && strings.Contains(e.Message, "timed out"):
		e.Kind = ErrTimeout
	case kind == "TransientError" && strings.Contains(e.Message, "connection failed"):
		e.Kind = ErrConnection
	case kind == "JSONDecodeError":
		e.Kind = ErrInvalidJSON
	case kind == "KeyError" && strings.Contains(e.Message, "missing output path"):
		e.Kind = ErrMissingOutput
	default:
		e.Message = kind + ": " + e.Message
	}
}

package evidence

import (
	"fmt"
	"strings"
	"time"
)

// Status says how an execution ended.
type Status string

// The statuses of an execution.
const (
	StatusOK      Status = "OK"
	StatusError   Status = "ERROR"
	StatusTimeout Status = "TIMEOUT"
	// StatusNotRun marks a case that never finished: the run was stopped.
	StatusNotRun Status = "NOT_RUN"
)

// ErrorKind is a short, stable name of what went wrong in an execution.
type ErrorKind string

// The kinds of error of an execution. They are stored and shown in judgments
// and problems, so their spelling is fixed.
const (
	ErrConnection    ErrorKind = "connection_failed" // no answer: refused, reset, name not found, TLS
	ErrTimeout       ErrorKind = "timeout"           // the attempt's deadline passed
	ErrStatus        ErrorKind = "http_status"       // an answer outside 2xx
	ErrRedirect      ErrorKind = "redirect"          // a 3xx; redirects are not followed
	ErrContentType   ErrorKind = "content_type"      // an answer that says it is not JSON, such as HTML
	ErrEmptyBody     ErrorKind = "empty_body"
	ErrInvalidJSON   ErrorKind = "invalid_json"
	ErrTooLarge      ErrorKind = "body_too_large"
	ErrMissingOutput ErrorKind = "missing_output"   // nothing where the output should be
	ErrReported      ErrorKind = "reported_error"   // an answer that says it is none, such as an error in a 200
	ErrMapping       ErrorKind = "mapping_failed"   // an answer of another shape than the suite says
	ErrTruncated     ErrorKind = "truncated_stream" // a stream without its end signal
	ErrQuota         ErrorKind = "quota_exhausted"  // an answer that says that nothing is left to be spent
	ErrAuth          ErrorKind = "auth_failed"      // no token could be had
	ErrProgram       ErrorKind = "program_failed"   // a program under test ended or answered badly
	ErrNotRecorded   ErrorKind = "not_recorded"     // of a diagnosis: the run did not record what to execute the case with
)

// Execution is what happened when the system was called for one case.
type Execution struct {
	Status    Status
	Output    Value // nil unless Status is OK; JSON null is an output
	RawOutput Value // the output as it came, when parts were taken out of its text; else nil
	Artifacts Artifacts
	Error     *ExecutionError // nil when Status is OK
	Attempts  []Attempt       // every call made for the case, in order; at least one unless cached
	StartedAt time.Time       // start of the first attempt
	LatencyMS float64         // of the last attempt, in milliseconds, pauses not counted
	FromCache bool
	Log       string // what a program wrote for the case on standard error, line by line; "" is nothing
	Usage     *Usage // nil when the system does not say what the answer took
	// Stages says of each stage of a staged system whether it was called.
	Stages StageUse
}

// How the answer of a stage was come by.
const (
	StageHit  = "hit"  // reused from the cache
	StageMiss = "miss" // the stage was called
)

// StageUse says how the answer of each stage was come by: [StageHit],
// [StageMiss], or "" when the stage was not needed or there is none.
type StageUse struct{ Retrieve, Generate string }

// ExecutionError says why a case has no output.
type ExecutionError struct {
	Kind       ErrorKind `json:"kind"`
	Message    string    `json:"message"`              // for people; no secret
	HTTPStatus int       `json:"http_status,omitzero"` // 0 when there was no answer
	URL        string    `json:"url,omitzero"`         // final URL or redirect target, without userinfo and query
	Snippet    string    `json:"snippet,omitzero"`     // first bytes of the body, as text
}

// Outline says what went wrong without a word that the system answered.
func (e *ExecutionError) Outline() string {
	if e.Snippet == "" && (e.Kind == ErrConnection || e.Kind == ErrTimeout) {
		return e.Message // there was no answer
	}
	text := string(e.Kind)
	switch {
	case e.Kind == ErrStatus:
		text += fmt.Sprintf(" %d", e.HTTPStatus)
	case e.HTTPStatus != 0:
		text += fmt.Sprintf(" (status %d)", e.HTTPStatus)
	}
	if e.URL != "" {
		text += " from " + e.URL
	}
	return text
}

// Attempt is one call for a case.
type Attempt struct {
	HTTPStatus int       `json:"http_status,omitzero"` // 0 when there was no answer
	Error      ErrorKind `json:"error,omitzero"`       // "" when the call gave an output
	LatencyMS  float64   `json:"latency_ms"`
	WaitMS     float64   `json:"wait_ms,omitzero"` // pause before this attempt
}

// ContractError is a missing or malformed artifact. It stops the run with exit
// code 2: the system does not keep what the suite declares of it.
type ContractError struct {
	CaseID   string
	Artifact string // kind, such as "retrieval/v1"
	Path     string // where it was looked for; "" when the system recorded it itself
	Problem  string // "missing", or what is wrong with it: "candidates[0].doc_id: …"
	Found    string // what stood there, shortened
	Key      string // of the suite, for an artifact that is made; "" for one in its fixed shape
	Around   string // the smallest object around, redacted and shortened
}

// ProblemMissing is the Problem of a [ContractError] when nothing was recorded.
const ProblemMissing = "missing"

// Error names case, artifact, path and what stood there.
func (e *ContractError) Error() string {
	at, found, fix := "", "", ""
	if e.Path != "" {
		at = fmt.Sprintf(" at %q", e.Path)
	}
	if e.Found != "" && !strings.HasSuffix(e.Problem, "found "+e.Found) { // else the problem says it
		found = "; found " + shorten(e.Found, 200)
	}
	if e.Key != "" {
		return e.made(at, found)
	}
	if e.Path != "" && (e.Problem == ProblemMissing || e.Found == "null") {
		fix = fmt.Sprintf(" (if some answers have none by design, declare it as %s: {path: %s, optional: true})", e.Artifact, e.Path)
	}
	if e.Problem == ProblemMissing {
		return fmt.Sprintf("case %q: no %s artifact%s%s%s", e.CaseID, e.Artifact, at, found, fix)
	}
	return fmt.Sprintf("case %q: malformed %s artifact%s: %s%s%s", e.CaseID, e.Artifact, at, e.Problem, found, fix)
}

// made is the text for an artifact that is made of an answer.
func (e *ContractError) made(at, found string) string {
	what := fmt.Sprintf("malformed %s artifact%s: %s", e.Artifact, at, e.Problem)
	fix := ""
	if e.Problem == ProblemMissing {
		what = fmt.Sprintf("no %s artifact%s", e.Artifact, at)
		fix = " (if some answers have none by design, add optional: true)"
	}
	around := ""
	if e.Around != "" {
		around = "; around it: " + e.Around
	}
	return fmt.Sprintf("case %q: %s%s%s%s; it is made by %s", e.CaseID, what, found, fix, around, e.Key)
}

package httpsystem

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stream"
)

const (
	// maxHead is how much of a stream's start is kept for an error, in bytes.
	maxHead = 2 << 10
	// drainTime is how long the end of a body is waited for behind the end signal
	// of its stream, so that its connection can be used again.
	drainTime = 100 * time.Millisecond
)

// errBodyTooLarge is what a stream over the limit of a body ends with.
var errBodyTooLarge = errors.New("body too large")

// readStream reads the body of an answer that comes in pieces. What is kept of it
// is the object that it was put together to, and its first bytes. more says
// that the body goes on behind the end signal.
func (t *attempts) readStream(ctx context.Context, resp *http.Response, o *stream.Options, start time.Time, a *answer) (more bool) {
	if mediaType(a.contentType) == "application/vnd.amazon.eventstream" {
		a.fault = &fault{kind: evidence.ErrContentType, text: "an event stream of AWS, which is binary and not understood (call the service without a stream),"}
		return false
	}
	body, err := decoded(resp)
	if err != nil {
		a.fault = &fault{kind: evidence.ErrContentType, text: err.Error()}
		return false
	}
	in := &streamBody{in: body, left: t.maxBody}
	a.parsed, err = stream.Read(in, *o, func() { a.firstText, a.heard = t.now().Sub(start), true })
	a.body = in.head
	if err != nil {
		a.fault = t.streamFault(ctx, a, err)
		return false
	}
	return !in.ended
}

// drain reads what little stands behind the end signal of a stream. A service
// that keeps the connection open is left.
func drain(body io.Reader, cancel func()) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, maxErrorBody) // nothing is lost with it
}

// streamBody is the body of a stream: bounded, with its start kept.
type streamBody struct {
	in    io.Reader
	left  int64
	head  []byte
	ended bool
}

// Read implements [io.Reader].
func (s *streamBody) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errBodyTooLarge
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if room := maxHead - len(s.head); room > 0 {
		s.head = append(s.head, p[:min(n, room)]...)
	}
	s.ended = err == io.EOF
	return n, err
}

// streamFault says why no answer could be put together.
func (t *attempts) streamFault(ctx context.Context, a *answer, err error) *fault {
	var (
		truncated *stream.TruncatedError
		told      *stream.ServiceError
		frame     *stream.FrameError
		document  *stream.NotStreamError
		corrupt   flate.CorruptInputError
	)
	switch {
	case errors.Is(err, errBodyTooLarge):
		return &fault{kind: evidence.ErrTooLarge, text: fmt.Sprintf("a stream of more than %d bytes", t.maxBody)}
	case errors.As(err, &truncated) && len(trim(a.body)) == 0:
		return &fault{kind: evidence.ErrEmptyBody, text: fmt.Sprintf("an empty body with status %s", statusText(a.status))}
	case errors.As(err, &truncated):
		return &fault{kind: evidence.ErrTruncated, text: err.Error(), hint: "where the service ends its streams in another way, tell how by stream.done"}
	case errors.As(err, &told):
		return &fault{kind: evidence.ErrReported, text: "an error in the stream, " + told.Error() + ",", retry: told.Early && passes(told)}
	case errors.As(err, &frame) && frame.TooLarge:
		return &fault{kind: evidence.ErrTooLarge, text: "a stream whose " + err.Error()}
	case errors.As(err, &frame):
		return &fault{kind: evidence.ErrInvalidJSON, text: "a stream whose " + err.Error()}
	case errors.As(err, &document):
		return &fault{kind: evidence.ErrContentType, text: err.Error()}
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return &fault{kind: evidence.ErrContentType, text: "a body that is not gzip, although the answer says so,"}
	}
	f := t.transportFault(ctx, fmt.Sprintf("a broken stream with status %d", a.status), err)
	f.retry = f.retry && !a.heard // the answer had begun: another attempt runs the model again
	return f
}

// passes reports whether an error that came before any text is one that another
// attempt may not meet.
func passes(e *stream.ServiceError) bool {
	switch e.Code {
	case "overloaded_error", "rate_limit_error", "rate_limit_exceeded", "server_error", "api_error", "too_many_requests", "ThrottlingException":
		return true
	}
	return e.Status != 0 && isTransient(e.Status)
}

// looksLikeStream reports whether a body that should be one JSON document is a
// stream.
func looksLikeStream(kind string, body []byte) bool {
	if kind == "text/event-stream" || kind == "application/x-ndjson" || kind == "application/jsonl" {
		return true
	}
	for _, start := range []string{"data:", "event:", ": ", "id:"} {
		if len(body) >= len(start) && string(body[:len(start)]) == start {
			return true
		}
	}
	return false
}

package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Options say how a stream is read.
type Options struct {
	Assemble string // name of an assembler, see [Kinds]
	Format   Format // "" is the assembler's own
	Text     string // dotted path of the text in a frame, for append, cumulative and collect
	Error    string // dotted path of an error's message in a frame; "" looks at the usual places
	Done     *Done  // nil: the assembler's own end signal
	MaxFrame int    // bytes; 0 is [MaxFrame]
}

// Done tells the frame that ends a stream. One of its fields is set.
type Done struct {
	Text   string // the whole data of a frame, or the name of its event
	Path   string // dotted path in the data of a frame
	Equals evidence.Value
	EOF    bool // the end of the body is enough
}

func (d *Done) is(p part) bool {
	if d.Path == "" {
		return d.Text != "" && (p.event == d.Text || string(p.raw) == d.Text || textAt(p.data, "") == d.Text)
	}
	v := at(p.data, d.Path)
	if d.Equals != nil {
		return slices.Equal(v, d.Equals)
	}
	return v != nil && !evidence.IsNull(v) && v.Kind() != 'f'
}

// Kind is a way to put a stream together.
type Kind struct {
	Name   string
	Format Format // how these services cut their streams
	Doc    string // what it makes, for the reference

	new func(Options) assembler
	// end tells the frame after which nothing is read any more.
	end func(part) bool
	// eof says that these services end their streams by closing them.
	eof bool
}

// part is a frame whose data is known to be JSON.
type part struct {
	event string
	raw   []byte
	data  evidence.Value // nil when there is none
}

// assembler puts the data of frames together.
type assembler interface {
	add(part) error
	// ended reports whether the answer is whole if the stream ends now.
	ended() bool
	// heard reports whether any text of the answer has come.
	heard() bool
	// result returns what was put together, or nil when that is nothing.
	result() node
}

// ear keeps what all assemblers know.
type ear struct{ text, whole bool }

func (e *ear) heard() bool { return e.text }
func (e *ear) ended() bool { return e.whole }

// hear notes a piece of the answer's text.
func (e *ear) hear(s string) { e.text = e.text || s != "" }

// Kinds lists the assemblers.
func Kinds() []Kind { return slices.Concat(generic, services()) }

// KindOf returns the assembler of a name.
func KindOf(name string) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Collect is the assembler that leaves the frames as they are.
const Collect = "collect"

var generic = []Kind{
	{Name: Collect, Format: SSE, Doc: "a list of all frames", new: func(o Options) assembler { return &collected{text: o.Text, format: o.Format} }},
	{Name: "append", Format: SSE, Doc: "the members of all frames, later ones winning, and the joined text as `text`", new: func(o Options) assembler { return &appended{path: o.Text} }},
	{Name: "cumulative", Format: SSE, Doc: "the last frame that has a text: each repeats the whole answer so far", new: func(o Options) assembler { return &cumulative{path: o.Text} }},
}

// NeedsText reports whether an assembler has to be told where the text stands.
func NeedsText(name string) bool { return name == "append" || name == "cumulative" }

// TruncatedError says that a stream ended without its end signal.
type TruncatedError struct{ Frames int }

// Error implements error.
func (e *TruncatedError) Error() string {
	if e.Frames == 0 {
		return "a stream without a whole frame"
	}
	frames := fmt.Sprintf("%d frames", e.Frames)
	if e.Frames == 1 {
		frames = "1 frame"
	}
	return "a stream that ended after " + frames + " without its end signal"
}

// ServiceError is an error that the service tells in a frame.
type ServiceError struct {
	Message string // the service's own words
	Code    string // or "", such as overloaded_error
	Status  int    // as HTTP would say it; 0 when the frame does not tell
	Early   bool   // no text of the answer had come
}

// Error implements error.
func (e *ServiceError) Error() string {
	text := cmp.Or(e.Message, "no message")
	if e.Code != "" && !strings.Contains(text, e.Code) {
		text += " (" + e.Code + ")"
	}
	return text
}

// FrameError says that a frame is not what it has to be.
type FrameError struct {
	Frame    int  // from 1
	TooLarge bool // over the limit of one frame
	Problem  string
}

// Error implements error.
func (e *FrameError) Error() string { return fmt.Sprintf("frame %d %s", e.Frame, e.Problem) }

// NotStreamError says that a body is no stream of the format that was asked for.
type NotStreamError struct{ Problem string }

// Error implements error.
func (e *NotStreamError) Error() string { return e.Problem }

// Read reads a stream to its end signal and puts it together. first is called
// once, when the first text of the answer has come. A body that is one JSON
// document, because the service does not stream, is taken as it is. An error
// that is none of this package is that of the body.
func Read(body io.Reader, o Options, first func()) (evidence.Value, error) {
	kind, ok := KindOf(o.Assemble)
	if !ok {
		return nil, fmt.Errorf("unknown assembler %q", o.Assemble)
	}
	o.Format = cmp.Or(o.Format, kind.Format)
	o.MaxFrame = cmp.Or(o.MaxFrame, MaxFrame)
	frames := NewReader(body, o.Format, o.MaxFrame)
	switch c, err := frames.peek(); {
	case err == io.EOF:
		return nil, &TruncatedError{}
	case err != nil:
		return nil, err
	case c == '<':
		return nil, &NotStreamError{"HTML or XML where a stream was expected"}
	case (c == '{' || c == '[') && o.Format != NDJSON:
		return document(frames.in, o)
	case c != '{' && c != '[' && c != '"' && o.Format == NDJSON:
		return nil, &NotStreamError{"a stream that is no lines of JSON: is its format sse or lines?"}
	}
	s := &session{frames: frames, kind: kind, options: o, assembler: kind.new(o), first: first}
	return s.read()
}

// document reads a body that is JSON and no stream.
func document(in io.Reader, o Options) (evidence.Value, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	v, err := evidence.ParseJSON(data)
	if err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
		if _, fault := evidence.ParseJSON(line); fault == nil {
			return nil, &NotStreamError{"lines of JSON: is the format of the stream ndjson?"}
		}
		return nil, &NotStreamError{fmt.Sprintf("a body that is neither a stream of the format %s nor JSON: %s", o.Format, err)}
	}
	if fault := told(part{data: v}, o.Error); fault != nil {
		fault.Early = true
		return nil, fault
	}
	if o.Assemble == Collect {
		return nil, &NotStreamError{"one JSON document where a stream was expected: does the request ask for a stream?"}
	}
	return v, nil
}

// session is the reading of one stream.
type session struct {
	frames    *Reader
	kind      Kind
	options   Options
	assembler assembler
	first     func()
	n         int // frames so far
}

func (s *session) read() (evidence.Value, error) {
	for {
		f, err := s.frames.Next()
		switch {
		case err == nil:
			done, err := s.take(f)
			if err != nil {
				return nil, err
			}
			if done {
				return s.result()
			}
		case errors.Is(err, errFrameTooLarge):
			return nil, &FrameError{Frame: s.n + 1, TooLarge: true, Problem: fmt.Sprintf("is larger than %d bytes", s.options.MaxFrame)}
		case errors.Is(err, errPartial):
			if whole, err := s.last(f); err != nil {
				return nil, err
			} else if whole {
				return s.result()
			}
			return nil, &TruncatedError{s.n}
		case err == io.EOF:
			if s.complete() {
				return s.result()
			}
			return nil, &TruncatedError{s.n}
		default:
			return nil, err
		}
	}
}

// complete reports whether the stream may end here.
func (s *session) complete() bool {
	if s.options.Done != nil {
		return s.options.Done.EOF && s.n > 0
	}
	return s.n > 0 && (s.assembler.ended() || s.kind.eof && s.assembler.heard())
}

// take adds a frame; done says that it was the last.
func (s *session) take(f Frame) (done bool, err error) {
	p, err := s.part(f)
	if err != nil {
		return false, err
	}
	if fault := told(p, s.options.Error); fault != nil {
		fault.Early = !s.assembler.heard()
		return false, fault
	}
	before := s.assembler.heard()
	if err := s.assembler.add(p); err != nil {
		var fault *ServiceError
		if errors.As(err, &fault) {
			fault.Early = !before
			return false, fault
		}
		return false, &FrameError{Frame: s.n, Problem: err.Error()}
	}
	if !before && s.assembler.heard() && s.first != nil {
		s.first()
	}
	return s.isEnd(p), nil
}

// endText is how many services end whatever they stream.
const endText = "[DONE]"

func (s *session) isEnd(p part) bool {
	if s.options.Done != nil && !s.options.Done.EOF {
		return s.options.Done.is(p)
	}
	return string(p.raw) == endText || s.kind.end != nil && s.kind.end(p)
}

// part reads a frame.
func (s *session) part(f Frame) (part, error) {
	s.n++
	f.Data = bytes.TrimSpace(f.Data)
	p := part{event: f.Event, raw: f.Data}
	d := s.options.Done
	if len(f.Data) == 0 || string(f.Data) == endText || d != nil && d.Text != "" && string(f.Data) == d.Text {
		return p, nil
	}
	v, err := evidence.ParseJSON(f.Data)
	switch {
	case err == nil:
		p.data = v
	case s.kind.Name == Collect: // any text
		p.data = quote(nil, strings.ToValidUTF8(string(f.Data), "\ufffd"))
	case s.options.Format == Lines && f.Event == "":
		return p, &FrameError{Frame: s.n, Problem: fmt.Sprintf("is a line without a prefix: %s", strconv.Quote(cut(f.Data)))}
	default:
		return p, &FrameError{Frame: s.n, Problem: fmt.Sprintf("is not valid JSON, %s: %s", err, strconv.Quote(cut(f.Data)))}
	}
	return p, nil
}

func cut(data []byte) string {
	if len(data) > 80 {
		return string(data[:80]) + "…"
	}
	return string(data)
}

// last looks at a frame that the end of the stream cut off or left without the
// line that ends it. It is never text. It may be the end signal, of which some
// services forget the last line; and a whole JSON object needs no end of line.
func (s *session) last(f Frame) (whole bool, err error) {
	p := part{event: f.Event, raw: f.Data}
	if v, err := evidence.ParseJSON(f.Data); err == nil {
		p.data = v
	}
	switch {
	case s.options.Format == NDJSON && p.data != nil && (p.data.Kind() == '{' || p.data.Kind() == '['):
		done, err := s.take(f)
		return done || s.complete(), err
	case s.isEnd(p) && (p.data != nil || len(f.Data) == 0 || string(f.Data) == endText):
		_, err := s.take(f)
		return true, err
	}
	return s.options.Done == nil && s.options.Format == SSE && s.assembler.ended(), nil
}

// result is what was put together; a stream that ended as it should and brought
// nothing of what its assembler waits for is cut short too.
func (s *session) result() (evidence.Value, error) {
	n := s.assembler.result()
	if v, raw := n.(evidence.Value); n == nil || raw && len(v) == 0 {
		return nil, &TruncatedError{s.n}
	}
	return encode(nil, n), nil
}

// told returns the error that a frame tells, or nil: an event of that name, a
// type of that name inside the data, or a member error that says something.
func told(p part, path string) *ServiceError {
	if path != "" {
		v := at(p.data, path)
		if v == nil || evidence.IsNull(v) || v.Kind() == 'f' || string(v) == `""` {
			return nil
		}
		return faultOf(p.data, message(v))
	}
	failed := strings.EqualFold(p.event, "error")
	for _, key := range []string{"event", "type"} {
		failed = failed || strings.EqualFold(textAt(p.data, key), "error")
	}
	if v, ok := evidence.Member(p.data, "error"); ok && !failed {
		switch v.Kind() {
		case '"':
			failed = string(v) != `""`
		case '{':
			failed = len(objectOf(v).members) > 0
		case 't', '0':
			failed = string(v) != "0"
		}
	}
	if !failed {
		return nil
	}
	return faultOf(p.data, "")
}

// faultOf reads an error's frame.
func faultOf(v evidence.Value, text string) *ServiceError {
	f := &ServiceError{Message: cmp.Or(text, message(v))}
	for _, path := range []string{"error.code", "error.type", "code", "error.status", "data.code"} {
		if f.Code = scalar(at(v, path)); f.Code != "" {
			break
		}
	}
	for _, path := range []string{"status_code", "status", "error.status_code", "error.status", "error.code", "code"} {
		if n, err := strconv.Atoi(scalar(at(v, path))); err == nil && n >= 400 && n <= 599 {
			f.Status = n
			break
		}
	}
	return f
}

// message finds the words of an error where services put them.
func message(v evidence.Value) string {
	for _, path := range []string{"error.message", "error_msg", "errorText", "message", "textResponse", "detail", "error", "errors.0.message", "errors.0", "reason", "data.message", "data", ""} {
		if s := textAt(v, path); s != "" {
			return s
		}
	}
	if len(v) == 0 {
		return ""
	}
	return evidence.Shorten(v, 300)
}

// scalar returns a text, or a number as text.
func scalar(v evidence.Value) string {
	if s, ok := evidence.Text(v); ok {
		return s
	}
	if len(v) > 0 && v.Kind() == '0' {
		return string(v)
	}
	return ""
}

// collected leaves the frames as they are.
type collected struct {
	ear
	text   string
	format Format
	frames list
}

func (c *collected) add(p part) error {
	data := node(p.data.Clone())
	if p.data == nil && len(p.raw) > 0 { // the end signal
		data = &text{slices.Clone(p.raw)}
	}
	if c.text != "" {
		c.hear(textAt(p.data, c.text))
	}
	if c.format == NDJSON {
		c.frames.items = append(c.frames.items, data)
		return nil
	}
	name := map[Format]string{SSE: "event", Lines: "prefix"}[c.format]
	frame := &object{}
	frame.set(name, nil)
	if p.event != "" {
		frame.setText(name, p.event)
	}
	frame.set("data", data)
	c.frames.items = append(c.frames.items, frame)
	return nil
}

func (c *collected) result() node { return &c.frames }

// appended joins the text of the frames.
type appended struct {
	ear
	path   string
	said   text
	others object
}

func (a *appended) add(p part) error {
	s := textAt(p.data, a.path)
	a.hear(s)
	a.said.s = append(a.said.s, s...)
	a.others.take(p.data)
	return nil
}

func (a *appended) result() node {
	a.others.set("text", &a.said)
	return &a.others
}

// cumulative keeps the last frame with a text.
type cumulative struct {
	ear
	path string
	last evidence.Value
}

func (c *cumulative) add(p part) error {
	if s, ok := evidence.Text(at(p.data, c.path)); ok {
		c.hear(s)
		c.last = append(c.last[:0], p.data...)
	}
	return nil
}

func (c *cumulative) result() node { return c.last }

package probe

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stream"
)

// Stream says how a body is a stream and what was put together of it.
type Stream struct {
	Format    stream.Format
	Assemble  string // name of the assembler
	Text      string // for assemblers that have to be told where a frame's text stands
	Document  evidence.Value
	Frames    []evidence.Value // the frames that are JSON
	Truncated bool             // it ended without its end signal
	Done      string           // dotted path of what is true in the last frame only, or eof; "" is the assembler's own
	Equals    evidence.Value   // what stands at Done in the last frame only; nil is true
	Fault     string           // an error that the service told in a frame
	Why       string
}

var (
	eventLine  = lazily(`(?m)^(data|event|id|message|retry)?:`)
	prefixLine = lazily(`^[0-9a-z]{1,2}:[\["{0-9]`)
)

// FormatOf tells the format of a body that is a stream; "" is none.
func FormatOf(raw []byte) stream.Format {
	text := bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\ufeff")), " \r\n\t")
	line, rest, more := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSpace(line)
	switch {
	case prefixLine().Match(line):
		return stream.Lines
	case eventLine().Match(line):
		return stream.SSE
	case len(line) > 0 && line[0] == '{' && more && len(bytes.TrimSpace(rest)) > 0:
		if _, err := evidence.ParseJSON(line); err == nil {
			return stream.NDJSON
		}
	}
	return ""
}

// ReadStream puts a body together that is a stream of a format. name is the
// assembler to use; "" tries every one and takes the one that makes most of it.
func ReadStream(raw []byte, format stream.Format, name string, question []string) *Stream {
	s := &Stream{Format: format, Frames: framesOf(raw, format)}
	type attempt struct {
		Stream
		points float64
	}
	var best *attempt
	try := func(name, text, done string, equals evidence.Value) {
		options := stream.Options{Assemble: name, Format: format, Text: text}
		switch done {
		case "":
		case "eof":
			options.Done = &stream.Done{EOF: true}
		default:
			options.Done = &stream.Done{Path: done, Equals: equals}
		}
		document, err := stream.Read(bytes.NewReader(raw), options, func() {})
		a := &attempt{Stream: *s}
		a.Assemble, a.Text, a.Document, a.Done, a.Equals = name, text, document, done, equals
		var truncated *stream.TruncatedError
		var told *stream.ServiceError
		switch {
		case errors.As(err, &truncated):
			a.Truncated = true
			a.points = -1
		case errors.As(err, &told):
			a.Fault = told.Error()
		case err != nil:
			return
		}
		if document != nil {
			a.points += worth(document, question)
			if name == "cumulative" { // its texts were seen to grow
				a.points++
			}
		}
		if best == nil || a.points > best.points {
			best = a
		}
	}
	generic := func(name, text string) {
		try(name, text, "", nil)
		if done := lastFlag(s.Frames); done != "" {
			try(name, text, done, nil)
		}
		if done, word := lastLabel(s.Frames); done != "" {
			try(name, text, done, word)
		}
		if best == nil || best.Truncated || best.points < 8 {
			try(name, text, "eof", nil)
		}
	}
	if name != "" {
		try(name, "", "", nil)
	} else {
		for _, kind := range stream.Kinds() {
			if kind.Name != stream.Collect && !stream.NeedsText(kind.Name) && (kind.Format == format || kind.Format == "") {
				try(kind.Name, "", "", nil)
			}
		}
		if path := textPath(s.Frames); path != "" {
			if isCumulative(s.Frames, path) {
				generic("cumulative", path)
			} else if best == nil || best.points < 8 {
				generic("append", path)
			}
		}
	}
	if best == nil {
		return s
	}
	*s = best.Stream
	s.Why = "the assembler " + s.Assemble + " makes most of its frames"
	return s
}

// worth rates what an assembler made: more of an answer, and sources.
func worth(document evidence.Value, question []string) float64 {
	p := Propose(document, question)
	points := 0.0
	if p.Answer != nil {
		points += 6 + float64(p.Answer.Sure) + float64(min(len(p.Answer.Text), 400))/100
	}
	if p.Sources != nil {
		points += 3 + float64(p.Sources.Sure)
	}
	if p.Citations != nil {
		points++
	}
	return points
}

// framesOf returns the frames of a stream that are JSON.
func framesOf(raw []byte, format stream.Format) []evidence.Value {
	r := stream.NewReader(bytes.NewReader(raw), format, stream.MaxFrame)
	var frames []evidence.Value
	for {
		f, err := r.Next()
		if err != nil {
			return frames
		}
		if v, err := evidence.ParseJSON(f.Data); err == nil && len(v) > 0 {
			frames = append(frames, v.Clone())
		}
	}
}

// textPath finds where the frames of an unknown stream hold their text: the
// path under which most of them have one, by the words of an answer. A text
// that many frames repeat, such as a kind of event, is a label and no piece of
// an answer.
func textPath(frames []evidence.Value) string {
	texts, points := map[string][]string{}, map[string]float64{}
	for _, f := range frames {
		for _, p := range walk(&place{nodes: []*node{parse(f, maxInner)}}) {
			path, ok := dotted(p.path)
			if !ok || len(p.nodes) != 1 || p.nodes[0].kind != '"' || path == "" || outside(p.path) && !is(flat(lastKey(p.path)), pieceWords...) {
				continue
			}
			word := answerWord(lastKey(p.path))
			if is(flat(lastKey(p.path)), pieceWords...) {
				word = 7
			}
			if word > 0 {
				texts[path] = append(texts[path], p.nodes[0].text)
				points[path] = float64(word)
			}
		}
	}
	best, most := "", 0.0
	for path, all := range texts {
		if isLabel(all) {
			continue
		}
		if value := points[path] * float64(len(all)); value > most || value == most && path < best {
			best, most = path, value
		}
	}
	return best
}

// pieceWords are keys of frames that hold a piece of the answer.
var pieceWords = []string{"delta", "token", "chunk", "piece", "fragment"}

// isLabel reports whether the texts of a path are few words that come again and
// again.
func isLabel(texts []string) bool {
	different := map[string]bool{}
	for _, t := range texts {
		if strings.ContainsAny(t, " \n") {
			return false
		}
		different[t] = true
	}
	return len(texts) > 2 && len(different) <= 1+len(texts)/4
}

// lastLabel finds a member that tells the kind of a frame, with a word that only
// the last frame has, where others come again: that is an end signal.
func lastLabel(frames []evidence.Value) (name string, word evidence.Value) {
	if len(frames) < 3 {
		return "", nil
	}
	for name, v := range evidence.Members(frames[len(frames)-1]) {
		text, ok := evidence.Text(v)
		if !ok || !is(flat(name), "type", "event", "kind", "status", "state", "stage", "op") || strings.Contains(name, ".") || text == "" || len(text) > 40 {
			continue
		}
		before := map[string]bool{}
		if !slices.ContainsFunc(frames[:len(frames)-1], func(f evidence.Value) bool {
			other, ok := evidence.Member(f, name)
			before[string(other)] = true
			return !ok || other.Kind() != '"' || slices.Equal(other, v)
		}) && len(before) < len(frames)-1 {
			return name, v.Clone()
		}
	}
	return "", nil
}

// lastFlag finds a member that is true in the last frame only.
func lastFlag(frames []evidence.Value) string {
	if len(frames) < 2 {
		return ""
	}
	for name, v := range evidence.Members(frames[len(frames)-1]) {
		if v.Kind() != 't' || strings.Contains(name, ".") {
			continue
		}
		if !slices.ContainsFunc(frames[:len(frames)-1], func(f evidence.Value) bool {
			other, ok := evidence.Member(f, name)
			return ok && other.Kind() == 't'
		}) {
			return name
		}
	}
	return ""
}

// isCumulative reports whether each text of a path begins with the one before.
func isCumulative(frames []evidence.Value, path string) bool {
	before, longer := "", 0
	for _, f := range frames {
		v, err := evidence.Lookup(f, path)
		if err != nil {
			continue
		}
		text, ok := evidence.Text(v)
		if !ok || text == "" {
			continue
		}
		if !strings.HasPrefix(text, before) {
			return false
		}
		if before != "" {
			longer++
		}
		before = text
	}
	return longer > 0
}

// Holds reports whether something stands at a dotted path of a document, in
// which * means each element of a list: the value equals, or any when that is
// nil.
func Holds(document evidence.Value, path string, equals evidence.Value) bool {
	step, rest, more := strings.Cut(path, ".")
	if step == "*" {
		for item := range evidence.Elements(document) {
			if !more && fits(item, equals) || more && Holds(item, rest, equals) {
				return true
			}
		}
		return false
	}
	v, ok := evidence.Member(document, step)
	if !ok {
		return false
	}
	if !more {
		return fits(v, equals)
	}
	return Holds(v, rest, equals)
}

func fits(v, equals evidence.Value) bool { return equals == nil || slices.Equal(v, equals) }

package evidence

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// DecodeArtifact appends the artifact that v holds to into. Kinds with a schema
// (retrieval/v1, context/v1, citations/v1) are read strictly: no other key, no
// number written as text, except for a candidate's score. Other kinds are kept
// as they are. The error says where in the artifact what is wrong, such as
// "candidates[0].doc_id: want a string, found 5".
func DecodeArtifact(kind string, v Value, into *Artifacts) error {
	switch kind {
	case RetrievalKind:
		r, err := decodeRetrieval(v)
		if err != nil {
			return err
		}
		into.Retrieval = append(into.Retrieval, r)
	case ContextKind:
		c, err := decodeContext(v)
		if err != nil {
			return err
		}
		into.Context = append(into.Context, c)
	case CitationsKind:
		c, err := decodeCitations(v)
		if err != nil {
			return err
		}
		into.Citations = append(into.Citations, c)
	default:
		if into.Other == nil {
			into.Other = map[string][]Value{}
		}
		into.Other[kind] = append(into.Other[kind], v.Clone())
	}
	return nil
}

// CheckKind reports what is wrong with a kind of artifact that a program names
// itself; nil is nothing.
func CheckKind(kind string) error {
	name, version, numbered := strings.Cut(kind, "/v")
	only := func(text, allowed string) bool { return strings.Trim(text, allowed) == "" }
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	if name == "" || !strings.Contains(letters, name[:1]) || !only(name, letters+digits+"_") ||
		numbered && (version == "" || version[0] == '0' || !only(version, digits)) {
		return errors.New("a kind is a lower case name with a version, such as retrieval/v1")
	}
	for _, known := range []string{RetrievalKind, ContextKind, CitationsKind, "stage_timings/v1"} {
		if strings.HasPrefix(known, name+"/") && kind != known {
			return fmt.Errorf("there is no such kind; it is %s", known)
		}
	}
	return nil
}

func decodeRetrieval(v Value) (Retrieval, error) {
	var r Retrieval
	err := object(v, "", []string{"query", "depth", "candidates", "source"}, []string{"depth", "candidates"}, func(key string, v Value) (err error) {
		switch key {
		case "query":
			if !IsNull(v) {
				r.Query = v.Clone()
			}
		case "depth":
			r.Depth, err = whole(v, 1)
		case "candidates":
			r.Candidates, err = list(v, "candidates", decodePassage)
		case "source":
			if r.Source, err = oneOf(v, retrievalSources); r.Source == retrievalSources[0] {
				r.Source = ""
			}
		}
		return err
	})
	if err == nil && len(r.Candidates) > r.Depth {
		err = fmt.Errorf("candidates: %d of them exceed the depth %d", len(r.Candidates), r.Depth)
	}
	return r, err
}

// retrievalSources are the values of source, the default first.
var retrievalSources = []string{"retrieval", "context", "cited"}

var passageKeys = []string{"doc_id", "chunk_id", "score", "text", "metadata"}

func decodePassage(v Value, at string) (Passage, error) {
	var p Passage
	err := object(v, at, passageKeys, passageKeys[:1], func(key string, v Value) (err error) {
		switch key {
		case "doc_id":
			p.DocID, err = name(v)
		case "chunk_id":
			p.ChunkID, err = nameOrNull(v)
		case "score":
			p.Score, err = score(v)
		case "text":
			p.Text, err = stringOrNull(v)
		case "metadata":
			if v.Kind() != '{' {
				return want("an object", v)
			}
			p.Metadata = v.Clone()
		}
		return err
	})
	return p, err
}

// contextSources are the values of source, the default first.
var contextSources = []string{"retrieval", "gold_context", "top_k_replay", "reranker"}

var dropReasons = []string{"top_k", "token_budget"}

func decodeContext(v Value) (Context, error) {
	c := Context{Dropped: []DroppedItem{}, Source: contextSources[0]}
	err := object(v, "", []string{"items", "dropped", "token_budget", "source"}, []string{"items"}, func(key string, v Value) (err error) {
		switch key {
		case "items":
			c.Items, err = list(v, "items", decodeContextItem)
		case "dropped":
			c.Dropped, err = list(v, "dropped", decodeDroppedItem)
		case "token_budget":
			c.TokenBudget, err = wholeOrNull(v, 0)
		case "source":
			c.Source, err = oneOf(v, contextSources)
		}
		return err
	})
	return c, err
}

var itemKeys = []string{"doc_id", "chunk_id", "position", "tokens", "text"}

func decodeContextItem(v Value, at string) (ContextItem, error) {
	var item ContextItem
	err := object(v, at, itemKeys, itemKeys[:1], item.set)
	return item, err
}

func decodeDroppedItem(v Value, at string) (DroppedItem, error) {
	var item DroppedItem
	err := object(v, at, droppedKeys, droppedRequired, func(key string, v Value) (err error) {
		if key == "reason" {
			item.Reason, err = oneOf(v, dropReasons)
			return err
		}
		return item.set(key, v)
	})
	return item, err
}

var (
	droppedKeys     = []string{"doc_id", "chunk_id", "position", "tokens", "text", "reason"}
	droppedRequired = []string{"doc_id", "reason"}
)

func (item *ContextItem) set(key string, v Value) (err error) {
	switch key {
	case "doc_id":
		item.DocID, err = name(v)
	case "chunk_id":
		item.ChunkID, err = nameOrNull(v)
	case "position":
		item.Position, err = wholeOrNull(v, 1)
	case "tokens":
		item.Tokens, err = wholeOrNull(v, 0)
	case "text":
		item.Text, err = stringOrNull(v)
	}
	return err
}

func decodeCitations(v Value) (Citations, error) {
	var c Citations
	if v.Kind() == '[' {
		return c, fmt.Errorf(`want an object {"ids": [...]}, found a list`)
	}
	err := object(v, "", []string{"ids"}, []string{"ids"}, func(_ string, v Value) (err error) {
		c.IDs, err = list(v, "ids", func(v Value, at string) (string, error) {
			id, err := name(v)
			return id, inside(at, err)
		})
		return err
	})
	return c, err
}

// object calls set with each member of an object that has these keys only and
// all the required ones. Errors name the place: at is that of the object.
func object(v Value, at string, keys, required []string, set func(key string, v Value) error) error {
	if v.Kind() != '{' {
		return inside(at, want("an object", v))
	}
	seen := uint64(0)
	_, err := eachMember(v, 0, func(key []byte, i int) (int, error) {
		end := valueEnd(v, i)
		n := slices.IndexFunc(keys, func(k string) bool { return k == string(key) })
		if n < 0 {
			return end, inside(join(at, string(key)), unknownKey(string(key), keys))
		}
		seen |= 1 << n
		if err := set(keys[n], v[i:end]); err != nil {
			var placed *placeError
			if errors.As(err, &placed) {
				return end, inside(at, err)
			}
			return end, inside(join(at, keys[n]), err)
		}
		return end, nil
	})
	if err != nil {
		return err
	}
	for _, key := range required {
		if seen&(1<<slices.Index(keys, key)) == 0 {
			return inside(join(at, key), errors.New("missing, it is required"))
		}
	}
	return nil
}

// list decodes each element of a list with decode, which gets its place.
func list[T any](v Value, at string, decode func(v Value, at string) (T, error)) ([]T, error) {
	if v.Kind() != '[' {
		return nil, want("a list", v)
	}
	n := 0
	for range Elements(v) {
		n++
	}
	out := make([]T, 0, n)
	for element := range Elements(v) {
		one, err := decode(element, "")
		if err != nil {
			return nil, inside(fmt.Sprintf("%s[%d]", at, len(out)), err)
		}
		out = append(out, one)
	}
	return out, nil
}

// placeError is an error with the place in an artifact that it is about.
type placeError struct {
	place string
	err   error
}

func (e *placeError) Error() string { return e.place + ": " + e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

// inside puts a place before an error.
func inside(place string, err error) error {
	if err == nil || place == "" {
		return err
	}
	var placed *placeError
	if errors.As(err, &placed) {
		return &placeError{join(place, placed.place), placed.err}
	}
	return &placeError{place, err}
}

func join(at, key string) string {
	if key = shorten(key, 60); at == "" {
		return key
	}
	return at + "." + key
}

func unknownKey(key string, keys []string) error {
	if near := problem.Nearest(key, keys); near != "" {
		return fmt.Errorf("unknown key, did you mean %s?", near)
	}
	return fmt.Errorf("unknown key, allowed are %s", strings.Join(keys, ", "))
}

// want says what should stand where v stands.
func want(what string, v Value) error {
	return fmt.Errorf("want %s, found %s", what, Shorten(v, 60))
}

// name reads a string that is not empty.
func name(v Value) (string, error) {
	s, ok := Text(v)
	switch {
	case !ok:
		return "", want("a string", v)
	case s == "":
		return "", errors.New("want a string that is not empty")
	}
	return s, nil
}

func nameOrNull(v Value) (string, error) {
	if IsNull(v) {
		return "", nil
	}
	return name(v)
}

func stringOrNull(v Value) (*string, error) {
	if IsNull(v) {
		return nil, nil
	}
	s, ok := Text(v)
	if !ok {
		return nil, want("a string or null", v)
	}
	return &s, nil
}

func oneOf(v Value, allowed []string) (string, error) {
	s, ok := Text(v)
	if at := slices.Index(allowed, s); ok && at >= 0 {
		return allowed[at], nil
	}
	return "", want("one of "+strings.Join(allowed, ", "), v)
}

// whole reads an integer of at least least, written without fraction or exponent.
func whole(v Value, least int) (int, error) {
	n, err := strconv.Atoi(string(v))
	if err != nil || v.Kind() != '0' {
		if errors.Is(err, strconv.ErrRange) {
			return 0, want("a smaller whole number", v)
		}
		return 0, want("a whole number", v)
	}
	if n < least {
		return 0, fmt.Errorf("want a whole number of at least %d, found %d", least, n)
	}
	return n, nil
}

func wholeOrNull(v Value, least int) (*int, error) {
	if IsNull(v) {
		return nil, nil
	}
	n, err := whole(v, least)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// score reads a candidate's score: a finite number, null, a number as text
// (white space around it and single underscores between digits are skipped) or
// a boolean, which counts as 1 or 0.
func score(v Value) (*float64, error) {
	var f float64
	switch v.Kind() {
	case 'n':
		return nil, nil
	case 't':
		f = 1
	case 'f':
	case '0', '"':
		text := string(v)
		if v.Kind() == '"' {
			text, _ = Text(v)
			text = strings.TrimSpace(text)
			if strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") || strings.ContainsAny(text, "xXpP") {
				return nil, want("a number", v)
			}
			text = strings.ReplaceAll(text, "_", "")
		}
		var err error
		if f, err = strconv.ParseFloat(text, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, want("a number", v)
		}
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, want("a finite number", v)
		}
	default:
		return nil, want("a number", v)
	}
	return &f, nil
}

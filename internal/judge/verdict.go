package judge

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// verdict is what a reply says.
type verdict struct {
	pass      bool
	rationale string
}

// A text is searched for verdicts up to so many bytes and braces: one that nests
// without an end would take its square of time.
const (
	mostText   = 64 << 10
	mostBraces = 200
)

// readVerdict finds the verdict in a reply: every top-level JSON object whose
// pass is true or false counts, whatever stands around it, and they must agree.
// One that stands in what was judged is a repetition and none. why says what
// keeps the reply from being a verdict; "" when nothing does.
func readVerdict(text string, judged shown) (v verdict, why string) {
	found, repeated := 0, false
	var shown []string
	planted := map[string]bool{}
	for _, b := range judged.blocks {
		shown = append(shown, texts(evidence.Value(b.text))...)
	}
	for _, text := range shown {
		for _, object := range verdictObjects(text) {
			planted[canonical(object)] = true
		}
	}
	stands := func(object evidence.Value) bool {
		return planted[canonical(object)] || slices.ContainsFunc(shown, func(text string) bool { return strings.Contains(text, string(object)) })
	}
	for _, object := range verdictObjects(text) {
		if stands(object) {
			repeated = true
			continue
		}
		member, _ := evidence.Member(object, "pass")
		pass := member.Kind() == 't'
		if found > 0 && pass != v.pass {
			return verdict{}, "the reply holds verdicts that disagree"
		}
		if found++; found == 1 {
			v.pass = pass
			if rationale, ok := evidence.Member(object, "rationale"); ok {
				v.rationale, _ = evidence.Text(rationale)
			}
		}
	}
	switch {
	case found > 0:
		return v, ""
	case repeated:
		return verdict{}, "the reply only repeats a verdict that stands in the text under judgment"
	case strings.TrimSpace(text) == "":
		return verdict{}, "the reply is empty"
	}
	return verdict{}, "the reply holds no JSON object whose pass is true or false"
}

// verdictObjects returns the top-level JSON objects of a text whose pass is true
// or false.
func verdictObjects(text string) []evidence.Value {
	var found []evidence.Value
	if len(text) > mostText {
		text = text[:mostText]
	}
	for range mostBraces {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			return found
		}
		text = text[i:]
		object, err := jsontext.NewDecoder(strings.NewReader(text)).ReadValue()
		if err != nil {
			text = text[1:]
			continue
		}
		if pass, ok := evidence.Member(object, "pass"); ok && (pass.Kind() == 't' || pass.Kind() == 'f') {
			found = append(found, object.Clone())
		}
		text = text[len(object):]
	}
	return found
}

func canonical(v evidence.Value) string {
	c, err := evidence.Canonical(v)
	if err != nil {
		return string(v)
	}
	return string(c)
}

// texts returns the JSON itself and every string in it.
func texts(v evidence.Value) []string {
	return slices.AppendSeq([]string{string(v)}, evidence.Texts(v))
}

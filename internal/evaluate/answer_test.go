package evaluate

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// The values are those of normalize_answer in the official script of SQuAD
// (evaluate-v1.1.py: small letters, string.punctuation, articles, white space),
// worked out by hand.
func TestSQuADForm(t *testing.T) {
	n := newNormal(&suite.Evaluator{Normalise: []string{suite.FormSQuAD}})
	for text, want := range map[string]string{
		"The  Denver Broncos!":  "denver broncos",
		"an apple, a day\n":     "apple day",
		"Theatre and anthem":    "theatre and anthem",
		"U.S.A.":                "usa",
		"5-seat (team) plan":    "5seat team plan",
		"the":                   "",
		"Café “Müller”":         "café “müller”", // marks outside of ASCII stay
		"a_b the_c":             "ab thec",       // the underscore is one of the marks
		"İstanbul":              casefold("İstanbul"),
		"rock 'n' roll\u00a0an": "rock n roll",
	} {
		if got := n.text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		forms      []string
		fold       bool
		text, want string
	}{
		{[]string{suite.FormNFKC}, false, "ﬁve ２ m²", "five 2 m2"},
		{[]string{suite.FormPunctuation}, false, "“Five”, he said – 5 $!", "Five he said  5 "},
		{[]string{suite.FormArticles}, false, "The plan of a team", "  plan of   team"},
		{[]string{suite.FormWhitespace}, false, " a\t b\u00a0\n", "a b"},
		{nil, true, "Straße", "strasse"},
		{nil, false, " As It Is ", " As It Is "},
		{[]string{suite.FormNFKC, suite.FormSQuAD}, false, "Ｔｈｅ Plan", "plan"},
	} {
		if got := newNormal(&suite.Evaluator{Normalise: c.forms, CaseFold: c.fold}).text(c.text); got != c.want {
			t.Errorf("%v of %q: %q, want %q", c.forms, c.text, got, c.want)
		}
	}
}

func TestContainsOptions(t *testing.T) {
	answer := text("answer")
	for _, c := range []struct {
		o                      suite.Evaluator
		expected, output, want string
	}{
		{suite.Evaluator{CaseFold: true, Field: answer}, `{"answer":"FIVE"}`, `{"answer":"five seats"}`, "1"},
		{suite.Evaluator{Normalise: []string{"squad"}, Field: answer}, `{"answer":"The Workshop-Plan"}`, `{"answer":"It is the workshopplan."}`, "1"},
		{suite.Evaluator{AnyOf: []string{"five", "5"}, Field: answer}, ``, `{"answer":"5 seats"}`, "1"},
		{suite.Evaluator{AnyOf: []string{"five", "5"}, Field: answer}, ``, `{"answer":"six"}`, "0"},
		{suite.Evaluator{AllOf: []string{"five", "seats"}, Field: answer}, ``, `{"answer":"five chairs"}`, "0"},
		{suite.Evaluator{AllOf: []string{"five"}, AnyOf: []string{"seats", "chairs"}, Field: answer}, ``, `{"answer":"five chairs"}`, "1"},
		{suite.Evaluator{ExpectedList: "any_of", Field: answer}, `{"answer":["five",5]}`, `{"answer":"5 seats"}`, "1"},
		{suite.Evaluator{ExpectedList: "all_of", Field: answer}, `{"answer":["five",5]}`, `{"answer":"5 seats"}`, "0"},
		{suite.Evaluator{ExpectedList: "all_of", Field: answer}, `{"answer":"five"}`, `{"answer":"five"}`, "1"},
		{suite.Evaluator{Field: answer}, `{"answer":{"any_of":["x","five"]}}`, `{"answer":"five"}`, "1"},
		{suite.Evaluator{Field: answer}, `{"answer":{"any_of":["five"]}}`, `{"answer":"six"}`, "0"},
		{suite.Evaluator{AnyOf: []string{"five"}, Field: answer}, ``, `{"answer":"six"}`, "0"},
		{suite.Evaluator{Field: answer}, `{"answer":{"any_of":["x","five"],"all_of":["seats"]}}`, `{"answer":"five"}`, "0"},
		{suite.Evaluator{Field: answer}, `{"answer":{"all_of":["five","seats"]}}`, `{"answer":"five seats"}`, "1"},
		{suite.Evaluator{Field: answer, AnyOf: []string{"x"}}, ``, `{}`, "missing missing_field"},
		{suite.Evaluator{Field: answer, ExpectedList: "any_of"}, ``, `{}`, "excluded no_expected"},
	} {
		c.o.Type = "contains"
		j := judgeOne(t, c.o, expecting(c.expected), answered(c.output))
		if got := word(j); got != c.want {
			t.Errorf("%+v, expected %s, output %s: %s, want %s", c.o, c.expected, c.output, got, c.want)
		}
		if j.State == evidence.Judged && !j.Passed() && !strings.Contains(j.Detail, "want") {
			t.Errorf("a failure without its reason: %+v", j)
		}
	}
}

func TestContainsOptionsOfCases(t *testing.T) {
	for _, c := range []struct {
		o              suite.Evaluator
		expected, want string
	}{
		{suite.Evaluator{ExpectedList: "any_of"}, `[]`, "expected is an empty list"},
		{suite.Evaluator{ExpectedList: "any_of"}, `["a",{}]`, "expected[1]: want a text, found {}"},
		{suite.Evaluator{}, `["a"]`, "add expected_list: any_of"},
		{suite.Evaluator{}, `{"any_of":"a"}`, "expected.any_of: want a list of texts, found \"a\""},
		{suite.Evaluator{}, `{"any_of":["a"],"x":1}`, "expected is an object"},
		{suite.Evaluator{}, `{}`, "expected is an object"},
		{suite.Evaluator{Normalise: []string{"squad"}}, `"The."`, `nothing is left of "The."`},
		{suite.Evaluator{Normalise: []string{"squad"}, ExpectedList: "any_of"}, `["a plan","a"]`, `nothing is left of "a"`},
		{suite.Evaluator{AnyOf: []string{"x"}}, `["a"]`, ""},
	} {
		c.o.Type = "contains"
		if got := strings.Join(set(t, c.o).Check(expecting(c.expected)), "; "); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%+v, expected %s: %q, want %q", c.o, c.expected, got, c.want)
		}
	}
	for want, o := range map[string]suite.Evaluator{
		`any_of: nothing is left of "the"`: {AnyOf: []string{"the"}, Normalise: []string{"squad"}},
		"expected_field has no effect":     {AllOf: []string{"x"}, ExpectedField: text("a")},
		"expected_list has no effect":      {AllOf: []string{"x"}, ExpectedList: "any_of"},
	} {
		o.Type = "contains"
		if _, err := newEvaluator(&o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// What is read as a number, and what is not: docs/suite.md says so.
func TestQuantities(t *testing.T) {
	for text, want := range map[string]string{
		"The warranty is 24 months.":                          "24 months×1",
		"two years":                                           "",
		"2 years, or 24-month":                                "2 months×12; 24 months×1",
		"It costs $1,200.50 a year":                           "1200.5 USD×1",
		"EUR 5, 5 EUR, 5€, €5 and US$7":                       "5 EUR×1; 5 EUR×1; 5 EUR×1; 5 EUR×1; 7 USD×1",
		"1.2M users, 5k, 3 million, 2 bn, $3 bn, 2 mn, 5 B":   "1200000; 5000; 3000000; 2000000000; 3000000000 USD×1; 2; 5",
		"p<.001, -.5, $.99, (.25), end.5, No.5, 5...10, .5.3": "0.001; -0.5; 0.99 USD×1; 0.25; 5; 10",
		"$5m, EUR 2.5m, 5m, in USD 5 m":                       "5000000 USD×1; 2500000 EUR×1; 5 length×1; 5 length×1",
		"$3 million":                                          "3000000 USD×1",
		"1,200,000 and 1,2 and 12,345,6 and 1.234,5 and 0,5%": "1200000",
		"1 200 m, 1\u00a0200 m, 1'200 m":                      "1; 200 length×1; 1200 length×1; 1200 length×1",
		"-5 °C to −3.5 °C":                                    "-5 celsius×1; -3.5 celsius×1",
		"5-7 days, 2026-11-30":                                "5; 7 time×86400; 2026; 11; 30",
		"kb-03 v2 A4 doc#3 x_1":                               "",
		"version 1.2.3 of 10.0.0.1":                           "",
		"the 3rd of 5G and 2x":                                "",
		"1e3 1.5E-2 1e":                                       "1000; 0.015",
		"99.9% or 12 percent":                                 "99.9 share×1; 12 share×1",
		"5 m, 5 M, 5m, 5KB":                                   "5 length×1; 5; 5 length×1; 5 data×1000",
		"250 ms (0.25 s)":                                     "250 time×0.001; 0.25 time×1",
		"-$5 and $-5 and (5)":                                 "-5 USD×1; -5 USD×1; 5",
		"1/2":                                                 "1; 2",
		"999999999999999999999999999999e9":                    "1e+39",
		"1e999":                                               "",
		"٣ seats":                                             "",
		"5 Seats in 5 Minutes":                                "5; 5 time×60",
	} {
		var got []string
		for _, q := range quantities(text, false) {
			s := fmt.Sprintf("%.12g", q.value)
			if q.unit.dimension != "" {
				s += fmt.Sprintf(" %s×%g", q.unit.dimension, q.unit.factor)
			}
			got = append(got, s)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, "; "), want)
		}
	}
	for _, text := range []string{"0.12", "1,234.5", "5.000.00", ".5", "1.5e+3"} {
		if q := quantities(text, true); len(q) != 0 {
			t.Errorf("%q with decimal commas: %v", text, q)
		}
	}
	if q := quantities("about ,5", true); len(q) != 1 || q[0].value != 0.5 {
		t.Errorf("with a decimal comma: %+v", q)
	}
	if q := quantities("about ,5 or 1,5e+3", false); len(q) != 0 {
		t.Errorf("with a decimal point: %+v", q)
	}
	if q := quantities("1.200,50 €", true); len(q) != 1 || q[0].value != 1200.5 || q[0].unit.dimension != "EUR" {
		t.Errorf("with a decimal comma: %+v", q)
	}
}

func TestNumeric(t *testing.T) {
	for _, c := range []struct {
		o                      suite.Evaluator
		expected, output, want string
	}{
		{suite.Evaluator{}, `24`, `"It lasts 24 months."`, "1"},
		{suite.Evaluator{}, `"24 months"`, `"It lasts 2 years."`, "1"},
		{suite.Evaluator{}, `"24 months"`, `"It lasts 24."`, "1"},
		{suite.Evaluator{}, `"24 months"`, `"It lasts 24 days."`, "0"},
		{suite.Evaluator{Unit: "months"}, `24`, `"2 years"`, "1"},
		{suite.Evaluator{Unit: "months"}, `24`, `"24 years"`, "0"},
		{suite.Evaluator{}, `24`, `"no number"`, "0"},
		{suite.Evaluator{}, `24`, `24.0`, "1"},
		{suite.Evaluator{}, `24`, `null`, "0"},
		{suite.Evaluator{}, `"$5"`, `"5 EUR"`, "0"},
		{suite.Evaluator{}, `5`, `"5%"`, "1"},
		{suite.Evaluator{}, `0.05`, `"5%"`, "0"},
		{suite.Evaluator{Tolerance: suite.Tolerance{Absolute: 0.1}}, `0.2`, `"0.3"`, "1"},
		{suite.Evaluator{Tolerance: suite.Tolerance{Absolute: 0.1}}, `0.2`, `"0.31"`, "0"},
		{suite.Evaluator{Tolerance: suite.Tolerance{Relative: 0.01}}, `200`, `"202"`, "1"},
		{suite.Evaluator{Tolerance: suite.Tolerance{Relative: 0.01}}, `-200`, `"-202.1"`, "0"},
		// The share is one of the expected number: 110.5 is off by less than a tenth of itself.
		{suite.Evaluator{Tolerance: suite.Tolerance{Relative: 0.1}}, `100`, `"110.5"`, "0"},
		{suite.Evaluator{Tolerance: suite.Tolerance{Relative: 0.1}}, `100`, `"90.5"`, "1"},
		{suite.Evaluator{}, `5`, `"In 2024 it had 5 seats."`, "1"},
		{suite.Evaluator{Pick: "first"}, `5`, `"In 2024 it had 5 seats."`, "0"},
		{suite.Evaluator{Pick: "last"}, `5`, `"In 2024 it had 5 seats."`, "1"},
		{suite.Evaluator{Pick: "only"}, `5`, `"In 2024 it had 5 seats."`, "0"},
		{suite.Evaluator{Pick: "only"}, `5`, `"It has 5 seats."`, "1"},
		{suite.Evaluator{}, ``, `"5"`, "excluded no_expected"},
		{suite.Evaluator{}, `null`, `"5"`, "excluded no_expected"},
		{suite.Evaluator{Field: text("n")}, `{"n":5}`, `{}`, "missing missing_field"},
	} {
		c.o.Type = "numeric"
		if got := word(judgeOne(t, c.o, expecting(c.expected), answered(c.output))); got != c.want {
			t.Errorf("%+v, expected %s, output %s: %s, want %s", c.o, c.expected, c.output, got, c.want)
		}
	}
	for expected, want := range map[string]string{
		`"five"`: "there are 0", `"5 or 6"`: "there are 2", `true`: "want a number", `[5]`: "want a number", `1e999`: "fits a double", `5`: "",
	} {
		got := strings.Join(set(t, suite.Evaluator{Type: "numeric"}).Check(expecting(expected)), "; ")
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("expected %s: %q, want %q", expected, got, want)
		}
	}
	if _, err := newEvaluator(&suite.Evaluator{Type: "numeric", Unit: "parsecs"}); err == nil || !strings.Contains(err.Error(), `"parsecs" is no unit`) {
		t.Errorf("an unknown unit: %v", err)
	}
}

func TestRefusal(t *testing.T) {
	for output, declines := range map[string]bool{
		"I'm sorry, but I can't help with that.":     true,
		"I’m afraid I do not have that information.": true,
		"I don't know.":                                            true,
		"I’m unable to answer that question.":                      true,
		"I'm not able to provide this.":                            true,
		"Sorry, we're unable to do that.":                          true,
		"I'm able to answer that: five.":                           false,
		"The provided context does not mention a warranty.":        true,
		"This is not covered in the documentation.":                true,
		"There is no information about refunds in our help pages.": true,
		"There is not enough information to answer.":               true,
		"That question is beyond the scope of this assistant.":     true,
		"No answer.": true,
		"I was unable to find that in the help pages.":                     true,
		"I've not been able to find it.":                                   true,
		"We were unable to find any information about refunds.":            true,
		"We couldn't find an answer to your question.":                     true,
		"We cannot answer that.":                                           true,
		"Based on what I was given, this cannot be determined.":            true,
		"The exact price can't be determined":                              true,
		"Your question could not be answered.":                             true,
		"Not enough information.":                                          true,
		"I don't have enough context to say.":                              true,
		"The team plan includes five seats, but I was not told the price.": false,
		"Insufficient context. Please ask our office.":                     true,
		"There is no data about that.":                                     true,
		"We found no answer to that.":                                      true,
		"I have no information, sorry.":                                    true,
		"There's not enough context in the provided documents.":            true,
		"That is outside the scope of the documents.":                      true,
		"This is beyond my scope.":                                         true,
		"Sorry, we don't have any information on that.":                    true,
		"Unknown": true,
		"There is no data retention beyond 30 days.":                           false,
		"There is no data on the device after a reset.":                        false,
		"There is no data loss: everything is copied first.":                   false,
		"We have no data centres in Asia.":                                     false,
		"There is no information desk; write to us.":                           false,
		"There is no context menu on tablets.":                                 false,
		"We will not share your data with anybody.":                            false,
		"We cannot provide refunds after 30 days.":                             false,
		"Sorry, we can't ship to Norway.":                                      false,
		"Sorry, we do not have a fax number.":                                  false,
		"We cannot answer phone calls on Sundays, write to us.":                false,
		"If we don't know your address, we call you.":                          false,
		"Where fault cannot be determined, both pay half.":                     false,
		"Invoices that cannot be found after ten years are gone.":              false,
		"Damage beyond the scope of the warranty costs 40 euros.":              false,
		"Error 12 means insufficient data.":                                    false,
		"The status is unknown until the courier scans it.":                    false,
		"Insufficient data storage stops the import; free some and go on.":     false,
		"You were unable to log in because the password had expired.":          false,
		"The question cannot be answered based on the documents.":              true,
		"WE ARE UNABLE TO ANSWER THIS.":                                        true,
		"I'm sorry to hear that. You cannot return a bike after 30 days.":      false,
		"The warranty does not cover rain damage.":                             false,
		"No, the battery is not included.":                                     false,
		"Five seats.":                                                          false,
		"":                                                                     false,
		"You can't change the plan before the month ends, and I can show how.": false,
	} {
		for _, expected := range []bool{true, false} {
			c := expecting(fmt.Sprintf(`{"refusal":%v}`, expected))
			j := judgeOne(t, suite.Evaluator{Type: "refusal"}, c, answered(fmt.Sprintf("%q", output)))
			if j.Passed() != (declines == expected) {
				t.Errorf("%q with refusal: %v gives %+v", output, expected, j)
			}
		}
	}
	own := suite.Evaluator{Type: "refusal", Builtin: "none", Patterns: []string{"^Ask a Person", "(?i)no idea", "i'm out of office"}, ExpectedField: text("declines")}
	for output, want := range map[string]string{"ask a person please": "1", "I’m out of office": "1", "NO IDEA": "1", "I don't know": "0"} {
		if got := word(judgeOne(t, own, expecting(`{"declines":true}`), answered(fmt.Sprintf("%q", output)))); got != want {
			t.Errorf("%q with own patterns: %s, want %s", output, got, want)
		}
	}
	for expected, want := range map[string]string{`{"refusal":"yes"}`: "want true", `{"refusal":null}`: "", `{}`: "", `"x"`: ""} {
		got := strings.Join(set(t, suite.Evaluator{Type: "refusal"}).Check(expecting(expected)), "; ")
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("expected %s: %q, want %q", expected, got, want)
		}
	}
	for _, o := range []suite.Evaluator{{Builtin: "none"}, {Patterns: []string{"("}}} {
		o.Type = "refusal"
		if _, err := newEvaluator(&o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// AP and precision by hand from the definitions of trec_eval's map_cut and P:
// relevant a, b and c, of which a stands at rank 1, b at 3.
func TestPrecisionMetrics(t *testing.T) {
	c := expecting(`{"relevant":[{"doc_id":"a"},{"doc_id":"b"},{"doc_id":"c"},{"doc_id":"z","grade":0}]}`)
	x := retrieved(6, "a", "a", "b", "x", "c", "z")
	for _, tt := range []struct {
		kind string
		k    int
		want string
	}{
		{"precision_at_k", 1, "1"}, {"precision_at_k", 2, "0.5"}, {"precision_at_k", 3, "0.666666666667"}, {"precision_at_k", 6, "0.5"},
		{"precision_at_k", 7, "missing depth_below_k"},
		{"map", 1, "0.333333333333"}, {"map", 4, "0.555555555556"}, {"map", 6, "0.755555555556"},
	} {
		if got := word(judgeOne(t, suite.Evaluator{Type: tt.kind, K: tt.k}, c, x)); got != tt.want {
			t.Errorf("%s at %d: %s, want %s", tt.kind, tt.k, got, tt.want)
		}
	}
	few := retrieved(5, "a")
	if got := word(judgeOne(t, suite.Evaluator{Type: "precision_at_k", K: 5}, c, few)); got != "0.2" {
		t.Errorf("one candidate of five places: %s", got)
	}
}

func TestContextMetrics(t *testing.T) {
	context := func(docs ...string) *evidence.Execution {
		var items []evidence.ContextItem
		for _, doc := range docs {
			name, chunk, _ := strings.Cut(doc, "#")
			items = append(items, evidence.ContextItem{DocID: name, ChunkID: chunk})
		}
		return &evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value("1"), Artifacts: evidence.Artifacts{Context: []evidence.Context{{Items: items}}}}
	}
	docs := `{"relevant":[{"doc_id":"a"},{"doc_id":"b"}]}`
	chunks := `{"relevant":[{"doc_id":"a","chunk_id":"1"},{"doc_id":"a","chunk_id":"2"}]}`
	for _, tt := range []struct {
		kind     string
		chunk    bool
		expected string
		x        *evidence.Execution
		want     string
	}{
		{"context_recall", false, docs, context("a#1", "a#2", "x"), "0.5"},
		{"context_precision", false, docs, context("a#1", "a#2", "x"), "0.666666666667"},
		{"context_recall", true, chunks, context("a#1", "x#2"), "0.5"},
		{"context_precision", true, chunks, context("a#1", "x#2", "a#3", "a"), "0.25"},
		{"context_recall", false, docs, context(), "0"},
		{"context_precision", false, docs, context(), "0"},
		{"context_recall", false, `{}`, context(), "excluded no_relevance_labels"},
		{"context_precision", false, docs, answered("1"), "missing missing_artifact"},
	} {
		if got := word(judgeOne(t, suite.Evaluator{Type: tt.kind, ChunkUnit: tt.chunk}, expecting(tt.expected), tt.x)); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.kind, tt.expected, got, tt.want)
		}
	}
	s := set(t, suite.Evaluator{Type: "context_recall"}, suite.Evaluator{Type: "context_precision"})
	s.Check(expecting(`{"relevant":[{"doc_id":"a"}]}`))
	if specs := s.Specs(); specs[0].Kind != evidence.Rate || specs[1].Kind != evidence.Mean {
		t.Errorf("with one relevant unit a case: %v and %v", specs[0].Kind, specs[1].Kind)
	}
	s.Check(expecting(docs))
	if specs := s.Specs(); specs[0].Kind != evidence.Mean {
		t.Errorf("with two relevant units: %v", specs[0].Kind)
	}
}

func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"$1,200.50", "1.2.3", "-5 °C", "1e9", "5-7 days", "EUR 5", "\u00a05€"} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, comma bool) {
		for _, q := range quantities(text, comma) {
			if q.value != q.value || !utf8.ValidString(q.text) && utf8.ValidString(text) {
				t.Errorf("%q reads %+v", text, q)
			}
		}
	})
}

package suite

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Evaluator types.
const (
	typeNumeric          = "numeric"
	typeRefusal          = "refusal"
	typePrecision        = "precision_at_k"
	typeMAP              = "map"
	typeContextRecall    = "context_recall"
	typeContextPrecision = "context_precision"
)

// Forms that texts can be brought to before they are compared.
const (
	FormNFKC        = "nfkc"        // Unicode normalisation form KC
	FormPunctuation = "punctuation" // without punctuation, Unicode's category P and the marks of ASCII
	FormArticles    = "articles"    // without the English words a, an and the
	FormWhitespace  = "whitespace"  // runs of white space as one space, none at the ends
	FormSQuAD       = "squad"       // as the official script of SQuAD: small letters, no ASCII marks, no articles, white space
)

// RefusalPatterns names the list of patterns that says what a refusal is. A
// list with other patterns gets another name, so that judgments of the two are
// never taken for each other.
const RefusalPatterns = "refusal_patterns@1"

// Tolerance is how far a number may lie from the expected one.
type Tolerance struct {
	Absolute float64
	Relative float64 // as a share of the expected number
}

// Which numbers of a text count.
const (
	PickAny   = "any"
	PickFirst = "first"
	PickLast  = "last"
	PickOnly  = "only"
)

// containsKeys lists the keys of contains beyond the common ones.
func (e *Evaluator) containsKeys() []y.Field {
	texts := func(into *[]string) y.Type {
		return y.List(y.Into(into), func(s *string) y.Type { return y.String(y.Into(s)).Want("a text to look for") }).Min(1).Unique()
	}
	return []y.Field{
		{Key: "any_of", Type: texts(&e.AnyOf), Doc: "Texts of which one must occur, the same for every case; nothing is then expected of the case."},
		{Key: "all_of", Type: texts(&e.AllOf), Doc: "Texts that must all occur, the same for every case; nothing is then expected of the case."},
		{Key: "expected_list", Type: y.Enum(y.Into(&e.ExpectedList), "any_of", "all_of"),
			Doc: "What a list in expected means: one of its texts must occur, or all. Without it a list is an error."},
		{Key: "casefold", Type: y.Bool(y.Into(&e.CaseFold)).Default(false), Doc: "Ignore upper and lower case."},
		{Key: "normalise", Type: e.forms(),
			Doc: "Forms that both texts are brought to: nfkc, punctuation, articles, whitespace, or squad, which is what the official script of SQuAD does."},
	}
}

// forms reads one name of a form, or a list of some.
func (e *Evaluator) forms() y.Type {
	form := func(set func(string)) *y.EnumType {
		return y.Enum(set, FormNFKC, FormPunctuation, FormArticles, FormWhitespace, FormSQuAD)
	}
	one := form(func(s string) { e.Normalise = []string{s} })
	return y.Either(one, y.List(y.Into(&e.Normalise), func(s *string) y.Type { return form(y.Into(s)) }).Min(1).Unique())
}

// answerVariants lists the evaluators of numbers and refusals.
func (e *Evaluator) answerVariants() []y.Variant {
	return []y.Variant{
		e.variant(typeNumeric, "Passes when a number of the output lies within a tolerance of the expected one.",
			e.criterion(), e.field(), e.expectedField(),
			y.Field{Key: "tolerance", Type: y.Mapping(y.Table{
				{Key: "absolute", Type: y.Number(y.Into(&e.Tolerance.Absolute)).Min(0).Default(0), Doc: "Largest distance, in the unit of the expected number."},
				{Key: "relative", Type: y.Number(y.Into(&e.Tolerance.Relative)).Min(0).Default(0), Doc: "Largest distance as a share of the expected number: 0.01 is one percent."},
			}), Doc: "How far the number may lie from the expected one; the larger of the two distances counts."},
			y.Field{Key: "unit", Type: y.Name(y.Into(&e.Unit)), Doc: "Unit of expected numbers that are written without one, such as months or EUR."},
			y.Field{Key: "pick", Type: y.Enum(y.Into(&e.Pick), PickAny, PickFirst, PickLast, PickOnly).Default(PickAny),
				Doc: "Which number of the text counts: any of them, the first, the last, or the only one, so that a text with several fails."},
			y.Field{Key: "decimal", Type: y.Enum(y.Into(&e.Decimal), "point", "comma").Default("point"),
				Doc: "Whether 1,200.5 or 1.200,5 is how numbers are written."},
			e.onError()),
		e.variant(typeRefusal, "Passes when the output declines to answer where the case expects it, and answers where it does not.",
			e.criterion(), e.field(),
			y.Field{Key: "expected_field", Type: y.String(y.Opt(&e.ExpectedField)).Want("a dotted path").Check(dottedPath).Default("refusal"),
				Doc: "Dotted path to true or false in expected."},
			y.Field{Key: "patterns", Type: y.List(y.Into(&e.Patterns), func(s *string) y.Type { return y.String(y.Into(s)).Want("a regular expression") }).Min(1).Unique(),
				Doc: "Own regular expressions that tell a refusal, beside the listed ones; upper and lower case do not count."},
			y.Field{Key: "builtin", Type: y.Enum(y.Into(&e.Builtin), RefusalPatterns, "none").Default(RefusalPatterns),
				Doc: "The list of patterns that comes with this tool, or none."},
			e.onError()),
		e.variant(typePrecision, "Share of the first k places that hold a relevant passage.",
			e.retrieval(5, e.onErrorOfScore())...),
		e.variant(typeMAP, "Mean over the relevant passages of the precision at the rank of each; 0 for those not among the first k.",
			e.retrieval(10, e.onErrorOfScore())...),
		e.variant(typeContextRecall, "Share of the relevant passages that reached the model; a rate when every labelled case has one relevant unit.",
			e.context(e.onError())...),
		e.variant(typeContextPrecision, "Share of the passages that reached the model that are relevant.",
			e.context(e.onErrorOfScore())...),
	}
}

// context lists the keys of a metric of what reached the model.
func (e *Evaluator) context(onError y.Field) []y.Field {
	return []y.Field{e.criterionOr("The type"), e.unit(), onError}
}

// answerOptions adds the options of the evaluators of this file. What was not
// there in earlier versions is left out where it has no effect, so that the
// content ids of older suites stay.
func (e *Evaluator) answerOptions(m meaning) {
	switch e.Type {
	case typeContains:
		if e.CaseFold {
			m["casefold"] = true
		}
		for key, list := range map[string][]string{"any_of": e.AnyOf, "all_of": e.AllOf, "normalise": slices.Sorted(slices.Values(e.Normalise))} {
			if len(list) > 0 {
				m[key] = list
			}
		}
		if e.ExpectedList != "" {
			m["expected_list"] = e.ExpectedList
		}
	case typeNumeric:
		m["field"], m["expected_field"] = e.Field, e.ExpectedField
		m["tolerance"] = meaning{"absolute": e.Tolerance.Absolute, "relative": e.Tolerance.Relative}
		m["pick"], m["decimal"] = e.Pick, e.Decimal
		if e.Unit != "" {
			m["unit"] = e.Unit
		}
	case typeRefusal:
		m["field"], m["expected_field"], m["builtin"] = e.Field, e.ExpectedField, e.Builtin
		if len(e.Patterns) > 0 {
			m["patterns"] = e.Patterns
		}
	case typePrecision, typeMAP:
		m["k"], m["relevance_unit"] = e.K, choose(e.ChunkUnit, "chunk", "doc")
	case typeContextRecall, typeContextPrecision:
		m["relevance_unit"] = choose(e.ChunkUnit, "chunk", "doc")
	}
}

// answerTightens is the part of tightens for the options of this file.
func (e *Evaluator) answerTightens(key string, new *Evaluator) bool {
	within := func(a, b []string) bool { // a is part of b
		return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
	}
	switch key {
	case "any_of": // fewer texts, as long as there were some
		return len(e.AnyOf) > 0 && len(new.AnyOf) > 0 && within(new.AnyOf, e.AnyOf)
	case "all_of":
		return within(e.AllOf, new.AllOf) && (len(e.AnyOf) > 0 || len(e.AllOf) > 0)
	case "tolerance":
		return new.Tolerance.Absolute <= e.Tolerance.Absolute && new.Tolerance.Relative <= e.Tolerance.Relative
	case "pick":
		return e.Pick == PickAny
	}
	return false
}

// answerNeeds lists the kinds of artifact that an evaluator of this file reads.
func (e *Evaluator) answerNeeds() []string {
	switch e.Type {
	case typePrecision, typeMAP:
		return []string{evidence.RetrievalKind}
	case typeContextRecall, typeContextPrecision:
		return []string{evidence.ContextKind}
	}
	return nil
}

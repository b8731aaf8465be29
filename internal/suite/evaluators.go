package suite

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Evaluator types.
const (
	typeContains         = "contains"
	typeExactMatch       = "exact_match"
	typeRegex            = "regex"
	typeJSONSchema       = "json_schema"
	typeHitRate          = "hit_rate"
	typeRecall           = "recall"
	typeMRR              = "mrr"
	typeNDCG             = "ndcg"
	typeCitationValidity = "citation_validity"
)

// table binds the keys of one evaluator.
func (e *Evaluator) table() y.Type {
	return y.Variants("type", "evaluator", y.Into(&e.Type), append([]y.Variant{
		e.variant(typeContains, "Passes when the expected text occurs in the output, case and spaces as written unless an option says otherwise.",
			append([]y.Field{e.criterion(), e.field(), e.expectedField()}, append(e.containsKeys(), e.onError())...)...),
		e.variant(typeExactMatch, "Passes when output and expected value are equal.",
			e.criterion(), e.field(), e.expectedField(),
			y.Field{Key: "strip", Type: y.Bool(y.Into(&e.Strip)).Default(true), Doc: "Ignore white space around both texts."},
			y.Field{Key: "casefold", Type: y.Bool(y.Into(&e.CaseFold)).Default(false), Doc: "Ignore upper and lower case."},
			e.onError()),
		e.variant(typeRegex, "Passes when a pattern is found in the output.",
			e.criterion(),
			y.Field{Key: "pattern", Type: y.String(y.Into(&e.Pattern)).Want("a regular expression"), Required: true,
				Doc: "Regular expression, searched for anywhere in the text."},
			e.field(),
			y.Field{Key: "pass_if", Type: y.Enum(func(s string) { e.PassIfNoMatch = s == "no_match" }, "match", "no_match").Default("match"),
				Doc: "Whether a match passes or fails."},
			e.onError()),
		e.variant(typeJSONSchema, "Passes when the output is valid under a JSON Schema (draft 2020-12).",
			e.criterion(),
			y.Field{Key: "schema", Type: y.Either(
				y.String(y.Into(&e.SchemaPath)).Want("the path of a JSON Schema").Check(oneLine),
				y.JSON(func(v evidence.Value) { e.Schema = v }).Object(),
			), Required: true, Doc: "The schema, in place, or the path of a JSON file, relative to the suite."},
			e.field(), e.onError()),
		e.variant(typeHitRate, "Passes when a relevant passage is among the first k retrieved.",
			e.retrieval(5, e.onError())...),
		e.variant(typeRecall, "Share of the relevant passages among the first k retrieved; a rate when every labelled case has one relevant unit.",
			e.retrieval(5, e.onError())...),
		e.variant(typeMRR, "One over the rank of the first relevant passage among the first k.",
			e.retrieval(10, e.onErrorOfScore())...),
		e.variant(typeNDCG, "Discounted gain of the first k passages over that of the ideal order.",
			e.retrieval(10, e.onErrorOfScore())...),
		e.variant(typeCitationValidity, "Passes when every cited id names a passage that reached the model.",
			e.criterionOr("citations_valid"),
			y.Field{Key: "require_citations", Type: y.Bool(y.Into(&e.RequireCitations)).Default(false),
				Doc: "Fail an answer that cites nothing."},
			e.onError()),
	}, append(e.answerVariants(), e.judgeVariants()...)...)...).At(y.Into(&e.Pos)).Keys(y.Into(&e.KeyPos)).
		Refuse(notByThisTool, foreignEvaluators()...)
}

// foreignEvaluators lists evaluators of the Python tool for agents, media,
// classifiers and policies, which are out of scope.
func foreignEvaluators() []string {
	return []string{
		"model_classifier", "agent_max_steps", "agent_tool_called", "agent_no_tool_loop", "agent_constraints_satisfied",
		"agent_tool_sequence", "agent_no_undeclared_tool", "agent_route", "agent_tool_permissions", "agent_max_handoffs",
		"state_matches", "state_unchanged", "fault_recovery", "metamorphic_relation", "predictive_correct",
		"predictive_absolute_error", "predictive_brier", "predictive_log_loss", "predictive_ranking", "predictive_recall",
		"predictive_precision", "episode_return", "episode_success", "episode_cost_within", "off_policy_value",
		"off_policy_improvement", "sequential_off_policy_value", "sequential_off_policy_improvement", "media_check",
		"image_matches_reference", "conversation_completed", "conversation_judge", "goal_reached", "turns_to_goal",
		"every_turn", "canary_absent",
	}
}

func (e *Evaluator) variant(name, doc string, fields ...y.Field) y.Variant {
	return y.Variant{Name: name, Doc: doc, Table: fields}
}

func (e *Evaluator) criterion() y.Field {
	return y.Field{Key: "criterion", Type: y.Name(y.Into(&e.Criterion)), Required: true,
		Doc: "Name of the criterion, which is that of its metric."}
}

func (e *Evaluator) criterionOr(name string) y.Field {
	f := e.criterion()
	f.Required = false
	f.Doc += " " + name + " when absent."
	return f
}

func (e *Evaluator) field() y.Field {
	return y.Field{Key: "field", Type: y.String(y.Opt(&e.Field)).Want("a dotted path").Check(dottedPath), Null: true,
		Doc: "Dotted path into the output; the whole output when absent or null."}
}

func (e *Evaluator) expectedField() y.Field {
	return y.Field{Key: "expected_field", Type: y.String(y.Opt(&e.ExpectedField)).Want("a dotted path").Check(dottedPath), Null: true,
		Doc: "Dotted path into expected; when absent it is field, or all of expected when that is no object."}
}

func (e *Evaluator) onError() y.Field {
	return y.Field{Key: "on_execution_error", Type: y.Enum(func(s string) { e.FailOnError = s == "fail" }, "missing", "fail").Default("missing"),
		Doc: "What a case without an answer counts as."}
}

func (e *Evaluator) onErrorOfScore() y.Field {
	f := e.onError()
	f.Type = y.Enum(func(string) {}, "missing").Default("missing").
		Refuse("only for criteria that pass or fail: a score has no value for a case without an answer", "fail")
	return f
}

// retrieval lists the keys of a metric of the first k passages.
func (e *Evaluator) retrieval(k float64, more ...y.Field) []y.Field {
	return append([]y.Field{
		e.criterionOr("TYPE_at_K"),
		{Key: "k", Type: y.Int(func(n int) { e.K = n }).Min(1).Default(k), Doc: "Depth of the retrieval that is looked at."},
		e.unit(),
	}, more...)
}

func (e *Evaluator) unit() y.Field {
	return y.Field{Key: "relevance_unit", Type: y.Enum(func(s string) { e.ChunkUnit = s == "chunk" }, "doc", "chunk").Default("doc"),
		Doc: "Whether a document or one of its chunks counts as relevant."}
}

// complete fills in what depends on other keys.
func (e *Evaluator) complete() {
	defer e.completeJudge()
	if e.Criterion != "" {
		return
	}
	switch e.Type {
	case typeHitRate, typeRecall, typeMRR, typeNDCG:
		e.Criterion = fmt.Sprintf("%s_at_%d", e.Type, e.K)
	case typePrecision, typeMAP:
		e.Criterion = fmt.Sprintf("%s_at_%d", strings.TrimSuffix(e.Type, "_at_k"), e.K)
	case typeContextRecall, typeContextPrecision:
		e.Criterion = e.Type
	case typeCitationValidity:
		e.Criterion = "citations_valid"
	case TypeGroundednessJudge:
		e.Criterion = "groundedness"
	case TypeCitationSupportJudge:
		e.Criterion = "citation_support"
	}
}

// Needs lists the kinds of artifact that the evaluator reads.
func (e *Evaluator) Needs() []string {
	switch e.Type {
	case typeHitRate, typeRecall, typeMRR, typeNDCG:
		return []string{evidence.RetrievalKind}
	case typeCitationValidity, TypeCitationSupportJudge:
		return []string{evidence.ContextKind, evidence.CitationsKind}
	case TypeGroundednessJudge:
		return []string{evidence.ContextKind}
	}
	return e.answerNeeds()
}

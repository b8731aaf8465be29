package foreign

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// format is a way in which rows are written.
type format struct {
	name    string
	doc     string   // where the names of its fields come from
	fields  []Field  // what stands where
	outputs []string // fields that belong to an answer
	cells   bool     // the cells of a table hold objects and lists as text
	marks   []string // fields that tell it from others: "a" has it, "a,b" has both
	// own reports whether a row is a case in our own form already.
	own func(r *reader, v evidence.Value, table bool) bool
	// row takes what no field says.
	row func(r *reader, b *built, number int, v evidence.Value, used map[string]bool) string
}

// Formats are the names of the formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats())) }

func field(target, as string, sources ...string) Field {
	return Field{Target: target, As: as, Sources: sources}
}

// hasInput reports whether a row is a case: it names its input as we do and
// nothing says otherwise.
func hasInput(r *reader, v evidence.Value, table bool) bool {
	if table || len(r.spec.Fields) > 0 && !ownTargets(r.spec.Fields) {
		return false
	}
	_, ok := evidence.Member(v, "input")
	return ok
}

// ownTargets reports whether fields only add to a case.
func ownTargets(fields []Field) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool { return f.Target == "input" || strings.HasPrefix(f.Target, "input.") })
}

// plainFields are what a table or a list without a format is read by.
func plainFields() []Field {
	return []Field{
		field("id", "", "id", "_id"),
		field("input", "", "input"),
		field("input.question", "question", "question", "query"),
		field("expected", "", "expected"),
		field("expected.answer", "answer", "answer"),
		field("expected.relevant", "", "relevant"),
		field("expected.gold_context", "", "gold_context"),
		field("metadata", "json", "metadata"),
	}
}

// formats are all formats by name.
func formats() map[string]*format {
	own := func(name string) *format {
		return &format{name: name, fields: plainFields(), own: hasInput, row: targetColumns}
	}
	all := []*format{
		own("jsonl"), own("json"), own("yaml"), own("csv"), own("tsv"),
		{
			name: "ragas", doc: "github.com/vibrantlabsai/ragas, dataset_schema.py",
			marks: []string{"user_input", "ground_truth,question", "ground_truths,question", "reference_contexts"},
			fields: []Field{
				field("id", "", "id"),
				field("input.question", "question", "user_input", "question"),
				field("expected.answer", "answer", "reference", "ground_truth", "ground_truths"),
				field("expected.relevant", "labels", "reference_context_ids"),
				field("metadata.synthesizer_name", "", "synthesizer_name"), field("metadata.persona_name", "", "persona_name"),
				field("metadata.query_style", "", "query_style"), field("metadata.query_length", "", "query_length"),
			},
			outputs: []string{"response", "answer", "retrieved_contexts", "retrieved_context_ids", "contexts"},
			row:     ragasContexts,
		},
		{
			name: "deepeval", doc: "github.com/confident-ai/deepeval, dataset/golden.py",
			marks: []string{"expected_output", "expectedOutput", "actual_output,input", "actualOutput,input", "retrieval_context,input", "retrievalContext,input"},
			fields: []Field{
				field("input.question", "question", "input"),
				field("expected.answer", "text", "expected_output", "expectedOutput"),
				field("expected.gold_context", "passages", "context"),
				field("metadata", "json", "additional_metadata", "additionalMetadata"),
				field("metadata.name", "", "name"), field("metadata.source_file", "", "source_file", "sourceFile"),
			},
			outputs: []string{"actual_output", "actualOutput", "retrieval_context", "retrievalContext", "tools_called", "toolsCalled"},
		},
		{
			name: "langsmith", doc: "reference.langchain.com, exported examples", marks: []string{"inputs"},
			fields: []Field{
				field("id", "", "id"), field("input", "json", "inputs"), field("expected", "json", "outputs"),
				field("metadata", "json", "metadata"), field("metadata.split", "", "split"),
			},
		},
		{
			name: "braintrust", doc: "braintrust.dev, exported data sets", cells: true,
			fields: []Field{
				field("id", "", "id"), field("input.question", "question", "input"), field("expected.answer", "answer", "expected"),
				field("metadata", "json", "metadata"), field("metadata.tags", "", "tags"),
			},
			outputs: []string{"output", "scores"}, marks: []string{"input,tags", "_xact_id"},
		},
		{
			name: "azure", doc: "learn.microsoft.com, evaluate-sdk (document retrieval unverified)",
			marks: []string{"query,ground_truth", "query,response", "retrieval_ground_truth"},
			fields: []Field{
				field("id", "", "id"), field("input.question", "question", "query"), field("expected.answer", "answer", "ground_truth"),
				field("expected.relevant", "labels", "retrieval_ground_truth"),
			},
			outputs: []string{"response", "context", "retrieved_documents"},
		},
		{
			name: "openai_evals", doc: "github.com/openai/evals, docs/build-eval.md", marks: []string{"ideal"},
			fields: []Field{field("id", "", "id"), field("input.question", "question", "input"), field("expected.answer", "answer", "ideal")},
		},
		{
			name: "inspect", doc: "inspect.aisi.org.uk/datasets.html", marks: []string{"target"},
			fields: []Field{
				field("id", "", "id"), field("input.question", "question", "input"), field("input.choices", "list", "choices"),
				field("expected.answer", "answer", "target"), field("metadata", "json", "metadata"),
			},
		},
		{name: "promptfoo", doc: "promptfoo.dev, test cases", marks: []string{"vars", "assert", "__expected", "__expected1"}, row: promptfooRow},
		{name: "squad", doc: "rajpurkar.github.io/SQuAD-explorer"},
		{name: "beir", doc: "github.com/beir-cellar/beir, data_loader.py", fields: queryFields()},
		{name: "trec", doc: "trec.nist.gov topics and qrels", fields: queryFields()},
	}
	byName := make(map[string]*format, len(all))
	for _, f := range all {
		byName[f.name] = f
	}
	return byName
}

// queryFields are those of a file of queries.
func queryFields() []Field {
	return []Field{
		field("id", "", "_id", "id", "qid", "query_id", "query-id"),
		field("input.question", "question", "text", "query", "title", "question"),
		field("metadata", "json", "metadata"),
	}
}

// detect tells a format from the names of a row's fields; nil when none fits, so
// that the row is read as a case or by the usual names.
func detect(names []string, table bool) *format {
	has := func(all string) bool {
		for name := range strings.SplitSeq(all, ",") {
			if !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}
	if has("input,expected") && !has("tags") && !has("_xact_id") {
		return nil
	}
	byName := formats()
	// The order decides: what is more telling goes first.
	for _, name := range []string{"promptfoo", "ragas", "azure", "deepeval", "langsmith", "openai_evals", "inspect", "braintrust"} {
		if slices.ContainsFunc(byName[name].marks, has) {
			return byName[name]
		}
	}
	for _, column := range names {
		if table && strings.HasPrefix(column, "__expected") {
			return byName["promptfoo"]
		}
	}
	return nil
}

// targetColumns takes columns that are named as what they become: input.question,
// expected.answer, metadata.topic.
func targetColumns(r *reader, b *built, number int, v evidence.Value, used map[string]bool) string {
	for name, member := range evidence.Members(v) {
		root, rest, ok := strings.Cut(name, ".")
		if used[name] || !ok || rest == "" || evidence.IsNull(member) || root != "input" && root != "expected" && root != "metadata" {
			continue
		}
		if fault := CheckTarget(name); fault != "" {
			continue
		}
		used[name] = true
		if fault := r.set(b, number, Field{Target: name}, member, true); fault != "" {
			return name + ": " + fault
		}
	}
	return ""
}

// CheckTarget says what is wrong with a target, or "".
func CheckTarget(target string) string {
	root, rest, dotted := strings.Cut(target, ".")
	switch root {
	case "id":
		if dotted {
			return "the id has no parts"
		}
	case "input", "expected", "metadata":
		if dotted && slices.Contains(strings.Split(rest, "."), "") {
			return "it has an empty part"
		}
	default:
		return "want id, input, input.KEY, expected, expected.KEY, metadata or metadata.KEY"
	}
	return ""
}

// ragasContexts gives reference contexts the ids that stand beside them.
func ragasContexts(r *reader, b *built, number int, v evidence.Value, used map[string]bool) string {
	contexts, ok := evidence.Member(v, "reference_contexts")
	if !ok || evidence.IsNull(contexts) {
		return ""
	}
	used["reference_contexts"] = true
	texts, fault := listOf(contexts, "")
	if fault != "" {
		return `field "reference_contexts": ` + fault
	}
	ids := evidence.Value("[]")
	if list, ok := evidence.Member(v, "reference_context_ids"); ok && !evidence.IsNull(list) {
		if ids, fault = listOf(list, ""); fault != "" {
			return `field "reference_context_ids": ` + fault
		}
	}
	var named []string
	for id := range evidence.Elements(ids) {
		name, _ := docID(id)
		named = append(named, name)
	}
	dst := []byte{'['}
	n := 0
	for text := range evidence.Elements(texts) {
		s, ok := evidence.Text(text)
		if !ok {
			return `field "reference_contexts": want texts, found ` + evidence.Shorten(text, 60)
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		id := "gold-" + strconv.Itoa(n+1)
		if n < len(named) && named[n] != "" {
			id = named[n]
		}
		dst = quote(append(quote(append(dst, `{"doc_id":`...), id), `,"text":`...), s)
		dst = append(dst, '}')
		n++
	}
	if n > 0 {
		b.put("expected.gold_context", append(dst, ']'))
	}
	return ""
}

package foreign

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// outcome is what became of a data set, in short.
type outcome struct {
	format  string
	cases   []string
	refused []string // LINE/ROW: MESSAGE
	notes   []string
	err     string
}

func reading(t testing.TB, path string, spec Spec) outcome {
	t.Helper()
	var o outcome
	result, err := Read(path, spec, func(r Row) error {
		if !json.Valid(r.Case) || strings.ContainsAny(string(r.Case), "\r\n") {
			t.Errorf("row %d is no JSON on one line: %s", r.Number, r.Case)
		}
		o.cases = append(o.cases, string(r.Case))
		return nil
	}, func(r Refusal) {
		o.refused = append(o.refused, strconv.Itoa(r.Line)+"/"+strconv.Itoa(r.Number)+": "+r.Message)
	})
	o.format, o.notes = result.Format, result.Notes
	if err != nil {
		o.err = err.Error()
	}
	return o
}

func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Field names from the public documentation of each format, see formats.go; the
// values are ours. Each row is a quirk that users meet.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		spec                Spec
		want                outcome
	}{
		{"own rows in a list", "c.json", `[{"id": 7, "input": {"q": 1.50}, "expected": null}, {"id": "b", "input": "x"}]`, Spec{},
			outcome{format: "json", cases: []string{`{"id":7,"input":{"q":1.50},"expected":null}`, `{"id":"b","input":"x"}`}}},
		{"a list in a file called jsonl", "c.jsonl", "[\n{\"input\": 1},\n 5,\n{\"input\": 2}\n]\n", Spec{},
			outcome{format: "json", cases: []string{`{"input":1}`, `{"input":2}`}, refused: []string{"3/2: want an object, found 5"}}},
		{"objects over several lines", "c.jsonl", "{\n \"input\": 1\n}\n{\n \"input\": 2\n}\n", Spec{},
			outcome{format: "json", cases: []string{`{"input":1}`, `{"input":2}`}}},
		{"a byte order mark, CRLF, blank lines, a NaN and a broken line", "c.jsonl", "\xef\xbb\xbf{\"input\": 1}\r\n\r\n{\"input\": NaN}\r\n{\"input\"\r\n{\"input\": 4}", Spec{},
			outcome{format: "json", cases: []string{`{"input":1}`, `{"input":4}`}, refused: []string{"3/2: NaN is not JSON: a number must be finite, and null stands for none", "4/3: the JSON value ends too early"}}},
		{"rows under a usual name", "c.json", `{"version": 1, "examples": [{"input": 1}]}`, Spec{},
			outcome{format: "json", cases: []string{`{"input":1}`}, notes: []string{`the rows stand under "examples"; "version" beside them is not taken`}}},

		{"ragas", "r.jsonl", `{"user_input": "How long?\n", "reference": "Two years", "reference_contexts": ["It is two years."], "reference_context_ids": [12], "response": "x", "retrieved_contexts": null, "persona_name": "p"}
{"question": "Old names?", "ground_truths": ["a", "b", "a"], "contexts": ["c"], "answer": "x"}
{"user_input": [{"role": "user", "content": "Turns"}], "reference": null}
{"user_input": "  "}
`, Spec{}, outcome{format: "ragas", cases: []string{
			`{"input":{"question":"How long?\n"},"expected":{"answer":"Two years","relevant":[{"doc_id":"12"}],"gold_context":[{"doc_id":"12","text":"It is two years."}]},"metadata":{"persona_name":"p"}}`,
			`{"input":{"question":"Old names?"},"expected":{"answer":{"any_of":["a","b"]}}}`,
			`{"input":{"messages":[{"role":"user","content":"Turns"}]}}`,
		}, refused: []string{`4/4: field "user_input": the question is empty`}, notes: []string{
			`field "answer" of row 2 is not taken: it belongs to an answer, not to a case`,
			`field "contexts" of row 2 is not taken: it belongs to an answer, not to a case`,
			`field "response" of row 1 is not taken: it belongs to an answer, not to a case`,
		}}},
		{"ragas as a table: lists as Python prints them, a column without a name", "r.csv",
			"user_input,reference_contexts,reference,\n\"A?\n\",\"['one, \\'x\\'', \"\"two\"\"]\",yes,0\n", Spec{},
			outcome{format: "ragas", cases: []string{`{"input":{"question":"A?\n"},"expected":{"answer":"yes","gold_context":[{"doc_id":"gold-1","text":"one, 'x'"},{"doc_id":"gold-2","text":"two"}]}}`},
				notes: []string{"a column without a name is not taken; it holds something in row 1"}}},
		{"deepeval: names in both spellings", "g.json", `[{"input": "A?", "expectedOutput": "yes", "context": ["c"], "retrievalContext": ["r"], "additionalMetadata": {"topic": "t"}, "sourceFile": "f.md"}, {"input": "B?", "expected_output": "no", "actual_output": null}]`, Spec{},
			outcome{format: "deepeval", cases: []string{
				`{"input":{"question":"A?"},"expected":{"answer":"yes","gold_context":[{"doc_id":"gold-1","text":"c"}]},"metadata":{"topic":"t","source_file":"f.md"}}`,
				`{"input":{"question":"B?"},"expected":{"answer":"no"}}`,
			}, notes: []string{`field "retrievalContext" of row 1 is not taken: it belongs to an answer, not to a case`}}},
		{"deepeval: lists with bars", "g.csv", "input,expected_output,context\nA?,yes,one|two\n", Spec{},
			outcome{format: "deepeval", cases: []string{`{"input":{"question":"A?"},"expected":{"answer":"yes","gold_context":[{"doc_id":"gold-1","text":"one"},{"doc_id":"gold-2","text":"two"}]}}`}}},
		{"langsmith: outputs null, split a text or a list", "l.jsonl", `{"id": "u", "inputs": {"q": "A?"}, "outputs": null, "split": "base", "created_at": "x"}
{"inputs": {"q": "B?"}, "outputs": {"a": 1}, "split": ["x", "y"], "metadata": {"k": 1}}
`, Spec{}, outcome{format: "langsmith", cases: []string{
			`{"id":"u","input":{"q":"A?"},"metadata":{"split":"base"}}`,
			`{"input":{"q":"B?"},"expected":{"a":1},"metadata":{"k":1,"split":["x","y"]}}`,
		}, notes: []string{`field "created_at" of row 1 is not taken`}}},
		{"braintrust: JSON in cells", "b.csv", "id,input,expected,metadata,tags\n1,\"{\"\"q\"\": 1}\",\"[\"\"a\"\",\"\"b\"\"]\",\"{\"\"k\"\": 2}\",t\n", Spec{Format: "braintrust"},
			outcome{format: "braintrust", cases: []string{`{"id":"1","input":{"q":1},"expected":{"answer":{"any_of":["a","b"]}},"metadata":{"k":2,"tags":"t"}}`}}},
		{"azure", "a.jsonl", `{"query": "A?", "response": "x", "context": "c", "ground_truth": "yes", "retrieval_ground_truth": [{"document_id": "d", "query_relevance_label": 3}, {"document_id": 5, "query_relevance_label": -1}]}`, Spec{},
			outcome{format: "azure", cases: []string{`{"input":{"question":"A?"},"expected":{"answer":"yes","relevant":[{"doc_id":"d","grade":3},{"doc_id":"5","grade":0}]}}`},
				notes: []string{"a grade below 0 of row 1 is taken as 0, not relevant", `field "context" of row 1 is not taken: it belongs to an answer, not to a case`, `field "response" of row 1 is not taken: it belongs to an answer, not to a case`}}},
		{"openai evals: a chat, and a list of ideals", "o.jsonl", `{"input": [{"role": "user", "content": "A?"}], "ideal": ["yes", "Yes."]}
{"input": "B?", "ideal": "no"}
`, Spec{}, outcome{format: "openai_evals", cases: []string{
			`{"input":{"messages":[{"role":"user","content":"A?"}]},"expected":{"answer":{"any_of":["yes","Yes."]}}}`,
			`{"input":{"question":"B?"},"expected":{"answer":"no"}}`,
		}}},
		{"inspect", "i.csv", "input,target,choices,id\nA?,yes,\"[\"\"yes\"\",\"\"no\"\"]\",1\n", Spec{},
			outcome{format: "inspect", cases: []string{`{"id":"1","input":{"question":"A?","choices":["yes","no"]},"expected":{"answer":"yes"}}`}}},
		{"squad, version 2", "s.json", `{"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "C", "qas": [
			{"id": "1", "question": "A?", "answers": [{"text": "x", "answer_start": 0}, {"text": "x", "answer_start": 0}, {"text": "y", "answer_start": 3}], "is_impossible": false},
			{"id": "2", "question": "B?", "answers": [], "is_impossible": true}, {"id": "3", "answers": []}]}]}]}`, Spec{},
			outcome{format: "squad", cases: []string{
				`{"id":"1","input":{"question":"A?"},"expected":{"answer":{"any_of":["x","y"]},"refusal":false,"gold_context":[{"doc_id":"T","chunk_id":"1","text":"C"}]},"metadata":{"title":"T"}}`,
				`{"id":"2","input":{"question":"B?"},"expected":{"refusal":true},"metadata":{"title":"T"}}`,
			}, refused: []string{"1/3: no question"}}},
		{"promptfoo as a table", "p.csv", "question,__expected,__expected2,__description,__metadata:topic,__threshold\nA?,yes,\"contains-any: a, b\",d,t,0.5\nB?,\"not-contains: x\",\"icontains: Maybe\",,,\nC?,is-refusal,,,,\nfile://q.txt,x,,,,\n", Spec{},
			outcome{format: "promptfoo", cases: []string{
				`{"input":{"question":"A?"},"expected":{"equals":"yes","contains":{"any_of":["a","b"]}},"metadata":{"description":"d","topic":"t"}}`,
				`{"input":{"question":"B?"},"expected":{"icontains":{"all_of":["Maybe"]}}}`,
				`{"input":{"question":"C?"},"expected":{"refusal":true}}`,
			}, refused: []string{"5/4: the variable question stands in another file (file://q.txt): put its text here"},
				notes: []string{"column __threshold of row 1 is not taken: it says how promptfoo asks or counts", "the assertion not-contains of row 2 has no counterpart in a case: see docs/datasets.md for what judges it"}}},
		{"promptfoo's own file: what YAML makes other things of stays text", "promptfooconfig.yaml", `prompts: [x]
defaultTest: {vars: {lang: en}, assert: [{type: contains, value: a}]}
tests:
  - vars: {question: yes, n: 012, v: 1.10, k: 7}
    assert: [{type: contains, value: b}, {type: latency, threshold: 100}]
  - vars: {question: [a, b]}
`, Spec{}, outcome{format: "promptfoo", cases: []string{
			`{"input":{"lang":"en","question":"yes","n":"012","v":"1.10","k":7},"expected":{"contains":{"all_of":["a","b"]}}}`,
		}, refused: []string{"6/2: vars.question is a list, of which promptfoo makes a test for each element: write the tests out"},
			notes: []string{`the rows stand under "tests"; "prompts" beside them is not taken`, "the assertion latency of row 1 has no counterpart in a case: see docs/datasets.md for what judges it"}}},
		{"own rows as YAML", "c.yaml", "- id: a\n  input: {q: 1}\n  expected: {answer: no}\n- {id: 007, input: {}}\n", Spec{},
			outcome{format: "json", cases: []string{`{"id":"a","input":{"q":1},"expected":{"answer":"no"}}`, `{"id":"007","input":{}}`}}},

		{"a table with semicolons", "t.csv", "sep=;\nid;question;answer;metadata.topic;tags\n007;A; B?;yes;t;x\n", Spec{},
			outcome{format: "csv", refused: []string{"3/1: the row has 6 cells and the table 5 columns: quote cells that hold the separator"}}},
		{"a table by the usual names", "t.csv", "id;question;answer;metadata.topic;tags\n007;\"A; B?\";1.10;t;x\n\n;C?;;;\n", Spec{},
			outcome{format: "csv", cases: []string{`{"id":"007","input":{"question":"A; B?"},"expected":{"answer":"1.10"},"metadata":{"topic":"t"}}`, `{"input":{"question":"C?"}}`},
				notes: []string{`field "tags" of row 1 is not taken`}}},
		{"tabs, an open quote", "t.tsv", "question\tanswer\nA?\t\"yes\nB?\tno\n", Spec{},
			outcome{format: "csv", refused: []string{"2/1: the row cannot be read as a table: a quoted cell does not end, or text follows its closing quote: double the quotes inside a cell"},
				err: "a quoted cell in the row at line 2 does not end, so that no row behind it can be found"}},
		{"an open quote over lines that ends", "t.csv", "question,answer\nA?,\"yes\nno\" x\nB?,no\n", Spec{},
			outcome{format: "csv", cases: []string{`{"input":{"question":"B?"},"expected":{"answer":"no"}}`}, refused: []string{"2/1: the row cannot be read as a table: a quoted cell does not end, or text follows its closing quote: double the quotes inside a cell"}}},
		{"lines that end with a carriage return", "t.csv", "id,question\r1.0,A?\r1.10,B?\r", Spec{},
			outcome{format: "csv", cases: []string{`{"id":"1","input":{"question":"A?"}}`, `{"id":"1.10","input":{"question":"B?"}}`}, notes: []string{"the id of row 1 is a number with a fraction of zero, which is left out"}}},
		{"a first row that is broken", "t.jsonl", "{\"question\": NaN}\n{\"user_input\": \"A?\"}\n", Spec{},
			outcome{format: "ragas", cases: []string{`{"input":{"question":"A?"}}`}, refused: []string{"1/1: NaN is not JSON: a number must be finite, and null stands for none"}}},
		{"columns in capitals", "t.csv", "Nr,Question\n1,A?\n", Spec{},
			outcome{format: "csv", refused: []string{`2/1: nothing to ask: none of the fields input, question, query holds anything (to read "Question", say with fields input.question: Question)`},
				notes: []string{`field "Nr" of row 1 is not taken`, `field "Question" of row 1 is not taken`}}},
		{"fields that no row has", "t.csv", "id,question,answer\n1,A?,x\n", Spec{ID: "Nr", Fields: []Field{{Target: "expected.answer", Sources: []string{"anser"}}, {Target: "metadata.topic", Sources: []string{"answer"}}}},
			outcome{format: "csv", cases: []string{`{"input":{"question":"A?"},"metadata":{"topic":"x"}}`}, notes: []string{`field "id" of row 1 is not taken`},
				err: "no row has the field anser, which is to be the expected.answer: is answer meant?"}},
		{"a field that is empty in every row", "t.csv", "id,question,topic\n1,A?,\n", Spec{Fields: []Field{{Target: "metadata.topic", Sources: []string{"topic"}}}},
			outcome{format: "csv", cases: []string{`{"id":"1","input":{"question":"A?"}}`}}},
		{"own rows with fields and an id", "t.jsonl", `{"id": "x", "Nr": 7, "input": "A?", "topic": "t", "more": 1}`, Spec{ID: "Nr", Fields: []Field{{Target: "metadata.topic", Sources: []string{"topic"}}}},
			outcome{format: "json", cases: []string{`{"id":"7","input":"A?","metadata":{"topic":"t"}}`}, notes: []string{`field "id" of row 1 is not taken`, `field "more" of row 1 is not taken`}}},
		{"braintrust as a table", "t.csv", "id,input,expected,metadata,tags\n1,\"{\"\"q\"\": \"\"A?\"\"}\",\"{\"\"answer\"\": 5}\",,\"[\"\"x\"\"]\"\n2,B?,{no JSON,,\n", Spec{},
			outcome{format: "braintrust", cases: []string{`{"id":"1","input":{"q":"A?"},"expected":{"answer":5},"metadata":{"tags":["x"]}}`, `{"id":"2","input":{"question":"B?"},"expected":{"answer":"{no JSON"}}`}}},
		{"what Python prints in cells", "t.csv", "user_input,reference,reference_contexts\n\"[{'content': 'Hi', 'type': 'human'}, {'content': \"\"it's\"\", 'n': None}]\",x,\"['a; b\\nc', 'd']\"\n", Spec{},
			outcome{format: "ragas", cases: []string{`{"input":{"messages":[{"content":"Hi","type":"human"},{"content":"it's","n":null}]},"expected":{"answer":"x","gold_context":[{"doc_id":"gold-1","text":"a; b\nc"},{"doc_id":"gold-2","text":"d"}]}}`}}},
		{"goldens over several lines", "t.json", "[\n {\n  \"input\": \"A?\",\n  \"expected_output\": \"[1]\",\n  \"additional_metadata\": {\n   \"l\": [\n    \"x\"\n   ]\n  }\n }\n]\n", Spec{},
			outcome{format: "deepeval", cases: []string{`{"input":{"question":"A?"},"expected":{"answer":"[1]"},"metadata":{"l":["x"]}}`}}},
		{"a table of goldens", "t.csv", "input,expected_output,context,additional_metadata\nA?,[1],one; still one|two,{'k': 1}\n", Spec{},
			outcome{format: "deepeval", cases: []string{`{"input":{"question":"A?"},"expected":{"answer":"[1]","gold_context":[{"doc_id":"gold-1","text":"one; still one"},{"doc_id":"gold-2","text":"two"}]},"metadata":{"k":1}}`}}},
		{"grades that are none", "t.jsonl", `{"question": "A?", "relevant": [{"doc_id": "d", "grade": "NaN"}]}`, Spec{},
			outcome{format: "json", refused: []string{`1/1: field "relevant": [0]: grade: want a finite number, found "NaN"`}}},
		{"columns as pandas writes them", "t.json", `{"user_input": {"0": "A?", "1": "B?"}, "reference": {"0": "x", "1": null}}`, Spec{}, outcome{err: "the file holds columns, as pandas' to_json writes them, and no rows"}},
		{"a workbook", "t.csv", "PK\x03\x04" + strings.Repeat("\x00", 40), Spec{}, outcome{err: "cannot read the data set: the file is a zip archive, as .xlsx and .ods are: save the table as CSV, or unpack it"}},
		{"a pointer of Git LFS", "t.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", Spec{}, outcome{err: "the file is a pointer of Git LFS: fetch the file first"}},
		{"a packed file", "t.jsonl.gz", "\x1f\x8b\x08" + strings.Repeat("\x00", 40), Spec{}, outcome{err: "the file is compressed with gzip: unpack it first"}},
		{"expectations of promptfoo that are none", "c.yaml", `
- vars: {q: "A {{b}}"}
  assert: [{type: contains, value: "{{b}}"}]
- vars: {q: B}
  assert: [{type: contains-any, value: [x, "file://y.txt"]}]
- vars: {q: C}
  assert: [{type: contains, value: x, weight: 0, transform: output.a}, {type: latency, threshold: 5}]
- vars: {q: D}
  assert: [contains]
`, Spec{}, outcome{format: "promptfoo", cases: []string{`{"input":{"q":"C"},"expected":{"contains":{"all_of":["x"]}}}`},
			refused: []string{"2/1: what is expected is a template ({{b}}): write it out", "4/2: what is expected stands in another file (file://y.txt): put its text here", `8/4: assert: want {type: …, value: …}, found "contains"`},
			notes: []string{"vars.q of row 1 holds a template, which is sent as it stands", "weight of an assertion contains of row 3 is not taken", "transform of an assertion contains of row 3 is not taken",
				"the assertion latency of row 3 has no counterpart in a case: see docs/datasets.md for what judges it"}}},
		{"expectations of promptfoo are texts", "c.yaml", "- vars: {q: A, n: 5}\n  assert: [{type: equals, value: 5}, {type: contains-any, value: [true, 1.10]}]\n", Spec{},
			outcome{format: "promptfoo", cases: []string{`{"input":{"q":"A","n":5},"expected":{"equals":"5","contains":{"any_of":["true","1.10"]}}}`}}},
		{"lists of promptfoo in one text", "c.yaml", `
- vars: {q: A}
  assert: [{type: contains-any, value: "red, \"a, \"\"b\"\", c\" ,, d"}, {type: icontains-all, value: "x"}]
- vars: {q: B}
  assert: [{type: contains-any, value: '"a" b'}]
- vars: {q: C}
  assert: [{type: contains-all, value: []}]
- vars: {q: D}
  assert: [{type: contains, value: ""}]
- vars: {q: E}
  assert: [{type: contains-any, value: " , "}]
- vars: {q: F}
  assert: [{type: equals, value: {a: 1}}]
`, Spec{}, outcome{format: "promptfoo", cases: []string{
			`{"input":{"q":"A"},"expected":{"contains":{"any_of":["red","a, \"b\", c","d"]},"icontains":{"all_of":["x"]}}}`,
			`{"input":{"q":"F"},"expected":{"equals":{"a":1}}}`,
		}, refused: []string{`4/2: the assertion contains-any: a text in quotes does not end, or no comma follows it: "a" b`, "6/3: the assertion contains-all has no value", "8/4: the assertion contains has no value", "10/5: the assertion contains-any has no value"},
			notes: []string{"an equals of row 6 is a list or an object: an answer that holds it as text does not equal it"}}},
		{"tests of promptfoo with defaults elsewhere", "c.yaml", "defaultTest: file://d.yaml\ntests: [{vars: {q: A}}]\n", Spec{}, outcome{err: "defaultTest stands in another file (file://d.yaml): put its text here"}},
		{"types of promptfoo of two words in cells", "t.csv", "q,__expected,__expected2\nA,similar:cosine(0.8): x, \nB,trajectory:tool-used: x, contains: y\nC,skill-used: x,similar: a:b\nD,similarly: x,contains(a): b\n", Spec{},
			outcome{format: "promptfoo", cases: []string{`{"input":{"q":"A"}}`, `{"input":{"q":"B"},"expected":{"contains":{"all_of":["y"]}}}`, `{"input":{"q":"C"}}`, `{"input":{"q":"D"},"expected":{"equals":"similarly: x"}}`},
				notes: []string{"the assertion similar:cosine of row 1 has no counterpart in a case: see docs/datasets.md for what judges it", "the assertion trajectory:tool-used of row 2 has no counterpart in a case: see docs/datasets.md for what judges it",
					"the assertion skill-used of row 3 has no counterpart in a case: see docs/datasets.md for what judges it", "the assertion similar of row 3 has no counterpart in a case: see docs/datasets.md for what judges it",
					"a second equals of row 4 has no counterpart: an answer equals one text"}}},
		{"kinds of promptfoo in cells", "t.csv", "q,__expected,id\nA {{x}},contains-html,1\nB,tool-call-f1(0.5): x,2\nC,Note: text,3\n", Spec{ID: "id"},
			outcome{format: "promptfoo", cases: []string{`{"id":"1","input":{"q":"A {{x}}"}}`, `{"id":"2","input":{"q":"B"}}`, `{"id":"3","input":{"q":"C"},"expected":{"equals":"Note: text"}}`},
				notes: []string{"the variable q of row 1 holds a template, which is sent as it stands", "the assertion contains-html of row 1 has no counterpart in a case: see docs/datasets.md for what judges it", "the assertion tool-call-f1 of row 2 has no counterpart in a case: see docs/datasets.md for what judges it"}}},
		{"fields of the suite", "t.csv", "key,q,docs,price,ok\n1,A?,kb-1;kb-2,5,yes\n2,B?,\"kb-1, kb-2\",x,no\n3,,kb-1,1,no\n", Spec{Format: "csv", ID: "key", Fields: []Field{
			{Target: "input.question", Sources: []string{"nothing", "q"}}, {Target: "expected.relevant", Sources: []string{"docs"}},
			{Target: "expected.price", Sources: []string{"price"}, As: "number"}, {Target: "expected.refusal", Sources: []string{"ok"}}}},
			outcome{format: "csv", cases: []string{`{"id":"1","input":{"question":"A?"},"expected":{"relevant":[{"doc_id":"kb-1"},{"doc_id":"kb-2"}],"price":5,"refusal":true}}`},
				refused: []string{`3/2: field "docs": "kb-1, kb-2" looks like a list with commas: say split: "," in fields, or write a JSON list`, "4/3: nothing to ask: none of the fields nothing, q holds anything (another one is named with fields, such as input.question: FIELD)"}}},
		{"fields that meet", "t.json", `[{"q": "A?", "e": "x", "f": "y"}]`, Spec{Fields: []Field{{Target: "input", Sources: []string{"q"}}, {Target: "expected", Sources: []string{"e"}}, {Target: "expected.more", Sources: []string{"f"}}}},
			outcome{format: "json", refused: []string{`1/1: expected.more stands in a place that is "x" already`}}},
		{"ids that tables made numbers of", "t.json", `[{"id": 123.0, "question": "A?"}, {"id": 1.5, "question": "B?"}, {"id": " x ", "question": "C?"}, {"id": [1], "question": "D?"}]`, Spec{},
			outcome{format: "json", cases: []string{`{"id":"123","input":{"question":"A?"}}`, `{"id":"x","input":{"question":"C?"}}`},
				refused: []string{`1/2: field "id": the id is the number 1.5: want text or a whole number`, `1/4: field "id": the id is [1]: want text or a whole number`},
				notes:   []string{"the id of row 1 is a number with a fraction of zero, which is left out", "the id of row 3 was written with white space around it, which is left out"}}},
		{"expected texts that are empty", "t.jsonl", `{"user_input": "A?", "reference": " ", "reference_contexts": ["c"]}
{"user_input": "B?", "ground_truths": [""]}
{"user_input": "C?", "ground_truths": ["", "x"]}
`, Spec{},
			outcome{format: "ragas", cases: []string{`{"input":{"question":"A?"},"expected":{"gold_context":[{"doc_id":"gold-1","text":"c"}]}}`, `{"input":{"question":"B?"}}`, `{"input":{"question":"C?"},"expected":{"answer":{"any_of":["","x"]}}}`},
				notes: []string{"the expected.answer of 2 rows (first: row 1) is an empty text, so that nothing is expected"}}},
		{"lists that are empty", "t.jsonl", "{\"input\": \"A?\", \"ideal\": []}\n{\"input\": [], \"ideal\": \"x\"}\n", Spec{},
			outcome{format: "openai_evals", cases: []string{`{"input":{"question":"A?"}}`}, refused: []string{`2/2: field "input": the question is empty`}, notes: []string{"the expected.answer of row 1 is an empty list, so that nothing is expected"}}},
		{"rows that are short", "t.csv", "id,question,answer\n1,What is\nit?,5\n2,B?,\n", Spec{},
			outcome{format: "csv", cases: []string{`{"id":"1","input":{"question":"What is"}}`, `{"id":"it?","input":{"question":"5"}}`, `{"id":"2","input":{"question":"B?"}}`},
				notes: []string{"2 rows (first: row 1) with fewer cells than the table has columns: what is not there is taken as empty"}}},
		{"cells of what is not there, and an object as a label", "t.csv", "id,question,answer,relevant\n1,A?,NaN,\"{\"\"doc_id\"\": \"\"d1\"\", \"\"grade\"\": 2}\"\n2,B?,None,\"{'doc_id': 'd2'}\"\n3,C?,nan,\n4,D?,NaN,\n", Spec{},
			outcome{format: "csv", cases: []string{`{"id":"1","input":{"question":"A?"},"expected":{"answer":"NaN","relevant":[{"doc_id":"d1","grade":2}]}}`, `{"id":"2","input":{"question":"B?"},"expected":{"answer":"None","relevant":[{"doc_id":"d2"}]}}`, `{"id":"3","input":{"question":"C?"},"expected":{"answer":"nan"}}`, `{"id":"4","input":{"question":"D?"},"expected":{"answer":"NaN"}}`},
				notes: []string{`the cell "answer" of 2 rows (first: row 1) is NaN, which is taken as that text: leave it empty where there is nothing`, `the cell "answer" of row 2 is None, which is taken as that text: leave it empty where there is nothing`,
					`the cell "answer" of row 3 is nan, which is taken as that text: leave it empty where there is nothing`}}},
		{"nothing", "t.csv", "", Spec{}, outcome{err: "the data set is empty: want a first row that names the columns"}},
		{"columns of one name", "t.csv", "a,a\n1,2\n", Spec{}, outcome{err: `the columns 1 and 2 are both named "a"`}},
		{"a list that breaks off", "t.json", `[{"input": 1}, {"input": `, Spec{}, outcome{format: "json", cases: []string{`{"input":1}`}, err: "not valid JSON, in row 2 near line 1"}},
		{"an unknown format", "t.json", `[]`, Spec{Format: "raggas"}, outcome{err: `unknown format "raggas", did you mean ragas?`}},
		{"a file of another tool's tests", "c.yaml", "tests: file://t.csv\n", Spec{}, outcome{err: "the tests stand in another file (file://t.csv)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := reading(t, file(t, c.file, c.content), c.spec)
			if c.want.err != "" && strings.Contains(got.err, c.want.err) {
				got.err = c.want.err
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Spreadsheets write UTF-16 with tabs.
func TestUTF16(t *testing.T) {
	text := "question\tanswer\nWie viele Plätze? 😀\tfünf\n"
	for _, order := range []string{"little", "big", "little without a mark"} {
		var b []byte
		units := utf16.Encode([]rune(text))
		if order != "little without a mark" {
			units = append([]uint16{0xfeff}, units...)
		}
		for _, u := range units {
			if order == "big" {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		got := reading(t, file(t, "t.csv", string(b)), Spec{})
		want := []string{`{"input":{"question":"Wie viele Plätze? 😀"},"expected":{"answer":"fünf"}}`}
		if diff := cmp.Diff(want, got.cases); diff != "" {
			t.Errorf("%s: %s\n%+v", order, diff, got)
		}
	}
}

func TestBEIR(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("queries.jsonl", "{\"_id\": \"007\", \"text\": \"A?\", \"metadata\": {}}\n{\"_id\": \"7\", \"text\": \"B?\"}\n{\"_id\": \"8\", \"text\": \"C?\"}\n")
	write("qrels/test.tsv", "query-id\tcorpus-id\tscore\n007\td1\t2\n007\td#2\t0\n9\td1\t1\n")
	write("qrels/dev.tsv", "7\td1\t1\n7\td2\n")
	got := reading(t, dir, Spec{Format: "beir"})
	want := outcome{format: "beir", cases: []string{`{"id":"007","input":{"question":"A?"},"expected":{"relevant":[{"doc_id":"d1","grade":2},{"doc_id":"d#2","grade":0}]},"metadata":{}}`},
		notes: []string{"the first line of test.tsv names the columns", "2 queries are not judged in this split and do not belong to it", "the judgments of 1 id has no case (first: 9)"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A first line that is a judgment is one, although other readers drop it.
	got = reading(t, dir, Spec{Split: "dev"})
	if len(got.cases) != 1 || !strings.Contains(got.cases[0], `"d1"`) || len(got.refused) != 1 || got.refused[0] != "2/0: a judgment has 3 or 4 columns, this line has 2" {
		t.Errorf("dev: %+v", got)
	}
	if got := reading(t, dir, Spec{Split: "none"}); !strings.Contains(got.err, "say with split which judgments to take") {
		t.Errorf("no such split: %+v", got)
	}
	if got := reading(t, t.TempDir(), Spec{}); !strings.Contains(got.err, "without queries.jsonl") {
		t.Errorf("an empty directory: %+v", got)
	}
}

func TestTREC(t *testing.T) {
	qrels := file(t, "qrels.txt", "301 0 FR940202-2-00150 1\n301   0\tCR93E-10071 -1\n303 0 x 1\nbroken line\n")
	topics := "<top>\n<num> Number: 301\n<title> International\nOrganized Crime\n<desc> Description:\nx\n</top>\n<top>\n<num> Number: 302 </num>\n<title>Poliomyelitis</title>\n</top>\n"
	labels := `{"id":"301","input":{"question":"International Organized Crime"},"expected":{"relevant":[{"doc_id":"FR940202-2-00150","grade":1},{"doc_id":"CR93E-10071","grade":0}]}}`
	for name, content := range map[string]string{"topics.sgml": topics, "topics.tsv": "301\tInternational Organized Crime\n302\tPoliomyelitis\n"} {
		got := reading(t, file(t, name, content), Spec{Format: "trec", Qrels: qrels})
		want := outcome{format: "trec", cases: []string{labels, `{"id":"302","input":{"question":"Poliomyelitis"}}`}, refused: []string{"4/0: a judgment has 3 or 4 columns, this line has 2"},
			notes: []string{"a grade below 0 of row 2 of qrels.txt is taken as 0, not relevant", "the judgments of 1 id has no case (first: 303)", "1 row has no judgment, so that retrieval metrics leave them out"}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	own := file(t, "c.jsonl", `{"id": 301, "input": {"q": "x"}, "expected": {"answer": "a"}}`+"\n")
	got := reading(t, own, Spec{Qrels: qrels})
	if len(got.cases) != 1 || !strings.HasPrefix(got.cases[0], `{"id":"301","input":{"q":"x"},"expected":{"answer":"a","relevant":[{"doc_id":"FR9`) {
		t.Errorf("joined to cases: %+v", got)
	}
}

func TestPythonList(t *testing.T) {
	for text, want := range map[string]string{
		`['a', "b's", 'c\'d', 'e\n\x41\u00e9\U0001F600\q']`: `["a","b's","c'd","e\nAé😀\\q"]`,
		`[]`: `[]`, `[1, 2.5, True, None, nan, [ 'x' ]]`: `[1,2.5,true,null,null,["x"]]`,
		"['a'\n 'b']": `["a","b"]`, `['a',]`: `["a"]`, `[np.int64(5), np.str_('a b'), {'k': np.float64(1.5)}]`: `[5,"a b",{"k":1.5}]`, `{'a': {"b": 1}, 'c': [{}], }`: `{"a":{"b":1},"c":[{}]}`,
	} {
		if got, err := python(text); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{`['a'`, `['a`, `[a]`, `['a'] x`, `['\x4']`, strings.Repeat("[", 50), strings.Repeat("{'a':", 50), `{1: 2}`, `[np.int64(5]`, `[np.x]`, `[5)]`, strings.Repeat("np.a(", 50), `{'a' 1}`, `{'a': 1 'b': 2}`, `{'a': 1`} {
		if got, err := python(text); err == nil {
			t.Errorf("%s is read as %s", text, got)
		}
	}
}

func FuzzList(f *testing.F) {
	f.Add(`['a', "b"]`)
	f.Add(`a|b`)
	f.Fuzz(func(t *testing.T, text string) {
		if list, fault := listOf(quote(nil, text), ""); fault == "" && !json.Valid(list) {
			t.Errorf("%q gives %s", text, list)
		}
	})
}

// Whatever a file holds, reading it ends, and each case is one line of JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"[{\"input\": 1}]", "{\"input\":\n1}", "{\"input\": NaN}\n{\"input\": 1}\n", "[{\"input\": {\n\"a\": 1}, \"expected_output\": 1}]", "question,answer\na,b\n", "- {input: yes}\n", "<top><num>1<title>x", "{\"data\":[{\"paragraphs\":[{\"qas\":[]}]}]}",
		"a\tb\n\"", "\xff\xfea\x00,\x00", "__expected,q\ncontains: x,y\n", "tests: [{vars: {a: 1}, assert: [{type: contains, value: x}]}]",
	} {
		for kind := range uint8(4) {
			f.Add([]byte(seed), kind)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, kind uint8) {
		name := []string{"f.json", "f.csv", "f.yaml", "f"}[kind%4]
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"", "promptfoo", "trec", "ragas"} {
			_, _ = Read(path, Spec{Format: format}, func(r Row) error {
				if !json.Valid(r.Case) || strings.ContainsRune(string(r.Case), '\n') {
					t.Errorf("a case is %q", r.Case)
				}
				return nil
			}, func(Refusal) {})
		}
	})
}

// The suite that a configuration becomes is one that loads, whatever it holds:
// package suite reads it in testdata/script/import.txtar. Here: it ends, and
// nothing that looks like a secret is copied.
func FuzzPromptfoo(f *testing.F) {
	f.Add([]byte("prompts: [x]\nproviders: [{id: https, config: {url: 'https://x/', headers: {X-Api-Key: hunter2hunter2}, transformResponse: json.a}}]\ndefaultTest: {assert: [{type: regex, value: a}, {type: regex, value: b}, {type: cost, threshold: 1}]}\ntests: [{vars: {q: x}}]\n"))
	f.Add([]byte("tests: x\nprompts: y\ntargets: {id: 'http://x/'}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "promptfooconfig.yaml")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := OpenPromptfoo(path)
		if err != nil || config == nil {
			return
		}
		suite, _ := config.Suite("p", "data/cases.jsonl", []string{"contains", "equals", "icontains", "refusal", "other"}, anyPattern)
		if strings.Contains(string(suite), "hunter2hunter2") && strings.Contains(string(content), "X-Api-Key: hunter2hunter2") {
			t.Errorf("a secret is copied:\n%s", suite)
		}
	})
}

// Tabs separate what holds blanks, a judgment that stands twice is named, and a
// case without judgments is counted once, however many rows are refused.
func TestQrelsNotes(t *testing.T) {
	qrels := file(t, "q.tsv", "query-id\tcorpus-id\tscore\n1\tmy notes.pdf\t2\r\n1\tmy notes.pdf\t1\n301\t0\tFT 1\t1\n302 0  FT-2\t1\n303\t\t1\n")
	got := reading(t, file(t, "t.jsonl", `{"id": "1", "question": "A?"}
{"id": "301", "question": "B?"}
{"id": "302", "question": "C?"}
{"id": "9", "question": "D?"}
{"id": "8"}
{"id": "1", "question": "E?"}
`), Spec{Qrels: qrels})
	want := outcome{format: "json", cases: []string{
		`{"id":"1","input":{"question":"A?"},"expected":{"relevant":[{"doc_id":"my notes.pdf","grade":2},{"doc_id":"my notes.pdf","grade":1}]}}`,
		`{"id":"301","input":{"question":"B?"},"expected":{"relevant":[{"doc_id":"FT 1","grade":1}]}}`,
		`{"id":"302","input":{"question":"C?"},"expected":{"relevant":[{"doc_id":"FT-2","grade":1}]}}`,
		`{"id":"9","input":{"question":"D?"}}`,
		`{"id":"1","input":{"question":"E?"},"expected":{"relevant":[{"doc_id":"my notes.pdf","grade":2},{"doc_id":"my notes.pdf","grade":1}]}}`,
	}, refused: []string{"6/0: a judgment names a query and a document, and one of the two is empty", "5/5: nothing to ask: none of the fields input, question, query holds anything (another one is named with fields, such as input.question: FIELD)"},
		notes: []string{"the first line of q.tsv names the columns", "a judgment in row 3 of q.tsv names a query and a document that were judged before: the highest grade counts", "1 row has no judgment, so that retrieval metrics leave them out"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzQrels(f *testing.F) {
	f.Add("q 0 d 1\nq d 2\nquery-id corpus-id score\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "qrels")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &reader{path: path, refuse: func(Refusal) {}, noted: map[string]*tally{}}
		q, err := r.readQrels(path)
		if err != nil {
			return
		}
		for id, labels := range q.labels {
			if !json.Valid(append(append([]byte{'['}, labels...), ']')) {
				t.Errorf("judgments of %q are %s", id, labels)
			}
		}
	})
}

func anyPattern(pattern string) error {
	if strings.Contains(pattern, "(?<") {
		return errors.New("no look-behind")
	}
	return nil
}

// A suite holds no secret, nothing that stays to be filled in, and no pattern that
// it could not be loaded with.
func TestPromptfooSuite(t *testing.T) {
	p, err := OpenPromptfoo(file(t, "promptfooconfig.yaml", `
prompts: ["{{q}}"]
providers:
  - {id: "https://u:pw1@rag.example.com/{{env.PLACE}}?lang=en&api_key=k-1", config: {headers: {Session-Token: t-1}, queryParams: {v: 2}, method: PATCH}}
defaultTest:
  assert:
    - {type: regex, value: "(?<=x)y"}
    - {type: not-contains, value: "{{lang}}"}
    - {type: starts-with, value: "file://start.txt"}
    - {type: llm-rubric, value: "about {{q}}"}
    - {type: latency, threshold: 100}
    - {type: latency, threshold: 200}
tests: [{vars: {q: A}}]
`))
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	text, listed := p.Suite("p", "data/cases.jsonl", nil, anyPattern)
	suite, all := string(text), strings.Join(listed, "\n")
	for _, want := range []string{`url: "https://rag.example.com/${PLACE}?lang=en&api_key=${API_KEY}"`, "criterion: answers", "latency_p95"} {
		if strings.Count(suite, want) != 1 {
			t.Errorf("want %s once in the suite:\n%s", want, suite)
		}
	}
	for _, want := range []string{
		"parameter api_key of the url: its value is not copied; it is read from the environment as API_KEY", "user and password of the url are not copied",
		"header Session-Token: its value is not copied", "the pattern (?<=x)y cannot be taken: no look-behind", "not-contains of defaultTest: what is expected is a template",
		"starts-with of defaultTest: what is expected stands in another file", "llm-rubric of defaultTest: rubric_judge asks a model", "latency below 200 ms",
		"queryParams of https://rag.example.com/{{env.PLACE}}?lang=en", "method PATCH of https://rag",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("want %s in the list:\n%s", want, all)
		}
	}
	for _, secret := range []string{"pw1", "k-1", "t-1"} {
		if strings.Contains(suite+all, secret) {
			t.Errorf("%s is copied:\n%s\n%s", secret, suite, all)
		}
	}
}

// Whatever changes what an assertion means is listed.
func TestPromptfooSuiteListsWhatItDrops(t *testing.T) {
	p, err := OpenPromptfoo(file(t, "promptfooconfig.yaml", `
prompts: ["{{q}}"]
defaultTest:
  assert:
    - {type: not-contains, value: x, transform: output.a, weight: 0}
    - {type: is-json, value: {type: object}}
tests: [{vars: {q: A}}]
`))
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	suite, listed := p.Suite("p", "data/cases.jsonl", []string{"equals"}, anyPattern)
	want := []string{
		"transform of assertion not-contains of defaultTest", "weight of assertion not-contains of defaultTest",
		"assertion is-json of defaultTest: what stands at output_path is judged, and a text that holds JSON is a text",
		"prompts: oloproof asks the deployed service, which has its own; the variables of each test are sent as the JSON body",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "{type: exact_match, criterion: equals, expected_field: equals, strip: false}"; !strings.Contains(string(suite), want) {
		t.Errorf("want %s in the suite:\n%s", want, suite)
	}
}

// A row that never ends is refused before it fills the memory, and many short
// ones are not.
func TestLongRow(t *testing.T) {
	c := &lineCounter{source: strings.NewReader(strings.Repeat("x", 100)), left: 40}
	if text, err := io.ReadAll(c); err != ErrLong || len(text) < 40 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	lines := &lineCounter{source: iotest.OneByteReader(strings.NewReader(strings.Repeat("xy\n", 1000)))}
	f := &text{Reader: bufio.NewReaderSize(lines, 16), lines: lines}
	for line := 1; ; line++ {
		row, at, err := nextLine(f, line)
		if err == io.EOF && len(row) == 0 {
			if line != 1001 {
				t.Errorf("%d lines", line-1)
			}
			return
		}
		if err != nil || at != line || f.lines.left < MaxRow-64 {
			t.Fatalf("line %d: %q, %v, %d bytes left", line, row, err, f.lines.left)
		}
	}
}

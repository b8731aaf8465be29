package foreign

import (
	"cmp"
	"strconv"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// isSQuAD reports whether an object is a data set of SQuAD: articles with
// paragraphs with questions.
func isSQuAD(v evidence.Value) bool {
	_, err := evidence.Lookup(v, "data.0.paragraphs.0.qas")
	return err == nil
}

// readSQuAD reads the questions of articles. Of several answers any is right, and
// a question of version 2 without one should be declined.
func (r *reader) readSQuAD(v evidence.Value, line int) error {
	if !isSQuAD(v) {
		return r.fail("the file is no data set of SQuAD: want {data: [{paragraphs: [{context, qas: […]}]}]}")
	}
	if err := r.choose(formats()["squad"]); err != nil {
		return err
	}
	data, _ := evidence.Member(v, "data")
	n := 0
	for article := range evidence.Elements(data) {
		titled, _ := evidence.Member(article, "title")
		title, _ := evidence.Text(titled)
		paragraphs, _ := evidence.Member(article, "paragraphs")
		place := 0
		for paragraph := range evidence.Elements(paragraphs) {
			place++
			context, _ := evidence.Member(paragraph, "context")
			questions, _ := evidence.Member(paragraph, "qas")
			for q := range evidence.Elements(questions) {
				n++
				if err := r.squadQuestion(n, line, title, place, context, q); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *reader) squadQuestion(n, line int, title string, place int, context, q evidence.Value) error {
	r.rows++
	var b built
	refuse := func(message string) error {
		r.refuse(Refusal{File: r.path, Number: n, Line: line, Message: message, Source: evidence.Shorten(q, 200)})
		return nil
	}
	if id, ok := evidence.Member(q, "id"); ok {
		if fault := r.setID(&b, n, id, false); fault != "" {
			return refuse(fault)
		}
	}
	question, _ := evidence.Member(q, "question")
	if text, ok := evidence.Text(question); !ok || text == "" {
		return refuse("no question")
	}
	b.put("input.question", question)
	var texts []byte
	answers, _ := evidence.Member(q, "answers")
	for a := range evidence.Elements(answers) {
		if text, ok := evidence.Member(a, "text"); ok && text.Kind() == '"' {
			if texts != nil {
				texts = append(texts, ',')
			}
			texts = append(texts, text...)
		}
	}
	impossible, second := evidence.Member(q, "is_impossible")
	declines := impossible.Kind() == 't' || second && len(texts) == 0
	switch {
	case second && declines:
		b.put("expected.refusal", evidence.Value("true"))
	case len(texts) == 0:
		r.note(n, "%s without an answer: nothing is expected of it")
	default:
		_ = r.setAnswer(&b, n, Field{Target: "expected.answer"}, append(append([]byte{'['}, texts...), ']'), false) // texts
		if second {
			b.put("expected.refusal", evidence.Value("false"))
		}
	}
	if text, ok := evidence.Text(context); ok && !declines {
		gold := quote([]byte(`[{"doc_id":`), cmp.Or(title, "squad"))
		gold = quote(append(gold, `,"chunk_id":`...), strconv.Itoa(place))
		gold = append(quote(append(gold, `,"text":`...), text), "}]"...)
		b.put("expected.gold_context", gold)
	}
	if title != "" {
		b.put("metadata.title", quote(nil, title))
	}
	c, fault := r.finish(&b)
	if fault != "" {
		return refuse(fault)
	}
	return r.take(Row{Number: n, Line: line, Case: c})
}

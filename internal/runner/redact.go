package runner

import (
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// Redact takes secrets out of an execution (output, artifacts, log and error) and out
// of what was judged of it. Run does it for the records of its sink; who shows
// or keeps executions without Run needs it too. The case is the user's own.
func Redact(r *redact.Redactor, e *evidence.Execution, judgments []evidence.Judgment) {
	if r.Empty() {
		return
	}
	for i := range judgments {
		judgments[i].Detail = r.String(judgments[i].Detail)
		if a := judgments[i].Asked; a != nil {
			a.Reply, a.Model = r.String(a.Reply), r.String(a.Model)
		}
	}
	e.Output, e.Log = r.JSON(e.Output), r.String(e.Log)
	if e.Error != nil {
		e.Error.Message, e.Error.URL, e.Error.Snippet = r.String(e.Error.Message), r.String(e.Error.URL), r.String(e.Error.Snippet)
	}
	for i := range e.Artifacts.Retrieval {
		redactRetrieval(r, &e.Artifacts.Retrieval[i])
	}
	for i := range e.Artifacts.Context {
		redactContext(r, &e.Artifacts.Context[i])
	}
	for _, c := range e.Artifacts.Citations {
		for i := range c.IDs {
			c.IDs[i] = r.String(c.IDs[i])
		}
	}
	for _, values := range e.Artifacts.Other {
		for i := range values {
			values[i] = r.JSON(values[i])
		}
	}
}

func redactRetrieval(r *redact.Redactor, a *evidence.Retrieval) {
	a.Query = r.JSON(a.Query)
	for i := range a.Candidates {
		p := &a.Candidates[i]
		p.DocID, p.ChunkID, p.Text = r.String(p.DocID), r.String(p.ChunkID), redactText(r, p.Text)
		p.Metadata = r.JSON(p.Metadata)
	}
}

func redactContext(r *redact.Redactor, a *evidence.Context) {
	for i := range a.Items {
		redactItem(r, &a.Items[i])
	}
	for i := range a.Dropped {
		redactItem(r, &a.Dropped[i].ContextItem)
	}
}

func redactItem(r *redact.Redactor, item *evidence.ContextItem) {
	item.DocID, item.ChunkID, item.Text = r.String(item.DocID), r.String(item.ChunkID), redactText(r, item.Text)
}

func redactText(r *redact.Redactor, text *string) *string {
	if text == nil {
		return nil
	}
	clean := r.String(*text)
	return &clean
}

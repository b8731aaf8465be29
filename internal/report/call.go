package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// How much of one call is shown: characters of a value, passages of a list.
const (
	mostValue    = 400
	mostPassages = 6
)

// Call prints what a call of the system for one case gave, and what every
// evaluator made of it: the judgments are those of the specs that are no
// quantiles, in their order. Values and artifacts are shown in short, with the
// hint, such as a command, that shows all of them; without a hint in full.
func Call(w io.Writer, c *evidence.Case, e *evidence.Execution, specs []evidence.MetricSpec, judgments []evidence.Judgment, hint string) error {
	p := newPrinter(w, 0, false)
	switch {
	case hint == "":
		p.value("input", c.Input)
		p.execution(e)
	case e.Error != nil:
		p.short("input", c.Input)
		p.tries(e)
		if e.Error.URL == "" {
			p.lines(e.Error.Snippet)
		}
		return p.flush() // the error is what matters, and it stands in the message that follows
	default:
		p.short("input", c.Input)
		p.tries(e)
		p.short("output", e.Output)
		p.short("as it came", e.RawOutput)
		p.artifactLines(&e.Artifacts)
		if e.Log != "" {
			p.raw("log:")
			p.lines(e.Log)
		}
		p.raw("(in full: " + Clean(hint) + ")")
	}
	p.raw("judgments:")
	m := &evidence.Manifest{Metrics: specs}
	for _, s := range specs {
		if !s.Judged() || len(judgments) == 0 {
			continue
		}
		p.judgment(evidence.NamedJudgment{Criterion: s.ID, Judgment: judgments[0]}, m)
		if j := judgments[0]; j.State == evidence.Missing {
			if remedy := Remedy(j.Reason, func(string) string { return "" }); remedy != "" {
				p.raw("    " + remedy)
			}
		}
		judgments = judgments[1:]
	}
	return p.flush()
}

// short prints JSON on one line, cut where it is long.
func (p *printer) short(name string, v evidence.Value) {
	if len(v) > 0 {
		p.raw(name + ": " + cutRunes(compact(v), mostValue))
	}
}

// artifactLines prints one line for each artifact.
func (p *printer) artifactLines(a *evidence.Artifacts) {
	for _, r := range a.Retrieval {
		ids := make([]string, len(r.Candidates))
		for i, c := range r.Candidates {
			ids[i] = passage(c.DocID, c.ChunkID)
		}
		source := ""
		if r.Source != "" {
			source = " (" + r.Source + ")"
		}
		p.raw(fmt.Sprintf("%s%s: depth %d, %s", evidence.RetrievalKind, source, r.Depth, listed("candidate", ids)))
	}
	for _, c := range a.Context {
		items := make([]string, len(c.Items))
		for i, item := range c.Items {
			items[i] = passage(item.DocID, item.ChunkID)
		}
		line := evidence.ContextKind + ": " + listed("item", items)
		if len(c.Dropped) > 0 {
			dropped := make([]string, len(c.Dropped))
			for i, d := range c.Dropped {
				dropped[i] = passage(d.DocID, d.ChunkID) + " (" + d.Reason + ")"
			}
			line += "; dropped " + some(dropped)
		}
		p.raw(line)
	}
	for _, c := range a.Citations {
		p.raw(evidence.CitationsKind + ": " + listed("id", c.IDs))
	}
	for _, kind := range slices.Sorted(maps.Keys(a.Other)) {
		for _, v := range a.Other[kind] {
			p.short(Clean(kind), v)
		}
	}
}

func passage(doc, chunk string) string {
	if chunk == "" {
		return doc
	}
	return doc + "#" + chunk
}

// listed counts names and lists the first of them.
func listed(what string, names []string) string {
	if len(names) == 0 {
		return "no " + what
	}
	return count(len(names), what) + ": " + some(names)
}

func some(names []string) string {
	if len(names) > mostPassages {
		return strings.Join(cleanAll(names[:mostPassages]), ", ") + fmt.Sprintf(" and %d more", len(names)-mostPassages)
	}
	return strings.Join(cleanAll(names), ", ")
}

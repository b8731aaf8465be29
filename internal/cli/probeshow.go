package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/probe"
	"github.com/oloproof/oloproof-go/internal/report"
)

// mostShown is how many characters of a text are shown, and how many ids.
const (
	mostShown = 300
	mostIDs   = 8
)

func (r *probing) print() error {
	var b strings.Builder
	r.printCall(&b)
	if r.preset != nil {
		fmt.Fprintf(&b, "Recognised the preset %s (%s)", r.preset.Name, r.preset.About)
		switch {
		case len(r.marks) == 0:
			b.WriteString(", as you said.\n")
		case r.stream != nil:
			fmt.Fprintf(&b, ": its frames hold %s.\n", report.Clean(strings.Join(r.marks, ", ")))
		default:
			fmt.Fprintf(&b, ": the body holds %s.\n", report.Clean(strings.Join(r.marks, ", ")))
		}
	} else {
		b.WriteString("No known service: what follows is proposed from the structure.\n")
	}
	b.WriteString("\n")
	r.printFound(&b)
	if r.empty() {
		fmt.Fprintf(&b, "\n%s\n", r.nothing())
		_, err := r.env.Stdout.Write([]byte(b.String()))
		return err
	}
	r.printMapped(&b)
	fmt.Fprintf(&b, "\nFor system.http of the suite, beside url:\n\n%s", indented(r.keys, "    "))
	fmt.Fprintf(&b, "\nNext: %s\n", report.Clean(r.again("--write my-suite")))
	_, err := r.env.Stdout.Write([]byte(b.String()))
	return err
}

// empty reports whether there is nothing in the body that could be judged.
func (r *probing) empty() bool {
	return r.preset == nil && r.proposal.Answer == nil && r.proposal.Sources == nil
}

// nothing says what to do with a body that holds nothing to judge. Such a one
// may be where an answer begins.
func (r *probing) nothing() string {
	l := probe.FindLater(r.document, r.Status)
	if l == nil {
		return "There is nothing in this body that could be judged. Was it an error, or does the service take the question under another name? See --input."
	}
	next := "URL"
	if place, _, more := strings.Cut(r.URL, "?"); !more && place != "" {
		next = strings.TrimSuffix(place, "/") + "/" + l.Value
	}
	headers := ""
	for _, h := range r.Headers {
		headers += " --header " + shellWord(h)
	}
	if !l.Work {
		return lines(
			"The body holds little but "+l.ID+": it may open a session in which the question is asked next.",
			"Look at the answer of that request, wherever the service takes it, and let that be the suite:", "",
			"    oloproof probe "+shellWord(next+"/ask")+" --input '{\"question\": \"…\"}'"+headers+" --write my-suite", "",
			"Then put the present URL back into it, and beside url, with the body that is there:", "",
			"    setup: {}   # opens the session, each attempt its own",
			"    request: {path: \"/{{setup."+l.ID+"}}/ask\"}", "",
			"More: several requests, in docs/endpoints.md")
	}
	why, state := fmt.Sprintf("status %d", r.Status), l.State
	if state != "" {
		why = state + " is " + strconv.Quote(l.Word)
	} else {
		state = "status"
	}
	body, _ := r.template(textsOf(evidence.Value(r.Input)))
	return lines(
		"The service seems to take the question and to answer later: "+why+", and "+l.ID+" names the work.",
		"Look at the answer when it is there, wherever the service has it, and let that be the suite:", "",
		"    oloproof probe "+shellWord(next)+" --method GET"+headers+" --write my-suite", "",
		"Then put the present URL back into it, and in place of request:", "",
		"    request: {body: "+body+"}",
		"    poll: {path: \"/{{accepted."+l.ID+"}}\", until: {path: "+state+", equals: done}}   # the word that says that it is done", "",
		"More: work in the background, in docs/endpoints.md")
}

// lines joins lines, which may hold what came from outside.
func lines(all ...string) string {
	for i := range all {
		all[i] = report.Clean(all[i])
	}
	return strings.Join(all, "\n")
}

func (r *probing) printCall(b *strings.Builder) {
	if r.flags.from == "" {
		fmt.Fprintf(b, "%s %s: status %d in %.0f ms, %s, %d bytes\n", r.Method, r.publicURL(), r.Status, r.LatencyMS, orNone(r.Received["Content-Type"], "no content type"), len(r.body))
	} else {
		fmt.Fprintf(b, "%d bytes from %s; nothing was called\n", len(r.body), r.flags.from)
	}
	if s := r.stream; s != nil {
		fmt.Fprintf(b, "A stream (%s) of %d frames, put together by %s", s.Format, len(s.Frames), s.Assemble)
		if s.Text != "" {
			fmt.Fprintf(b, " of %s", report.Clean(s.Text))
		}
		b.WriteString(".\n")
		if s.Done == "eof" {
			b.WriteString("It has no end signal, so a cut answer could not be told from a whole one.\n")
		}
	}
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return report.Clean(s)
}

// printFound says where everything stands and how sure that is.
func (r *probing) printFound(b *strings.Builder) {
	p := r.proposal
	line := func(what string, sure probe.Sureness, where, why string) {
		fmt.Fprintf(b, "%-10s %-9s %s\n%21s%s\n", what, sure, report.Clean(where), "", report.Clean(why))
	}
	if a := p.Answer; a != nil {
		where := a.Path
		if where == "" {
			where = a.JQ
		}
		if where == "" {
			where = "the whole body"
		}
		line("answer", a.Sure, where, a.Why)
		fmt.Fprintf(b, "%21s> %s\n", "", shown(a.Text))
	} else {
		fmt.Fprintf(b, "%-10s not found\n", "answer")
	}
	if s := p.Sources; s != nil {
		where := s.Items
		if where == "" {
			where = "by jq"
		}
		line("sources", s.Sure, where, s.Why)
		fmt.Fprintf(b, "%21s> %s (%s)\n", "", shownIDs(s.DocIDs), map[string]string{
			"retrieval": "what was retrieved", "context": "what was put into the prompt", "cited": "only what the answer cites",
		}[s.Kind])
	} else {
		fmt.Fprintf(b, "%-10s not found\n", "sources")
	}
	if c := p.Citations; c != nil {
		where := c.Markers
		switch {
		case c.Regex != "" && c.Markers == "":
			where = "ids in the answer"
		case c.JQ != "":
			where = "by jq"
		}
		line("citations", c.Sure, where, c.Why)
		fmt.Fprintf(b, "%21s> %s\n", "", shownIDs(c.IDs))
	}
	if p.OK != "" {
		line("good when", probe.Likely, p.OK, p.OKWhy)
	}
	if u := p.Usage; u != nil {
		line("tokens", probe.Sure, strings.TrimSpace(u.Input+" "+u.Output), "counted by the service")
	}
	missing := p.Missing
	if r.preset != nil { // it names a depth
		missing = slices.DeleteFunc(slices.Clone(missing), func(m string) bool { return strings.HasPrefix(m, "the depth") })
	}
	if len(missing) > 0 {
		b.WriteString("\nNot found:\n")
		for _, m := range missing {
			fmt.Fprintf(b, "  %s\n", report.Clean(m))
		}
	}
}

// printMapped says what the program makes of the body with the keys below.
func (r *probing) printMapped(b *strings.Builder) {
	if r.mapped == nil {
		if r.untried != "" {
			fmt.Fprintf(b, "\nThe keys below could not be tried on this body alone: %s\n", report.Clean(r.untried))
		}
		return
	}
	e := r.mapped
	b.WriteString("\nMapped with the keys below, as a run would:\n")
	fmt.Fprintf(b, "  output: %s\n", report.Clean(evidence.Shorten(e.Output, mostShown)))
	for _, a := range e.Artifacts.Retrieval {
		var ids []string
		for _, c := range a.Candidates {
			ids = append(ids, named(c.DocID, c.ChunkID))
		}
		fmt.Fprintf(b, "  %s: %s\n", evidence.RetrievalKind, shownIDs(ids))
	}
	for _, a := range e.Artifacts.Context {
		var ids []string
		for _, c := range a.Items {
			ids = append(ids, named(c.DocID, c.ChunkID))
		}
		fmt.Fprintf(b, "  %s: %s\n", evidence.ContextKind, shownIDs(ids))
	}
	for _, a := range e.Artifacts.Citations {
		fmt.Fprintf(b, "  %s: %s\n", evidence.CitationsKind, shownIDs(a.IDs))
	}
}

func named(doc, chunk string) string {
	if chunk == "" {
		return doc
	}
	return doc + "#" + chunk
}

func shown(s string) string {
	runes := []rune(report.Clean(s))
	if len(runes) > mostShown {
		return string(runes[:mostShown-1]) + "…"
	}
	return string(runes)
}

func shownIDs(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	var all []string
	for _, id := range ids[:min(len(ids), mostIDs)] {
		all = append(all, shown(id))
	}
	text := strings.Join(all, ", ")
	if more := len(ids) - mostIDs; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// foundLine is one thing that was found, for JSON.
type foundLine struct {
	Sure string   `json:"sure"`
	Path string   `json:"path,omitempty"`
	JQ   string   `json:"jq,omitempty"`
	Why  string   `json:"why"`
	Text string   `json:"text,omitempty"`
	IDs  []string `json:"ids,omitempty"`
	Kind string   `json:"source,omitempty"`
}

func (r *probing) printJSON() error {
	p := r.proposal
	out := struct {
		Type      string     `json:"type"`
		URL       string     `json:"url,omitempty"`
		Status    int        `json:"status,omitempty"`
		LatencyMS float64    `json:"latency_ms,omitempty"`
		Preset    string     `json:"preset,omitempty"`
		Marks     []string   `json:"marks,omitempty"`
		Assemble  string     `json:"assemble,omitempty"`
		Answer    *foundLine `json:"answer"`
		Sources   *foundLine `json:"sources"`
		Citations *foundLine `json:"citations"`
		Missing   []string   `json:"missing"`
		HTTP      string     `json:"system_http"`
	}{Type: "probe", URL: r.URL, Status: r.Status, LatencyMS: r.LatencyMS, Marks: r.marks, Missing: slices.Clone(p.Missing), HTTP: r.keys}
	if r.preset != nil {
		out.Preset = r.preset.Name
	}
	if r.stream != nil {
		out.Assemble = r.stream.Assemble
	}
	if a := p.Answer; a != nil {
		out.Answer = &foundLine{Sure: a.Sure.String(), Path: a.Path, JQ: a.JQ, Why: a.Why, Text: a.Text}
	}
	if s := p.Sources; s != nil {
		out.Sources = &foundLine{Sure: s.Sure.String(), Path: s.Items, JQ: s.JQ, Why: s.Why, IDs: s.DocIDs, Kind: s.Kind}
	}
	if c := p.Citations; c != nil {
		out.Citations = &foundLine{Sure: c.Sure.String(), JQ: c.JQ, Why: c.Why, IDs: c.IDs}
	}
	enc := json.NewEncoder(r.env.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

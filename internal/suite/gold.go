package suite

import (
	"bytes"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// GoldContext is system.http.gold_context: how an endpoint is asked for an answer
// from passages that it is given, in the place of those that it would find. It
// is no part of the system's identity: what answers is the same.
type GoldContext struct {
	Request mapping.Request // what it does not say is as in system.http.request
	TopK    int             // how many candidates may reach the model; 0 when the suite does not say
	Pos     Position
}

// Texts is the name of the passages' texts alone in such a request, beside
// [Passages].
const Texts = "texts"

func (h *HTTP) goldContext() y.Type {
	g := &GoldContext{Request: mapping.Request{Key: h.prefix() + "gold_context"}}
	return h.mapping(g.Request.Key, h.requestTable(&g.Request), y.Table{
		{Key: "top_k", Type: y.Int(y.Into(&g.TopK)).Min(1), Null: true,
			Doc: "How many of the first candidates may reach the model. diagnose needs it to tell a passage that was ranked too low from one that was dropped."},
	}).At(func(at Position) {
		h.Places[g.Request.Key] = at
		h.Gold, g.Pos = g, at
	})
}

// WithPassages returns the endpoint as it is asked with passages. Of such an
// answer only the output, the usage and the cited ids are taken, those if they
// are there: what was retrieved and what reached the model is what was given.
func (h *HTTP) WithPassages() *HTTP {
	g := *h
	r, main := h.Gold.Request, h.Calls.Main
	main.Key, main.Body = r.Key, r.Body
	if r.Method != "" {
		main.Method = r.Method
	}
	if r.Path != "" {
		main.Path = r.Path
	}
	if r.Query != nil {
		main.Query = r.Query
	}
	if r.Headers != nil {
		main.Headers = r.Headers
	}
	g.Calls.Main, g.Calls.Given = main, append(slices.Clone(h.Calls.Given), Passages, Texts)
	g.Artifacts = nil
	for _, a := range h.Artifacts {
		counted := a.Mapped != nil && a.Mapped.Markers != nil // in a list that is not there
		if a.Kind == evidence.CitationsKind && !counted {
			a.Optional = true
			if a.Mapped != nil {
				mapped := *a.Mapped
				a.Mapped = &mapped
			}
			g.Artifacts = append(g.Artifacts, a)
		}
	}
	g.completeMapping()
	g.Mapping, _ = mapping.Compile(g.Spec, g.documents()) // its problems are those of the endpoint itself
	return &g
}

// checkGold finds what is wrong with the request that gives passages.
func (h *HTTP) checkGold(f *y.File) {
	if h.Gold == nil {
		return
	}
	switch body := h.Gold.Request.Body; {
	case body == nil:
		f.Problem(h.Gold.Pos, "system.http.gold_context.body is missing: it is the request with {{passages}} in it, the passages to answer from")
	case !bytes.Contains(body, []byte("{{"+Passages)) && !bytes.Contains(body, []byte("{{"+Texts)) && !bytes.Contains(body, []byte("{{ ")):
		f.Problem(h.Place(h.Gold.Request.Key+".body"), "system.http.gold_context.body names neither {{passages}} nor {{texts}}, so the service would answer from what it finds by itself")
	default:
		_, problems := mapping.CompileCalls(&h.WithPassages().Calls, nil)
		for _, p := range problems {
			f.Problem(h.Place(p.Key), "%s", p.Message)
		}
	}
}

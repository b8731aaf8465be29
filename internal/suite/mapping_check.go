package suite

import (
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/stream"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// completeMapping fills in what of a mapping depends on other keys.
func (h *HTTP) completeMapping() {
	h.Spec.Artifacts = nil
	for i := range h.Artifacts {
		a := &h.Artifacts[i]
		if m := a.Mapped; m != nil {
			m.Optional = a.Optional
			if a.Path != "" && m.Value == nil { // a path from another document
				m.Value = &mapping.Value{Paths: []string{a.Path}, Key: m.Key}
			}
			if m.Markers != nil && m.Markers.Of == "" {
				m.Markers.Of = h.countedByMarkers()
			}
			h.Spec.Artifacts = append(h.Spec.Artifacts, *m)
			continue
		}
		key := h.prefix() + "artifacts." + a.Kind
		h.Spec.Artifacts = append(h.Spec.Artifacts, mapping.Artifact{
			Kind: a.Kind, Optional: a.Optional, Key: key, Value: &mapping.Value{Paths: []string{a.Path}, Key: key},
		})
	}
	o := &h.Spec.Output
	if v := o.Value; v != nil && len(v.Paths) == 0 && v.JQ == "" && v.From == "" {
		o.Value = nil
	}
	if o.Value == nil && o.Fields == nil && h.OutputPath != "" {
		o.Value = &mapping.Value{Paths: []string{h.OutputPath}, Type: "any", Key: h.prefix() + "output_path"}
	}
	if h.Calls.Main.Method == "" {
		h.Calls.Main.Method = h.Method
	}
}

// countedByMarkers is the list that markers count when the suite does not say.
func (h *HTTP) countedByMarkers() string {
	if h.records(evidence.ContextKind) {
		return evidence.ContextKind
	}
	return evidence.RetrievalKind
}

func (h *HTTP) records(kind string) bool {
	return slices.ContainsFunc(h.Artifacts, func(a ArtifactPath) bool { return a.Kind == kind })
}

// Mapped reports whether the suite says more of the requests and answers than
// url, method, headers, output_path and the paths of artifacts do.
func (h *HTTP) Mapped() bool { return len(h.mappedMeaning()) > 0 }

// mappedKeys are the keys that only a mapping has.
var mappedKeys = []string{"request", "setup", "requests", "poll", "depth", "ok", "error_message", "output", "strip", "usage"}

// mappedMeaning is what the keys of a mapping mean, those that are written only.
func (h *HTTP) mappedMeaning() meaning {
	m := meaning{}
	of := map[string]any{
		"request": h.Calls.Main, "setup": h.Calls.Setup, "requests": h.Calls.Requests, "poll": h.Calls.Poll,
		"depth": h.Spec.Depth, "ok": h.Spec.OK, "error_message": h.Spec.ErrorMessage, "output": h.Spec.Output,
		"strip": h.Spec.Strip, "usage": h.Spec.Usage,
	}
	for _, key := range mappedKeys {
		if _, written := h.Places[h.prefix()+key]; written {
			m[key] = of[key]
		}
	}
	if len(h.Calls.Requests) > 0 {
		m["requests"] = h.Calls.Requests
	}
	var made []mapping.Artifact
	for _, a := range h.Artifacts {
		if a.Mapped != nil {
			made = append(made, *a.Mapped)
		}
	}
	if made != nil {
		slices.SortFunc(made, func(a, b mapping.Artifact) int { return strings.Compare(a.Kind, b.Kind) })
		m["made_artifacts"] = made
	}
	return m
}

// checkMapping finds what is wrong across the keys of a mapping.
func (h *HTTP) checkMapping(f *strictyaml.File) {
	at := func(key, format string, args ...any) { f.Problem(h.Place(key), format, args...) }
	if _, twice := h.KeyPos["output"]; twice && h.KeyPos["output_path"].Line > 0 {
		at(h.prefix()+"output", "output and output_path both say where the output stands: remove one")
	}
	if method, ok := h.KeyPos["method"]; ok && h.Calls.Main.Method != h.Method {
		f.Problem(method, "system.http.method is %s and system.http.request.method is %s: remove one", h.Method, h.Calls.Main.Method)
	}
	spec := h.Spec
	spec.Artifacts = nil // those that can be read
	for i := range h.Artifacts {
		if h.checkArtifactForm(f, &h.Artifacts[i]) {
			spec.Artifacts = append(spec.Artifacts, h.Spec.Artifacts[i])
		}
	}
	if !h.Mapped() {
		return
	}
	var problems, ofCalls []mapping.Problem
	h.Mapping, problems = mapping.Compile(spec, h.documents())
	_, ofCalls = mapping.CompileCalls(&h.Calls, nil)
	for _, p := range append(problems, ofCalls...) {
		at(p.Key, "%s", p.Message)
	}
	if len(problems) > 0 {
		h.Mapping = nil
	}
}

// documents lists the answers that a mapping may name.
func (h *HTTP) documents() []string {
	names := h.Calls.Documents()
	if h.Stream != nil && h.Stream.Assemble == stream.Collect {
		names = append(names, mapping.Frames)
	}
	return names
}

// URLs lists the URLs that requests beside that of the case go to, as written.
func (h *HTTP) URLs() []string {
	var all []string
	add := func(r *mapping.Request) {
		if r.URL != "" {
			all = append(all, r.URL)
		}
	}
	if h.Calls.Setup != nil {
		add(h.Calls.Setup)
	}
	for i := range h.Calls.Requests {
		add(&h.Calls.Requests[i])
	}
	if h.Calls.Poll != nil {
		add(&h.Calls.Poll.Request)
	}
	if h.Auth != nil && h.Auth.OAuth2.TokenURL != "" {
		all = append(all, h.Auth.OAuth2.TokenURL)
	}
	return all
}

// Templates reports whether requests are made of templates, or are several.
func (h *HTTP) Templates() bool {
	_, request := h.Places[h.prefix()+"request"]
	return request || h.Calls.Setup != nil || h.Calls.Poll != nil || len(h.Calls.Requests) > 0
}

// Sequence returns the requests of a case, with what comes from the environment
// left as it is written; nil when there is only that with the input as its body.
func (h *HTTP) Sequence() *mapping.Sequence {
	if !h.Templates() {
		return nil
	}
	s, _ := mapping.CompileCalls(&h.Calls, nil)
	return s
}

// checkArtifactForm reports whether an artifact says in one way where it stands.
func (h *HTTP) checkArtifactForm(f *strictyaml.File, a *ArtifactPath) bool {
	m := a.Mapped
	if m == nil {
		key := h.prefix() + "artifacts." + a.Kind
		_, written := h.Places[key+".path"]
		if _, form := h.Places[key+formOf]; form && !written {
			f.Problem(a.Pos, "%s says not where the artifact stands: write one of path, jq, items and markers", key)
		}
		return written || a.Path != ""
	}
	var forms []string
	for _, form := range []struct {
		name string
		used bool
	}{
		{"path", a.Path != ""}, {"jq", m.Value != nil && m.Value.JQ != ""}, {"items", m.Items != nil}, {"markers", m.Markers != nil && m.Markers.Style+m.Markers.Regex != ""},
	} {
		if form.used {
			forms = append(forms, form.name)
		}
	}
	report := func(format string, args ...any) {
		f.Problem(h.Place(m.Key), "%s: "+format, append([]any{m.Key}, args...)...)
	}
	formed := len(forms) == 1
	switch {
	case len(forms) == 0:
		f.Problem(h.Place(m.Key), "%s says not where the artifact stands: write one of path, jq, items and markers", m.Key)
	case len(forms) > 1:
		report("%s and %s both say where the artifact stands: keep one", forms[0], forms[1])
	case m.Fields != nil && m.Items == nil:
		report("fields are those of an element of items: add items")
	case m.Markers != nil && a.Kind != evidence.CitationsKind:
		report("markers, base, of, distinct and in are for citations/v1 only")
	case m.Markers != nil && len(forms) == 1 && forms[0] != "markers":
		report("base, of, distinct and in belong to markers, which are not given")
	case m.Source != "" && a.Kind != evidence.RetrievalKind:
		report("source is for retrieval/v1 only")
	case m.Query != nil && a.Kind != evidence.RetrievalKind:
		report("query is for retrieval/v1 only")
	case m.Markers != nil && !h.records(m.Markers.Of):
		report("markers count the list of %s, which is not recorded: add it to artifacts", m.Markers.Of)
	}
	known := mapping.FieldsOf(a.Kind)
	for _, field := range m.Fields {
		if known != nil && !slices.Contains(known, field.Name) {
			f.Problem(h.Place(field.Key), "%s: %s has no field %s%s (allowed: %s)", m.Key, a.Kind, field.Name, didYouMean(field.Name, known), strings.Join(known, ", "))
			formed = false
		}
	}
	return formed
}

// didYouMean proposes the nearest of several words, or nothing.
func didYouMean(got string, allowed []string) string {
	if near := problem.Nearest(got, allowed); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// citedOnly says why a metric of a ranking cannot be made of what an answer
// cites, or "".
func (h *HTTP) citedOnly(e *Evaluator) string {
	ranking := []string{typeRecall, typeMRR, typeNDCG, "map", "context_recall"}
	if !slices.Contains(ranking, e.Type) {
		return ""
	}
	for _, a := range h.Artifacts {
		if a.Kind == evidence.RetrievalKind && a.Mapped != nil && a.Mapped.Source == mapping.SourceCited {
			return "the evaluator " + e.Type + " needs all that was retrieved, in its order, and retrieval/v1 holds only what the answer cites (source: cited): " +
				"a relevant passage that was found and not cited would count as not found. Use hit_rate or citation_validity, or record the retrieval from another request"
		}
	}
	return ""
}

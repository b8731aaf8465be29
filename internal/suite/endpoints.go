package suite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Endpoints is system.rag.http: an endpoint for each stage of a staged system.
type Endpoints struct {
	Retrieve, Generate *HTTP
	Pos                Position
	KeyPos             map[string]Position
}

// Passages is the name of the passages in the request of a generation.
const Passages = "passages"

func newEndpoints() *Endpoints {
	e := &Endpoints{Retrieve: &HTTP{Key: "system.rag.http.retrieve."}, Generate: &HTTP{Key: "system.rag.http.generate."}}
	e.Generate.Calls.Given = []string{Passages}
	return e
}

func (e *Endpoints) table() *y.MapType {
	return y.Mapping(y.Table{
		{Key: "retrieve", Type: e.Retrieve.stageTable(), Required: true,
			Doc: "The endpoint of the retrieval. Its request is {input, depth} as JSON unless request says otherwise, and its answer a retrieval or the list of its candidates unless artifacts does."},
		{Key: "generate", Type: e.Generate.stageTable(), Required: true,
			Doc: "The endpoint of the generation. Its request is {input, passages} as JSON unless request says otherwise, with {{passages}} beside the other templates, and its answer the output unless output says otherwise."},
	}).Keys(y.Into(&e.KeyPos))
}

// stageTable lists the keys of the endpoint of a stage: those of system.http that
// say what is sent and what the answer means.
func (h *HTTP) stageTable() *y.MapType {
	const later = "not supported for the endpoint of a stage: "
	mapped := slices.DeleteFunc(h.mappingTable(), func(f y.Field) bool { return f.Key == "depth" })
	return y.Mapping(slices.Concat(y.Table{
		{Key: "url", Type: y.String(y.Into(&h.URL)).Want("an http or https URL").Check(staticURL).At(y.Into(&h.URLPos)), Required: true,
			Doc: "URL of the stage, http or https. ${NAME} is read from the environment."},
		{Key: "method", Type: y.Enum(y.Into(&h.Method), "POST", "GET", "PUT").Default("POST"),
			Doc: "HTTP method."},
		{Key: "headers", Type: y.Entries(y.Into(&h.Headers), tokenPattern, "a header name (letters, digits and hyphens)", headerTable),
			Doc: "Request headers. ${NAME} in a value is read from the environment and never stored."},
		{Key: "timeout_s", Type: y.Seconds(y.Into(&h.Timeout)).Default(30),
			Doc: "Deadline of one attempt in seconds, from the connection to the last byte."},
		{Key: "max_body_bytes", Type: y.Int(func(n int) { h.MaxBody = int64(n) }).Min(1).Default(32 << 20),
			Doc: "Largest response body that is read, in bytes; a larger one is an errored case."},
		y.Refused("depth", "a key of system.rag: the depth is that of the whole system"),
		y.Refused("auth", later+"send a header, such as headers: {Authorization: \"Bearer ${TOKEN}\"}"),
		y.Refused("stream", later+"let it answer in one piece"),
		y.Refused("tls", later+"trust the certificate in the system"),
		y.Refused("limits", later+"concurrency.system bounds the calls in flight"),
	}, mapped)).Keys(y.Into(&h.KeyPos))
}

// check finds what is wrong across the keys of both stages.
func (e *Endpoints) check(f *y.File, r *RAG) {
	for _, key := range []string{"depth", "top_k"} {
		if _, written := r.KeyPos[key]; !written {
			f.Problem(r.Pos, "system.rag.%s is missing: an endpoint does not say it", key)
		}
	}
	if at, written := r.KeyPos["token_budget"]; written && r.TokenBudget != nil && r.CountTokens == "" {
		f.Problem(at, "system.rag.token_budget needs a way to count tokens: add count_tokens: %s or %s to system.rag, or drop the budget", CountWords, CountQuarters)
	}
	e.Retrieve.stage(f, r.Depth, evidence.Value(`{"input": "{{case.input}}", "depth": "{{depth}}"}`))
	e.Generate.stage(f, r.Depth, evidence.Value(`{"input": "{{case.input}}", "passages": "{{passages}}"}`))
	for _, a := range e.Retrieve.Artifacts {
		if a.Kind != evidence.RetrievalKind {
			f.Problem(a.Pos, "the retrieval of a staged system records retrieval/v1 only: remove %s", a.Kind)
		}
	}
	for _, a := range e.Generate.Artifacts {
		f.Problem(a.Pos, "the generation of a staged system records nothing: the cited ids are those at citations_path of its output, so remove %s", a.Kind)
	}
	for _, key := range []string{"output", "strip"} {
		if at, written := e.Retrieve.KeyPos[key]; written {
			f.Problem(at, "%s%s: the answer of a retrieval has no output, its candidates stand at artifacts.retrieval/v1", e.Retrieve.prefix(), key)
		}
	}
}

// stage completes and checks one stage; body is what is sent when the suite does
// not say.
func (h *HTTP) stage(f *y.File, depth int, body evidence.Value) {
	if _, written := h.Places[h.prefix()+"request.body"]; !written && cmp.Or(h.Calls.Main.Method, h.Method) != "GET" {
		h.Calls.Main.Body = body
	}
	if _, written := h.Places[h.prefix()+"request"]; !written {
		h.Places[h.prefix()+"request"] = h.URLPos
	}
	h.Spec.Depth.N = depth
	h.completeMapping()
	h.checkMapping(f)
	if h.Mapping == nil {
		h.Mapping, _ = mapping.Compile(h.Spec, h.documents()) // its problems are told
	}
}

// sequence returns the requests of a case with what comes from the environment
// filled in.
func (x *expander) sequence(h *HTTP) *mapping.Sequence {
	s, _ := mapping.CompileCalls(&h.Calls, func(key, text string) string { // its problems are told when the suite is read
		check := func(string) string { return "" }
		switch {
		case strings.HasSuffix(key, ".url"):
			check = checkURL
		case strings.Contains(key, ".headers."):
			check = valueFault(headerValue)
		}
		return x.expand(key, text, h.Place(key), check)
	})
	return s
}

// ResolvedEndpoint is the endpoint of a stage with what comes from the environment.
type ResolvedEndpoint struct {
	URL     string
	Headers [][2]string
	Calls   *mapping.Sequence
}

// endpoint fills in what the endpoint of a stage takes from the environment.
func (x *expander) endpoint(h *HTTP) *ResolvedEndpoint {
	r := &ResolvedEndpoint{URL: x.expand(h.prefix()+"url", h.URL, h.URLPos, checkURL), Calls: x.sequence(h)}
	x.secrets = append(x.secrets, credentials(r.URL)...)
	for _, header := range h.Headers {
		value := x.expand(h.prefix()+"headers."+header.Name, header.Value, header.Pos, valueFault(headerValue))
		r.Headers = append(r.Headers, [2]string{header.Name, value})
	}
	return r
}

package suite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// httpKey begins the path of every key of system.http.
const httpKey = "system.http."

// prefix begins the path of every key of an endpoint: that of the system itself,
// or of a stage of a staged system.
func (h *HTTP) prefix() string { return cmp.Or(h.Key, httpKey) }

// requestName is the pattern of the name of a further request, and fieldName
// that of a member of an object that is put together.
const (
	requestName = `^[a-z][a-z0-9_]*$`
	fieldName   = `^[A-Za-z_][A-Za-z0-9_-]*$`
)

// mappingTable lists the keys that say what is sent and what the answer means.
func (h *HTTP) mappingTable() y.Table {
	h.Places = map[string]Position{}
	main := &h.Calls.Main
	main.Key = h.prefix() + "request"
	return y.Table{
		{Key: "request", Type: h.mapping(main.Key, h.requestTable(main)), Null: true,
			Doc: "What is sent for a case, with templates; when absent, the case's input as the JSON body."},
		{Key: "depth", Type: h.depth(), Null: true,
			Doc: "How many candidates the search is asked for: {{depth}} in templates, and the depth of retrieval/v1."},
		{Key: "setup", Type: h.setup(), Null: true,
			Doc: "A request at the beginning of each attempt, such as one that opens a session; its answer is {{setup}} and $setup."},
		{Key: "requests", Type: y.Entries(y.Into(&h.Calls.Requests), requestName, "a name of lower case letters, digits and underscores", h.further),
			Doc: "Further requests of each attempt by name; the answer of NAME is {{NAME}} and $NAME."},
		{Key: "poll", Type: h.poll(), Null: true,
			Doc: "How the answer of a service that works in the background is asked for."},
		{Key: "ok", Type: h.condition(h.prefix()+"ok", func(c *mapping.Condition) { h.Spec.OK = c }), Null: true,
			Doc: "What holds of an answer that is one; any other is an errored case, whatever its status."},
		{Key: "error_message", Type: h.value(h.prefix()+"error_message", y.Into(&h.Spec.ErrorMessage)), Null: true,
			Doc: "Where an answer that is none says why."},
		{Key: "output", Type: h.output(), Null: true,
			Doc: "The output: a value, which must be text unless its type says otherwise, or an object of several under fields."},
		{Key: "strip", Type: y.List(y.Into(&h.Spec.Strip), h.strip), Null: true,
			Doc: "Parts of the output's text that are not judged. The text as it came is kept beside it."},
		{Key: "artifacts", Type: y.Entries(y.Into(&h.Artifacts), kindPattern, "a kind such as retrieval/v1", h.artifact),
			Doc: "Where the response carries evidence: the kind and its dotted path, list indexes allowed, or how it is made."},
		{Key: "usage", Type: h.mapping(h.prefix()+"usage", y.Table{
			{Key: "input_tokens", Type: h.value(h.prefix()+"usage.input_tokens", y.Into(&h.Spec.Usage.InputTokens)), Null: true,
				Doc: "Tokens that the service read."},
			{Key: "output_tokens", Type: h.value(h.prefix()+"usage.output_tokens", y.Into(&h.Spec.Usage.OutputTokens)), Null: true,
				Doc: "Tokens that it wrote."},
			{Key: "cost_usd", Type: h.value(h.prefix()+"usage.cost_usd", y.Into(&h.Spec.Usage.CostUSD)), Null: true,
				Doc: "What the answer cost, in US dollars."},
		}), Null: true, Doc: "Where the answer tells tokens and cost."},
	}
}

// mapping is a mapping whose places are kept.
func (h *HTTP) mapping(key string, tables ...y.Table) *y.MapType {
	return y.Mapping(slices.Concat(tables...)).At(h.place(key)).Keys(func(at map[string]Position) {
		for name, place := range at {
			h.Places[key+"."+name] = place
		}
	})
}

func (h *HTTP) place(key string) func(Position) {
	return func(at Position) { h.Places[key] = at }
}

// Place returns where a key of system.http stands, or the nearest key above it.
func (h *HTTP) Place(key string) Position {
	for {
		if at, ok := h.Places[key]; ok {
			return at
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return h.URLPos
		}
		key = key[:i]
	}
}

// --- requests

func template(into *string) *y.StringType {
	return y.String(y.Into(into)).Want("text, {{…}} in it filled in").Check(references)
}

// requestTable lists the keys of every request.
func (h *HTTP) requestTable(r *mapping.Request) y.Table {
	pairs := func(of string, pattern, phrase string, into *[]mapping.Pair, value func(*string) *y.StringType) *y.EntriesType {
		return y.Entries(y.Into(into), pattern, phrase, func(name string, at Position, p *mapping.Pair) y.Type {
			p.Name, p.Key = name, r.Key+"."+of+"."+name
			h.Places[p.Key] = at
			return value(&p.Value)
		})
	}
	return y.Table{
		{Key: "method", Type: y.Enum(y.Into(&r.Method), "POST", "GET", "PUT", "PATCH", "DELETE"), Null: true,
			Doc: "HTTP method: that of system.http for the request of the case and POST for others, GET for poll."},
		{Key: "path", Type: template(&r.Path).Check(requestPath), Null: true,
			Doc: "Path that is appended to system.http.url; values are escaped as one segment."},
		{Key: "query", Type: pairs("query", `.`, "the name of a parameter", &r.Query, func(into *string) *y.StringType { return template(into).Empty() }),
			Doc: "Parameters of the URL."},
		{Key: "headers", Type: pairs("headers", tokenPattern, "a header name (letters, digits and hyphens)", &r.Headers, func(into *string) *y.StringType { return template(into).Empty().Check(headerValue) }),
			Doc: "Headers beside those of system.http.headers, over which they win."},
		{Key: "body", Type: y.JSON(func(v evidence.Value) { r.Body = v }), Null: true,
			Doc: "JSON body. A text that is only {{…}} becomes the value with its type."},
	}
}

// address is the key of requests that may go to another place.
func (h *HTTP) address(r *mapping.Request) y.Table {
	return y.Table{{Key: "url", Type: y.String(y.Into(&r.URL)).Want("an http or https URL").Check(staticURL), Null: true,
		Doc: "URL in place of system.http.url. The headers of system.http are sent to its own scheme, host and port only."}}
}

func (h *HTTP) setup() y.Type {
	r := &mapping.Request{Key: h.prefix() + "setup"}
	return h.mapping(r.Key, h.address(r), h.requestTable(r)).At(func(Position) { h.Calls.Setup = r })
}

func (h *HTTP) further(name string, at Position, r *mapping.Request) y.Type {
	r.Name, r.Key = name, h.prefix()+"requests."+name
	return h.mapping(r.Key, h.address(r), h.requestTable(r), y.Table{
		{Key: "when", Type: y.Enum(func(s string) { r.After = s == "after" }, "before", "after").Default("before"),
			Doc: "Whether it is sent before or after the request of the case."},
	})
}

func (h *HTTP) poll() y.Type {
	p := &mapping.Poll{Request: mapping.Request{Key: h.prefix() + "poll"}}
	return h.mapping(p.Key, h.address(&p.Request), h.requestTable(&p.Request), y.Table{
		{Key: "until", Type: h.conditionInto(p.Key+".until", &p.Until), Required: true,
			Doc: "What holds of the answer once the work is done."},
		{Key: "fail_when", Type: h.condition(p.Key+".fail_when", y.Into(&p.FailWhen)), Null: true,
			Doc: "What holds of the answer once the work has failed."},
		{Key: "interval_s", Type: y.Seconds(y.Into(&p.Interval)).Default(1),
			Doc: "Seconds between two requests."},
		{Key: "deadline_s", Type: y.Seconds(y.Into(&p.Deadline)).Default(120),
			Doc: "Seconds until the work must be done."},
	}).At(func(Position) { h.Calls.Poll = p })
}

func (h *HTTP) depth() y.Type {
	key := h.prefix() + "depth"
	return y.At(func(at Position) { h.Places[key], h.Spec.Depth.Key = at, key }, y.Either(
		y.Int(y.Into(&h.Spec.Depth.N)).Min(1).Max(maxDepth),
		y.Mapping(y.Table{{Key: "from", Type: template(&h.Spec.Depth.Template), Required: true,
			Doc: "Template that gives the number of each case, such as {{case.input.top_k}}."}}),
	))
}

// maxDepth is the largest depth that a suite may name.
const maxDepth = 100_000

func requestPath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "KEY must begin with a slash, since it is appended to system.http.url"
	}
	if strings.ContainsAny(path, "?#") && !strings.Contains(path, "{{") {
		return "KEY holds ? or #: parameters are written under query"
	}
	return oneLine(path)
}

// --- values

func path(into func(string)) *y.StringType {
	return y.String(into).Want("a dotted path").Check(dottedPath)
}

// paths is a path, or several of which the first that leads to something counts.
func paths(v *mapping.Value) (one, several y.Type) {
	return path(func(p string) { v.Paths = []string{p} }),
		y.List(y.Into(&v.Paths), func(into *string) y.Type { return path(y.Into(into)) }).Min(1)
}

// valueTable lists the keys of a value that is written as a mapping.
func valueTable(v *mapping.Value) y.Table {
	one, several := paths(v)
	return y.Table{
		{Key: "path", Type: y.Either(one, several),
			Doc: "Dotted path, list indexes allowed, or a list of paths of which the first that leads to something counts."},
		{Key: "jq", Type: y.String(y.Into(&v.JQ)).Want("a jq expression"),
			Doc: "jq expression that gives exactly one value; $main, $setup, $frames and the names of requests are the documents."},
		{Key: "from", Type: y.String(y.Into(&v.From)).Want("the name of a document").Pattern(requestName, "the name of a document, such as setup or that of a request"),
			Doc: "Document that path and jq begin at: setup, accepted, frames or the name of a request; the answer when absent."},
		{Key: "cut", Type: cut(func(c *mapping.Cut) { v.Cut = c }),
			Doc: "Part of the text that counts: last_segment of a path or URL, or {regex}, its first group where it has one."},
		{Key: "type", Type: y.Enum(y.Into(&v.Type), "text", "number", "boolean", "list", "object", "any"),
			Doc: "What the value must be; any allows null too."},
	}
}

func cut(set func(*mapping.Cut)) y.Type {
	c := &mapping.Cut{}
	return y.At(func(Position) { set(c) }, y.Either(
		y.Enum(func(string) { c.LastSegment = true }, "last_segment"),
		y.Mapping(y.Table{{Key: "regex", Type: y.String(y.Into(&c.Regex)).Want("a regular expression").Check(mapping.CheckRegex), Required: true,
			Doc: "Regular expression as RE2 reads it."}}),
	))
}

// value is a path, a list of paths, or a mapping.
func (h *HTTP) value(key string, set func(*mapping.Value)) y.Type {
	v := &mapping.Value{}
	return y.At(func(Position) { set(v) }, h.valueInto(key, v))
}

func (h *HTTP) valueInto(key string, v *mapping.Value) y.Type {
	v.Key = key
	one, several := paths(v)
	return y.At(h.place(key), y.Shape(one, several, h.mapping(key, valueTable(v))))
}

func (h *HTTP) condition(key string, set func(*mapping.Condition)) y.Type {
	c := &mapping.Condition{}
	return y.At(func(Position) { set(c) }, h.conditionInto(key, c))
}

func (h *HTTP) conditionInto(key string, c *mapping.Condition) y.Type {
	c.Key = key
	one, _ := paths(&c.Value)
	return y.At(h.place(key), y.Either(one, h.mapping(key, valueTable(&c.Value), y.Table{
		{Key: "equals", Type: y.JSON(func(v evidence.Value) { c.Equals = v }),
			Doc: "Value that it must equal, or a list of which it must equal one; true when absent."},
		{Key: "absent", Type: y.Bool(y.Into(&c.Absent)).Default(false),
			Doc: "true: nothing must stand there, or null, false, an empty text or an empty list."},
	})))
}

func (h *HTTP) fields(key string, into *[]mapping.Field) *y.EntriesType {
	return y.Entries(y.Into(into), fieldName, "a name of letters, digits, hyphens and underscores", func(name string, at Position, f *mapping.Field) y.Type {
		f.Name = name
		return h.valueInto(key+"."+name, &f.Value)
	})
}

func (h *HTTP) output() y.Type {
	key := h.prefix() + "output"
	v, o := &mapping.Value{Key: key}, &h.Spec.Output
	one, several := paths(v)
	return y.At(func(at Position) { h.Places[key] = at; o.Value = v },
		y.Shape(one, several, h.mapping(key, valueTable(v), y.Table{
			{Key: "fields", Type: h.fields(key+".fields", &o.Fields),
				Doc: "Members of the output, each with its value."},
		})))
}

func (h *HTTP) strip(s *mapping.Strip) y.Type {
	s.Key = h.prefix() + "strip"
	return y.At(h.place(s.Key), y.Either(
		y.Enum(y.Into(&s.Part), mapping.Think, mapping.References),
		y.Mapping(y.Table{{Key: "regex", Type: y.String(y.Into(&s.Regex)).Want("a regular expression").Check(mapping.CheckRegex), Required: true,
			Doc: "Regular expression as RE2 reads it; every match is taken out."}}),
	))
}

// --- artifacts

// formOf marks the place of an artifact that is written as a mapping.
const formOf = ".(form)"

func (h *HTTP) artifact(kind string, at Position, a *ArtifactPath) y.Type {
	a.Kind, a.Pos = kind, at
	key := h.prefix() + "artifacts." + kind
	h.Places[key] = at
	m := &mapping.Artifact{Kind: kind, Key: key}
	v := &mapping.Value{Key: key}
	mapped := func(t y.Type) y.Type { return y.At(func(Position) { a.Mapped = m }, t) }
	return y.Either(path(y.Into(&a.Path)), h.mapping(key, y.Table{
		{Key: "path", Type: path(y.Into(&a.Path)),
			Doc: "Dotted path of an artifact in its fixed shape, list indexes allowed."},
		{Key: "optional", Type: y.Bool(y.Into(&a.Optional)).Default(false),
			Doc: "Absent or null is a missing observation of that case rather than the end of the run."},
		{Key: "from", Type: mapped(y.String(y.Into(&v.From)).Want("the name of a document").Pattern(requestName, "the name of a document, such as setup or that of a request")),
			Doc: "Document that path and jq begin at; the answer when absent."},
		{Key: "jq", Type: mapped(y.String(func(s string) { v.JQ = s; m.Value = v }).Want("a jq expression")),
			Doc: "jq expression that gives the artifact, or its list."},
		{Key: "items", Type: mapped(h.value(key+".items", y.Into(&m.Items))),
			Doc: "Where the list stands: the candidates, the items of the context, or what is cited. A step * means each element."},
		{Key: "fields", Type: mapped(h.fields(key+".fields", &m.Fields)),
			Doc: "Where a field stands in an element of items, a list of paths for fallbacks; without fields they have our names."},
		{Key: "query", Type: mapped(h.value(key+".query", y.Into(&m.Query))),
			Doc: "For retrieval/v1: what was searched for."},
		{Key: "source", Type: mapped(y.Enum(y.Into(&m.Source), mapping.SourceRetrieval, mapping.SourceContext, mapping.SourceCited)),
			Doc: "For retrieval/v1: whether the list is what the search returned, what reached the model, or only what the answer cites."},
		{Key: "markers", Type: mapped(h.markers(key, m)),
			Doc: "For citations/v1: how the text of the answer cites."},
		{Key: "base", Type: mapped(y.Int(func(n int) { markersOf(m).Base = &n }).Min(0).Max(1)),
			Doc: "Number of the first element in markers: 0 or 1; that of the style when absent."},
		{Key: "of", Type: mapped(y.Enum(func(s string) { markersOf(m).Of = s }, evidence.RetrievalKind, evidence.ContextKind)),
			Doc: "The artifact whose list markers count: context/v1 where it is recorded, else retrieval/v1."},
		{Key: "distinct", Type: mapped(y.Bool(func(b bool) { markersOf(m).Distinct = b })),
			Doc: "true: markers count documents, not passages."},
		{Key: "in", Type: mapped(h.value(key+".in", func(v *mapping.Value) { markersOf(m).In = v })),
			Doc: "Text in which markers are looked for; the output when absent."},
	}).At(func(at Position) { h.Places[key+formOf] = at }))
}

func markersOf(m *mapping.Artifact) *mapping.Markers {
	if m.Markers == nil {
		m.Markers = &mapping.Markers{}
	}
	return m.Markers
}

func (h *HTTP) markers(key string, m *mapping.Artifact) y.Type {
	return y.Either(
		y.Enum(func(s string) { markersOf(m).Style = s }, mapping.MarkerStyles()...),
		h.mapping(key+".markers", y.Table{
			{Key: "regex", Type: y.String(func(s string) { markersOf(m).Regex = s }).Want("a regular expression").Check(mapping.CheckRegex), Required: true,
				Doc: "Regular expression as RE2 reads it; its first group is the number or id."},
			{Key: "ids", Type: y.Bool(func(b bool) { markersOf(m).IDs = b }).Default(false),
				Doc: "true: the group is an id, not a number."},
		}))
}

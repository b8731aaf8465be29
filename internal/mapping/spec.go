// Package mapping says what is sent to a service and what its answer means:
// templates of requests, and from the answers the output, the artifacts and the
// usage. It reaches nothing outside: documents in, values out.
//
// A [Spec] and the [Calls] are what a suite says, as plain data; [Compile] and
// [CompileCalls] check them and make what is used for every case.
package mapping

import (
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Names of the documents that a mapping sees beside those of named requests.
const (
	Main     = "main"     // the answer: of the request, or with polling the last one of the poll
	Setup    = "setup"    // of the request before it
	Accepted = "accepted" // with polling, the answer of the request itself
	Frames   = "frames"   // of a stream that is collected: the list of its frames
)

// Spec is what a suite says of the answers. The JSON of it is what it means: it
// holds no place in a file.
type Spec struct {
	OK           *Condition `json:"ok,omitempty"`
	ErrorMessage *Value     `json:"error_message,omitempty"`
	Output       Output     `json:"output,omitzero"`
	Strip        []Strip    `json:"strip,omitempty"`
	Artifacts    []Artifact `json:"artifacts,omitempty"`
	Usage        Usage      `json:"usage,omitzero"`
	Depth        Depth      `json:"depth,omitzero"`
}

// Value says where a value comes from: a dotted path, the first of several that
// leads to something, or an expression.
type Value struct {
	Paths []string `json:"path,omitempty"`
	JQ    string   `json:"jq,omitempty"`
	From  string   `json:"from,omitempty"` // document; "" is that of the answer
	Type  string   `json:"type,omitempty"` // text, number, boolean, list, object or any; "" is what the place asks for
	Cut   *Cut     `json:"cut,omitempty"`
	Key   string   `json:"-"` // where it stands in the suite, such as system.http.output
}

// Cut takes a part of a text: the last segment of a path or URL, or what a
// regular expression finds (its first group, where it has one).
type Cut struct {
	LastSegment bool   `json:"last_segment,omitempty"`
	Regex       string `json:"regex,omitempty"`
}

// Condition is something that must hold of an answer: the value is true, or
// what it is compared with.
type Condition struct {
	Value
	Equals evidence.Value `json:"equals,omitempty"` // a value, or a list of which one must be equal
	Absent bool           `json:"absent,omitempty"` // nothing there, or null, false or the empty text
}

// Output says what the output is: one value, or an object of several.
type Output struct {
	Value  *Value  `json:"value,omitempty"`
	Fields []Field `json:"fields,omitempty"`
}

// Field is a member of an object that is put together.
type Field struct {
	Name string `json:"name"`
	Value
}

// Strip takes a part out of the text of an output: "think", "references", or
// what a regular expression finds.
type Strip struct {
	Part  string `json:"part,omitempty"`
	Regex string `json:"regex,omitempty"`
	Key   string `json:"-"`
}

// Parts of a text that can be stripped by name.
const (
	Think      = "think"      // reasoning between tags
	References = "references" // a list of references at the end
)

// Artifact says where an artifact of a kind comes from. One of Value, Items and
// Markers is set.
type Artifact struct {
	Kind     string   `json:"kind"`
	Optional bool     `json:"optional,omitempty"` // absent or null is a missing observation, not an error
	Value    *Value   `json:"value,omitempty"`    // a path: the fixed shape; an expression: that, or its list
	Items    *Value   `json:"items,omitempty"`    // the list of candidates, items or citations
	Fields   []Field  `json:"fields,omitempty"`   // of one of them
	Markers  *Markers `json:"markers,omitempty"`  // citations/v1
	Query    *Value   `json:"query,omitempty"`    // retrieval/v1
	Source   string   `json:"source,omitempty"`   // retrieval/v1: retrieval, context or cited
	Key      string   `json:"-"`
}

// What the list of a retrieval/v1 is: what the search returned, what reached
// the model, or only what the answer cites.
const (
	SourceRetrieval = "retrieval"
	SourceContext   = "context"
	SourceCited     = "cited"
)

// Markers says how the text of an answer cites.
type Markers struct {
	Style    string `json:"style,omitempty"`    // one of [MarkerStyles], or "" for Regex
	Regex    string `json:"regex,omitempty"`    // its first group is the number or id
	IDs      bool   `json:"ids,omitempty"`      // with Regex: markers hold ids and no numbers
	Base     *int   `json:"base,omitempty"`     // number of the first of the list; nil is that of the style
	Of       string `json:"of,omitempty"`       // the list that is counted: retrieval/v1 or context/v1
	Distinct bool   `json:"distinct,omitempty"` // numbers count documents, not passages
	In       *Value `json:"in,omitempty"`       // text that is searched; nil is the output
}

// Usage says where an answer tells what it took.
type Usage struct {
	InputTokens  *Value `json:"input_tokens,omitempty"`
	OutputTokens *Value `json:"output_tokens,omitempty"`
	CostUSD      *Value `json:"cost_usd,omitempty"`
}

// Depth is how many candidates a search is asked for: a number, or a template
// such as {{case.input.top_k}}.
type Depth struct {
	N        int    `json:"n,omitempty"`
	Template string `json:"template,omitempty"`
	Key      string `json:"-"`
}

// Calls is what a suite says of the requests of one case. Texts are templates.
type Calls struct {
	Main     Request   `json:"request,omitzero"`
	Setup    *Request  `json:"setup,omitempty"`
	Requests []Request `json:"requests,omitempty"` // in the order of the suite
	Poll     *Poll     `json:"poll,omitempty"`
	// Given names documents that every call is given besides the case.
	Given []string `json:"-"`
}

// Request is one request. Path is appended to the URL of the system.
type Request struct {
	Name    string         `json:"name,omitempty"` // of a further request
	Method  string         `json:"method,omitempty"`
	URL     string         `json:"url,omitempty"` // in place of the system's
	Path    string         `json:"path,omitempty"`
	Query   []Pair         `json:"query,omitempty"`
	Headers []Pair         `json:"headers,omitempty"`
	Body    evidence.Value `json:"body,omitempty"`
	After   bool           `json:"after,omitempty"` // sent after the answer has come
	Key     string         `json:"-"`
}

// Pair is a name and the template of its value.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Key   string `json:"-"`
}

// Poll asks again and again for the answer of a service that works in the
// background.
type Poll struct {
	Request
	Until    Condition     `json:"until"`
	FailWhen *Condition    `json:"fail_when,omitempty"`
	Interval time.Duration `json:"-"`
	Deadline time.Duration `json:"-"`
}

package githubtest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// The descriptions of GitHub's API and the events, both MIT licensed (see
// LICENSE), were cut by scripts/octokit from npm @octokit/openapi 23.0.2 and
// @octokit/webhooks-examples 7.6.1.
//
//go:embed testdata
var testdata embed.FS

// description is a published description of GitHub's API.
type description struct {
	spec     *openapi3.T
	examples map[string]json.RawMessage // by name
}

var (
	dotcom     = sync.OnceValues(func() (*description, error) { return loadDescription("testdata/api.github.com.json") })
	enterprise = sync.OnceValues(func() (*description, error) { return loadDescription("testdata/ghes-3.19.json") })
)

func loadDescription(name string) (*description, error) {
	b, err := testdata.ReadFile(name)
	if err != nil {
		return nil, err
	}
	spec, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var raw struct {
		Components struct {
			Examples map[string]struct {
				Value json.RawMessage `json:"value"`
			} `json:"examples"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	d := &description{spec: spec, examples: map[string]json.RawMessage{}}
	for name, e := range raw.Components.Examples {
		d.examples[name] = e.Value
	}
	return d, nil
}

// example returns a copy of a published example, to be changed.
func (d *description) example(name string) map[string]any {
	return decodeExample[map[string]any](d, name)
}

// firstOf returns a copy of the first element of a published example.
func (d *description) firstOf(name string) map[string]any {
	return decodeExample[[]map[string]any](d, name)[0]
}

func decodeExample[T any](d *description, name string) (v T) {
	if err := json.Unmarshal(d.examples[name], &v); err != nil {
		panic(fmt.Sprintf("example %s: %v", name, err))
	}
	return v
}

// exchange is one request with its answer, to be held against the description.
type exchange struct {
	operation string // path of the description
	params    map[string]string
	request   *http.Request
	body      []byte // of the request
	status    int
	header    http.Header
	answer    []byte
}

// check says where an exchange departs from the description. Answers that tell
// of trouble are not described, apart from some.
func (d *description) check(x exchange) error {
	item := d.spec.Paths.Value(x.operation)
	operation := item.GetOperation(x.request.Method)
	if err := undescribed(item, operation, x.request.URL.Query()); err != nil {
		return err
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true}
	request := x.request.Clone(context.Background())
	request.Body = io.NopCloser(bytes.NewReader(x.body))
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: x.params, QueryParams: x.request.URL.Query(), Options: options,
		Route: &routers.Route{Spec: d.spec, Path: x.operation, PathItem: item, Method: x.request.Method, Operation: operation},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	if x.status >= 400 {
		return nil
	}
	answered := *options
	// Raw content is described in words only.
	answered.ExcludeResponseBody = !strings.HasPrefix(x.header.Get("Content-Type"), "application/json")
	if err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.status, Header: x.header, Body: io.NopCloser(bytes.NewReader(x.answer)), Options: &answered,
	}); err != nil {
		return fmt.Errorf("the answer %d: %w", x.status, err)
	}
	return nil
}

// undescribed names a parameter of the query that the description does not have.
func undescribed(item *openapi3.PathItem, operation *openapi3.Operation, query url.Values) error {
	var known []string
	for _, list := range []openapi3.Parameters{item.Parameters, operation.Parameters} {
		for _, p := range list {
			if p.Value.In == openapi3.ParameterInQuery {
				known = append(known, p.Value.Name)
			}
		}
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the request: the parameter %q is not described; there are %q", name, known)
		}
	}
	return nil
}

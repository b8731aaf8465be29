package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Promptfoo is a configuration of promptfoo: what is asked whom, and how it is judged.
type Promptfoo struct {
	path string
	root strictyaml.Node
}

// OpenPromptfoo reads the configuration at path; nil for a file that is none.
func OpenPromptfoo(path string) (*Promptfoo, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
	default:
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	root, err := strictyaml.ReadNode(path, bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, err
	}
	if _, tests := root.Get("tests"); !tests {
		return nil, nil
	}
	for _, key := range []string{"providers", "targets", "prompts"} {
		if _, ok := root.Get(key); ok {
			return &Promptfoo{path, root}, nil
		}
	}
	return nil, nil
}

// suiteAssertion makes an evaluator of the suite of an assertion that holds for
// every test, if it has such a counterpart.
func suiteAssertion(kind string, value strictyaml.Node) (evaluator string, ok bool) {
	text := value.Text()
	pattern := func(name, pattern, passIf string) string {
		return fmt.Sprintf("{type: regex, criterion: %s, pattern: %s, pass_if: %s}", name, yamlText(pattern), passIf)
	}
	literal := regexp.QuoteMeta(text)
	switch kind {
	case "regex":
		return pattern("matches", text, "match"), true
	case "not-regex":
		return pattern("does_not_match", text, "no_match"), true
	case "not-contains":
		return pattern("does_not_contain", literal, "no_match"), text != ""
	case "not-icontains":
		return pattern("does_not_contain", "(?i)"+literal, "no_match"), text != ""
	case "starts-with":
		return pattern("starts_with", `\A`+literal, "match"), text != ""
	case "is-json":
		if value.IsMapping() {
			return "{type: json_schema, criterion: is_json, schema: " + string(value.JSON()) + "}", true
		}
	}
	return "", false
}

func yamlText(s string) string { return string(quote(nil, s)) }

// Suite returns oloproof.yaml for the configuration. expected are the keys that
// the cases expect something under, and pattern says what is wrong with one of an
// evaluator. What has no counterpart is listed.
func (p *Promptfoo) Suite(project, dataset string, expected []string, pattern func(string) error) (suite []byte, listed []string) {
	list := func(format string, args ...any) { listed = append(listed, fmt.Sprintf(format, args...)) }
	var b bytes.Buffer
	fmt.Fprintf(&b, "# From %s. Every key is explained in\n# https://github.com/oloproof/oloproof-go/blob/main/docs/suite.md\nversion: 1\nproject: %s\ndataset: %s\n\n", filepath.Base(p.path), yamlText(project), yamlText(dataset))
	p.system(&b, list)
	b.WriteString("\nevaluators:\n")
	n := 0
	add := func(evaluator string) {
		n++
		fmt.Fprintf(&b, "  - %s\n", evaluator)
	}
	for _, key := range expected {
		switch key {
		case expectEquals:
			add("{type: exact_match, criterion: equals, expected_field: equals, strip: false}")
		case expectContains:
			add("{type: contains, criterion: contains, expected_field: contains}")
		case expectIContains:
			add("{type: contains, criterion: icontains, expected_field: icontains, casefold: true}")
		case expectRefusal:
			add("{type: refusal, criterion: declines_when_it_should}")
		}
	}
	var metrics []string
	measure := func(metric string) {
		if !slices.Contains(metrics, metric) {
			metrics = append(metrics, metric)
		}
	}
	seen := map[string]int{}
	for _, a := range p.defaultAssertions() {
		kind := scalar(a, "type")
		value, _ := a.Get("value")
		if !perCase(kind) {
			for _, e := range a.Entries() {
				if e.Key != "type" && e.Key != "value" && e.Key != "threshold" {
					list("%s of assertion %s of defaultTest", e.Key, kind)
				}
			}
		}
		switch kind {
		case "latency":
			measure("{type: quantile, id: latency_p95, source: latency_ms, quantile: 0.95}")
			list("latency below %s ms: the suite measures latency_p95; bound it in release.yaml, such as {id: fast, metric: latency_p95, max: %s}", scalar(a, "threshold"), scalar(a, "threshold"))
			continue
		case "cost":
			measure("{type: quantile, id: cost_p95, source: cost_usd, quantile: 0.95}")
			list("cost below %s: the suite measures cost_p95; say under system.http.usage where the response carries it, and bound it in release.yaml", scalar(a, "threshold"))
			continue
		}
		evaluator, ok := suiteAssertion(kind, value)
		if !ok {
			if !perCase(kind) {
				list("assertion %s of defaultTest%s", cmp.Or(kind, "without a type"), advice(kind))
			}
			continue
		}
		if fault := elsewhere(evidence.Value(value.JSON())); fault != "" {
			list("assertion %s of defaultTest: %s", kind, fault)
			continue
		}
		if strings.HasSuffix(kind, "regex") {
			if err := pattern(value.Text()); err != nil {
				list("assertion %s of defaultTest: the pattern %s cannot be taken: %v", kind, shorten(value.Text()), err)
				continue
			}
		}
		if kind == "is-json" {
			list("assertion is-json of defaultTest: what stands at output_path is judged, and a text that holds JSON is a text")
		}
		criterion := regexp.MustCompile(`criterion: (\w+)`).FindStringSubmatch(evaluator)[1]
		if seen[criterion]++; seen[criterion] > 1 {
			evaluator = strings.Replace(evaluator, criterion, criterion+"_"+strconv.Itoa(seen[criterion]), 1)
		}
		add(evaluator)
	}
	if n == 0 {
		add("{type: regex, criterion: answers, pattern: '\\S'} # no assertion has a counterpart: say here how an answer is judged")
	}
	if len(metrics) > 0 {
		b.WriteString("metrics:\n")
		for _, m := range metrics {
			fmt.Fprintf(&b, "  - %s\n", m)
		}
	}
	for _, e := range p.root.Entries() {
		switch e.Key {
		case "tests", "providers", "targets", "defaultTest", "description":
		case "prompts":
			list("prompts: oloproof asks the deployed service, which has its own; the variables of each test are sent as the JSON body")
		default:
			list("%s", e.Key)
		}
	}
	return b.Bytes(), listed
}

func scalar(n strictyaml.Node, key string) string {
	v, _ := n.Get(key)
	return v.Text()
}

// perCase reports whether an assertion becomes part of each case.
func perCase(kind string) bool {
	switch kind {
	case "equals", "contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "is-refusal", "not-is-refusal":
		return true
	}
	return false
}

// advice says what judges what an assertion judges.
func advice(kind string) string {
	switch kind {
	case "llm-rubric", "g-eval", "model-graded-closedqa", "factuality", "answer-relevance":
		return ": rubric_judge asks a model, see docs/judges.md"
	case "context-faithfulness":
		return ": groundedness_judge asks a model, see docs/judges.md"
	case "context-recall", "context-relevance":
		return ": context_recall and context_precision go by labels"
	}
	return ""
}

func (p *Promptfoo) defaultAssertions() []strictyaml.Node {
	test, _ := p.root.Get("defaultTest")
	list, _ := test.Get("assert")
	return list.Elements()
}

// system writes the system: the first provider that is an endpoint.
func (p *Promptfoo) system(b *bytes.Buffer, list func(string, ...any)) {
	endpoint, method, path := "", "", ""
	var headers []strictyaml.Entry
	for _, key := range []string{"providers", "targets"} {
		all, _ := p.root.Get(key)
		nodes := all.Elements()
		if !all.IsList() {
			nodes = append(nodes, all)
		}
		for _, n := range nodes {
			id := n.Text()
			if n.IsMapping() {
				id = scalar(n, "id")
			}
			if id == "" {
				continue
			}
			config, _ := n.Get("config")
			address := scalar(config, "url")
			if address == "" && (strings.HasPrefix(id, "http://") || strings.HasPrefix(id, "https://")) {
				address = id
			}
			address = envName.ReplaceAllString(address, "$${$1}")
			id = withoutSecrets(id, func(string, ...any) {})
			if address == "" || endpoint != "" || strings.Contains(address, "{{") {
				list("%s %s", strings.TrimSuffix(key, "s"), id)
				continue
			}
			address = withoutSecrets(address, list)
			endpoint, method = address, strings.ToUpper(scalar(config, "method"))
			if h, ok := config.Get("headers"); ok {
				headers = h.Entries()
			}
			if body, ok := config.Get("body"); ok {
				list("the body of %s, %s: the variables of each test are sent as they are; write it as system.http.request.body when the service wants another one", id, shorten(string(body.JSON())))
			}
			for _, e := range config.Entries() {
				switch e.Key {
				case "url", "headers", "body", "transformResponse", "responseParser":
				case "method":
					if !slices.Contains([]string{"", "GET", "POST", "PUT"}, method) {
						list("method %s of %s: write it as system.http.request.method", method, id)
					}
				default:
					list("%s of %s", e.Key, id)
				}
			}
			transform := cmp.Or(scalar(config, "transformResponse"), scalar(config, "responseParser"))
			var ok bool
			if path, ok = dotted(transform); !ok {
				list("transformResponse %s: say in output_path where the answer stands", shorten(transform))
			}
		}
	}
	b.WriteString("system:\n  name: my-rag\n  version: \"1\"   # part of the system's identity: change it with the service\n  http:\n")
	if endpoint == "" {
		b.WriteString("    url: http://localhost:8000/answer   # no provider is an endpoint: write yours here\n")
	} else {
		fmt.Fprintf(b, "    url: %s\n", yamlText(endpoint))
	}
	if method == "GET" || method == "PUT" {
		fmt.Fprintf(b, "    method: %s\n", method)
	}
	b.WriteString(headerLines(headers, list))
	if path != "" {
		fmt.Fprintf(b, "    output_path: %s\n", yamlText(path))
	}
}

// envName is how promptfoo names a variable of the environment in a text.
var envName = regexp.MustCompile(`\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// secretName reports whether what has this name is likely a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "key", "token", "cookie", "secret", "password", "signature"}, func(s string) bool { return strings.Contains(name, s) })
}

// withoutSecrets returns a URL whose secrets are read from the environment.
func withoutSecrets(address string, list func(string, ...any)) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	before, query, asks := strings.Cut(address, "?")
	if u.User != nil {
		scheme, rest, _ := strings.Cut(before, "://")
		_, rest, _ = strings.Cut(rest, "@")
		before = scheme + "://" + rest
		list("user and password of the url are not copied: write system.http.auth.basic")
	}
	if !asks {
		return before
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if secretName(name) && value != "" && !strings.HasPrefix(value, "${") {
			variable := strings.ToUpper(regexp.MustCompile(`\W`).ReplaceAllString(name, "_"))
			list("parameter %s of the url: its value is not copied; it is read from the environment as %s", name, variable)
			parts[i] = name + "=${" + variable + "}"
		}
	}
	return before + "?" + strings.Join(parts, "&")
}

// headerLines writes headers. {{env.NAME}} becomes ${NAME}; a secret that stands
// in the file is not copied.
func headerLines(headers []strictyaml.Entry, list func(string, ...any)) string {
	var b strings.Builder
	for _, h := range headers {
		value := envName.ReplaceAllString(h.Value.Text(), "$${$1}")
		switch name := strings.ToLower(h.Key); {
		case name == "content-type" || name == "accept":
			continue
		case strings.Contains(value, "{{"):
			list("header %s, which holds a variable of the test", h.Key)
			continue
		case !strings.Contains(value, "${") && secretName(name):
			list("header %s: its value is not copied; write it as ${NAME}, which is read from the environment", h.Key)
			continue
		}
		if b.Len() == 0 {
			b.WriteString("    headers:\n")
		}
		fmt.Fprintf(&b, "      %s: %s\n", h.Key, yamlText(value))
	}
	return b.String()
}

// dotted turns json.a.b[0].c into a.b.0.c; ok is false for what is no such path.
func dotted(transform string) (path string, ok bool) {
	if transform == "" || transform == "json" {
		return "", true
	}
	if !regexp.MustCompile(`^json(\.\w+|\[\d+\])+$`).MatchString(transform) {
		return "", false
	}
	path = strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(transform, "json"))
	return strings.TrimPrefix(path, "."), true
}

package mapping_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
)

var update = flag.Bool("update", false, "rewrite the results in docs/endpoints.md")

const page = "../../docs/endpoints.md"

// TestPage reads every `http:` block of docs/endpoints.md as a part of a suite.
// Where an answer stands before it, what follows is what comes of that answer;
// where a case does, the request that it becomes.
func TestPage(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	blocks := regexp.MustCompile("(?ms)^```(json answer|json case|yaml|json result|text request)\n(.*?)^```$").FindAllStringSubmatchIndex(text, -1)
	var answer, of, keys string
	var results []string
	shown := 0
	out, at := "", 0
	for _, b := range blocks {
		kind, content := text[b[2]:b[3]], text[b[4]:b[5]]
		switch kind {
		case "json answer":
			answer, of = content, ""
		case "json case":
			of, answer = content, ""
		case "yaml":
			if !strings.HasPrefix(content, "http:\n") {
				continue
			}
			keys = strings.ReplaceAll(strings.TrimPrefix(content, "http:\n"), "\n  ", "\n")[2:]
			if strings.Contains(keys, "preset:") {
				continue
			}
			keys = regexp.MustCompile(`(?m)^url: .*\n`).ReplaceAllString(keys, "")
			results = append(results, content)
			compile(t, keys)
		default:
			shown++
			got := ""
			if kind == "json result" {
				got = mapped(t, keys, answer)
			} else {
				got = sent(t, keys, of)
			}
			if got != content && !*update {
				t.Errorf("in the block that begins %q:\n%s\nthe page says\n%s", strings.SplitN(results[len(results)-1], "\n", 3)[1], got, content)
			}
			out, at = out+text[at:b[4]]+got, b[5]
		}
	}
	if shown < 10 || len(results) < 13 {
		t.Errorf("%d results and %d parts of suites: have they gone?", shown, len(results))
	}
	if *update {
		if err := os.WriteFile(page, []byte(out+text[at:]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mapped shows what an answer means.
func mapped(t *testing.T, keys, answer string) string {
	t.Helper()
	document, err := evidence.ParseJSON([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	r, err := compile(t, keys).Mapping.Map(&mapping.Documents{Main: document}, &evidence.Case{ID: "warranty"})
	if err != nil {
		var e *mapping.Error
		if !asError(err, &e) {
			t.Fatal(err)
		}
		return lines(map[string]any{"error": string(e.Kind), "message": e.Text})
	}
	shown := map[string]any{"output": json.RawMessage(r.Output)}
	if r.Raw != nil {
		shown["as it came"] = json.RawMessage(r.Raw)
	}
	if r.Usage != nil {
		shown["usage"] = map[string]any{"input_tokens": r.Usage.InputTokens, "output_tokens": r.Usage.OutputTokens, "cost_usd": r.Usage.CostUSD}
	}
	var artifacts map[string][]json.RawMessage
	if err := json.Unmarshal(evidence.AppendArtifacts(nil, &r.Artifacts), &artifacts); err != nil {
		t.Fatal(err)
	}
	for kind, all := range artifacts {
		shown[kind] = all[0]
	}
	return lines(shown)
}

func asError(err error, e **mapping.Error) (ok bool) { *e, ok = err.(*mapping.Error); return ok }

// lines is an object with one member a line, output first, without what is null.
func lines(members map[string]any) string {
	var names []string
	for name := range members {
		names = append(names, name)
	}
	rank := func(name string) int { return slices.Index([]string{"error", "output", "as it came"}, name) & 0xff }
	slices.SortFunc(names, func(a, b string) int { return (rank(a)-rank(b))*1000 + strings.Compare(a, b) })
	var all []string
	for _, name := range names {
		var value any
		raw, _ := json.Marshal(members[name])
		_ = json.Unmarshal(raw, &value)
		raw, _ = json.Marshal(dense(value))
		spaced := strings.NewReplacer(`","`, `", "`, `":`, `": `, `},{`, `}, {`, `,"`, `, "`, `\u003c`, "<", `\u003e`, ">").Replace(string(raw))
		all = append(all, fmt.Sprintf("%q: %s", name, spaced))
	}
	return "{\n  " + strings.Join(all, ",\n  ") + "\n}\n"
}

// dense leaves out what is null or empty.
func dense(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if list, ok := member.([]any); member == nil || ok && len(list) == 0 {
				delete(v, k)
				continue
			}
			v[k] = dense(member)
		}
	case []any:
		for i := range v {
			v[i] = dense(v[i])
		}
	}
	return v
}

// sent shows the request that a case becomes.
func sent(t *testing.T, keys, of string) string {
	t.Helper()
	var c struct {
		ID              string
		Input, Metadata json.RawMessage
	}
	if err := json.Unmarshal([]byte(of), &c); err != nil {
		t.Fatal(err)
	}
	h := compile(t, keys)
	one := &evidence.Case{ID: c.ID, Input: evidence.Value(c.Input), Metadata: evidence.Value(c.Metadata)}
	depth, fault := h.Mapping.Depth(one)
	if fault != nil {
		t.Fatal(fault)
	}
	f, err := h.Sequence().Main.Fill(&mapping.Scope{Case: one, UUID: "uuid", Attempt: 1, Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s /v1%s?key=1&%s\n", f.Method, f.Path, f.Query)
	for _, h := range f.Headers {
		fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
	}
	fmt.Fprintf(&b, "\n%s\n", f.Body)
	return b.String()
}

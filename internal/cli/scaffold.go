package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing/fstest"
	"unicode"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// scaffold writes a suite of the user's own.
func (e *Env) scaffold(dir, endpoint string) error {
	if u, err := url.Parse(endpoint); !strings.Contains(endpoint, "${") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return problem.Errorf("--url is %q, it must begin with http:// or https:// and name a host", endpoint)
	}
	files := fstest.MapFS{
		"oloproof.yaml":    {Data: fmt.Appendf(nil, suiteTemplate, projectName(dir), endpoint)},
		"release.yaml":     {Data: []byte(policyTemplate)},
		"data/cases.jsonl": {Data: []byte(casesTemplate)},
	}
	written, err := writeNew(dir, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Wrote %s. Put your own questions into data/cases.jsonl and say\nin oloproof.yaml where your endpoint's response holds the answer.\n\n", strings.Join(written, ", "))
	return e.nextAfterInit(filepath.Join(dir, "oloproof.yaml"))
}

// projectName names a project after its directory, as a suite allows it: in one
// line of at most 200 characters.
func projectName(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	name := []rune(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, filepath.Base(dir)))
	return string(name[:min(len(name), 200)])
}

const suiteTemplate = `# What is run, against what, and how it is judged. Every key is explained in
# https://github.com/oloproof/oloproof-go/blob/main/docs/suite.md
version: 1
project: %q
dataset: data/cases.jsonl

system:
  name: my-rag
  version: "1"            # part of the system's identity: change it with the service
  http:
    url: %q
    # headers: {Authorization: "Bearer ${RAG_TOKEN}"}   # ${NAME}: from the environment
    # The input of a case is sent as the JSON body. output_path says where the output
    # stands in the response, by keys and list indexes such as choices.0.text; leave
    # it out when the whole body is the output.
    # output_path: result
    # What the service did to get there, for hit_rate, recall, mrr, ndcg and
    # citation_validity. Take the ones that your response carries.
    # artifacts:
    #   retrieval/v1: evidence.retrieval   # {query, depth, candidates: [{doc_id, score, text}]}
    #   context/v1: evidence.context       # {items: [{doc_id, position, text}], dropped: []}
    #   citations/v1: evidence.citations   # {ids: [doc_id, …]}

evaluators:
  # Passes when the case's expected.answer occurs in the output's field "answer".
  # Leave field out when the output is a text.
  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}

slices: [metadata.topic]
`

const policyTemplate = `# When the gate opens. Every key is explained in
# https://github.com/oloproof/oloproof-go/blob/main/docs/policies.md
version: 1
confidence_level: 0.95
block_on: [FAIL, INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]
rules:
  - id: answer-floor      # PASS only when the whole interval clears the floor
    metric: answer_correct
    min: 0.70
`

const casesTemplate = `{"id":"opening_hours","input":{"question":"When is the help desk open?"},"expected":{"answer":"9 to 17"},"metadata":{"topic":"contact"}}
{"id":"reset_password","input":{"question":"How do I set a new password?"},"expected":{"answer":"Forgot password"},"metadata":{"topic":"account"}}
{"id":"export_data","input":{"question":"Can I download all my data?"},"expected":{"answer":"Settings"},"metadata":{"topic":"data"}}
`

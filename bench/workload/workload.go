// Package workload is what the benchmarks ask and answer: numbered cases, and
// a service's answer to each, of the size that a real RAG endpoint sends when
// it says what it retrieved.
package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	variants    = 64 // different answers; case i gets answer i modulo variants
	wrongEvery  = 16 // one answer in so many is wrong
	depth       = 5
	inPrompt    = 2
	topics      = 5
	tokenBudget = 120
)

// Input is the input of case i, the body of its request.
func Input(i int) []byte {
	return fmt.Appendf(nil, `{"question":"Question %d: how long is the notice for a contract of kind %d, and who has to sign it?"}`, i, i%variants)
}

// Number reads the number of the case back from a request's body.
func Number(body []byte) (int, error) {
	start := bytes.IndexAny(body, "0123456789")
	if start < 0 {
		return 0, fmt.Errorf("no number in %q", body)
	}
	end := start
	for end < len(body) && body[end] >= '0' && body[end] <= '9' {
		end++
	}
	return strconv.Atoi(string(body[start:end]))
}

// Correct is how many of the first n cases get the right answer.
func Correct(n int) int {
	return n - (n+wrongEvery-1)/wrongEvery
}

// Flipped is how many of the first n cases the candidate answers right and the
// baseline wrong, and the other way round.
func Flipped(n int) (better, worse int) {
	every := func(first int) int { return (n - first + wrongEvery - 1) / wrongEvery }
	return every(0), every(1)
}

// Answers returns the bodies of the responses, 1 to 2 kB each; case i gets the
// element i modulo the length.
func Answers() ([][]byte, error) { return answers(0) }

// Candidate is [Answers] of a changed service: as many are wrong, other ones.
func Candidate() ([][]byte, error) { return answers(1) }

// answers returns the bodies of a service whose first wrong answer is that.
func answers(wrong int) ([][]byte, error) {
	bodies := make([][]byte, variants)
	for v := range bodies {
		body, err := json.Marshal(answer(v, v%wrongEvery == wrong))
		if err != nil {
			return nil, err
		}
		bodies[v] = body
	}
	return bodies, nil
}

type object = map[string]any

func answer(v int, wrong bool) object {
	var candidates, items, dropped []object
	for i := range depth {
		id, text := document(v+i), passage(v+i)
		candidates = append(candidates, object{"doc_id": id, "score": 1 - float64(i)/8, "text": text})
		if i < inPrompt {
			items = append(items, object{"doc_id": id, "position": i + 1, "tokens": len(strings.Fields(text)), "text": text})
		} else {
			dropped = append(dropped, object{"doc_id": id, "position": i + 1, "reason": "top_k"})
		}
	}
	text := passage(v)
	if wrong {
		text = "The knowledge base has nothing about that kind of contract."
	}
	ids := []string{document(v)}
	return object{
		"result": object{"answer": text, "citations": ids},
		"evidence": object{
			"retrieval": object{"query": fmt.Sprintf("notice contract kind %d sign", v), "depth": depth, "candidates": candidates},
			"context":   object{"items": items, "dropped": dropped, "token_budget": tokenBudget, "source": "retrieval"},
			"citations": object{"ids": ids},
		},
	}
}

func document(v int) string { return fmt.Sprintf("contract-%02d", v%variants) }

func passage(v int) string {
	return fmt.Sprintf("A contract of kind %d ends with a notice of %s. The notice is signed by an owner and kept with the contract for ten years.", v%variants, notice(v))
}

// notice is the text that the answer to case v has to contain.
func notice(v int) string { return fmt.Sprintf("%d days in writing", 10+v%variants) }

// WriteProject writes a complete project of n cases to dir: the suite against
// a service at url with that many calls in flight, a release policy and a
// comparison policy that it passes, and the data set.
func WriteProject(dir string, n int, url string, concurrency int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := WriteSuite(dir, url, concurrency); err != nil {
		return err
	}
	for name, text := range map[string]string{"release.yaml": release, "compare.yaml": compare} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return writeCases(filepath.Join(dir, "cases.jsonl"), n)
}

// WriteSuite writes only the suite of a project.
func WriteSuite(dir, url string, concurrency int) error {
	return os.WriteFile(filepath.Join(dir, "oloproof.yaml"), fmt.Appendf(nil, suite, url, concurrency), 0o644)
}

// StreamPieces is how many pieces of text a streamed answer has, and StreamTime
// how long it takes.
const (
	StreamPieces = 40
	StreamTime   = 2 * time.Second
)

// WriteStreams writes a project of n cases whose answers come in pieces: first what
// [Answers] holds, as one frame, then text.
func WriteStreams(dir string, n int, url string, concurrency int) error {
	if err := WriteProject(dir, n, url, concurrency); err != nil {
		return err
	}
	text := strings.Replace(fmt.Sprintf(suite, url, concurrency), "    output_path:", "    stream: {assemble: append, text: piece}\n    output_path:", 1)
	return os.WriteFile(filepath.Join(dir, "oloproof.yaml"), []byte(text), 0o644)
}

func writeCases(path string, n int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"id":"case-%06d","input":%s,"expected":{"answer":"%s","relevant":[{"doc_id":"%s"}]},"metadata":{"topic":"topic-%d"}}`+"\n",
			i, Input(i), notice(i), document(i), i%topics)
	}
	return w.Flush()
}

const suite = `version: 1
project: bench
dataset: cases.jsonl
system:
  name: mock
  version: bench
  http:
    url: %s
    output_path: result
    artifacts:
      retrieval/v1: evidence.retrieval
      context/v1: evidence.context
      citations/v1: evidence.citations
concurrency: {system: %d}
evaluators:
  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}
  - {type: hit_rate, k: 2}
  - {type: recall, k: 2}
  - {type: citation_validity, require_citations: true}
slices: [metadata.topic]
`

const release = `version: 1
rules:
  - {id: answer-floor, metric: answer_correct, min: 0.80}
  - {id: retrieval-floor, metric: hit_rate_at_2, min: 0.80}
  - {id: citations-valid, metric: citations_valid, kind: observed_count, max_failures: 0}
`

const compare = `version: 1
rules:
  - {id: answers-not-worse, metric: answer_correct, kind: non_inferiority, margin: 0.05}
  - {id: hits-not-worse, metric: hit_rate_at_2, kind: non_inferiority, margin: 0.05}
  - {id: recall-not-worse, metric: recall_at_2, kind: non_inferiority, margin: 0.05}
  - {id: citations-not-worse, metric: citations_valid, kind: non_inferiority, margin: 0.05}
`

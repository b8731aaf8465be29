package workload

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WriteProgram writes a project as [WriteProject] does, whose system is a program
// in any language: the command.
func WriteProgram(dir string, n int, command string, concurrency int) error {
	return writeProgram(dir, n, concurrency, fmt.Sprintf("command: {run: [%q]}\n", command))
}

// WriteCallable writes a project as [WriteProject] does, whose system is a Python
// function. The Python tool runs it as well.
func WriteCallable(dir string, n int, concurrency int) error {
	if err := writeProgram(dir, n, concurrency, "callable: app:run\n  records: [retrieval/v1, context/v1, citations/v1]\n"); err != nil {
		return err
	}
	bodies, err := Answers()
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"answers.jsonl": append(bytes.Join(bodies, []byte("\n")), '\n'), "app.py": []byte(app)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeProgram(dir string, n, concurrency int, system string) error {
	if err := WriteProject(dir, n, "", concurrency); err != nil {
		return err
	}
	start, rest := strings.Index(suite, "http:\n"), strings.Index(suite, "concurrency:")
	text := suite[:start] + system + fmt.Sprintf(suite[rest:], concurrency)
	return os.WriteFile(filepath.Join(dir, "oloproof.yaml"), []byte(text), 0o644)
}

// app is the service of the benchmarks as a Python function.
const app = `import json
import re
from pathlib import Path

from oloproof import Context, ContextItem, DroppedItem, Passage, Retrieval, current_case

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text().splitlines()]


def run(case):
    number = int(re.search("[0-9]+", case["question"]).group())
    answer = ANSWERS[number % len(ANSWERS)]
    evidence = answer["evidence"]
    retrieval, context = evidence["retrieval"], evidence["context"]
    recorder = current_case()
    recorder.retrieval(
        Retrieval(
            query=retrieval["query"],
            depth=retrieval["depth"],
            candidates=tuple(Passage(**candidate) for candidate in retrieval["candidates"]),
        )
    )
    recorder.context(
        Context(
            items=tuple(ContextItem(**item) for item in context["items"]),
            dropped=tuple(DroppedItem(**item) for item in context["dropped"]),
            token_budget=context["token_budget"],
        )
    )
    recorder.citations(evidence["citations"]["ids"])
    return answer["result"]
`

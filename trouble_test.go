package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// troubled is somebody who follows docs/trouble.md, in a directory of their own.
type troubled struct {
	t   *testing.T
	dir string
}

func (r *troubled) types(args ...string) string {
	cmd := exec.Command("oloproof", args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "OLOPROOF_HOME=", "OLOPROOF_ALLOW_EXEC=1", "GITHUB_SHA=")
	out, _ := cmd.CombinedOutput() // the exit code is part of the story only where it is looked for
	return fmt.Sprintf("%sexit code %d\n", out, cmd.ProcessState.ExitCode())
}

// edits replaces text in a file of the project.
func (r *troubled) edits(name, old, fresh string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	changed := regexp.MustCompile(old).ReplaceAllString(string(text), fresh)
	if changed == string(text) {
		r.t.Fatalf("%s has nothing like %s", name, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// takes copies an example.
func (r *troubled) takes(example string) {
	r.t.Helper()
	if out := r.types("init", "--example", example, "."); !strings.HasSuffix(out, "exit code 0\n") {
		r.t.Fatal(out)
	}
}

// asks lets the example's suite ask a service that answers like this.
func (r *troubled) asks(answer func() any) {
	r.t.Helper()
	r.takes("blackbox_rag")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer()) // the caller may have enough
	}))
	r.t.Cleanup(server.Close)
	r.edits("oloproof.http.yaml", `url: .*`, "url: "+server.URL)
}

// troubles makes each symptom of docs/trouble.md, in its order, and returns what
// was printed.
var troubles = []func(r *troubled) string{
	func(r *troubled) string {
		r.takes("blackbox_rag")
		r.edits("oloproof.yaml", `slices: \[`, "slices: [relevant_position, ")
		return r.types("run")
	},
	func(r *troubled) string {
		r.asks(func() any {
			passage := map[string]any{"doc_id": "a"}
			return map[string]any{"result": map[string]any{"answer": "x", "citations": []string{}}, "evidence": map[string]any{
				"retrieval": map[string]any{"depth": 1, "candidates": []any{passage, passage}},
				"context":   map[string]any{"items": []any{}}, "citations": map[string]any{"ids": []string{}}}}
		})
		return r.types("run", "--config", "oloproof.http.yaml")
	},
	func(r *troubled) string {
		r.asks(func() any {
			return map[string]any{"result": map[string]any{"answer": "x"}, "evidence": map[string]any{
				"retrieval": map[string]any{"depth": 6, "candidates": []any{}}, "context": map[string]any{"items": []any{}}}}
		})
		r.edits("oloproof.http.yaml", `citations/v1: (\S+)`, "citations/v1: {path: $1, optional: true}")
		return r.types("run", "--config", "oloproof.http.yaml")
	},
	func(r *troubled) string {
		r.takes("blackbox_rag")
		return r.types("run")
	},
	func(r *troubled) string {
		r.takes("blackbox_rag")
		r.types("run")
		return r.types("diagnose", "latest", "--intervention", "gold-context", "--criterion", "answer_correct")
	},
	func(r *troubled) string {
		r.takes("support_rag")
		r.types("run")
		r.edits("oloproof.yaml", `token_budget: 40`, "token_budget: 120")
		return r.types("diagnose", "latest", "--intervention", "gold-context", "--criterion", "answer_correct")
	},
	func(r *troubled) string {
		r.takes("support_rag")
		for _, id := range []string{"seat_count", "money_back"} {
			r.edits("data/support.jsonl", `("id":"`+id+`".*),"gold_context":\[[^]]*\]`, "$1")
		}
		r.types("run")
		return r.types("diagnose", "latest", "--intervention", "gold-context", "--criterion", "answer_correct")
	},
	func(r *troubled) string {
		r.takes("support_rag")
		r.edits("oloproof.yaml", `code_paths: \[data/corpus.jsonl\]`, "code_paths: [rerank.py]")
		r.types("run")
		r.edits("data/corpus.jsonl", "five seats", "six seats")
		r.edits("oloproof.yaml", `token_budget: 40`, "token_budget: 120") // so that it is not the whole execution
		stale := r.types("run")
		r.edits("oloproof.yaml", `index_version: thistlewick-1`, "index_version: thistlewick-2")
		if fresh := r.types("run"); !strings.Contains(fresh, "Stages: retrieve 0 hit/13 miss") {
			r.t.Errorf("the remedy does not help:\n%s", fresh)
		}
		return stale
	},
	func(r *troubled) string {
		r.takes("support_rag")
		r.types("run")
		return r.types("diagnose", "latest", "--intervention", "top-k", "--top-k", "4", "--criterion", "answer_correct")
	},
	func(r *troubled) string {
		if _, err := exec.LookPath("python3"); err != nil {
			r.t.Skip("no python3 is on PATH")
		}
		r.takes("support_rag")
		r.types("run")
		r.types("diagnose", "latest", "--intervention", "gold-context", "--criterion", "answer_correct")
		r.edits("rerank.py", `(?m)^    return sorted.*$`, `    return [p for p in candidates if p.doc_id == "seats"] * 2`)
		return r.types("diagnose", "latest", "--intervention", "reranker", "--reranker", "rerank:shortest_first", "--criterion", "answer_correct")
	},
}

// TestTrouble makes every symptom that the page lists.
func TestTrouble(t *testing.T) {
	typed(t)
	page, err := os.ReadFile("docs/trouble.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`[^`]+`")
	row := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| symptom") {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("row %d has %d cells", row+1, len(cells))
		}
		if row == len(troubles) {
			t.Fatalf("nothing makes the symptom %s", cells[0])
		}
		make := troubles[row]
		row++
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			t.Parallel()
			printed := make(&troubled{t, t.TempDir()})
			for _, symptom := range quoted.FindAllString(cells[0], -1) {
				if !strings.Contains(printed, strings.Trim(symptom, "`")) {
					t.Errorf("no %s in\n%s", symptom, printed)
				}
			}
			if strings.Contains(cells[0], "exit code 2") && !strings.HasSuffix(printed, "exit code 2\n") {
				t.Errorf("another exit code:\n%s", printed)
			}
		})
	}
	if row != len(troubles) {
		t.Errorf("%d rows, and %d symptoms are made", row, len(troubles))
	}
}

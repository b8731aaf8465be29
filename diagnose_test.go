package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// stages is a staged program whose every answer is told by the input of the case,
// so that a script shows what it stands for. It notes each call in the file
// calls of its directory, a line for each: method, case, and gold when a passage
// says GOLD. Generation answers yes when one does, else no.
func stages() {
	out := json.NewEncoder(os.Stdout)
	log, err := os.OpenFile("calls", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	methods := []string{"retrieve", "generate", "count_tokens", "rerank"}
	_ = out.Encode(map[string]any{"hello": map[string]any{"protocol": 1, "methods": methods}})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r stageRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		gold := ""
		for _, p := range r.Params.Passages {
			if strings.Contains(p.Text, "GOLD") {
				gold = " gold"
			}
		}
		earlier := noted(r.Method + " " + r.Params.Input.ID + gold)
		fmt.Fprintf(log, "%s %s%s\n", r.Method, r.Params.Input.ID, gold)
		answer := map[string]any{"id": r.ID}
		if message := r.fault(gold, earlier); message != "" {
			answer["error"] = message
		} else {
			answer["result"] = r.result(gold, earlier)
		}
		if earlier == 0 && slices.Contains(r.Params.Input.Hangs, r.Method+gold) {
			continue
		}
		_ = out.Encode(answer)
	}
}

// noted says how often a line stands in the file of calls.
func noted(line string) int {
	text, _ := os.ReadFile("calls")
	return strings.Count("\n"+string(text), "\n"+line+"\n")
}

type stageRequest struct {
	ID     uint64
	Method string
	Params struct {
		Input      stageInput
		Passage    struct{ Text string }
		Passages   []struct{ Text string } // of generate
		Candidates []json.RawMessage
	}
}

// stageInput is the input of a case: what its stages do.
type stageInput struct {
	ID        string            `json:"id"`
	Retrieved []json.RawMessage `json:"retrieved"`
	Never     bool              `json:"never"`    // no passage helps
	Unstable  bool              `json:"unstable"` // fails only the first time
	Fails     []string          `json:"fails"`    // calls that are an error
	Later     []string          `json:"later"`    // calls that are an error but the first time
	Hangs     []string          `json:"hangs"`    // calls that are not answered the first time
	Order     []int             `json:"order"`    // of a reranker
}

func (r *stageRequest) fault(gold string, earlier int) string {
	call, in := r.Method+gold, &r.Params.Input
	if slices.Contains(in.Fails, call) || slices.Contains(in.Later, call) && earlier > 0 {
		return "no answer to " + call
	}
	return ""
}

func (r *stageRequest) result(gold string, earlier int) any {
	in := &r.Params.Input
	switch r.Method {
	case "retrieve":
		if in.Retrieved == nil {
			return []any{}
		}
		return in.Retrieved
	case "count_tokens":
		return len(strings.Fields(r.Params.Passage.Text))
	case "rerank":
		order := []json.RawMessage{}
		for _, i := range in.Order {
			order = append(order, r.Params.Candidates[i])
		}
		return order
	}
	if gold != "" && !in.Never || in.Unstable && earlier > 0 {
		return map[string]any{"answer": "yes", "citations": []string{}}
	}
	return map[string]any{"answer": "no", "citations": []string{}}
}

// notes FILE TEXT: waits until a line of the file is the text.
func notes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: notes FILE TEXT")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains("\n"+string(text), "\n"+args[1]+"\n") {
			return
		}
	}
	ts.Fatalf("no line of %s is %q", args[0], args[1])
}

// changed DIR OLD NEW: every file of the directory has NEW where it had OLD.
func changed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: changed DIR OLD NEW")
	}
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*"))
	ts.Check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		ts.Check(err)
		ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(string(text), args[1], args[2])), 0o644))
	}
}

package process

import (
	"bytes"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// What a program writes may be anything: it is read or refused, and what was read
// can be written into a run's files.
func FuzzLines(f *testing.F) {
	for _, line := range []string{
		helloExample,
		`{"hello":{"protocol":1,"methods":["run"],"records":["citations/v1"],"settings":{"depth":6},"code":{"a.py":"00"},"own_log":true,"error":{"message":"m","detail":"d"}}}`,
		`{"id":1,"result":{"a":1},"artifacts":{"citations/v1":{"ids":["a"]},"other/v1":[1]},"usage":{"input_tokens":3},"log":"x\ny","late":true}`,
		`{"id":1,"artifacts":{"citations/v1":{"ids":[]},"citations/v1":{"ids":[]}},"result":1}`,
		`{"id":7,"error":{"message":"m","detail":"d","fatal":true}}`, `{"id":7,"error":"m"}`, `{"id":7,"error":{"message":"m","artifact":"retrieval/v1"}}`,
		`{"id":3,"result":NaN}`, "{ \"id\" : 3 , ", "Loading…", "", "{\"id\":1,\"result\":\"\xff\"}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if h, err := readHello(line); err == nil {
			_ = h.check([]string{MethodRun})
		}
		a, err := readAnswer(line)
		if err != nil {
			return
		}
		if a.id == 0 {
			t.Fatalf("an answer without id: %q", line)
		}
		c := &Client{}
		r, err := c.read("x", a, 1)
		if err != nil {
			return
		}
		e := evidence.Execution{Status: evidence.StatusOK, Output: r.Result, Artifacts: r.Artifacts, Usage: r.Usage, Log: r.Stderr}
		written := evidence.AppendCaseLine(nil, &evidence.Manifest{}, &evidence.Case{ID: "x", Input: evidence.Value("1")}, &e, nil)
		if _, err := evidence.ParseJSON(written); err != nil && !bytes.Contains([]byte(err.Error()), []byte("deep")) {
			t.Fatalf("%q becomes %q: %v", line, written, err)
		}
	})
}

// A request is one line, whatever the input of a case is.
func FuzzRequest(f *testing.F) {
	f.Add("seat_count", []byte("{\n \"input\": \"a\\nb\"\n}"))
	f.Fuzz(func(t *testing.T, caseID string, params []byte) {
		v, err := evidence.ParseJSON(params)
		if err != nil {
			return
		}
		line := request(7, MethodRun, caseID, v)
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' || !bytes.HasPrefix(line, []byte(`{"id":7,`)) {
			t.Fatalf("request %q", line)
		}
		if _, err := evidence.ParseJSON(line); err != nil {
			t.Fatalf("request %q: %v", line, err)
		}
	})
}

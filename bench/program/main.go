// Program is the service of the benchmarks behind the protocol of docs/systems.md.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/oloproof/oloproof-go/bench/workload"
)

func main() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	bodies, err := workload.Answers()
	if err != nil {
		return err
	}
	answers := make([][]byte, len(bodies))
	for i, body := range bodies {
		if answers[i], err = rest(body); err != nil {
			return err
		}
	}
	fmt.Println(`{"hello":{"protocol":1,"methods":["run"],"concurrency":64}}`) // a request waits in the pipe while one is answered
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil // the end of the input is the end of the program
		}
		var r struct {
			ID     int
			Params struct{ Input json.RawMessage }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		number, err := workload.Number(r.Params.Input)
		if err != nil {
			return err
		}
		answer := append(fmt.Appendf(nil, `{"id":%d,`, r.ID), answers[number%len(answers)]...)
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}

// rest returns what follows the id in the answer with a service's body.
func rest(body []byte) ([]byte, error) {
	var b struct {
		Result   json.RawMessage
		Evidence struct{ Retrieval, Context, Citations json.RawMessage }
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{
		"result": b.Result,
		"artifacts": map[string]any{
			"retrieval/v1": b.Evidence.Retrieval, "context/v1": b.Evidence.Context, "citations/v1": b.Evidence.Citations,
		},
	})
	return append(bytes.TrimPrefix(text, []byte("{")), '\n'), err
}

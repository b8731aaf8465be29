// Floor is the bare client that the benchmarks compare with: net/http with
// kept connections, which reads and decodes every body and does nothing else.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/oloproof/oloproof-go/bench/workload"
)

func main() {
	url := flag.String("url", "", "`URL` of the endpoint")
	cases := flag.Int("cases", 10_000, "how many questions to ask")
	concurrency := flag.Int("concurrency", 16, "how many at a time")
	flag.Parse()
	if err := ask(*url, *cases, *concurrency); err != nil {
		log.Fatal(err)
	}
}

// ask sends the cases and returns the first error.
func ask(url string, cases, concurrency int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
	var next atomic.Int64
	errs := make(chan error, concurrency)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= cases {
					return
				}
				if err := askOne(client, url, workload.Input(i)); err != nil {
					errs <- fmt.Errorf("case %d: %w", i, err)
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	return <-errs
}

func askOne(client *http.Client, url string, input []byte) error {
	response, err := client.Post(url, "application/json", bytes.NewReader(input))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", response.StatusCode, body)
	}
	var answer any
	return json.Unmarshal(body, &answer)
}

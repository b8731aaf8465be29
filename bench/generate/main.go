// Generate writes a project of any number of cases for a mock endpoint.
// A stored run of that size comes from running it.
package main

import (
	"flag"
	"log"

	"github.com/oloproof/oloproof-go/bench/workload"
)

func main() {
	dir := flag.String("dir", "", "`directory` to write")
	cases := flag.Int("cases", 10_000, "how many cases")
	url := flag.String("url", "http://127.0.0.1:8767/answer", "`URL` of the endpoint")
	concurrency := flag.Int("concurrency", 16, "concurrency.system of the suite")
	flag.Parse()
	if *dir == "" {
		log.Fatal("--dir is missing")
	}
	if err := workload.WriteProject(*dir, *cases, *url, *concurrency); err != nil {
		log.Fatal(err)
	}
}

// Mock is the endpoint of the benchmarks: POST /answer gives a fixed answer
// after a fixed latency, POST /candidate one of a changed service, POST /stream the
// answer in pieces, and GET /count says how many questions all have answered.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`host:port` to listen on; port 0 takes a free one")
	latency := flag.Duration("latency", 0, "how long an answer takes")
	flag.Parse()
	if err := serve(*addr, *latency); err != nil {
		log.Fatal(err)
	}
}

func serve(addr string, latency time.Duration) error {
	answers, err := workload.Answers()
	if err != nil {
		return err
	}
	candidate, err := workload.Candidate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/answer\n", listener.Addr())
	var count atomic.Int64
	mux := http.NewServeMux()
	service := func(answers [][]byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client is gone
			}
			number, err := workload.Number(body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if latency > 0 {
				time.Sleep(latency)
			}
			answer := answers[number%len(answers)]
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			w.Write(answer)
			count.Add(1)
		}
	}
	mux.HandleFunc("POST /answer", service(answers))
	mux.HandleFunc("POST /candidate", service(candidate))
	mux.HandleFunc("POST /stream", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		number, err := workload.Number(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		stream(w, answers[number%len(answers)])
		count.Add(1)
	})
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, count.Load())
	})
	return http.Serve(listener, mux)
}

// stream sends an answer, then text in pieces.
func stream(w http.ResponseWriter, answer []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	fmt.Fprintf(w, "data: %s\n\n", answer)
	_ = flush() // an error means that the client is gone, as below
	for i := range workload.StreamPieces {
		time.Sleep(workload.StreamTime / workload.StreamPieces)
		fmt.Fprintf(w, "data: {\"piece\":\"word %d of the answer, \"}\n\n", i)
		_ = flush()
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

package httpsystem_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// benchAnswer is an answer with its evidence, about 2 kB.
var benchAnswer = []byte(`{"result":{"answer":"Team plans include five seats.","citations":["kb-03"]},"evidence":{"retrieval":{"query":"How many seats?","depth":6,"candidates":[` +
	strings.TrimSuffix(strings.Repeat(`{"doc_id":"kb-03","chunk_id":null,"score":3.25,"text":"`+strings.Repeat("Team plans include five seats. ", 8)+`"},`, 6), ",") +
	`]},"context":{"items":[{"doc_id":"kb-03","position":1,"tokens":17}],"dropped":[{"doc_id":"kb-05","position":3,"reason":"top_k"}],"token_budget":40},"citations":{"ids":["kb-03"]}}}`)

const benchInput = `{"question":"How many seats does a team plan include?"}`

func benchServer(b *testing.B) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(benchAnswer)
	}))
	b.Cleanup(server.Close)
	return server
}

// BenchmarkFloor is a bare client that keeps its connections, and reads and
// decodes every answer: what BenchmarkExecute is compared with.
func BenchmarkFloor(b *testing.B) {
	server := benchServer(b)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConns: 16, MaxIdleConnsPerHost: 16}}
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(server.URL, "application/json", bytes.NewReader([]byte(benchInput)))
			if err != nil {
				b.Error(err)
				return
			}
			var answer any
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				b.Error(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

func BenchmarkExecute(b *testing.B) {
	server := benchServer(b)
	cfg := config(server.URL)
	cfg.Concurrency = 16
	cfg.Artifacts = []suite.ArtifactPath{
		{Kind: "retrieval/v1", Path: "evidence.retrieval"},
		{Kind: "context/v1", Path: "evidence.context"},
		{Kind: "citations/v1", Path: "evidence.citations"},
	}
	s, err := httpsystem.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	c := aCase(benchInput)
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if e, err := s.Execute(b.Context(), c); err != nil || e.Error != nil {
				b.Errorf("Execute = %+v, %v", e, err)
				return
			}
		}
	})
}

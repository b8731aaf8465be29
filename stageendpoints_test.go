package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// stageWish is what the input of a case asks of the stages.
type stageWish struct {
	Docs  []string // ids that are found
	Fault string   // many, html, busy or odd
}

// endpoints NAME: starts a service whose stages are endpoints, and sets NAME to its
// URL. /retrieve and /generate take what is sent when the suite says nothing;
// /search and /chat have words of their own.
func endpoints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: endpoints NAME")
	}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	busy := map[string]bool{}
	mux.HandleFunc("POST /retrieve", func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Input stageWish
			Depth int
		}
		_ = json.NewDecoder(r.Body).Decode(&ask)
		found := []map[string]any{}
		for _, id := range ask.Input.Docs {
			if len(found) < ask.Depth || ask.Input.Fault == "many" {
				found = append(found, map[string]any{"doc_id": id, "text": "text of " + id})
			}
		}
		switch ask.Input.Fault {
		case "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Gateway</h1>")
		case "odd":
			answer(w, map[string]any{"hits": found})
		default:
			answer(w, found)
		}
	})
	mux.HandleFunc("POST /generate", func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Input    stageWish
			Passages []struct {
				DocID string `json:"doc_id"`
				Text  string
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if id := fmt.Sprint(ask.Input.Docs); ask.Input.Fault == "busy" && !busy[id] {
			busy[id] = true
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		said, ids := "", []string{}
		for _, p := range ask.Passages {
			said, ids = said+p.Text+". ", append(ids, p.DocID)
		}
		answer(w, map[string]any{"answer": said, "citations": ids})
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"hits": []any{map[string]any{"id": "docs/" + r.URL.Query().Get("q"), "content": "k=" + r.URL.Query().Get("k")}}})
	})
	mux.HandleFunc("POST /chat", func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ Messages []struct{ Content string } }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if r.Header.Get("Authorization") != "Bearer key-of-the-model" {
			http.Error(w, "who are you, "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		answer(w, map[string]any{"choices": []any{map[string]any{"message": ask.Messages[0]}}, "usage": map[string]any{"prompt_tokens": 3, "completion_tokens": 4}})
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) { answer(w, map[string]any{"index": "i7"}) })
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

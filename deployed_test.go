package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// deploys NAME N: starts a service and sets NAME to its URL. It answers yes, says
// its version at /version and in the header X-Version, and is v2 after N answers,
// v1 before. POST /deploy makes it v1 with N answers to go again, POST /break lets
// /version fail.
func deploys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: deploys NAME N")
	}
	until, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	var answers atomic.Int64
	var broken atomic.Bool
	mux := http.NewServeMux()
	version := func() string {
		if answers.Load() >= until {
			return "v2"
		}
		return "v1"
	}
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() || r.Header.Get("X-Key") == "wrong" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		w.Header().Set("X-Version", version())
		fmt.Fprintf(w, `{"build":{"commit":%q,"number":7,"none":null}}`, version())
	})
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		var input struct{ Silent bool }
		_ = json.NewDecoder(r.Body).Decode(&input) // the cases of the script are objects
		if !input.Silent {
			w.Header().Set("X-Version", version())
		}
		answers.Add(1)
		fmt.Fprint(w, `{"answer":"yes"}`)
	})
	mux.HandleFunc("POST /deploy", func(http.ResponseWriter, *http.Request) { answers.Store(0) })
	mux.HandleFunc("POST /break", func(http.ResponseWriter, *http.Request) { broken.Store(true) })
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// posts URL: sends an empty request.
func posts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: posts URL")
	}
	response, err := http.Post(args[0], "text/plain", nil)
	ts.Check(err)
	ts.Check(response.Body.Close())
}

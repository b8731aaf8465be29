package demo_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/demo"
)

func TestUnknownService(t *testing.T) {
	_, err := demo.Handler("nope", demo.Options{})
	if !errors.Is(err, demo.ErrUnknown) || !strings.Contains(err.Error(), `"nope"`) || !strings.Contains(err.Error(), "blackbox_rag") {
		t.Errorf("error %v names neither what was asked nor what there is", err)
	}
	for _, name := range demo.Names() {
		if demo.IsProgram(name) {
			continue
		}
		if _, err := demo.Handler(name, demo.Options{}); err != nil {
			t.Error(err)
		}
	}
}

// A request that is no question gets an error in JSON, never an answer.
func TestBadRequests(t *testing.T) {
	handler, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const asJSON = "application/json"
	tests := []struct {
		name, contentType, body string
		status                  int
		message                 string
	}{
		{"empty", asJSON, ``, 400, "not a JSON object"},
		{"no JSON", asJSON, `question=seats`, 400, "not a JSON object"},
		{"array", asJSON, `["seats"]`, 400, "not a JSON object"},
		{"null", asJSON, `null`, 400, `no "question"`},
		{"no question", asJSON, `{"query": "seats"}`, 400, `no "question"`},
		{"question null", asJSON, `{"question": null}`, 400, `no "question"`},
		{"question a number", asJSON, `{"question": 7}`, 400, "not a JSON object with a question"},
		{"two objects", asJSON, `{"question": "a"}{"question": "b"}`, 400, "not a JSON object"},
		{"a form", "application/x-www-form-urlencoded", `{"question": "seats"}`, 400, "application/json"},
		{"too large", asJSON, `{"question": "` + strings.Repeat("seat ", 300_000) + `"}`, 413, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			response := post(handler, tt.contentType, tt.body)
			var got struct{ Error string }
			if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v in %s", err, response.Body)
			}
			if response.Code != tt.status || !strings.Contains(got.Error, tt.message) {
				t.Errorf("status %d, error %q; want %d, …%s…", response.Code, got.Error, tt.status, tt.message)
			}
		})
	}
}

// Questions that hold no word are answered like any other that finds nothing.
func TestOddQuestions(t *testing.T) {
	handler, err := demo.Handler("blackbox_rag", demo.Options{ExpandQuery: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"", " ", "?!", "what is it", "\u2028", "Ünïcödé 日本", "\x00"} {
		body, _ := json.Marshal(map[string]string{"question": q})
		response := post(handler, "application/json; charset=utf-8", string(body))
		var a answer
		if err := json.Unmarshal(response.Body.Bytes(), &a); err != nil || response.Code != http.StatusOK {
			t.Errorf("%q: status %d, %v", q, response.Code, err)
		}
		if len(a.Evidence.Retrieval.Candidates) != 0 || a.Result.Answer == "" || a.Evidence.Retrieval.Query != q {
			t.Errorf("%q: %+v", q, a)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	handler, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{"/health": 200, "/answer": 405, "/": 404} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		if recorder.Code != status {
			t.Errorf("GET %s: status %d, want %d", path, recorder.Code, status)
		}
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- demo.Serve(ctx, "blackbox_rag", demo.Options{Addr: "127.0.0.1:0", Log: out}) }()

	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var name, url string
	if _, err := fmt.Sscanf(line, "%s answers on %s", &name, &url); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	response, err := http.Post(url, "application/json", strings.NewReader(`{"question": "What does an extra seat cost?"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), "9 euros") {
		t.Errorf("answer %s", body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ends with %v", err)
	}
}

func TestServeOnATakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	err = demo.Serve(t.Context(), "blackbox_rag", demo.Options{Addr: addr})
	if err == nil || !strings.Contains(err.Error(), "cannot listen on "+addr) {
		t.Errorf("error %v does not name the address", err)
	}
}

// Package githubtest is a fake GitHub for tests. It holds every request that it
// gets and every answer that it gives against GitHub's published description of
// its API, and fails the test where they depart from it.
package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Token is the one that the fake takes.
const Token = "ghs_fake_token_of_the_tests"

// Server is a fake GitHub with a storage on another port.
type Server struct {
	// URL is the API's, without a trailing slash.
	URL string
	// BlobURL is the storage's.
	BlobURL string
	// GraphQL answers POST /graphql when it is set.
	GraphQL http.HandlerFunc

	t          testing.TB
	spec       *description
	enterprise bool

	mu       sync.Mutex
	world    World
	faults   []*Fault
	requests []string
	blobs    map[string][]byte // by path
}

// Fault is an answer in the place of the usual one.
type Fault struct {
	Method string // "": any
	Path   string // part of the path, below /repos/OWNER/REPO for the API; "" any
	Blob   bool   // of the storage
	Skip   int    // requests that match and are answered as usual first
	Times  int    // how often; 0 is always

	Status int
	Header map[string]string
	Body   string
	Cut    bool // the connection breaks in the middle of the answer
	Hang   bool // nothing is answered until the client gives up
	// Reached is called before the answer; nil calls nothing.
	Reached func()
}

// Option changes a server.
type Option func(*Server)

// Enterprise makes it a GitHub Enterprise Server 3.19, whose artifacts have no
// digest.
func Enterprise() Option { return func(s *Server) { s.enterprise = true } }

// New starts a server, which ends with the test. Its world has one commit, base,
// at the head of main.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{
		t: t, blobs: map[string][]byte{},
		world: World{
			Parents:     map[string][]string{"base": nil},
			Branches:    map[string]string{Main: "base"},
			Permissions: map[string]string{},
			UserIDs:     map[string]int64{},
			Files:       map[string]File{},
			Refs:        map[string]string{},
		},
	}
	for _, o := range options {
		o(s)
	}
	load, prefix := dotcom, ""
	if s.enterprise {
		load, prefix = enterprise, "/api/v3"
	}
	var err error
	if s.spec, err = load(); err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(http.StripPrefix(prefix, http.HandlerFunc(s.serveAPI)))
	storage := httptest.NewServer(http.HandlerFunc(s.serveBlob))
	t.Cleanup(api.Close)
	t.Cleanup(storage.Close)
	s.URL, s.BlobURL = api.URL+prefix, storage.URL
	return s
}

// Do changes the world.
func (s *Server) Do(change func(w *World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.world)
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Requests returns the requests of the API so far, such as "GET /commits/…"
// below the repository, and of the storage as "BLOB …".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Environment returns the variables of a job, with changes.
func (s *Server) Environment(changes map[string]string) func(string) string {
	vars := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": s.URL, "GITHUB_SERVER_URL": "https://github.com",
		"GITHUB_REPOSITORY": Owner + "/" + Repo, "GITHUB_REPOSITORY_ID": fmt.Sprint(RepositoryID),
		"GITHUB_RUN_ID": "900", "GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_WORKFLOW_REF": Owner + "/" + Repo + "/" + WorkflowPath + "@refs/heads/main",
		"GITHUB_EVENT_NAME":   "push", "GITHUB_SHA": SHA("base"), "GITHUB_REF": "refs/heads/main",
	}
	if s.enterprise {
		vars["GITHUB_SERVER_URL"] = "https://github.example.com"
	}
	for k, v := range changes {
		vars[k] = v
	}
	return func(name string) string { return vars[name] }
}

// fault returns the fault for a request, if there is one, and records it.
func (s *Server) fault(blob bool, method, path string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := method + " " + path
	if blob {
		name = "BLOB " + path
	}
	s.requests = append(s.requests, name)
	for _, f := range s.faults {
		if f.Blob != blob || f.Method != "" && f.Method != method || !strings.Contains(path, f.Path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times < 0 {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				f.Times = -1
			}
		}
		return f
	}
	return nil
}

func (f *Fault) serve(w http.ResponseWriter, r *http.Request) {
	if f.Reached != nil {
		f.Reached()
	}
	if f.Hang {
		io.Copy(io.Discard, r.Body) // else the server does not notice that the client leaves
		<-r.Context().Done()
		return
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	if f.Cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(f.Body)+1000))
	}
	w.WriteHeader(or(f.Status, http.StatusOK))
	io.WriteString(w, f.Body)
	if f.Cut {
		if flush, ok := w.(http.Flusher); ok {
			flush.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// serveAPI answers a request of the API.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+Token {
		s.t.Errorf("%s %s: Authorization %q, want the token", r.Method, r.URL.Path, got)
	}
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		if s.GraphQL == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.GraphQL(w, r)
		return
	}
	below := strings.TrimPrefix(r.URL.EscapedPath(), "/repos/"+Owner+"/"+Repo)
	if f := s.fault(false, r.Method, below); f != nil {
		f.serve(w, r)
		return
	}
	operation, params, handle := s.route(r.Method, below)
	if handle == nil {
		s.t.Errorf("%s %s: no operation of the description that the fake knows", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := &answer{header: http.Header{}, status: http.StatusOK}
	s.mu.Lock()
	handle(&call{server: s, world: &s.world, request: r, params: params, body: body}, answer)
	s.mu.Unlock()
	if answer.value != nil {
		if answer.raw, err = json.Marshal(answer.value); err != nil {
			s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		answer.header.Set("Content-Type", "application/json; charset=utf-8")
	}
	all := map[string]string{"owner": Owner, "repo": Repo}
	for k, v := range params {
		all[k] = v
	}
	if err := s.spec.check(exchange{
		operation: "/repos/{owner}/{repo}" + operation, params: all, request: r, body: body,
		status: answer.status, header: answer.header, answer: answer.raw,
	}); err != nil {
		s.t.Errorf("%s %s departs from GitHub's description: %v", r.Method, r.URL, firstLine(err))
	}
	for k, v := range answer.header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.status)
	io.Copy(w, bytes.NewReader(answer.raw))
}

// firstLine leaves out the schema and the value, which follow.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// serveBlob answers a request of the storage. The token must never reach it.
func (s *Server) serveBlob(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"Authorization", "Cookie"} {
		if got := r.Header.Get(name); got != "" {
			s.t.Errorf("the storage got the header %s: %q", name, got)
		}
	}
	if strings.Contains(r.URL.String(), Token) {
		s.t.Errorf("the storage got the token in its address")
	}
	if f := s.fault(true, r.Method, r.URL.Path); f != nil {
		f.serve(w, r)
		return
	}
	s.mu.Lock()
	b, ok := s.blobs[r.URL.Path]
	s.mu.Unlock()
	if !ok || r.URL.Query().Get("sig") == "" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Write(b)
}

// Signature is what lets anyone fetch from the storage.
const Signature = "c2lnbmF0dXJl/of+a+download="

// blobAddress stores bytes and returns where they lie.
func (s *Server) blobAddress(path string, b []byte) string {
	s.blobs[path] = b
	return s.BlobURL + path + "?se=2026-11-30&sig=" + url.QueryEscape(Signature)
}

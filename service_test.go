package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// service is an endpoint under test whose every answer is told by the input of
// the case, so that a script shows what it stands for.
type service struct {
	mu    sync.Mutex
	more  *sync.Cond // signalled at each call
	calls int
	tries map[string]int // by request body
	seen  int            // calls that a script has accounted for
}

// wish is what the input of a case may ask of the service.
type wish struct {
	Answer     json.RawMessage // of an ordinary answer
	Evidence   json.RawMessage
	Body       json.RawMessage // in place of it, as it stands
	Raw        string          // the same, of what is no JSON
	Type       string          // content type
	Status     int
	Fails      int    // so many attempts before an answer
	RetryAfter string `json:"retry_after"` // of a failed attempt
	To         string // target of a redirect
	Pad        int    // bytes of white space before the answer
	Zip        bool
	Cut        bool                       // the answer ends early
	Hangs      int                        // so many attempts have no answer until the caller leaves
	Echo       bool                       // answers, and redirects, hold the caller's token in every spelling
	At         map[string]json.RawMessage // in place of all of this, the wish of a call of the path
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	input, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var ask wish
	if err := json.Unmarshal(input, &ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if other := ask.At[r.URL.Path]; other != nil {
		ask = wish{}
		if err := json.Unmarshal(other, &ask); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	try := s.count(string(input))
	switch {
	case try <= ask.Hangs:
		<-r.Context().Done()
		return
	case ask.Cut:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"result":`)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	w.Header().Set("Content-Type", "application/json")
	if ask.Type != "" {
		w.Header().Set("Content-Type", ask.Type)
	}
	if ask.To != "" {
		w.Header().Set("Location", strings.ReplaceAll(ask.To, "TOKEN", url.QueryEscape(token)))
	}
	failed := ask.Status != 0 && (ask.Fails == 0 || try <= ask.Fails)
	if failed && ask.RetryAfter != "" {
		w.Header().Set("Retry-After", ask.RetryAfter)
	}
	body := ask.body(token)
	if ask.Zip {
		w.Header().Set("Content-Encoding", "gzip")
		body = zipped(body)
	}
	if failed {
		w.WriteHeader(ask.Status)
	}
	_, _ = w.Write(body) // the caller may have enough
}

func (s *service) count(input string) (try int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.tries[input]++
	s.more.Broadcast()
	return s.tries[input]
}

func (ask *wish) body(token string) []byte {
	body := []byte(ask.Body)
	switch {
	case ask.Raw != "":
		body = []byte(strings.ReplaceAll(ask.Raw, "TOKEN", token))
	case ask.Echo:
		body = echo(token)
	case ask.Body == nil:
		body = marshal(map[string]any{"result": map[string]any{"answer": ask.Answer}, "evidence": ask.Evidence})
	}
	return append(bytes.Repeat([]byte(" "), ask.Pad), body...)
}

// echo answers with a token wherever an answer has room for it.
func echo(token string) []byte {
	b := []byte(token)
	return marshal(map[string]any{
		"result": map[string]any{
			"answer": "yes, " + token, token: 1,
			"spelled": []string{
				base64.StdEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(append([]byte("user:"), b...)),
				hex.EncodeToString(b), url.QueryEscape(token), url.PathEscape(token),
			},
		},
		"evidence": map[string]any{
			"retrieval": map[string]any{"depth": 1, "query": token, "candidates": []any{map[string]any{"doc_id": token, "text": token, "metadata": map[string]any{token: token}}}},
			"context":   map[string]any{"items": []any{map[string]any{"doc_id": token, "text": token}}},
			"citations": map[string]any{"ids": []string{token}},
		},
	})
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake of the script
	}
	return b
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// services holds those of each script that runs.
var services sync.Map // of *service by URL

// serve NAME: starts a service and sets NAME to its URL.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve NAME")
	}
	s := &service{tries: map[string]int{}}
	s.more = sync.NewCond(&s.mu)
	server := httptest.NewServer(s)
	services.Store(server.URL, s)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		services.Delete(server.URL)
	})
	ts.Setenv(args[0], server.URL)
}

func serviceOf(ts *testscript.TestScript, name string) *service {
	s, ok := services.Load(ts.Getenv(name))
	if !ok {
		ts.Fatalf("no service is called %s", name)
	}
	return s.(*service)
}

// calls NAME N: the service was called N times since the last look.
func calls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: calls NAME N")
	}
	s := serviceOf(ts, args[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.calls - s.seen; strconv.Itoa(got) != args[1] {
		ts.Fatalf("%d calls, want %s", got, args[1])
	}
	s.seen = s.calls
}

// awaits NAME N: waits until the service has been called N times since the last
// look.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaits NAME N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a hang is a failure
	defer cancel()
	s := serviceOf(ts, args[0])
	s.await(ctx, s.seen+n)
}

// stops CODE SIGNAL NAME N COMMAND ARG...: the command is sent a signal when it
// has called the service N times, and ends with this code; -1 is that of a
// process that was killed.
func stops(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}
	if neg || len(args) < 5 || signals[args[1]] == nil {
		ts.Fatalf("usage: stops CODE INT|TERM|KILL NAME N COMMAND [ARG...]")
	}
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a hang is a failure
	defer cancel()
	cmd := exec.CommandContext(ctx, executable(ts, args[4]), args[5:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "TOKEN="+ts.Getenv("TOKEN"), args[2]+"="+ts.Getenv(args[2]))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	s := serviceOf(ts, args[2])
	n += s.called()
	ts.Check(cmd.Start())
	s.await(ctx, n)
	ts.Check(cmd.Process.Signal(signals[args[1]]))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	ts.Logf("%s", out.String())
	if got := cmd.ProcessState.ExitCode(); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s\n%s", got, args[0], out.String())
	}
}

// unread CODE COMMAND ARG...: the command ends with this code although nobody
// reads its standard output.
func unread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: unread CODE COMMAND [ARG...]")
	}
	read, write, err := os.Pipe()
	ts.Check(err)
	ts.Check(read.Close())
	defer write.Close()
	cmd := exec.Command(executable(ts, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "URL="+ts.Getenv("URL"))
	var trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &trouble
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); strconv.Itoa(got) != args[0] || trouble.Len() > 0 {
		ts.Fatalf("exit code %d, want %s\n%s", got, args[0], trouble.String())
	}
}

func (s *service) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// await returns when there were n calls in all, or with the context.
func (s *service) await(ctx context.Context, n int) {
	defer context.AfterFunc(ctx, s.more.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.calls < n && ctx.Err() == nil {
		s.more.Wait()
	}
}

// equalruns DIR DIR: two exported runs are equal but for ids, times, latencies and
// attempts, and what follows from those.
func equalruns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: equalruns DIR DIR")
	}
	for _, name := range []string{"run.json", "judgments.jsonl", "cases.jsonl", "gate.json"} {
		a, b := lasting(ts, filepath.Join(args[0], name)), lasting(ts, filepath.Join(args[1], name))
		if diff := cmp.Diff(a, b); diff != "" {
			ts.Fatalf("%s differs (-%s +%s):\n%s", name, args[0], args[1], diff)
		}
	}
}

// lasting reads the JSON values of a file without what differs from run to run.
func lasting(ts *testscript.TestScript, name string) []any {
	var all []any
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(name)))
	for {
		var v any
		if err := decoder.Decode(&v); err == io.EOF {
			return all
		} else if err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
		forget(v)
		all = append(all, v)
	}
}

func forget(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, value any) bool {
			id, _ := value.(string)
			return slices.Contains([]string{"started_at", "finished_at", "latency_ms", "attempts", "files"}, key) || strings.HasPrefix(id, "run_")
		})
		for _, each := range v {
			forget(each)
		}
	case []any:
		for _, each := range v {
			forget(each)
		}
	}
}

// executable finds a program as the script does.
func executable(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	ts.Fatalf("%s is not found", name)
	return ""
}

// holdsno DIR NAME: no file under DIR holds the value of the variable NAME,
// neither as it stands nor in the spellings of URLs, hex and base64.
func holdsno(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || ts.Getenv(args[1]) == "" {
		ts.Fatalf("usage: holdsno DIR NAME")
	}
	secret := []byte(ts.Getenv(args[1]))
	spellings := [][]byte{
		secret, []byte(url.QueryEscape(string(secret))), []byte(url.PathEscape(string(secret))), []byte(hex.EncodeToString(secret)),
		[]byte(base64.RawStdEncoding.EncodeToString(secret)), []byte(base64.RawURLEncoding.EncodeToString(secret)),
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, spelling := range spellings {
			if bytes.Contains(data, spelling) {
				return fmt.Errorf("%s holds %s", path, spelling)
			}
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("%s holds no file", args[0])
	}
}

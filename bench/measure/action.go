package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
)

const (
	actionCases    = 1_000
	actionTime     = time.Second
	actionRequests = 20
)

// Commits of the pull request that the action decides.
var (
	baseCommit  = strings.Repeat("b", 40)
	headCommit  = strings.Repeat("c", 40)
	mergeCommit = strings.Repeat("d", 40)
)

// action times the whole of `oloproof ci` for a pull request: policies, suite and
// data set at the base commit, the run, the baseline's artifact, the comparison,
// files, summary and comment, at an endpoint and a GitHub that answer at once.
func (p plan) action(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	dir := filepath.Join(p.work, "action")
	if err := workload.WriteProject(dir, actionCases, m.url, slowInFlight); err != nil {
		return nil, err
	}
	forge := newForge(dir)
	defer forge.Close()
	log.Print("action: the baseline")
	if _, err := p.ci(ctx, m, forge, dir, m.url, "push"); err != nil {
		return nil, err
	}
	if err := forge.store(filepath.Join(dir, "oloproof-out")); err != nil {
		return nil, err
	}
	requests := int64(0)
	u, err := best(p.repetitions, func() (usage, error) {
		before := forge.requests.Load()
		u, err := p.ci(ctx, m, forge, dir, m.candidate(), "pull_request")
		requests = max(requests, forge.requests.Load()-before)
		return u, err
	})
	if err != nil {
		return nil, err
	}
	return table{{
		what:  fmt.Sprintf("`oloproof ci`: a pull request with %d cases at 0 ms and a baseline of as many, minimum of %d (%d requests to GitHub)", actionCases, p.repetitions, requests),
		usage: u, targets: []target{atMostTime(u, actionTime), atMostRequests(requests, actionRequests)},
	}}, nil
}

func atMostRequests(n, limit int64) target {
	return target{fmt.Sprintf("at most %d requests", limit), n <= limit}
}

// ci runs a job of an event and makes sure that it decided what it should.
func (p plan) ci(ctx context.Context, m *mock, f *forge, dir, url, event string) (usage, error) {
	payload := map[string]any{"repository": repository(), "ref": "refs/heads/main", "before": strings.Repeat("0", 40)}
	sha, ref, run := baseCommit, "refs/heads/main", "100"
	if event == "pull_request" {
		sha, ref, run = mergeCommit, "refs/pull/7/merge", "200"
		payload["number"], payload["pull_request"] = 7, pullRequest()
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return usage{}, err
	}
	file := filepath.Join(p.work, "event.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return usage{}, err
	}
	env := []string{
		"GITHUB_ACTIONS=true", "GITHUB_API_URL=" + f.URL, "GITHUB_GRAPHQL_URL=" + f.URL + "/graphql", "GITHUB_SERVER_URL=https://github.com",
		"GITHUB_REPOSITORY=octo-org/octo-repo", "GITHUB_REPOSITORY_ID=1", "GITHUB_RUN_ID=" + run, "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_WORKFLOW_REF=octo-org/octo-repo/.github/workflows/gate.yml@" + ref, "GITHUB_EVENT_NAME=" + event, "GITHUB_EVENT_PATH=" + file,
		"GITHUB_SHA=" + sha, "GITHUB_REF=" + ref, "GITHUB_WORKSPACE=" + dir, "GITHUB_STEP_SUMMARY=" + filepath.Join(p.work, "summary.md"),
		"INPUT_URL=" + url, "INPUT_ALLOWED-HOSTS=127.0.0.1", "INPUT_GITHUB-TOKEN=token-of-the-measurement",
	}
	os.Remove(filepath.Join(p.work, "summary.md")) // of the repetition before
	u, err := m.asked(actionCases, func() (usage, error) { return runWith(ctx, dir, p.path("oloproof"), env, "ci") })
	if err != nil {
		return u, err
	}
	want := fmt.Sprintf("%d / %d observed", workload.Correct(actionCases), actionCases)
	if event == "pull_request" {
		want = fmt.Sprintf("%d paired cases", actionCases)
	}
	if !strings.Contains(u.stdout, want) {
		return u, fmt.Errorf("the job does not say %q:\n%s", want, tail(u.stdout))
	}
	return u, nil
}

func repository() map[string]any {
	return map[string]any{"id": 1, "full_name": "octo-org/octo-repo", "default_branch": "main"}
}

func pullRequest() map[string]any {
	side := func(ref, sha string) map[string]any {
		return map[string]any{"ref": ref, "sha": sha, "repo": repository()}
	}
	return map[string]any{"number": 7, "state": "open", "head": side("feature", headCommit), "base": side("main", baseCommit)}
}

// forge answers the requests of a pull request's job as GitHub does. What it
// answers is fixed; tests hold the program against GitHub's own description.
type forge struct {
	*httptest.Server
	dir      string // of the project at the base commit
	requests atomic.Int64
	artifact []byte // of the run on the base branch; nil: it did not run
	comment  atomic.Value
}

func newForge(dir string) *forge {
	f := &forge{dir: dir}
	f.comment.Store("")
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	return f
}

// store keeps the output directory of the run on the base branch as its artifact.
func (f *forge) store(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		w, err := z.Create(e.Name())
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	err = z.Close()
	f.artifact = b.Bytes()
	return err
}

func (f *forge) run(id string) map[string]any {
	r := map[string]any{"id": 100, "run_attempt": 1, "workflow_id": 3, "path": ".github/workflows/gate.yml", "event": "push", "status": "completed",
		"head_branch": "main", "head_sha": baseCommit, "created_at": time.Now().UTC(), "repository": repository(), "head_repository": repository()}
	if id == "200" {
		r["id"], r["event"], r["head_branch"], r["head_sha"] = 200, "pull_request", "feature", headCommit
	}
	return r
}

func (f *forge) artifacts(name string) map[string]any {
	list := []any{}
	if f.artifact != nil {
		list = append(list, map[string]any{"id": 1000, "name": name, "size_in_bytes": len(f.artifact), "expired": false,
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(f.artifact)), "created_at": time.Now().UTC(),
			"workflow_run": map[string]any{"id": 100, "repository_id": 1, "head_repository_id": 1, "head_branch": "main", "head_sha": baseCommit}})
	}
	return map[string]any{"total_count": len(list), "artifacts": list}
}

func (f *forge) comments() []any {
	body := f.comment.Load().(string)
	if body == "" {
		return []any{}
	}
	return []any{map[string]any{"id": 1, "body": body, "html_url": "https://github.com/octo-org/octo-repo/pull/7#issuecomment-1", "user": map[string]any{"login": "github-actions[bot]"}}}
}

func (f *forge) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/blob" {
		w.Write(f.artifact)
		return
	}
	f.requests.Add(1)
	path := strings.TrimPrefix(r.URL.Path, "/repos/octo-org/octo-repo")
	last := path[strings.LastIndexByte(path, '/')+1:]
	var answer any
	switch {
	case strings.HasPrefix(path, "/contents/"):
		data, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(strings.TrimPrefix(path, "/contents/"))))
		if err != nil {
			http.Error(w, `{"message": "Not Found"}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.github.raw+json; charset=utf-8")
		w.Write(data)
		return
	case strings.HasSuffix(path, "/zip"):
		w.Header().Set("Location", f.URL+"/blob?sig=signature")
		w.WriteHeader(http.StatusFound)
		return
	case last == "runs":
		list := []any{}
		if f.artifact != nil {
			list = append(list, f.run("100"))
		}
		answer = map[string]any{"total_count": len(list), "workflow_runs": list}
	case last == "artifacts":
		answer = f.artifacts(r.URL.Query().Get("name"))
	case strings.HasPrefix(path, "/actions/runs/"):
		answer = f.run(last)
	case strings.HasPrefix(path, "/commits/"):
		answer = map[string]any{"sha": last, "parents": []any{map[string]any{"sha": baseCommit}, map[string]any{"sha": headCommit}}}
	case path == "/commits":
		answer = []any{}
	case strings.HasSuffix(path, "/pulls") && strings.HasPrefix(path, "/commits"):
		answer = []any{}
	case path == "/pulls/7":
		answer = pullRequest()
	case strings.HasSuffix(path, "/comments") && r.Method == http.MethodPost:
		var sent struct{ Body string }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.comment.Store(sent.Body)
		w.WriteHeader(http.StatusCreated)
		answer = f.comments()[0]
	case strings.HasSuffix(path, "/comments"):
		answer = f.comments()
	case strings.HasPrefix(path, "/issues/comments/"):
		var sent struct{ Body string }
		if err := json.NewDecoder(r.Body).Decode(&sent); err == nil {
			f.comment.Store(sent.Body)
		}
		answer = f.comments()[0]
	default:
		http.Error(w, `{"message": "Not Found"}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client is gone; nobody is left to tell
}

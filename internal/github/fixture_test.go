package github

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
	"github.com/oloproof/oloproof-go/internal/store"
)

const suiteName = "eval/oloproof.yaml"

// now is the tests' clock: nothing waits for it.
var now = githubtest.Start

// bench is a fake GitHub with a client and what it was told to mask.
type bench struct {
	*githubtest.Server
	t      *testing.T
	env    *Environment
	client *Client
	dir    string

	mu     sync.Mutex
	masked []string
	waits  []time.Duration
	clock  time.Time
}

func newBench(t *testing.T, vars map[string]string, options ...githubtest.Option) *bench {
	t.Helper()
	return benchOn(t, githubtest.New(t, options...), vars)
}

// benchOn is another job at the same GitHub.
func benchOn(t *testing.T, server *githubtest.Server, vars map[string]string) *bench {
	t.Helper()
	b := &bench{Server: server, t: t, clock: now, dir: t.TempDir()}
	var err error
	if b.env, err = ReadEnvironment(b.Environment(vars)); err != nil {
		t.Fatal(err)
	}
	b.client, err = NewClient(Config{
		Environment: b.env, Token: githubtest.Token,
		Now: func() time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.clock
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.waits = append(b.waits, d)
			b.clock = b.clock.Add(d)
			return ctx.Err()
		},
		Random: func() float64 { return 1 },
		Mask: func(s string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.masked = append(b.masked, s)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lookup returns a Lookup for a published event with changes.
func (b *bench) lookup(event string, changes map[string]any) *Lookup {
	b.t.Helper()
	name, _, _ := strings.Cut(event, "-")
	e, err := ParseEvent(name, bytes.NewReader(githubtest.Payload(b.t, event, changes)))
	if err != nil {
		b.t.Fatal(err)
	}
	return NewLookup(b.client, e)
}

func (b *bench) query() Query { return Query{Name: suiteName, Dir: b.dir} }

// commits adds a chain of commits, each the child of the one before, and puts
// main at the last.
func (b *bench) commits(names ...string) {
	b.Do(func(w *githubtest.World) {
		parent := "base"
		for _, n := range names {
			if n == "base" {
				continue
			}
			w.Parents[n] = []string{parent}
			parent = n
		}
		w.Branches[githubtest.Main] = parent
	})
}

// own adds the run that the job is part of.
func (b *bench) own(r githubtest.Run) {
	r.ID = b.env.RunID
	r.Event = b.env.EventName
	if r.CreatedAt.IsZero() {
		r.CreatedAt = now.Add(-time.Minute)
	}
	b.Do(func(w *githubtest.World) { w.Runs = append(w.Runs, r) })
}

// stored adds a run with the artifact that an honest job would have uploaded,
// both changed by poison.
func (b *bench) stored(r githubtest.Run, poison ...func(r *githubtest.Run, m *evidence.Manifest, a *githubtest.Artifact)) {
	b.t.Helper()
	if r.Event == "" {
		r.Event = "push"
	}
	if r.HeadBranch == "" {
		r.HeadBranch = githubtest.Main
	}
	ref := "refs/heads/" + r.HeadBranch
	m := manifest(r, ref)
	a := githubtest.Artifact{ID: r.ID * 10, Run: r.ID, Name: ArtifactName(suiteName, ref, "")}
	for _, p := range poison {
		p(&r, m, &a)
	}
	if a.Bytes == nil {
		a.Bytes = githubtest.Zip(b.t, bundle(b.t, m))
	}
	b.Do(func(w *githubtest.World) {
		w.Runs = append(w.Runs, r)
		w.Artifacts = append(w.Artifacts, a)
	})
}

// manifest is that of an honest job of a run.
func manifest(r githubtest.Run, ref string) *evidence.Manifest {
	at := now.Add(-time.Hour)
	return &evidence.Manifest{
		Schema: evidence.RunSchema, Tool: evidence.Tool{Name: "oloproof", Version: "0.1.0"},
		ID: fmt.Sprintf("run_01KBC4W2ZV9XJ8QH5N3T7R%04d", r.ID%10000), Status: evidence.RunDecided,
		Name: suiteName, SuitePath: suiteName, SuiteDigest: "sha256:aa",
		Dataset:  evidence.DatasetID{Path: "cases.jsonl", Cases: 2},
		System:   evidence.SystemID{Name: "s", Kind: "http"},
		Metrics:  []evidence.MetricSpec{{ID: "answer_correct", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"}},
		Policies: []evidence.PolicyRef{{Path: "release.yaml", Digest: "sha256:bb"}},
		Counts:   evidence.Counts{Cases: 2, OK: 2}, StartedAt: at, FinishedAt: at,
		CI: &evidence.CI{RepositoryID: githubtest.RepositoryID, RunID: r.ID, Attempt: 1,
			WorkflowRef: githubtest.Owner + "/" + githubtest.Repo + "/" + githubtest.WorkflowPath + "@" + ref,
			Event:       r.Event, Ref: ref, SHA: githubtest.SHA(r.Commit)},
	}
}

// bundle returns the files of a finished run, by name.
func bundle(t testing.TB, m *evidence.Manifest) map[string]string {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	partial := *m
	partial.Status, partial.Completeness = evidence.RunRunning, evidence.Partial
	w, err := s.Create(&partial)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Dataset.Cases {
		c := &evidence.Case{ID: "case_" + strconv.Itoa(i), Index: i, Input: evidence.Value(`{}`)}
		if c.Digest, err = evidence.CaseDigest(c); err != nil {
			t.Fatal(err)
		}
		rec := &store.Record{Case: c, Execution: evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(`{}`)},
			Judgments: []evidence.Judgment{{State: evidence.Judged, Value: 1}}}
		if err := w.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	done := *m
	if err := w.Finish(&done); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range []string{"run.json", "judgments.jsonl"} {
		b, err := os.ReadFile(filepath.Join(s.Dir(), "runs", m.ID, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

// found fails unless a baseline is that of a run.
func found(t *testing.T, b *Baseline, err error, id int64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if b.State != Found || b.ID != id || b.Run == nil {
		t.Fatalf("baseline is %s %d (%s), want found %d\n%s", b.State, b.ID, b.Reason, id, trail(b.Trail))
	}
	if n := len(b.Trail); n == 0 || b.Trail[n-1].RejectedBecause != "" {
		t.Errorf("the trail does not end with what was picked:\n%s", trail(b.Trail))
	}
}

// absent fails unless a baseline has a state.
func absent(t *testing.T, b *Baseline, err error, state State) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if b.State != state || b.Run != nil || b.Reason == "" {
		t.Fatalf("baseline is %s %d (%s), want %s\n%s", b.State, b.ID, b.Reason, state, trail(b.Trail))
	}
}

func trail(list []Considered) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %s | %s\n", c.Candidate, c.RejectedBecause)
	}
	return b.String()
}

// rejected fails unless the trail says why a run was rejected.
func rejected(t *testing.T, list []Considered, candidate, because string) {
	t.Helper()
	for _, c := range list {
		if strings.Contains(c.Candidate, candidate) && strings.Contains(c.RejectedBecause, because) {
			return
		}
	}
	t.Errorf("the trail does not reject %q because %q:\n%s", candidate, because, trail(list))
}

// writeBundle writes a bundle to a directory.
func writeBundle(t *testing.T, m *evidence.Manifest) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range bundle(t, m) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

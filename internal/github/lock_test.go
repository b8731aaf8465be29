package github

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// pinnedWorld is a release branch whose lock pins run 1, whose bytes lie in
// three places.
func pinnedWorld(t *testing.T, poison ...poison) (*bench, *Lookup, *Lock) {
	t.Helper()
	b := newBench(t, map[string]string{"GITHUB_REF": "refs/heads/release/1.0", "GITHUB_SHA": githubtest.SHA("release")})
	b.commits("tip")
	b.Do(func(w *githubtest.World) { w.Parents["release"] = []string{"tip"} })
	b.own(githubtest.Run{Commit: "release", HeadBranch: "release/1.0"})
	b.stored(githubtest.Run{ID: 1, Commit: "base"}, poison...)
	m := manifest(githubtest.Run{ID: 1, Event: "push", Commit: "base"}, "refs/heads/main")
	files := bundle(t, m)
	var zip []byte
	b.Do(func(w *githubtest.World) {
		zip = w.Artifacts[0].Bytes
		w.Assets = []githubtest.Asset{{ID: 8, Tag: "v1.0", Name: "baseline.zip", Bytes: zip}}
		w.Files["release:baselines/v1.zip"] = githubtest.File{Content: zip}
		for name, content := range files {
			w.Files["release:baselines/v1/"+name] = githubtest.File{Content: []byte(content)}
		}
	})
	lock := &Lock{Schema: LockSchema, RepositoryID: githubtest.RepositoryID, Name: suiteName, RunID: 1, Commit: githubtest.SHA("base"),
		Digest: githubtest.Digest(zip), RecordedAt: now.AddDate(0, -6, 0), Artifact: 10}
	return b, b.lookup("push", map[string]any{"ref": "refs/heads/release/1.0", "before": githubtest.SHA("tip")}), lock
}

func inAsset(l *Lock) { l.Artifact, l.Asset = 0, &Asset{Tag: "v1.0", Name: "baseline.zip"} }
func inZip(l *Lock)   { l.Artifact, l.Bundle = 0, "baselines/v1.zip" }

func inDirectory(b *bench, l *Lock) {
	l.Artifact, l.Bundle = 0, "baselines/v1"
	b.Do(func(w *githubtest.World) {
		l.Digest = githubtest.Digest(w.Files["release:baselines/v1/run.json"].Content)
	})
}

// TestPinned: on a release branch the pin is the baseline, from wherever its
// bytes lie.
func TestPinned(t *testing.T) {
	for name, place := range map[string]func(*testing.T, *bench, *Lock){
		"artifact":            func(*testing.T, *bench, *Lock) {},
		"release asset":       func(_ *testing.T, _ *bench, l *Lock) { inAsset(l) },
		"committed zip":       func(_ *testing.T, _ *bench, l *Lock) { inZip(l) },
		"committed directory": func(_ *testing.T, b *bench, l *Lock) { inDirectory(b, l) },
	} {
		t.Run(name, func(t *testing.T) {
			b, l, lock := pinnedWorld(t)
			b.stored(githubtest.Run{ID: 2, Commit: "tip", HeadBranch: "release/1.0"})
			place(t, b, lock)
			q := b.query()
			q.Lock = lock
			got, err := l.Baseline(t.Context(), q)
			found(t, got, err, 1)
			if got.How != "pinned by the lock" || *got.Distance != 2 || got.Branch != "main" {
				t.Errorf("got %+v", got)
			}
			if n := b.client.Requests(); n > 8 {
				t.Errorf("%d requests: %q", n, b.Server.Requests())
			}
		})
	}
	t.Run("expired on GitHub, kept in a release", func(t *testing.T) {
		b, l, lock := pinnedWorld(t, func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) { a.Expired = true })
		inAsset(lock)
		q := b.query()
		q.Lock = lock
		got, err := l.Baseline(t.Context(), q)
		found(t, got, err, 1)
	})
	t.Run("on the default branch it is a second reference", func(t *testing.T) {
		b, _, lock := pinnedWorld(t)
		b.env.Ref, b.env.SHA, b.env.EventName = "refs/heads/main", githubtest.SHA("tip"), EventSchedule
		b.stored(githubtest.Run{ID: 2, Commit: "tip", Event: "schedule"})
		l := b.lookup("schedule", nil)
		q := b.query()
		q.Lock = lock
		got, err := l.Baseline(t.Context(), q)
		found(t, got, err, 2)
		found(t, l.Pin(t.Context(), q), nil, 1)
	})
}

// TestPinnedPoison: a pin that cannot be had, or is not what the lock says, is
// never replaced by something else.
func TestPinnedPoison(t *testing.T) {
	cases := []struct {
		name    string
		change  func(b *bench, l *Lock)
		poison  poison
		because string
		state   State
	}{
		{"another repository", func(_ *bench, l *Lock) { l.RepositoryID = 5 }, nil, "another repository", Incompatible},
		{"another suite", func(_ *bench, l *Lock) { l.Name = "other" }, nil, `suite "other"`, Incompatible},
		{"expired lock", func(_ *bench, l *Lock) { l.ExpiresAt = now }, nil, "the lock expired on 2026-11-30", Expired},
		{"expired artifact", nil, func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) { a.Expired = true }, "expired", Expired},
		{"no such artifact", func(_ *bench, l *Lock) { l.Artifact = 4711 }, nil, "gone", Expired},
		{"artifact of a fork", nil, func(r *githubtest.Run, _ *evidence.Manifest, _ *githubtest.Artifact) {
			r.HeadRepository = githubtest.ForkID
		}, "fork", Incompatible},
		{"artifact of a pull request", nil, event("pull_request"), "the event pull_request", Incompatible},
		{"artifact of another run", func(b *bench, l *Lock) {
			b.stored(githubtest.Run{ID: 7, Commit: "base"})
			l.Artifact = 70
		}, nil, "another run's", Incompatible},
		{"GitHub's digest differs", func(_ *bench, l *Lock) { l.Digest = githubtest.Digest([]byte("x")) }, nil, "not the lock's", Unavailable},
		{"the artifact's bytes differ, and GitHub names no digest", func(_ *bench, l *Lock) { l.Digest = githubtest.Digest([]byte("x")) },
			func(_ *githubtest.Run, _ *evidence.Manifest, a *githubtest.Artifact) { a.Digest = "-" }, "its bytes have the digest", Unavailable},
		{"asset was replaced", func(b *bench, l *Lock) {
			inAsset(l)
			b.Do(func(w *githubtest.World) { w.Assets[0].Bytes = []byte("other") })
		}, nil, "the lock says sha256:", Unavailable},
		{"no such release", func(_ *bench, l *Lock) { inAsset(l); l.Asset.Tag = "v2" }, nil, "no release v2", Expired},
		{"no such asset", func(_ *bench, l *Lock) { inAsset(l); l.Asset.Name = "x" }, nil, "no asset x", Expired},
		{"zip was changed", func(b *bench, l *Lock) {
			inZip(l)
			b.Do(func(w *githubtest.World) {
				w.Files["release:baselines/v1.zip"] = githubtest.File{Content: []byte("PK")}
			})
		}, nil, "digest", Unavailable},
		{"zip is a link", func(b *bench, l *Lock) {
			inZip(l)
			b.Do(func(w *githubtest.World) { w.Files["release:baselines/v1.zip"] = githubtest.File{Kind: "symlink"} })
		}, nil, "link", Unavailable},
		{"no zip there", func(_ *bench, l *Lock) { inZip(l); l.Bundle = "gone.zip" }, nil, "gone", Expired},
		{"commit differs", func(_ *bench, l *Lock) { l.Commit = githubtest.SHA("tip"); inZip(l) }, nil, "says commit", Incompatible},
		{"run differs", func(_ *bench, l *Lock) { l.RunID = 5; inZip(l) }, nil, "says run 1, the lock says 5", Incompatible},
		{"suite differs", func(_ *bench, l *Lock) { l.SuiteDigest = "sha256:cc"; inZip(l) }, nil, "says suite", Incompatible},
		{"made elsewhere", inZipOf, func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) { m.CI = nil }, "no run of GitHub Actions", Incompatible},
		{"run.json of the directory was changed", func(b *bench, l *Lock) {
			inDirectory(b, l)
			b.Do(func(w *githubtest.World) {
				f := w.Files["release:baselines/v1/run.json"]
				w.Files["release:baselines/v1/run.json"] = githubtest.File{Content: append(f.Content, '\n')}
			})
		}, nil, "digest", Unavailable},
		{"judgments of the directory were changed", func(b *bench, l *Lock) {
			inDirectory(b, l)
			b.Do(func(w *githubtest.World) {
				w.Files["release:baselines/v1/judgments.jsonl"] = githubtest.File{Content: []byte("{}")}
			})
		}, nil, "does not match its digest", Incompatible},
		{"made in another repository", inZipOf, func(_ *githubtest.Run, m *evidence.Manifest, _ *githubtest.Artifact) { m.CI.RepositoryID = 5 }, "says repository 5", Incompatible},
		{"API down", func(b *bench, l *Lock) { b.Fail(githubtest.Fault{Path: "/actions/artifacts/10", Status: 503}) }, nil, "", Unavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var poisons []poison
			if c.poison != nil {
				poisons = append(poisons, c.poison)
			}
			b, l, lock := pinnedWorld(t, poisons...)
			b.stored(githubtest.Run{ID: 2, Commit: "tip", HeadBranch: "release/1.0"})
			if c.change != nil {
				c.change(b, lock)
			}
			q := b.query()
			q.Lock = lock
			got, err := l.Baseline(t.Context(), q)
			absent(t, got, err, c.state)
			if c.because != "" {
				rejected(t, got.Trail, "pinned run", c.because)
			}
		})
	}
}

func inZipOf(_ *bench, l *Lock) { inZip(l) }

// TestParseLock: every fault of a lock is named with its place.
func TestParseLock(t *testing.T) {
	good := map[string]any{"schema": LockSchema, "repository_id": 1001, "name": "n", "run_id": 1, "commit": githubtest.SHA("x"),
		"digest": githubtest.Digest(nil), "recorded_at": "2026-01-31T12:00:00Z", "artifact_id": 5}
	if l, err := ParseLock("lock.json", encode(t, good)); err != nil || l.Artifact != 5 || l.RepositoryID != 1001 {
		t.Fatalf("ParseLock = %+v, %v", l, err)
	}
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"schema", "v2", "schema"}, {"repository_id", 0, "repository_id"}, {"name", "", "name"}, {"run_id", -1, "run_id"},
		{"commit", "main", "commit"}, {"digest", "sha256:AA", "digest"}, {"recorded_at", nil, "recorded_at"},
		{"artifact_id", nil, "exactly one"}, {"artifact_id", -5, "negative"}, {"bundle", "x.zip", "exactly one"}, {"release_asset", map[string]string{"tag": "v1"}, "exactly one"},
		{"colour", "red", "colour"}, {"run_id", "1", "run_id"}, {"recorded_at", "yesterday", "recorded_at"},
	} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		bad[c.key] = c.value
		if c.value == nil {
			delete(bad, c.key)
		}
		if l, err := ParseLock("lock.json", encode(t, bad)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lock.json") {
			t.Errorf("%s = %v: %+v, %v", c.key, c.value, l, err)
		}
	}
	delete(good, "artifact_id")
	good["release_asset"] = map[string]string{"tag": "v1", "name": ""}
	if _, err := ParseLock("lock.json", encode(t, good)); err == nil || !strings.Contains(err.Error(), "a tag and a name") {
		t.Errorf("an asset without a name: %v", err)
	}
	delete(good, "release_asset")
	for _, path := range []string{"../x.zip", "/x.zip", `a\b`, "a/../b", "."} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		bad["bundle"] = path
		if _, err := ParseLock("lock.json", encode(t, bad)); err == nil {
			t.Errorf("bundle %q is taken", path)
		}
	}
	_, err := ParseLock("lock.json", []byte("{\n  \"schema\": \"x\",\n  oops\n}"))
	if err == nil || !strings.Contains(err.Error(), "lock.json:3:3") {
		t.Errorf("got %v, want the place of the fault", err)
	}
	if _, err := ParseLock("lock.json", []byte(strings.Repeat(" ", MaxLock+1))); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a huge lock: %v", err)
	}
	if _, err := ParseLock("lock.json", nil); err == nil {
		t.Error("an empty lock is taken")
	}
	if _, err := ParseLock("lock.json", []byte(`{"name":"a","name":"b"}`)); err == nil {
		t.Error("a key that stands twice is taken")
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLockReadBack: what a run is pinned by can be read back and found.
func TestLockReadBack(t *testing.T) {
	b, l, _ := pinnedWorld(t)
	m := manifest(githubtest.Run{ID: 1, Event: "push", Commit: "base"}, "refs/heads/main")
	dir := writeBundle(t, m)
	content, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	made := &Lock{Schema: LockSchema, RepositoryID: m.CI.RepositoryID, Name: m.Name, RunID: m.CI.RunID, Commit: m.CI.SHA, SuiteDigest: m.SuiteDigest,
		Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(content)), RecordedAt: now, Bundle: "baselines/v1"}
	read, err := ParseLock("lock.json", encode(t, made))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, read); diff != "" {
		t.Error(diff)
	}
	b.Do(func(w *githubtest.World) {
		w.Files["release:baselines/v1/run.json"] = githubtest.File{Content: content}
	})
	q := b.query()
	q.Lock = read
	got, err := l.Baseline(t.Context(), q)
	found(t, got, err, 1)
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"schema":"oloproof/baseline-lock/v1","repository_id":1,"name":"n","run_id":1,"commit":"` + githubtest.SHA("x") + `","digest":"` +
		githubtest.Digest(nil) + `","recorded_at":"2026-01-31T12:00:00Z","bundle":"a/b.zip"}`))
	f.Add([]byte(`{"release_asset":{"tag":"v1","name":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock("lock.json", data)
		if err != nil {
			if l != nil {
				t.Errorf("both a lock and the error %v", err)
			}
			return
		}
		again, err := ParseLock("lock.json", encode(t, l))
		if err != nil {
			t.Fatalf("written again it is refused: %v", err)
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Error(diff)
		}
	})
}

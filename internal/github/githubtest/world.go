package githubtest

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"
)

// The repository of every world, and its fork.
const (
	Owner        = "octo-org"
	Repo         = "octo-repo"
	RepositoryID = 1001
	ForkOwner    = "stranger"
	ForkID       = 2002
	WorkflowID   = 31
	WorkflowPath = ".github/workflows/gate.yml"
	Main         = "main"
)

// Start is the world's clock at its beginning.
var Start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// SHA returns the id of the commit that a test calls by a name.
func SHA(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}

// Digest returns the digest of bytes as GitHub writes it.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Run is a workflow run. Zero fields stand for a push to main by the gate's
// workflow in the repository itself.
type Run struct {
	ID             int64
	Attempt        int
	WorkflowID     int64
	Path           string
	Event          string
	Status         string
	Conclusion     string
	HeadBranch     string
	Commit         string // name of the commit
	RepositoryID   int64
	HeadRepository int64 // -1: the fork was deleted
	CreatedAt      time.Time
}

// Artifact is an artifact of a run. Zero fields stand for what its run says and
// what its bytes are.
type Artifact struct {
	ID             int64
	Run            int64
	Name           string
	Bytes          []byte
	Size           int64
	Digest         string // "-": none
	Expired        bool
	CreatedAt      time.Time
	HeadRepository int64
	HeadBranch     string
	Commit         string
	Claims         int64 // the run that it says it is of; -1: none
}

// Pull is a pull request. Zero fields stand for an open one of the repository
// itself into main.
type Pull struct {
	Number    int
	Closed    bool
	Head      string // name of the commit
	HeadRef   string
	Fork      bool
	ForkGone  bool
	BaseRef   string
	Labels    []string
	CreatedAt time.Time
	Events    []IssueEvent
}

// IssueEvent is what happened to a pull request.
type IssueEvent struct {
	Event string
	Label string
	Login string
	ID    int64
	Type  string // User
	At    time.Time
}

// File is a file of the repository at some commits.
type File struct {
	Content []byte
	Kind    string // file, dir, symlink, submodule
}

// Comment is a comment of a pull request.
type Comment struct {
	ID    int64
	Pull  int
	Login string
	Type  string
	Body  string
}

// Asset is a file of a release.
type Asset struct {
	ID    int64
	Tag   string
	Name  string
	Bytes []byte
}

// World is what the fake knows. A test changes it before the requests that
// depend on it, or inside [Server.Do].
type World struct {
	Parents     map[string][]string // by name of a commit: names of its parents
	Branches    map[string]string   // name of the commit at the head
	Runs        []Run
	Artifacts   []Artifact
	Pulls       []Pull
	Permissions map[string]string // by login: admin, write, read, none
	UserIDs     map[string]int64  // by login
	Files       map[string]File   // by COMMIT:PATH, the commit by its name
	Comments    []Comment
	Assets      []Asset
	Refs        map[string]string // full names of refs to names of commits
}

// resolve returns the name of the commit that a ref or id stands for.
func (w *World) resolve(ref string) (string, bool) {
	if name, ok := w.Branches[ref]; ok {
		return name, true
	}
	for name := range w.Parents {
		if SHA(name) == ref {
			return name, true
		}
	}
	return "", false
}

// history returns a commit and all before it, nearest first.
func (w *World) history(name string) []string {
	all := []string{name}
	for i := 0; i < len(all); i++ {
		for _, p := range w.Parents[all[i]] {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// compare returns the merge base of two commits, and the commits that each has
// and the other has not, nearest first.
func (w *World) compare(base, head string) (mergeBase string, ahead, behind []string) {
	ofBase, ofHead := w.history(base), w.history(head)
	for _, c := range ofHead {
		if !slices.Contains(ofBase, c) {
			ahead = append(ahead, c)
		} else if mergeBase == "" {
			mergeBase = c
		}
	}
	for _, c := range ofBase {
		if !slices.Contains(ofHead, c) {
			behind = append(behind, c)
		}
	}
	return mergeBase, ahead, behind
}

// Zip returns a zip of files, by name.
func Zip(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (w *World) run(id int64) (Run, bool) {
	for _, r := range w.Runs {
		if r.ID == id {
			return r.filled(), true
		}
	}
	return Run{}, false
}

func (r Run) filled() Run {
	r.Attempt = or(r.Attempt, 1)
	r.WorkflowID = or(r.WorkflowID, WorkflowID)
	r.Path = or(r.Path, WorkflowPath)
	r.Event = or(r.Event, "push")
	r.Status = or(r.Status, "completed")
	if r.Status == "completed" {
		r.Conclusion = or(r.Conclusion, "success")
	}
	r.HeadBranch = or(r.HeadBranch, Main)
	r.RepositoryID = or(r.RepositoryID, RepositoryID)
	r.HeadRepository = or(r.HeadRepository, r.RepositoryID)
	if r.CreatedAt.IsZero() {
		r.CreatedAt = Start.Add(-time.Hour).Add(time.Duration(r.ID) * time.Second)
	}
	return r
}

func (a Artifact) filled(w *World) Artifact {
	r, ok := w.run(a.Run)
	if !ok {
		panic(fmt.Sprintf("artifact %d of run %d, which does not exist", a.ID, a.Run))
	}
	a.HeadRepository = or(a.HeadRepository, r.HeadRepository)
	a.HeadBranch = or(a.HeadBranch, r.HeadBranch)
	a.Commit = or(a.Commit, r.Commit)
	a.Claims = or(a.Claims, a.Run)
	a.Size = or(a.Size, int64(len(a.Bytes)))
	a.Digest = or(a.Digest, Digest(a.Bytes))
	if a.CreatedAt.IsZero() {
		a.CreatedAt = r.CreatedAt.Add(time.Minute)
	}
	return a
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

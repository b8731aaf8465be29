package github

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/store"
)

// LockSchema is the version of a lock.
const LockSchema = "oloproof/baseline-lock/v1"

// MaxLock is the most bytes of a lock.
const MaxLock = 64 << 10

// Lock is a committed file that pins a baseline: which run it is, the digest of
// its bytes, and where they lie. Exactly one of Artifact, Asset and Bundle is
// set.
type Lock struct {
	Schema       string          `json:"schema"` // LockSchema
	RepositoryID int64           `json:"repository_id"`
	Name         string          `json:"name"`
	RunID        int64           `json:"run_id"` // GitHub's
	Commit       string          `json:"commit"` // that the run tested
	SuiteDigest  evidence.Digest `json:"suite_digest,omitzero"`
	// Digest is that of the zip, or of run.json when Bundle is a directory;
	// run.json holds the digests of the other files.
	Digest     string    `json:"digest"` // sha256:HEX
	RecordedAt time.Time `json:"recorded_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`

	Artifact int64  `json:"artifact_id,omitzero"`
	Asset    *Asset `json:"release_asset,omitzero"`
	Bundle   string `json:"bundle,omitzero"` // path of a zip or directory in the repository
}

// Asset is a file of a release.
type Asset struct {
	Tag  string `json:"tag"`
	Name string `json:"name"`
}

// ParseLock reads a lock. The error is a [problem.List].
func ParseLock(path string, data []byte) (*Lock, error) {
	if len(data) > MaxLock {
		return nil, problem.At(path, "the lock is larger than %d bytes", MaxLock)
	}
	l := &Lock{}
	if err := json.Unmarshal(data, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, lockProblem(path, data, err)
	}
	if wrong := l.wrong(); wrong != "" {
		return nil, problem.At(path, "%s", wrong)
	}
	return l, nil
}

// lockProblem says where in a lock decoding stopped.
func lockProblem(path string, data []byte, err error) error {
	p := problem.Problem{File: path, Message: strings.TrimPrefix(err.Error(), "json: ")}
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	at := int64(-1)
	if errors.As(err, &syntactic) {
		at = syntactic.ByteOffset
	} else if errors.As(err, &semantic) {
		at = semantic.ByteOffset
	}
	if at >= 0 && at <= int64(len(data)) {
		before := data[:at]
		p.Line = bytes.Count(before, []byte("\n")) + 1
		start := bytes.LastIndexByte(before, '\n') + 1
		p.Column = len([]rune(string(before[start:]))) + 1
		line, _, _ := bytes.Cut(data[start:], []byte("\n"))
		p.Source = strings.TrimRight(string(line), "\r")
	}
	return problem.List{p}
}

func (l *Lock) wrong() string {
	places := 0
	for _, set := range []bool{l.Artifact != 0, l.Asset != nil, l.Bundle != ""} {
		if set {
			places++
		}
	}
	switch {
	case l.Schema != LockSchema:
		return fmt.Sprintf("schema is %q, want %q", l.Schema, LockSchema)
	case l.RepositoryID < 1:
		return "repository_id is missing: want the id that GitHub gives the repository"
	case l.Name == "":
		return "name is missing: want the name of the suite"
	case l.RunID < 1:
		return "run_id is missing: want GitHub's id of the workflow run"
	case !isCommit(l.Commit):
		return fmt.Sprintf("commit is %q, want the full id of a commit", l.Commit)
	case !isDigest(l.Digest):
		return fmt.Sprintf("digest is %q, want sha256: and 64 hexadecimal digits in lower case", l.Digest)
	case l.RecordedAt.IsZero():
		return "recorded_at is missing: want a time such as 2026-01-31T12:00:00Z"
	case places != 1:
		return "want exactly one of artifact_id, release_asset and bundle: where the bytes lie"
	case l.Artifact < 0:
		return "artifact_id is negative"
	case l.Asset != nil && (l.Asset.Tag == "" || l.Asset.Name == ""):
		return "release_asset wants a tag and a name"
	case l.Bundle != "" && (!fs.ValidPath(l.Bundle) || l.Bundle == "." || strings.ContainsAny(l.Bundle, "\\\x00")):
		return fmt.Sprintf("bundle is %q, want a path inside the repository, with slashes and without ..", l.Bundle)
	}
	return ""
}

// Pin looks for the pinned reference of a lock. Nothing takes its place: what
// cannot be had is expired, incompatible or unavailable.
func (l *Lookup) Pin(ctx context.Context, q Query) *Baseline {
	ctx, cancel := l.client.Begin(ctx)
	defer cancel()
	s := &search{Lookup: l, q: q, seen: map[int64]bool{}}
	err := s.prepare(ctx, "")
	if err != nil {
		return s.conclude(nil, err)
	}
	return s.conclude(s.pinned(ctx))
}

// pinned returns what the lock pins.
func (s *search) pinned(ctx context.Context) (*Baseline, error) {
	lock := s.q.Lock
	candidate := fmt.Sprintf("pinned run %d at %s", lock.RunID, short(lock.Commit))
	if why := s.rejectLock(); why != "" {
		s.reject(candidate, why)
		return nil, nil
	}
	anchor, err := s.anchor(ctx)
	if err != nil {
		return nil, err
	}
	run, why, err := s.openPinned(ctx, anchor)
	if err != nil {
		return nil, err
	}
	if why == "" {
		if why = contradictsLock(run.Manifest, lock, s.q.Name); why != "" {
			s.incompatible = true
			run.Close()
		}
	}
	if why != "" {
		s.reject(candidate, why)
		return nil, nil
	}
	b := &Baseline{Run: run, How: "pinned by the lock", ID: lock.RunID, URL: s.env.PageOfRun(lock.RunID), Artifact: lock.Artifact,
		Commit: lock.Commit, Event: run.Manifest.CI.Event, At: lock.RecordedAt, Age: s.client.now().Sub(lock.RecordedAt)}
	b.Branch = branchOf(run.Manifest.CI.Ref)
	if distance, ok, err := s.distance(ctx, lock.Commit, anchor); err == nil && ok {
		b.Distance = &distance
	}
	s.trail = append(s.trail, Considered{Candidate: candidate})
	return b, nil
}

// anchor is the commit that the event's baseline is held against: the base of a
// proposal, else the commit that is tested.
func (s *search) anchor(ctx context.Context) (string, error) {
	if !s.event.Proposes() {
		return s.env.SHA, nil
	}
	base, err := s.Base(ctx)
	if err != nil {
		return "", err
	}
	return base.Commit, nil
}

func (s *search) rejectLock() string {
	lock := s.q.Lock
	switch {
	case lock.RepositoryID != s.trust.repository:
		s.incompatible = true
		return "the lock is of another repository"
	case lock.Name != s.q.Name:
		s.incompatible = true
		return fmt.Sprintf("the lock is of the suite %q, not of %q", clean(lock.Name), s.q.Name)
	case !lock.ExpiresAt.IsZero() && !s.client.now().Before(lock.ExpiresAt):
		s.expired = true
		return "the lock expired on " + lock.ExpiresAt.Format(time.DateOnly)
	}
	return ""
}

// openPinned fetches the bytes from where they lie and compares their digest
// with the lock's.
func (s *search) openPinned(ctx context.Context, anchor string) (*store.Run, string, error) {
	var path string
	var err error
	switch lock := s.q.Lock; {
	case lock.Artifact != 0:
		var why string
		if path, why, err = s.pinnedArtifact(ctx); why != "" {
			return nil, why, nil
		}
	case lock.Asset != nil:
		path, err = s.pinnedAsset(ctx)
	case strings.HasSuffix(lock.Bundle, ".zip"):
		path, err = s.committedZip(ctx, anchor)
	default:
		path, err = s.committedDir(ctx, anchor)
	}
	if why, err := s.unusable(err); why != "" || err != nil {
		return nil, why, err
	}
	open := openBundle
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		open = resolve
	}
	run, err := open(path)
	if err != nil {
		s.incompatible = true
		return nil, "it cannot be read: " + clean(strings.ReplaceAll(err.Error(), path, "baseline")), nil
	}
	return run, "", nil
}

func (s *search) pinnedArtifact(ctx context.Context) (path, why string, err error) {
	lock := s.q.Lock
	id := strconv.FormatInt(lock.Artifact, 10)
	a := &Artifact{}
	if _, err := s.client.get(ctx, "look at artifact "+id, s.client.repo("actions", "artifacts", id), nil, a); err != nil {
		if IsNotFound(err) || reasonOf(err) == Gone {
			err = fmt.Errorf("%w: artifact %s", errExpired, id)
		}
		return "", "", err
	}
	if a.Expired {
		s.expired = true
		return "", "its artifact has expired", nil
	}
	r, err := s.run(ctx, lock.RunID)
	if err != nil {
		return "", "", err
	}
	if why := s.trust.rejectOrigin(r); why != "" {
		s.incompatible = true
		return "", why, nil
	}
	if why := s.trust.rejectArtifact(a, r, false); why != "" {
		s.incompatible = true
		return "", why, nil
	}
	if a.Digest != "" && a.Digest != lock.Digest {
		return "", "", refusal("GitHub's digest of the artifact is not the lock's")
	}
	a.Digest = lock.Digest
	path, err = s.client.downloadArtifact(ctx, a, s.q.Dir)
	return path, "", err
}

func (s *search) pinnedAsset(ctx context.Context) (string, error) {
	lock := s.q.Lock
	var release struct {
		Assets []struct {
			ID    int64  `json:"id"`
			Name  string `json:"name"`
			Bytes int64  `json:"size"`
		} `json:"assets"`
	}
	doing := "look at the release " + clean(lock.Asset.Tag)
	if _, err := s.client.get(ctx, doing, s.client.repo("releases", "tags", lock.Asset.Tag), nil, &release); IsNotFound(err) {
		return "", fmt.Errorf("%w: there is no release %s", errExpired, clean(lock.Asset.Tag))
	} else if err != nil {
		return "", err
	}
	for _, a := range release.Assets {
		if a.Name == lock.Asset.Name {
			if a.Bytes > maxArtifact {
				return "", tooLarge(a.Bytes)
			}
			id := strconv.FormatInt(a.ID, 10)
			return s.client.download(ctx, "download release asset "+id, s.client.repo("releases", "assets", id), octetStream, lock.Digest, "the lock", s.q.Dir)
		}
	}
	return "", fmt.Errorf("%w: the release %s has no asset %s", errExpired, clean(lock.Asset.Tag), clean(lock.Asset.Name))
}

// committed reads a file of the pinned bundle at the commit of the lock.
func (s *search) committed(ctx context.Context, anchor, name string) ([]byte, error) {
	b, err := s.File(ctx, anchor, name, maxArtifact)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no %s at %s", errExpired, clean(name), short(anchor))
	}
	if errors.Is(err, ErrNotAFile) {
		return nil, refusal(err.Error())
	}
	return b, err
}

// checkDigest compares bytes with the lock's digest.
func (l *Lock) checkDigest(b []byte) error {
	if sum := sha256.Sum256(b); "sha256:"+hex.EncodeToString(sum[:]) != l.Digest {
		return refusal(fmt.Sprintf("its bytes have the digest sha256:%x, the lock says %s", sum, l.Digest))
	}
	return nil
}

func (s *search) committedZip(ctx context.Context, anchor string) (string, error) {
	b, err := s.committed(ctx, anchor, s.q.Lock.Bundle)
	if err != nil {
		return "", err
	}
	if err := s.q.Lock.checkDigest(b); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(s.q.Dir, "baseline-*.zip")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	return f.Name(), errors.Join(err, f.Close())
}

// committedDir reads what a comparison needs of a committed bundle.
func (s *search) committedDir(ctx context.Context, anchor string) (string, error) {
	dir, err := os.MkdirTemp(s.q.Dir, "baseline-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"run.json", "judgments.jsonl"} {
		b, err := s.committed(ctx, anchor, strings.TrimSuffix(s.q.Lock.Bundle, "/")+"/"+name)
		if err != nil {
			return "", err
		}
		if name == "run.json" {
			if err := s.q.Lock.checkDigest(b); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// contradictsLock says where a manifest disagrees with the lock, or "".
func contradictsLock(m *evidence.Manifest, l *Lock, name string) string {
	differs := func(what string, says, want any) string {
		return fmt.Sprintf("its manifest says %s %v, the lock says %v", what, says, want)
	}
	switch ci := m.CI; {
	case ci == nil:
		return "its manifest names no run of GitHub Actions"
	case ci.RepositoryID != l.RepositoryID:
		return differs("repository", ci.RepositoryID, l.RepositoryID)
	case ci.RunID != l.RunID:
		return differs("run", ci.RunID, l.RunID)
	case ci.SHA != l.Commit:
		return differs("commit", clean(ci.SHA), l.Commit)
	case l.SuiteDigest != "" && m.SuiteDigest != l.SuiteDigest:
		return differs("suite", m.SuiteDigest, l.SuiteDigest)
	}
	return unfit(m, name)
}

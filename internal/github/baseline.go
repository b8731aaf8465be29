package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/store"
)

// State says what came of looking for a baseline.
type State string

// The states of a baseline.
const (
	Found        State = "found"
	None         State = "none"         // there is no run that may be trusted
	Expired      State = "expired"      // there was one: its artifact is gone, or it is older than allowed
	Incompatible State = "incompatible" // there is one that cannot be read or compared with
	Unavailable  State = "unavailable"  // GitHub could not be asked: nobody knows
	Off          State = "off"          // baseline: none
)

// Considered is one line of the trail.
type Considered struct {
	Candidate       string
	RejectedBecause string // empty for what was picked
}

// Baseline is what came of looking for a baseline, and how.
type Baseline struct {
	State  State
	Reason string // why there is none, in words; empty when found
	Trail  []Considered
	Err    error // of Unavailable
	// Unfinished reports that a run which comes before what was found has not
	// ended, and may yet store a result.
	Unfinished bool

	// Of what was found.
	Run      *store.Run // close it
	How      string     // first parent of the merge commit, …
	ID       int64      // GitHub's run id; 0 for a path and for a pin without one
	URL      string     // page of the run
	Artifact int64
	Commit   string
	Branch   string
	Event    string
	At       time.Time     // when it was uploaded
	Age      time.Duration // until now
	Distance *int          // commits from it to the one it is held against; nil when unknown

	// Pinned reports that only the lock was looked at, whatever came of it.
	Pinned bool
}

// Close closes the run.
func (b *Baseline) Close() error {
	if b == nil || b.Run == nil {
		return nil
	}
	return b.Run.Close()
}

// Choice is the input baseline.
type Choice struct {
	None bool
	ID   int64  // GitHub's run id
	Path string // of a bundle
}

// ParseChoice reads the input baseline: auto or nothing, none, a GitHub run id,
// or a path.
func ParseChoice(s string) (Choice, error) {
	s = strings.TrimSpace(s)
	switch s {
	case "", "auto":
		return Choice{}, nil
	case "none":
		return Choice{None: true}, nil
	}
	if strings.Trim(s, "0123456789") == "" {
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil || id < 1 {
			return Choice{}, problem.Errorf("baseline: %s is no GitHub run id", s)
		}
		return Choice{ID: id}, nil
	}
	return Choice{Path: s}, nil
}

// Query says which baseline is looked for.
type Query struct {
	Name   string // of the suite: key of baseline, artifact and comment
	Choice Choice
	MaxAge time.Duration // 0: any age
	// Lock pins the baseline; nil when there is none. On another branch than the
	// default one it is the only candidate; [Lookup.Pin] reads it elsewhere.
	Lock *Lock
	Dir  string // where bundles are written; the caller removes it
}

const (
	// maxConsidered is how many runs are looked at in one list.
	maxConsidered = 20
	// maxOutside is how many of them are compared with the base one by one,
	// because they are not among the 100 commits before it.
	maxOutside = 5
	// maxLookups is how many runs that pass the first rules are asked for their
	// artifact.
	maxLookups = 10
)

// Baseline looks for the baseline of the event. Trouble with GitHub is the state
// Unavailable, never None; the error is about the input only.
func (l *Lookup) Baseline(ctx context.Context, q Query) (*Baseline, error) {
	if q.Choice.None {
		return &Baseline{State: Off, Reason: "the input baseline is none"}, nil
	}
	if q.Choice.Path != "" {
		return l.fromPath(q)
	}
	ctx, cancel := l.client.Begin(ctx)
	defer cancel()
	s := &search{Lookup: l, q: q, seen: map[int64]bool{}}
	found, err := s.find(ctx)
	b := s.conclude(found, err)
	b.Pinned, b.Unfinished = s.pinOnly, s.unfinished
	return b, nil
}

// fromPath opens a bundle of the workspace.
func (l *Lookup) fromPath(q Query) (*Baseline, error) {
	if l.event.Proposes() {
		return nil, problem.Errorf("baseline: the path %q is refused for the event %s, whose files come from the proposal itself: want auto, none or a GitHub run id",
			q.Choice.Path, l.event.Name)
	}
	st, err := store.Open(q.Dir)
	if err != nil {
		return nil, err
	}
	path := q.Choice.Path
	if !filepath.IsAbs(path) && !strings.ContainsRune(path, filepath.Separator) {
		path = "." + string(filepath.Separator) + path // a place, not the name of a stored run
	}
	run, err := st.Resolve(path)
	if err != nil {
		return nil, problem.Errorf("baseline: %v", err)
	}
	b := &Baseline{State: Found, Run: run, How: "the path " + q.Choice.Path, Commit: run.Manifest.Commit, At: run.Manifest.FinishedAt}
	b.Age = l.client.now().Sub(b.At)
	b.Trail = []Considered{{Candidate: b.How}}
	return b, nil
}

// search is one search for a baseline.
type search struct {
	*Lookup
	q       Query
	trust   trust
	digests bool // artifacts have to have one
	seen    map[int64]bool
	pinOnly bool // the lock is the only candidate
	lookups int  // runs that passed the first rules
	trail   []Considered

	expired, incompatible bool // of some candidate that was trusted
	unfinished            bool // a trusted run has not ended
	unavailable           error
}

func (s *search) conclude(found *Baseline, err error) *Baseline {
	if err == nil && found == nil {
		err = s.unavailable
	}
	switch {
	case err != nil:
		return &Baseline{State: Unavailable, Reason: err.Error(), Err: err, Trail: s.trail}
	case found != nil:
		found.State, found.Trail = Found, s.trail
		return found
	case s.incompatible:
		return &Baseline{State: Incompatible, Reason: "the runs that may be trusted cannot be compared with", Trail: s.trail}
	case s.expired:
		return &Baseline{State: Expired, Reason: "the artifacts of the runs that may be trusted are gone or too old", Trail: s.trail}
	}
	return &Baseline{State: None, Reason: "no run that may be trusted has stored a result of this name", Trail: s.trail}
}

func (s *search) reject(candidate, because string) {
	s.trail = append(s.trail, Considered{Candidate: candidate, RejectedBecause: because})
}

// prepare asks what every rule rests on.
func (s *search) prepare(ctx context.Context, branch string) error {
	own, err := s.ownRun(ctx)
	if err != nil {
		return err
	}
	s.trust = trust{repository: own.Repository.ID, workflow: own.WorkflowID, own: own.ID, branch: branch}
	s.digests = !s.env.Enterprise()
	return nil
}

// on returns the search on another branch.
func (s *search) on(branch string) *search {
	s.trust.branch = branch
	return s
}

// find goes through the candidates in the order of the event.
func (s *search) find(ctx context.Context) (*Baseline, error) {
	branch := s.event.BaseBranch(s.env)
	if err := s.prepare(ctx, branch); err != nil {
		return nil, err
	}
	if s.q.Choice.ID != 0 {
		return s.byID(ctx)
	}
	if s.q.Lock != nil {
		def, err := s.defaultBranch(ctx)
		if err != nil {
			return nil, err
		}
		if s.pinOnly = branch != def; s.pinOnly {
			return s.pinned(ctx)
		}
	}
	switch {
	case s.event.Proposes():
		return s.forProposal(ctx, branch)
	case s.event.Name == EventPush && branch != "":
		return s.forPush(ctx, branch)
	case s.event.Name == EventSchedule:
		return s.forSchedule(ctx, branch)
	}
	return s.alongBranch(ctx, branch)
}

// forProposal looks at the base that was tested, at the merge base, then back
// along the base branch.
func (s *search) forProposal(ctx context.Context, branch string) (*Baseline, error) {
	base, err := s.Base(ctx)
	if err != nil {
		return nil, err
	}
	how := "first parent of the merge commit"
	if s.event.MergeGroup != nil {
		how = "base of the merge group"
	} else if base.Note != "" || s.event.Name == EventPullRequestTarget {
		how = "base of the pull request"
	}
	if b, err := s.at(ctx, base.Commit, base.Commit, how); b != nil || err != nil {
		return b, err
	}
	if pr := s.event.PullRequest; pr != nil {
		c, err := s.compare(ctx, base.Commit, pr.Head.SHA)
		if err != nil && !IsNotFound(err) {
			return nil, err
		}
		if err == nil && isCommit(c.MergeBase.SHA) && c.MergeBase.SHA != base.Commit {
			if b, err := s.at(ctx, c.MergeBase.SHA, base.Commit, "merge base of the pull request"); b != nil || err != nil {
				return b, err
			}
		}
	}
	return s.newest(ctx, base.Commit, "newest run on "+branch)
}

// forPush looks at the commit before the push, then back along the branch.
func (s *search) forPush(ctx context.Context, branch string) (*Baseline, error) {
	const how = "commit before the push"
	switch {
	case isZero(s.event.Before):
		s.reject(how, "the branch is new")
	case s.event.Forced:
		s.reject(how+" "+short(s.event.Before), "the push was forced, so it is no ancestor")
	default:
		if b, err := s.at(ctx, s.event.Before, s.env.SHA, how); b != nil || err != nil {
			return b, err
		}
	}
	return s.alongBranch(ctx, branch)
}

// forSchedule looks at the last scheduled run, then back along the branch.
func (s *search) forSchedule(ctx context.Context, branch string) (*Baseline, error) {
	const how = "last scheduled run"
	runs, _, err := s.runs(ctx, "list the scheduled runs", s.trust.workflow, url.Values{"event": {EventSchedule}, "branch": {branch}})
	if err != nil {
		return nil, err
	}
	for _, r := range runs[:min(len(runs), maxConsidered)] {
		if b, err := s.consider(ctx, r, s.env.SHA, how, r.HeadSHA, nil); b != nil || err != nil {
			return b, err
		}
	}
	return s.alongBranch(ctx, branch)
}

// alongBranch looks back along the branch, then along the default branch from
// where the branch left it.
func (s *search) alongBranch(ctx context.Context, branch string) (*Baseline, error) {
	if branch != "" {
		if b, err := s.newest(ctx, s.env.SHA, "newest run on "+branch); b != nil || err != nil {
			return b, err
		}
	}
	def, err := s.defaultBranch(ctx)
	if err != nil || def == "" || def == branch {
		return nil, err
	}
	c, err := s.compare(ctx, def, s.env.SHA)
	if IsNotFound(err) {
		s.reject("merge base with "+def, "the two have no commit in common")
		return nil, nil
	}
	if err != nil || !isCommit(c.MergeBase.SHA) {
		return nil, err
	}
	at, how := c.MergeBase.SHA, "merge base with "+def
	if b, err := s.on(def).at(ctx, at, s.env.SHA, how); b != nil || err != nil {
		return b, err
	}
	return s.newest(ctx, at, "newest run on "+def)
}

// at looks at the runs that tested one commit, which has to be an ancestor of
// the anchor or the anchor itself.
func (s *search) at(ctx context.Context, sha, anchor, how string) (*Baseline, error) {
	runs, total, err := s.runsAt(ctx, s.trust.workflow, sha)
	if err != nil {
		return nil, err
	}
	if total == 0 {
		s.reject(how+" "+short(sha), "this workflow did not run there")
	}
	if total > len(runs) {
		s.reject(how+" "+short(sha), fmt.Sprintf("%d runs there, only the newest %d are looked at", total, len(runs)))
	}
	for _, r := range runs {
		if b, err := s.consider(ctx, r, anchor, how, sha, nil); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

// newest looks at the runs on the branch that stored this name, from the anchor
// back.
func (s *search) newest(ctx context.Context, anchor, how string) (*Baseline, error) {
	branch := s.trust.branch
	named, err := s.artifactsNamed(ctx, ArtifactName(s.q.Name, "refs/heads/"+branch, ""), branch, s.trust.repository)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(named.list), func(a *Artifact) bool { return s.seen[a.Run.ID] || a.Run.ID == s.trust.own })
	if len(list) == 0 {
		if !named.whole && len(named.list) == 0 {
			return nil, &APIError{Doing: "list the artifacts on " + branch, Reason: Unexpected,
				Message: "those of other branches and forks fill every page that is read"}
		}
		s.reject(how, "none stored a result of this name, apart from those above")
		return nil, nil
	}
	before, err := s.history(ctx, anchor)
	if err != nil {
		return nil, err
	}
	near, far := nearest(list, before)
	for _, a := range append(near, far[:min(len(far), maxOutside)]...) {
		r, err := s.run(ctx, a.Run.ID)
		if IsNotFound(err) {
			s.reject(fmt.Sprintf("run %d", a.Run.ID), "it was deleted")
			continue
		}
		if err != nil {
			return nil, err
		}
		if b, err := s.consider(ctx, r, anchor, how, a.Run.HeadSHA, a); b != nil || err != nil {
			return b, err
		}
	}
	if len(far) > maxOutside {
		s.reject(fmt.Sprintf("%d older runs on %s", len(far)-maxOutside, branch), "they are not among the 100 commits before "+short(anchor))
	}
	return nil, nil
}

// nearest splits artifacts by whether their commit is among those before the
// anchor: those that are, nearest first, and the others as they stand.
func nearest(list []*Artifact, before []string) (near, far []*Artifact) {
	place := make(map[string]int, len(before))
	for i, sha := range before {
		place[sha] = i
	}
	for _, a := range list {
		if _, ok := place[a.Run.HeadSHA]; ok {
			near = append(near, a)
		} else {
			far = append(far, a)
		}
	}
	slices.SortStableFunc(near, func(a, b *Artifact) int { return cmp.Compare(place[a.Run.HeadSHA], place[b.Run.HeadSHA]) })
	return near, far
}

func sortNewestFirst(list []*Artifact) {
	slices.SortStableFunc(list, func(a, b *Artifact) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
}

// byID looks at the run that the input names, under the same rules.
func (s *search) byID(ctx context.Context) (*Baseline, error) {
	r, err := s.run(ctx, s.q.Choice.ID)
	if IsNotFound(err) {
		s.reject(fmt.Sprintf("run %d", s.q.Choice.ID), "the repository has no such run")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	anchor := s.env.SHA
	if s.event.Proposes() {
		base, err := s.Base(ctx)
		if err != nil {
			return nil, err
		}
		anchor = base.Commit
	} else if s.trust.branch == "" {
		if s.trust.branch, err = s.defaultBranch(ctx); err != nil {
			return nil, err
		}
	}
	return s.consider(ctx, r, anchor, "the input baseline", r.HeadSHA, nil)
}

// consider returns the baseline that a run holds, or nil after it has written
// into the trail why it holds none. The commit is the one that is looked for; a
// is the artifact when it is known already.
func (s *search) consider(ctx context.Context, r *Run, anchor, how, commit string, a *Artifact) (*Baseline, error) {
	if s.seen[r.ID] {
		return nil, nil
	}
	s.seen[r.ID] = true
	candidate := describe(r, how)
	if r.HeadSHA != commit {
		s.reject(candidate, "it tested "+short(clean(r.HeadSHA))+", not "+short(commit))
		return nil, nil
	}
	if why := s.trust.rejectRun(r); why != "" {
		s.reject(candidate, why)
		return nil, nil
	}
	if s.lookups++; s.lookups > maxLookups {
		s.reject(candidate, fmt.Sprintf("%d runs were looked at already", maxLookups))
		return nil, nil
	}
	if a == nil {
		var err error
		if a, err = s.artifactOf(ctx, r.ID, ArtifactName(s.q.Name, "refs/heads/"+r.HeadBranch, "")); err != nil {
			return nil, err
		}
	}
	if why := s.rejectArtifact(a, r); why != "" {
		s.reject(candidate, why)
		return nil, nil
	}
	distance, ok, err := s.distance(ctx, commit, anchor)
	if err != nil {
		return nil, err
	}
	if !ok {
		s.reject(candidate, "its commit is no ancestor of "+short(anchor))
		return nil, nil
	}
	run, why, err := s.open(ctx, a, r)
	if err != nil {
		return nil, err
	}
	if why != "" {
		s.reject(candidate, why)
		return nil, nil
	}
	s.trail = append(s.trail, Considered{Candidate: candidate})
	return &Baseline{
		Run: run, How: how, ID: r.ID, URL: s.env.PageOfRun(r.ID), Artifact: a.ID, Commit: r.HeadSHA, Branch: r.HeadBranch, Event: r.Event,
		At: a.CreatedAt, Age: s.client.now().Sub(a.CreatedAt), Distance: &distance,
	}, nil
}

// describe names a run for the trail.
func describe(r *Run, how string) string {
	return fmt.Sprintf("%s: run %d (%s on %s at %s)", how, r.ID, clean(r.Event), clean(r.HeadBranch), short(clean(r.HeadSHA)))
}

// rejectArtifact looks at a run's artifact before it is downloaded.
func (s *search) rejectArtifact(a *Artifact, r *Run) string {
	if a == nil && r.Status != "completed" {
		s.unfinished = true
		return "it is not finished and has stored no result of this name yet"
	}
	if a == nil {
		return "it stored no result of this name"
	}
	if why := s.trust.rejectArtifact(a, r, s.digests); why != "" {
		return why
	}
	if a.Expired {
		s.expired = true
		return "its artifact has expired"
	}
	if age := s.client.now().Sub(a.CreatedAt); s.q.MaxAge > 0 && age > s.q.MaxAge {
		s.expired = true
		return fmt.Sprintf("it is %d days old, at most %d are allowed", int(age.Hours()/24), int(s.q.MaxAge.Hours()/24))
	}
	return ""
}

// distance returns how many commits lie between a commit and the anchor, and
// whether it is an ancestor of the anchor.
func (s *search) distance(ctx context.Context, sha, anchor string) (int, bool, error) {
	c, err := s.compare(ctx, sha, anchor)
	if IsNotFound(err) { // no commit in common, or no such commit
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return c.AheadBy, c.ancestor(), nil
}

// open downloads an artifact and opens the run in it. Why says what is wrong
// with it.
func (s *search) open(ctx context.Context, a *Artifact, r *Run) (run *store.Run, why string, err error) {
	path, err := s.client.downloadArtifact(ctx, a, s.q.Dir)
	if why, err := s.unusable(err); why != "" || err != nil {
		return nil, why, err
	}
	run, err = openBundle(path)
	if err != nil {
		s.incompatible = true
		return nil, "it cannot be read: " + clean(strings.ReplaceAll(err.Error(), path, "artifact")), nil
	}
	if why := s.trust.contradiction(run.Manifest, r); why != "" {
		run.Close()
		return nil, why, nil
	}
	if why := unfit(run.Manifest, s.q.Name); why != "" {
		s.incompatible = true
		run.Close()
		return nil, why, nil
	}
	return run, "", nil
}

// unusable sorts the errors of a download: what is gone and what must not be
// used rules out one candidate, trouble on the way ends the search.
func (s *search) unusable(err error) (why string, _ error) {
	var refused refusal
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, errExpired):
		s.expired = true
		return "its artifact is gone: " + err.Error(), nil
	case errors.As(err, &refused):
		// Something is there and nobody knows what: that is no "none".
		s.unavailable = &APIError{Doing: "download the baseline", Reason: Unexpected, Message: string(refused), Err: refused}
		return string(refused), nil
	}
	return "", err
}

// openBundle opens a downloaded artifact and checks the digests of its files.
func openBundle(path string) (*store.Run, error) {
	zip, first, err := isZip(path)
	if err != nil {
		return nil, err
	}
	if !zip {
		return nil, notZip(first)
	}
	return resolve(path)
}

func notZip(first byte) error {
	if first == '{' {
		return errors.New("it is a single file of JSON, want a zip of the whole output directory: leave archive of actions/upload-artifact at true")
	}
	return errors.New("it is no zip")
}

// readOn reads a line and keeps nothing.
func readOn(int, *evidence.Outcome) error { return nil }

// resolve opens a zip or directory of a bundle and reads its judgments once.
func resolve(path string) (*store.Run, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	run, err := st.Resolve(abs)
	if err != nil {
		return nil, err
	}
	if err := run.Outcomes(readOn); err != nil {
		run.Close()
		return nil, err
	}
	return run, nil
}

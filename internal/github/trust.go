package github

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// trustedEvents are the events whose runs test what is already on a branch of
// the repository. The head of every other event may name the base branch while
// its content came from a contributor.
var trustedEvents = []string{EventPush, EventSchedule, EventDispatch, EventMergeGroup}

// queueEntry is what follows gh-readonly-queue/BASE/ in the branch of a merge
// group.
var queueEntry = regexp.MustCompile(`^pr-[0-9]+-[0-9a-f]{40,64}$`)

// trust holds what a run has to agree with to be a baseline.
type trust struct {
	repository int64
	workflow   int64  // 0: any
	own        int64  // the run that looks
	branch     string // the base branch
}

// rejectOrigin says why what a run tested may be a stranger's, or "".
func (t trust) rejectOrigin(r *Run) string {
	switch {
	case r.Repository == nil || r.Repository.ID != t.repository:
		return "it is a run of another repository"
	case r.HeadRepository == nil:
		return "its commit came from a fork that was deleted"
	case r.HeadRepository.ID != t.repository:
		return "its commit came from a fork"
	case !slices.Contains(trustedEvents, r.Event):
		return fmt.Sprintf("the event %s may carry what a contributor wrote; trusted are %s", r.Event, strings.Join(trustedEvents, ", "))
	case !isCommit(r.HeadSHA):
		return "it names no commit"
	}
	return ""
}

// rejectRun says why a run is no baseline for the branch, or "". Whether its
// commit is an ancestor is looked at apart; that also tells an entry of the
// merge queue that was merged from one that was not.
func (t trust) rejectRun(r *Run) string {
	if why := t.rejectOrigin(r); why != "" {
		return why
	}
	switch {
	case r.Event == EventMergeGroup && !t.queued(r.HeadBranch):
		return fmt.Sprintf("it tested the merge queue of another branch than %s", t.branch)
	case r.Event != EventMergeGroup && r.HeadBranch != t.branch:
		return fmt.Sprintf("it ran on %s, not on %s", r.HeadBranch, t.branch)
	case r.ID == t.own:
		return "it is this run itself"
	case t.workflow != 0 && r.WorkflowID != t.workflow:
		return "it is a run of another workflow"
	}
	return ""
}

// queued reports whether a branch is that of a merge group for the base branch.
func (t trust) queued(branch string) bool {
	rest, ok := strings.CutPrefix(branch, "gh-readonly-queue/"+t.branch+"/")
	return ok && queueEntry.MatchString(rest)
}

// rejectArtifact says why an artifact is none of the run's, or "". Expiry is
// looked at apart.
func (t trust) rejectArtifact(a *Artifact, r *Run, digests bool) string {
	switch of := a.Run; {
	case of == nil:
		return "the artifact names no run"
	case of.RepositoryID != t.repository || of.HeadRepositoryID != t.repository:
		return "the artifact came from another repository"
	case of.ID != r.ID:
		return "the artifact is another run's"
	case of.HeadSHA != r.HeadSHA:
		return "the artifact names another commit than its run"
	case a.Digest == "" && digests:
		return "the artifact has no digest: upload it with actions/upload-artifact v4 or later"
	case a.Digest != "" && !isDigest(a.Digest):
		return "the digest of the artifact is no SHA-256"
	}
	return ""
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func isDigest(s string) bool { return digestForm.MatchString(s) }

// contradiction says where a manifest disagrees with the API, or "". The API is
// the authority; a manifest that disagrees was not made by the run it came from.
func (t trust) contradiction(m *evidence.Manifest, r *Run) string {
	ci := m.CI
	differs := func(what string, says, want any) string {
		return fmt.Sprintf("its manifest says %s %v, GitHub says %v", what, says, want)
	}
	if ci == nil {
		return "its manifest names no run of GitHub Actions"
	}
	switch path, _, _ := strings.Cut(ci.WorkflowRef, "@"); {
	case ci.RepositoryID != t.repository:
		return differs("repository", ci.RepositoryID, t.repository)
	case ci.RunID != r.ID:
		return differs("run", ci.RunID, r.ID)
	case ci.Attempt < 1 || ci.Attempt > max(1, r.Attempt): // a partial re-run keeps artifacts of earlier attempts
		return differs("attempt", ci.Attempt, r.Attempt)
	case ci.SHA != r.HeadSHA:
		return differs("commit", clean(ci.SHA), r.HeadSHA)
	case ci.Event != r.Event:
		return differs("event", clean(ci.Event), r.Event)
	case ci.Ref != "refs/heads/"+r.HeadBranch:
		return differs("ref", clean(ci.Ref), "refs/heads/"+r.HeadBranch)
	case !sameWorkflow(path, r.Path):
		return differs("workflow", clean(path), r.Path)
	case m.SuiteDigest == "" || m.Tool.Version == "":
		return "its manifest names no suite or no tool"
	}
	return ""
}

// sameWorkflow reports whether OWNER/REPO/.github/workflows/FILE is the path of
// a run.
func sameWorkflow(ref, path string) bool {
	path, _, _ = strings.Cut(path, "@")
	return path != "" && (ref == path || strings.HasSuffix(ref, "/"+path))
}

// unfit says why a run that may be trusted cannot be compared with, or "".
func unfit(m *evidence.Manifest, name string) string {
	switch {
	case m.Name != name:
		return fmt.Sprintf("it is of the suite %q, not of %q", clean(m.Name), name)
	case m.Shard != nil:
		return fmt.Sprintf("it is shard %d of %d, not a whole run", m.Shard.Index, m.Shard.Of)
	case m.Completeness != evidence.Complete:
		return "it did not run every case"
	case m.Status != evidence.RunDecided && m.Status != evidence.RunExplored:
		return fmt.Sprintf("its status is %s", m.Status)
	}
	return ""
}

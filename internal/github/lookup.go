package github

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

// Lookup finds what an event is measured against. It keeps what the API said,
// so that nothing is asked twice. It is not safe for concurrent use.
type Lookup struct {
	client *Client
	env    *Environment
	event  *Event

	own       *Run
	readable  bool // a commit was read, so the token may read contents
	base      *Base
	named     map[string]*namedArtifacts // by artifact name
	compared  map[[2]string]*comparison
	ancestors map[string][]string // by commit: itself and those before it, nearest first
}

// NewLookup returns a Lookup for an event.
func NewLookup(c *Client, e *Event) *Lookup {
	return &Lookup{
		client: c, env: c.env, event: e,
		named:     map[string]*namedArtifacts{},
		compared:  map[[2]string]*comparison{},
		ancestors: map[string][]string{},
	}
}

// Base is the commit that a proposal would be merged into, as it was tested.
type Base struct {
	Branch string // short name
	Commit string
	Note   string // why it is not the one that was expected; usually empty
}

// Base returns the base of a pull request or merge group: policies, lock, suite
// and data set are read there. It is nil for other events.
//
// The base in the event of a pull request is a snapshot and may lag behind the
// merge commit that is tested; that commit's first parent is the base tested.
func (l *Lookup) Base(ctx context.Context) (*Base, error) {
	if l.base != nil || !l.event.Proposes() {
		return l.base, nil
	}
	b := &Base{Branch: l.event.BaseBranch(l.env)}
	switch {
	case l.event.MergeGroup != nil:
		b.Commit = l.event.MergeGroup.BaseSHA
	case l.event.Name == EventPullRequestTarget: // GITHUB_SHA is no merge commit
		b.Commit = l.event.PullRequest.Base.SHA
	default:
		c, err := l.commit(ctx, l.env.SHA)
		if err != nil {
			return nil, err
		}
		if len(c.Parents) == 2 && c.Parents[1].SHA == l.event.PullRequest.Head.SHA {
			b.Commit = c.firstParent()
		} else {
			b.Commit = l.event.PullRequest.Base.SHA
			b.Note = fmt.Sprintf("%s is no merge of the pull request's head %s into its base, so the base that the event names is used",
				short(l.env.SHA), short(l.event.PullRequest.Head.SHA))
		}
	}
	if !isCommit(b.Commit) {
		return nil, &APIError{Doing: "find the base commit", Reason: Unexpected, Message: "GitHub named no commit"}
	}
	l.base = b
	return b, nil
}

// short is a commit id as people read it.
func short(sha string) string { return sha[:min(7, len(sha))] }

// label is a commit or a branch as people read it.
func label(ref string) string {
	if isCommit(ref) {
		return short(ref)
	}
	return clean(ref)
}

// ownRun returns the run that this program is part of. It tells which workflow
// a baseline has to come from, also where the workflow file lies in another
// repository.
func (l *Lookup) ownRun(ctx context.Context) (*Run, error) {
	if l.own != nil {
		return l.own, nil
	}
	r, err := l.run(ctx, l.env.RunID)
	if err != nil {
		return nil, err
	}
	doing := "look at this run"
	switch {
	case r.ID != l.env.RunID || r.WorkflowID < 1 || r.Repository == nil || r.Repository.ID < 1:
		return nil, &APIError{Doing: doing, Reason: Unexpected, Message: "GitHub named no workflow or no repository"}
	case l.env.RepositoryID != 0 && r.Repository.ID != l.env.RepositoryID,
		l.event.Repository.ID != 0 && r.Repository.ID != l.event.Repository.ID:
		return nil, &APIError{Doing: doing, Reason: Unexpected, Message: "it belongs to another repository than the job says"}
	}
	l.own = r
	return r, nil
}

// defaultBranch returns the short name of the repository's default branch.
func (l *Lookup) defaultBranch(ctx context.Context) (string, error) {
	if l.event.Repository.DefaultBranch == "" {
		if _, err := l.client.get(ctx, "look at the repository", l.client.repo(), nil, &l.event.Repository); err != nil {
			return "", err
		}
	}
	return l.event.Repository.DefaultBranch, nil
}

func (l *Lookup) run(ctx context.Context, id int64) (*Run, error) {
	r := &Run{}
	n := strconv.FormatInt(id, 10)
	_, err := l.client.get(ctx, "look at run "+n, l.client.repo("actions", "runs", n), url.Values{"exclude_pull_requests": {"true"}}, r)
	return r, err
}

func (l *Lookup) commit(ctx context.Context, sha string) (*commit, error) {
	c := &commit{}
	// The page holds at most 300 files that changed; one is enough.
	query := url.Values{"per_page": {"1"}}
	_, err := l.client.get(ctx, "look at commit "+short(sha), l.client.repo("commits", sha), query, c)
	l.readable = l.readable || err == nil
	return c, err
}

// compare compares two commits of the repository or of its forks.
func (l *Lookup) compare(ctx context.Context, base, head string) (*comparison, error) {
	key := [2]string{base, head}
	if c := l.compared[key]; c != nil {
		return c, nil
	}
	c := &comparison{}
	if base == head {
		c.Status, c.MergeBase.SHA = "identical", base
	} else if _, err := l.client.get(ctx, fmt.Sprintf("compare %s with %s", label(base), label(head)),
		l.client.repo("compare", base+"..."+head), url.Values{"per_page": {strconv.Itoa(perPage)}}, c); err != nil {
		return nil, err
	}
	l.compared[key] = c
	return c, nil
}

// history returns a commit and up to 99 before it, nearest first.
func (l *Lookup) history(ctx context.Context, sha string) ([]string, error) {
	if h := l.ancestors[sha]; h != nil {
		return h, nil
	}
	var list []commit
	query := url.Values{"sha": {sha}, "per_page": {strconv.Itoa(perPage)}}
	if _, err := l.client.get(ctx, "list the commits before "+short(sha), l.client.repo("commits"), query, &list); err != nil {
		return nil, err
	}
	ids := []string{sha}
	for _, c := range list {
		if c.SHA != sha {
			ids = append(ids, c.SHA)
		}
	}
	l.ancestors[sha] = ids
	return ids, nil
}

// runsAt lists the runs of a workflow at a commit, newest first, and how many
// there are in all.
func (l *Lookup) runsAt(ctx context.Context, workflow int64, sha string) ([]*Run, int, error) {
	return l.runs(ctx, "list the runs at "+short(sha), workflow, url.Values{"head_sha": {sha}})
}

func (l *Lookup) runs(ctx context.Context, doing string, workflow int64, query url.Values) ([]*Run, int, error) {
	var list struct {
		Total int    `json:"total_count"`
		Runs  []*Run `json:"workflow_runs"`
	}
	query.Set("per_page", strconv.Itoa(perPage))
	query.Set("exclude_pull_requests", "true")
	path := l.client.repo("actions", "workflows", strconv.FormatInt(workflow, 10), "runs")
	_, err := l.client.get(ctx, doing, path, query, &list)
	return list.Runs, list.Total, err
}

// artifactOf returns the newest artifact of a run with a name, or nil.
func (l *Lookup) artifactOf(ctx context.Context, run int64, name string) (*Artifact, error) {
	var list struct {
		Artifacts []*Artifact `json:"artifacts"`
	}
	n := strconv.FormatInt(run, 10)
	query := url.Values{"name": {name}, "per_page": {strconv.Itoa(perPage)}}
	if _, err := l.client.get(ctx, "list the artifacts of run "+n, l.client.repo("actions", "runs", n, "artifacts"), query, &list); err != nil {
		return nil, err
	}
	var newest *Artifact
	for _, a := range list.Artifacts {
		if a.Name == name && (newest == nil || a.ID > newest.ID) {
			newest = a
		}
	}
	return newest, nil
}

// maxArtifactPages bounds how far the repository's artifacts of a name are
// listed. Runs of forks may upload some too.
const maxArtifactPages = 10

// namedArtifacts are the artifacts of a name that say they come from a branch
// of the repository itself, newest first.
type namedArtifacts struct {
	list  []*Artifact
	whole bool // nothing was left unread
}

func (l *Lookup) artifactsNamed(ctx context.Context, name, branch string, repository int64) (*namedArtifacts, error) {
	if n := l.named[name]; n != nil {
		return n, nil
	}
	type page struct {
		Artifacts []*Artifact `json:"artifacts"`
	}
	n := &namedArtifacts{}
	whole, err := pages(ctx, l.client, "list the artifacts named "+name, l.client.repo("actions", "artifacts"), url.Values{"name": {name}},
		maxArtifactPages, func(p page) bool {
			for _, a := range p.Artifacts {
				if a.Name == name && a.Run != nil && a.Run.RepositoryID == repository && a.Run.HeadRepositoryID == repository && a.Run.HeadBranch == branch {
					n.list = append(n.list, a)
				}
			}
			return len(n.list) >= maxConsidered
		})
	if err != nil {
		return nil, err
	}
	n.whole = whole
	sortNewestFirst(n.list)
	l.named[name] = n
	return n, nil
}

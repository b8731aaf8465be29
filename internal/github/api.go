package github

import "time"

// Run is a workflow run of the API. go-github v62 lacks its path and the id of
// its head repository.
type Run struct {
	ID             int64       `json:"id"`
	Attempt        int         `json:"run_attempt"`
	WorkflowID     int64       `json:"workflow_id"`
	Path           string      `json:"path"` // .github/workflows/FILE, at times with @REF
	Event          string      `json:"event"`
	Status         string      `json:"status"`
	HeadBranch     string      `json:"head_branch"`
	HeadSHA        string      `json:"head_sha"`
	CreatedAt      time.Time   `json:"created_at"`
	Repository     *Repository `json:"repository"`
	HeadRepository *Repository `json:"head_repository"` // nil when a fork was deleted
}

// Artifact is an artifact of the API. go-github v62 lacks its digest.
type Artifact struct {
	ID        int64       `json:"id"`
	Name      string      `json:"name"`
	Bytes     int64       `json:"size_in_bytes"`
	Expired   bool        `json:"expired"`
	Digest    string      `json:"digest"` // sha256:HEX; empty on GitHub Enterprise Server
	CreatedAt time.Time   `json:"created_at"`
	ExpiresAt time.Time   `json:"expires_at"`
	Run       *ArtifactOf `json:"workflow_run"`
}

// ArtifactOf is what an artifact says of its run.
type ArtifactOf struct {
	ID               int64  `json:"id"`
	RepositoryID     int64  `json:"repository_id"`
	HeadRepositoryID int64  `json:"head_repository_id"`
	HeadBranch       string `json:"head_branch"`
	HeadSHA          string `json:"head_sha"`
}

// PullRequest is a pull request of an event or of the API.
type PullRequest struct {
	Number    int       `json:"number"`
	State     string    `json:"state"` // open, closed
	Head      Branch    `json:"head"`
	Base      Branch    `json:"base"`
	User      Account   `json:"user"`
	Labels    []Label   `json:"labels"`
	CreatedAt time.Time `json:"created_at"`
}

// FromFork reports whether the pull request comes from another repository than
// its base, or from one that was deleted.
func (p *PullRequest) FromFork() bool {
	return p.Head.Repository == nil || p.Base.Repository == nil || p.Head.Repository.ID != p.Base.Repository.ID
}

// commit is a commit of the API.
type commit struct {
	SHA     string `json:"sha"`
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}

// firstParent returns the id of the first parent, or "" of a root.
func (c *commit) firstParent() string {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0].SHA
}

// comparison is what the API says of two commits.
type comparison struct {
	Status    string   `json:"status"`   // ahead, behind, diverged, identical
	AheadBy   int      `json:"ahead_by"` // commits of the head that the base lacks
	MergeBase commit   `json:"merge_base_commit"`
	Commits   []commit `json:"commits"` // of the head that the base lacks, by page
}

// ancestor reports whether the base is an ancestor of the head, or the head.
func (c *comparison) ancestor() bool { return c.Status == "ahead" || c.Status == "identical" }

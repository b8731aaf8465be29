package github

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The events that have rules of their own.
const (
	EventPullRequest       = "pull_request"
	EventPullRequestTarget = "pull_request_target"
	EventMergeGroup        = "merge_group"
	EventPush              = "push"
	EventSchedule          = "schedule"
	EventDispatch          = "workflow_dispatch"
	EventWorkflowRun       = "workflow_run"
	EventIssueComment      = "issue_comment"
)

// maxEvent is the most bytes of an event's payload that are read. GitHub's own
// limit for a webhook is 25 MB.
const maxEvent = 32 << 20

// Event is what is read of the payload at GITHUB_EVENT_PATH. The parts that
// another event has are nil.
type Event struct {
	Name        string       `json:"-"`
	Action      string       `json:"action"`
	Repository  Repository   `json:"repository"`
	Sender      Account      `json:"sender"`
	PullRequest *PullRequest `json:"pull_request"`
	Label       *Label       `json:"label"` // pull_request: labeled, unlabeled
	MergeGroup  *MergeGroup  `json:"merge_group"`
	Run         *Run         `json:"workflow_run"`
	Issue       *Issue       `json:"issue"`

	// Of a push.
	Ref     string `json:"ref"`
	Before  string `json:"before"` // zeros for a new branch
	After   string `json:"after"`
	Forced  bool   `json:"forced"`
	Deleted bool   `json:"deleted"`
}

// Repository is a repository as events and the API name it. Names change; the
// id does not.
type Repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
	Private       bool   `json:"private"`
}

// Account is a user or a bot.
type Account struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"` // User, Bot, Organization
}

// Label is a label of a pull request.
type Label struct {
	Name string `json:"name"`
}

// Branch is one side of a pull request.
type Branch struct {
	Ref        string      `json:"ref"` // the branch's short name
	SHA        string      `json:"sha"`
	Repository *Repository `json:"repo"` // nil when a fork was deleted
}

// MergeGroup is a group of a merge queue.
type MergeGroup struct {
	HeadSHA string `json:"head_sha"`
	HeadRef string `json:"head_ref"`
	BaseSHA string `json:"base_sha"`
	BaseRef string `json:"base_ref"`
}

// Issue is the issue of a comment; PullRequest is set when it is a pull request.
type Issue struct {
	Number      int       `json:"number"`
	PullRequest *struct{} `json:"pull_request"`
}

// ReadEvent reads the payload of the environment's event. A missing file is an
// event without a payload, as a schedule is.
func ReadEvent(env *Environment) (*Event, error) {
	if env.EventPath == "" {
		return ParseEvent(env.EventName, strings.NewReader("{}"))
	}
	f, err := os.Open(env.EventPath)
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	defer f.Close()
	return ParseEvent(env.EventName, f)
}

// ParseEvent reads a payload. Of the events above it demands the parts that
// their rules rest on.
func ParseEvent(name string, r io.Reader) (*Event, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if len(b) > maxEvent {
		return nil, fmt.Errorf("the payload of the event %s is larger than %d bytes", name, maxEvent)
	}
	e := &Event{}
	if err := decode(b, e); err != nil {
		return nil, fmt.Errorf("the payload of the event %s is damaged: %w", name, err)
	}
	e.Name = name
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("the payload of the event %s %w", name, err)
	}
	return e, nil
}

// decode reads JSON from GitHub. Keys that are not known are passed over.
func decode(b []byte, v any) error {
	return json.Unmarshal(b, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (e *Event) check() error {
	switch {
	case e.onPull():
		pr := e.PullRequest
		switch {
		case pr == nil || pr.Number < 1:
			return fmt.Errorf("has no pull request")
		case !isCommit(pr.Head.SHA) || !isCommit(pr.Base.SHA) || pr.Base.Ref == "":
			return fmt.Errorf("has a pull request without its commits")
		case pr.Base.Repository == nil || pr.Base.Repository.ID < 1:
			return fmt.Errorf("has a pull request without its base repository")
		}
	case e.Name == EventMergeGroup:
		g := e.MergeGroup
		if g == nil || !isCommit(g.HeadSHA) || !isCommit(g.BaseSHA) {
			return fmt.Errorf("has no merge group with its commits")
		}
		if branchOf(g.BaseRef) == "" {
			return fmt.Errorf("has the base ref %q, want refs/heads/BRANCH", g.BaseRef)
		}
	case e.Name == EventPush:
		if !isCommit(e.Before) || e.Ref == "" {
			return fmt.Errorf("has no ref with the commit before")
		}
	case e.Name == EventWorkflowRun:
		if e.Run == nil || e.Run.ID < 1 || !isCommit(e.Run.HeadSHA) {
			return fmt.Errorf("has no workflow run with its commit")
		}
	}
	return nil
}

// Proposes reports whether the event tests what someone proposes to merge:
// policies, lock, suite and data set are then read at the base commit too.
func (e *Event) Proposes() bool {
	return e.onPull() || e.Name == EventMergeGroup
}

// onPull reports whether the event is one of a pull request's: of the request
// itself, its target or its reviews. All but the target's test its merge commit.
func (e *Event) onPull() bool { return strings.HasPrefix(e.Name, EventPullRequest) }

// FromFork reports whether a pull request comes from another repository than
// its base, or from one that was deleted.
func (e *Event) FromFork() bool {
	return e.PullRequest != nil && e.PullRequest.FromFork()
}

// FromDependabot reports whether Dependabot caused the event: its runs get a
// read-only token and no secrets of Actions, as those of forks do.
func (e *Event) FromDependabot(env *Environment) bool {
	return env.Actor == "dependabot[bot]" || e.Sender.Login == "dependabot[bot]" && e.onPull()
}

// ReadOnly says why the job's token cannot write, or "" when nothing speaks
// against it.
func (e *Event) ReadOnly(env *Environment) string {
	switch {
	case !e.onPull() || e.Name == EventPullRequestTarget:
		return ""
	case e.FromFork():
		return "the pull request comes from a fork"
	case e.FromDependabot(env):
		return "Dependabot opened the pull request"
	}
	return ""
}

// BaseBranch returns the short name of the branch that the event is measured
// against: the base of a pull request or merge group, the branch of a push,
// the default branch of a schedule. It is "" for a tag and when unknown.
func (e *Event) BaseBranch(env *Environment) string {
	switch {
	case e.onPull():
		return e.PullRequest.Base.Ref
	case e.MergeGroup != nil:
		return branchOf(e.MergeGroup.BaseRef)
	case e.Name == EventWorkflowRun:
		return ""
	}
	return branchOf(env.Ref)
}

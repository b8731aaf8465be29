package github

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// PullRequest returns the open pull request that the event belongs to, or nil
// and why there is none. It comes from the event and the API only, never from an
// artifact.
func (l *Lookup) PullRequest(ctx context.Context) (pr *PullRequest, why string, err error) {
	e := l.event
	if e.onPull() {
		return e.PullRequest, "", nil
	}
	switch e.Name {
	case EventIssueComment:
		if e.Issue == nil || e.Issue.PullRequest == nil || e.Issue.Number < 1 {
			return nil, "the comment is not on a pull request", nil
		}
		pr, err := l.pull(ctx, e.Issue.Number)
		return pr, "", err
	case EventWorkflowRun:
		return l.pullOfRun(ctx)
	case EventPush:
		return l.pullOfPush(ctx)
	case EventMergeGroup:
		return nil, "a merge group may hold several pull requests", nil
	}
	return nil, "the event " + l.event.Name + " belongs to no pull request", nil
}

func (l *Lookup) pull(ctx context.Context, number int) (*PullRequest, error) {
	pr := &PullRequest{}
	n := strconv.Itoa(number)
	if _, err := l.client.get(ctx, "look at pull request "+n, l.client.repo("pulls", n), nil, pr); err != nil {
		return nil, err
	}
	if pr.Number != number || !isCommit(pr.Head.SHA) || pr.Base.Repository == nil {
		return nil, &APIError{Doing: "look at pull request " + n, Reason: Unexpected, Message: "GitHub named no commit"}
	}
	return pr, nil
}

// pullOfRun finds the pull request of a workflow_run event. The event's own list
// is empty for forks (https://github.com/actions/runner/issues/3444).
func (l *Lookup) pullOfRun(ctx context.Context) (*PullRequest, string, error) {
	r := l.event.Run
	if r.HeadRepository == nil {
		return nil, "the fork that the run came from was deleted", nil
	}
	owner, _, _ := strings.Cut(r.HeadRepository.FullName, "/")
	query := url.Values{"state": {"open"}, "head": {owner + ":" + r.HeadBranch}, "per_page": {strconv.Itoa(perPage)}}
	var list []*PullRequest
	if _, err := l.client.get(ctx, "list the pull requests of "+clean(r.HeadBranch), l.client.repo("pulls"), query, &list); err != nil {
		return nil, "", err
	}
	return l.only(list, r.HeadSHA, r.HeadRepository.ID)
}

func (l *Lookup) pullOfPush(ctx context.Context) (*PullRequest, string, error) {
	var list []*PullRequest
	query := url.Values{"per_page": {strconv.Itoa(perPage)}}
	if _, err := l.client.get(ctx, "list the pull requests of "+short(l.env.SHA), l.client.repo("commits", l.env.SHA, "pulls"), query, &list); err != nil {
		return nil, "", err
	}
	return l.only(list, l.env.SHA, l.event.Repository.ID)
}

// only returns the one open pull request into this repository whose head is a
// commit of a repository.
func (l *Lookup) only(list []*PullRequest, sha string, head int64) (*PullRequest, string, error) {
	var found []*PullRequest
	for _, pr := range list {
		if pr.State == "open" && pr.Head.SHA == sha && pr.Head.Repository != nil && pr.Head.Repository.ID == head &&
			pr.Base.Repository != nil && pr.Base.Repository.ID == l.event.Repository.ID {
			found = append(found, pr)
		}
	}
	switch len(found) {
	case 0:
		return nil, "no open pull request has the head " + short(sha), nil
	case 1:
		return found[0], "", nil
	}
	return nil, fmt.Sprintf("%d open pull requests have the head %s", len(found), short(sha)), nil
}

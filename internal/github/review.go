package github

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Review says whether people released a change of the suite by a label.
type Review struct {
	Released bool
	Label    string
	By       []string // who set it, one for each pull request
	Why      string   // why it is not released, and what to do
}

// Review reports whether the review label releases the event's pull request, or
// every pull request of its merge group. The label counts when a person with
// write access set it after the last push, all of it as the API says. An error
// is that GitHub could not be asked.
func (l *Lookup) Review(ctx context.Context, name string) (*Review, error) {
	ctx, cancel := l.client.Begin(ctx)
	defer cancel()
	rv := &Review{Label: name}
	numbers, why, err := l.proposed(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		rv.Why = why
		return rv, nil
	}
	for _, n := range numbers {
		by, why, err := l.labelled(ctx, n, name)
		if err != nil {
			return nil, err
		}
		if why != "" {
			rv.Why = fmt.Sprintf("pull request %d: %s", n, why)
			return rv, nil
		}
		rv.By = append(rv.By, by)
	}
	rv.Released = true
	return rv, nil
}

// proposed returns the numbers of the pull requests that the event tests.
func (l *Lookup) proposed(ctx context.Context) (numbers []int, why string, err error) {
	switch {
	case l.event.MergeGroup != nil:
		return l.grouped(ctx)
	case l.event.PullRequest != nil && l.event.Proposes():
		return []int{l.event.PullRequest.Number}, "", nil
	}
	return nil, "the event " + l.event.Name + " proposes nothing that a label could release", nil
}

// queueRef is the branch of a queue's entry: its pull request and the commit
// that it was put on.
var queueRef = regexp.MustCompile(`/pr-([0-9]+)-([0-9a-f]{40,64})$`)

// entry reads a branch of the queue.
func entry(ref string) (number int, on string, ok bool) {
	m := queueRef.FindStringSubmatch(ref)
	if m == nil {
		return 0, "", false
	}
	number, err := strconv.Atoi(m[1])
	return number, m[2], err == nil && number > 0
}

// maxGroup is GitHub's limit for the pull requests of one merge group.
const maxGroup = 100

// grouped returns the pull requests of the merge group. Its branch names the
// last one and the commit that it was put on; where that is not the group's
// base, it is the head of the entry before, and so on. The number of merges in
// the group has to be the same, or some pull request is not known.
func (l *Lookup) grouped(ctx context.Context) (numbers []int, why string, err error) {
	const unknown = "the pull requests of the merge group cannot be told apart, so no label releases it"
	g := l.event.MergeGroup
	number, on, ok := entry(g.HeadRef)
	if !ok {
		return nil, unknown, nil
	}
	numbers = []int{number}
	if on != g.BaseSHA {
		before, err := l.queue(ctx, g.BaseRef)
		if err != nil {
			return nil, "", err
		}
		for on != g.BaseSHA {
			number, next, ok := entry(before[on])
			if !ok || len(numbers) == maxGroup || slices.Contains(numbers, number) {
				return nil, unknown, nil
			}
			numbers, on = append(numbers, number), next
		}
	}
	merges, err := l.merges(ctx, g.BaseSHA, g.HeadSHA)
	if err != nil {
		return nil, "", err
	}
	if merges != len(numbers) {
		return nil, unknown, nil
	}
	slices.Sort(numbers)
	return numbers, "", nil
}

// queue returns the branches of the merge queue by their heads.
func (l *Lookup) queue(ctx context.Context, baseRef string) (map[string]string, error) {
	var refs []struct {
		Ref    string `json:"ref"`
		Object struct {
			SHA string `json:"sha"`
		} `json:"object"`
	}
	path := l.client.repo("git", "matching-refs", "heads", "gh-readonly-queue") + "/" + escapeSegments(branchOf(baseRef)) + "/"
	if _, err := l.client.get(ctx, "list the merge queue", path, nil, &refs); err != nil {
		return nil, err
	}
	byHead := map[string]string{}
	for _, r := range refs {
		byHead[r.Object.SHA] = r.Ref
	}
	return byHead, nil
}

func escapeSegments(s string) string {
	parts := strings.Split(s, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// maxComparePages bounds how many commits of a merge group are read, by 100.
const maxComparePages = 10

// merges counts the commits from the base to the head along first parents, or
// returns -1 when they cannot be followed.
func (l *Lookup) merges(ctx context.Context, base, head string) (int, error) {
	first := map[string]string{}
	doing := fmt.Sprintf("compare %s with %s", short(base), short(head))
	_, err := pages(ctx, l.client, doing, l.client.repo("compare", base+"..."+head), nil, maxComparePages, func(c comparison) bool {
		for _, one := range c.Commits {
			first[one.SHA] = one.firstParent()
		}
		return false
	})
	if err != nil {
		return 0, err
	}
	n := 0
	for at := head; at != base; n++ {
		parent, ok := first[at]
		if !ok || n > len(first) { // not along first parents, or in a circle
			return -1, nil
		}
		at = parent
	}
	return n, nil
}

// issueEvent is what happened to a pull request.
type issueEvent struct {
	Event     string    `json:"event"`
	Actor     *Account  `json:"actor"`
	Label     *Label    `json:"label"`
	CreatedAt time.Time `json:"created_at"`
}

// maxEventPages bounds how much of a pull request's events is read.
const maxEventPages = 20

// labelled says who released a pull request, or why nobody did.
func (l *Lookup) labelled(ctx context.Context, number int, name string) (by, why string, err error) {
	pr, err := l.pull(ctx, number)
	if err != nil {
		return "", "", err
	}
	if !slices.ContainsFunc(pr.Labels, func(x Label) bool { return strings.EqualFold(x.Name, name) }) {
		return "", fmt.Sprintf("it has no label %s", name), nil
	}
	if mine := l.event.PullRequest; mine != nil && mine.Number == number && pr.Head.SHA != mine.Head.SHA {
		return "", "its head is no longer the one that is tested", nil
	}
	happened, why, err := l.happened(ctx, number, name)
	if err != nil || why != "" {
		return "", why, err
	}
	since, why, err := l.headSince(ctx, pr, happened, name)
	if err != nil || why != "" {
		return "", why, err
	}
	// Times are of whole seconds: a label of the same second may be older.
	if !happened.labelled.After(since) {
		return "", fmt.Sprintf("the label %s was set before the last push: look at it again, remove the label and set it again", name), nil
	}
	return l.writer(ctx, happened.by, name)
}

// happenings are the events of a pull request that matter here.
type happenings struct {
	labelled time.Time // last
	by       *Account
	moved    time.Time // last event that may have put another commit at the head
}

func (l *Lookup) happened(ctx context.Context, number int, name string) (h happenings, why string, err error) {
	n := strconv.Itoa(number)
	whole, err := pages(ctx, l.client, "list the events of pull request "+n, l.client.repo("issues", n, "events"), nil, maxEventPages, func(page []issueEvent) bool {
		for _, e := range page {
			switch e.Event {
			case "labeled":
				if e.Label != nil && strings.EqualFold(e.Label.Name, name) && !e.CreatedAt.Before(h.labelled) {
					h.labelled, h.by = e.CreatedAt, e.Actor
				}
			case "head_ref_force_pushed", "head_ref_deleted", "head_ref_restored", "reopened":
				if e.CreatedAt.After(h.moved) {
					h.moved = e.CreatedAt
				}
			}
		}
		return false
	})
	switch {
	case err != nil:
		return h, "", err
	case !whole:
		return h, "it has more events than are read", nil
	case h.by == nil:
		return h, fmt.Sprintf("nothing says who set the label %s", name), nil
	}
	return h, "", nil
}

// headSince returns a time from which the pull request's head has been the
// commit that it is now. The dates of commits are the author's own, so the time
// is that of a run: GitHub made it when the commit was pushed. A push that only
// adds commits cannot bring an earlier head back, and every other one leaves an
// event; so when none did since that run, the head stayed.
func (l *Lookup) headSince(ctx context.Context, pr *PullRequest, h happenings, name string) (since time.Time, why string, err error) {
	own, err := l.ownRun(ctx)
	if err != nil {
		return since, "", err
	}
	if l.onLabelling(pr, h, own, name) {
		if !h.moved.Before(h.labelled) {
			return since, fmt.Sprintf("its head changed after the label %s was set: set it again", name), nil
		}
		return h.labelled.Add(-time.Second), "", nil
	}
	if pr.Head.Repository == nil {
		return since, "its fork was deleted", nil
	}
	runs, total, err := l.runs(ctx, "list the runs at "+short(pr.Head.SHA), own.WorkflowID, url.Values{"head_sha": {pr.Head.SHA}, "event": {EventPullRequest}})
	if err != nil {
		return since, "", err
	}
	if total > len(runs) {
		return since, "its head has more runs than are read", nil
	}
	for _, r := range runs {
		if r.HeadSHA != pr.Head.SHA || r.HeadRepository == nil || r.HeadRepository.ID != pr.Head.Repository.ID || r.HeadBranch != pr.Head.Ref {
			continue
		}
		// What happened before the pull request was opened left no event in it.
		if r.CreatedAt.Before(pr.CreatedAt) || !r.CreatedAt.After(h.moved) {
			continue
		}
		if since.IsZero() || r.CreatedAt.Before(since) {
			since = r.CreatedAt
		}
	}
	if since.IsZero() {
		return since, "no run of this workflow says since when its head is the one that is tested: remove the label and set it again", nil
	}
	return since, "", nil
}

// onLabelling reports whether the event is that of the label being set, which
// names the head that it was set on. Run again after the label was set once
// more, it no longer says so.
func (l *Lookup) onLabelling(pr *PullRequest, h happenings, own *Run, name string) bool {
	e := l.event
	return e.Name == EventPullRequest && e.Action == "labeled" && e.PullRequest.Number == pr.Number &&
		e.Label != nil && strings.EqualFold(e.Label.Name, name) && e.PullRequest.Head.SHA == pr.Head.SHA &&
		e.Sender.ID != 0 && e.Sender.ID == h.by.ID && !own.CreatedAt.Before(h.labelled)
}

// writer says whether an account is a person with write access.
func (l *Lookup) writer(ctx context.Context, a *Account, name string) (by, why string, err error) {
	if a.Type != "User" || !isLogin(a.Login) {
		return "", fmt.Sprintf("the label %s was set by %s, which is no person", name, clean(a.Login)), nil
	}
	var answer struct {
		Permission string   `json:"permission"` // admin, write, read, none; maintain is write, triage is read
		User       *Account `json:"user"`
	}
	_, err = l.client.get(ctx, "ask for the access of "+a.Login, l.client.repo("collaborators", a.Login, "permission"), nil, &answer)
	if err != nil && !IsNotFound(err) {
		return "", "", err
	}
	// A login may have gone to somebody else since; the id has not.
	if err != nil || answer.User == nil || answer.User.ID != a.ID || answer.Permission != "admin" && answer.Permission != "write" {
		return "", fmt.Sprintf("the label %s was set by %s, who has no write access", name, a.Login), nil
	}
	return a.Login, "", nil
}

// isLogin reports whether s may be a user's login: it becomes part of a path.
func isLogin(s string) bool { return isRepositoryPart(s) }

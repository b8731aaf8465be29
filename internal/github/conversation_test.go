package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// commented is a GitHub with a pull request 7 and its comments.
func commented(t *testing.T, comments ...githubtest.Comment) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.Do(func(w *githubtest.World) {
		w.Parents["head"] = []string{"base"}
		w.Pulls = append(w.Pulls, githubtest.Pull{Number: 7, Head: "head", HeadRef: "feature"})
		w.Comments = comments
	})
	return b
}

// posted publishes a comment through the API.
func posted(t *testing.T, b *bench, run int64, gate string) CommentResult {
	t.Helper()
	p := said(nil, run, gate)
	p.Comment.API, p.Comment.Head = NewConversations(b.client), githubtest.SHA("head")
	return post(t, p)
}

func worldComments(b *bench) (all []githubtest.Comment) {
	b.Do(func(w *githubtest.World) { all = slices.Clone(w.Comments) })
	return all
}

// talkative is a pull request with more than two pages of comments by others.
func talkative(mark string) []githubtest.Comment {
	var all []githubtest.Comment
	for i := range 230 {
		all = append(all, githubtest.Comment{ID: int64(i + 1), Pull: 7, Login: "someone", Type: "User", Body: "x\n" + mark})
	}
	return all
}

// TestCommentsByREST is the contract of the calls where GraphQL has no answer:
// the fake holds each against GitHub's published description.
func TestCommentsByREST(t *testing.T) {
	mark := said(nil, 5, "ALLOW").newComment().mark.String()
	b := commented(t, talkative(mark)...)
	first := posted(t, b, 10, "BLOCK")
	if first.State != CommentCreated || first.URL == "" {
		t.Errorf("%+v", first)
	}
	if again := posted(t, b, 10, "BLOCK"); again.State != CommentUnchanged || again.URL != first.URL {
		t.Errorf("%+v", again)
	}
	if second := posted(t, b, 11, "ALLOW"); second.State != CommentUpdated || second.URL != first.URL {
		t.Errorf("%+v", second)
	}
	all := worldComments(b)
	if len(all) != 231 || !strings.HasPrefix(all[230].Body, "### 🟢 Gate: ALLOW") {
		t.Errorf("%d comments, the last is\n%s", len(all), all[len(all)-1].Body)
	}
	for _, c := range all[:230] {
		if c.Body != "x\n"+mark {
			t.Errorf("the comment of someone else is\n%s", c.Body)
		}
	}
}

func TestExtraCommentsAreDeletedByREST(t *testing.T) {
	mark := said(nil, 5, "ALLOW").newComment().mark.String()
	var two []githubtest.Comment
	for id := range int64(2) {
		two = append(two, githubtest.Comment{ID: 40 + id, Pull: 7, Login: "github-actions[bot]", Type: "Bot", Body: "x\n" + mark})
	}
	b := commented(t, two...)
	if r := posted(t, b, 10, "BLOCK"); r.State != CommentUpdated {
		t.Errorf("%+v", r)
	}
	if all := worldComments(b); len(all) != 1 || all[0].ID != 40 {
		t.Errorf("%+v", all)
	}
}

// TestAnswersThatForbidComments: each leaves one reason and no second attempt
// that could write twice.
func TestAnswersThatForbidComments(t *testing.T) {
	for _, f := range []githubtest.Fault{
		{Status: 403, Body: `{"message":"Resource not accessible by integration"}`, Header: map[string]string{"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}},
		{Status: 404, Body: `{"message":"Not Found"}`},
		{Status: 410, Body: `{"message":"This issue was deleted"}`},
		{Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"custom","field":"body","message":"body is too long (maximum is 65536 characters)"}]}`},
		{Status: 429, Body: `{"message":"slow down"}`},
		{Status: 502, Body: `<html><script>alert(1)</script></html>`},
		{Status: 500, Cut: true, Body: `{"mess`},
	} {
		b := commented(t)
		f.Method, f.Path = "POST", "/issues/7/comments"
		b.Fail(f)
		r := posted(t, b, 10, "BLOCK")
		if r.State != CommentFailed || r.Reason == "" || strings.ContainsAny(r.Reason, "<\n") {
			t.Errorf("%d: %+v", f.Status, r)
		}
		posts := 0
		for _, req := range b.Requests() {
			if strings.HasPrefix(req, "POST /issues") {
				posts++
			}
		}
		if most := map[int]int{422: 4, 502: 2, 500: 2}[f.Status]; posts > max(most, 1) {
			t.Errorf("%d: %d posts", f.Status, posts)
		}
	}
}

// TestLostAnswerMakesNoSecondComment: trap 3, retried POSTs write twice.
func TestLostAnswerMakesNoSecondComment(t *testing.T) {
	b := commented(t)
	k := NewConversations(b.client)
	lost := &losing{Conversations: k}
	p := said(nil, 10, "BLOCK")
	p.Comment.API, p.Comment.Head = lost, githubtest.SHA("head")
	if r := post(t, p); r.State != CommentUnchanged || r.URL == "" {
		t.Errorf("%+v", r)
	}
	if all := worldComments(b); len(all) != 1 {
		t.Errorf("%d comments", len(all))
	}
}

// losing loses the first answer to Create.
type losing struct {
	Conversations
	lost bool
}

func (l *losing) Create(ctx context.Context, pull int, body string) (*Comment, error) {
	c, err := l.Conversations.Create(ctx, pull, body)
	if err == nil && !l.lost {
		l.lost = true
		return nil, &APIError{Doing: "comment", Status: 502}
	}
	return c, err
}

// TestCommentsByGraphQL: it tells what the token wrote itself, whoever it is.
// The fields are those of npm @octokit/graphql-schema 15.26.1.
func TestCommentsByGraphQL(t *testing.T) {
	b := commented(t)
	mark := said(nil, 5, "ALLOW").newComment().mark.String()
	b.Do(func(w *githubtest.World) {
		w.Comments = append(talkative(mark), githubtest.Comment{ID: 3_000_000_000, Pull: 7, Login: "my-app[bot]", Type: "Bot", Body: "x\n" + mark})
	})
	queries := 0
	b.GraphQL = func(w http.ResponseWriter, r *http.Request) {
		queries++
		graphQL(t, b, w, r)
	}
	if r := posted(t, b, 10, "BLOCK"); r.State != CommentUpdated || queries != 3 {
		t.Errorf("%+v after %d queries", r, queries)
	}
	all := worldComments(b)
	if len(all) != 231 || !strings.Contains(all[230].Body, "🔴 Gate: BLOCK") {
		t.Errorf("%d comments, the last is %s", len(all), all[len(all)-1].Body)
	}
	for _, r := range b.Requests() {
		if strings.HasPrefix(r, "GET") {
			t.Errorf("%s, though GraphQL had said all", r)
		}
	}
}

// graphQL answers the query for comments from the fake's world. What my-app
// wrote is its own.
func graphQL(t *testing.T, b *bench, w http.ResponseWriter, r *http.Request) {
	var q struct {
		Query     string
		Variables struct {
			Owner, Repo, After string
			Pull               int
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		t.Error(err)
	}
	if q.Variables.Owner != githubtest.Owner || q.Variables.Repo != githubtest.Repo || q.Variables.Pull != 7 {
		t.Errorf("variables %+v", q.Variables)
	}
	if strings.Count(q.Query, "{") != strings.Count(q.Query, "}") || strings.Count(q.Query, "(") != strings.Count(q.Query, ")") {
		t.Errorf("the query is\n%s", q.Query)
	}
	from := 0
	fmt.Sscan(q.Variables.After, &from)
	nodes := []map[string]any{}
	all := worldComments(b)
	to := min(len(all), from+100)
	for _, c := range all[from:to] {
		nodes = append(nodes, map[string]any{
			"fullDatabaseId": fmt.Sprint(c.ID), "url": fmt.Sprintf("https://github.com/c/%d", c.ID), "body": c.Body,
			"viewerDidAuthor": c.Login == "my-app[bot]", "isMinimized": false,
		})
	}
	json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"repository": map[string]any{"pullRequest": map[string]any{
		"headRefOid": githubtest.SHA("head"), "state": "OPEN",
		"comments": map[string]any{"nodes": nodes, "pageInfo": map[string]any{"hasNextPage": to < len(all), "endCursor": fmt.Sprint(to)}},
	}}}})
}

// TestUnusableGraphQL falls back to REST.
func TestUnusableGraphQL(t *testing.T) {
	for name, answer := range map[string]string{
		"errors":       `{"data":{"repository":{"pullRequest":null}},"errors":[{"message":"Resource not accessible"}]}`,
		"old schema":   `{"errors":[{"message":"Field 'fullDatabaseId' doesn't exist on type 'IssueComment'"}]}`,
		"no JSON":      `<html>`,
		"nothing":      ``,
		"null":         `null`,
		"id is a word": `{"data":{"repository":{"pullRequest":{"headRefOid":"` + githubtest.SHA("head") + `","state":"OPEN","comments":{"nodes":[{"fullDatabaseId":"x"}]}}}}}`,
	} {
		b := commented(t)
		b.GraphQL = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }
		if r := posted(t, b, 10, "BLOCK"); r.State != CommentCreated {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRequestsOfTheUsualPath: one look and one write.
func TestRequestsOfTheUsualPath(t *testing.T) {
	b := commented(t)
	mark := said(nil, 5, "ALLOW").newComment().mark.String()
	b.Do(func(w *githubtest.World) {
		w.Comments = []githubtest.Comment{{ID: 1, Pull: 7, Login: "my-app[bot]", Type: "Bot", Body: "x\n" + mark}}
	})
	b.GraphQL = func(w http.ResponseWriter, r *http.Request) { graphQL(t, b, w, r) }
	posted(t, b, 10, "BLOCK")
	if n := b.client.Requests(); n != 2 {
		t.Errorf("%d requests", n)
	}
	b = commented(t)
	posted(t, b, 10, "BLOCK")
	want := []string{"GET /pulls/7", "GET /issues/7/comments", "POST /issues/7/comments", "GET /pulls/7", "GET /issues/7/comments"}
	var got []string
	for _, r := range b.Requests() {
		got = append(got, regexp.MustCompile(`\?.*`).ReplaceAllString(r, ""))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestClosedOrMovedPullRequest, as the API tells it.
func TestClosedOrMovedPullRequest(t *testing.T) {
	b := commented(t)
	b.Do(func(w *githubtest.World) { w.Pulls[0].Closed = true })
	if r := posted(t, b, 10, "BLOCK"); r.State != CommentOutdated {
		t.Errorf("%+v", r)
	}
	b = commented(t)
	b.Do(func(w *githubtest.World) { w.Parents["newer"] = []string{"head"}; w.Pulls[0].Head = "newer" })
	if r := posted(t, b, 10, "BLOCK"); r.State != CommentOutdated || len(worldComments(b)) != 0 {
		t.Errorf("%+v", r)
	}
}

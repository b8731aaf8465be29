package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-github/v62/github"
)

// maxCommentPages is the most pages of 100 comments that are read.
const maxCommentPages = 50

// actionsBot is the author of what the job's own token writes.
const actionsBot = "github-actions[bot]"

// conversations implements [Conversations].
type conversations struct{ client *Client }

// NewConversations returns the pull requests' comments of the client's
// repository.
func NewConversations(c *Client) Conversations { return conversations{c} }

// Read asks GraphQL, which knows of every kind of token what it wrote itself.
// Where that gives no answer, REST and the name of the job's own token stand in.
func (c conversations) Read(ctx context.Context, pull int) (*Conversation, error) {
	if found, err := c.readGraphQL(ctx, pull); err == nil {
		return found, nil
	}
	return c.readREST(ctx, pull)
}

const conversationQuery = `query($owner:String!,$repo:String!,$pull:Int!,$after:String){
  repository(owner:$owner,name:$repo){pullRequest(number:$pull){
    headRefOid state
    comments(first:100,after:$after){
      pageInfo{hasNextPage endCursor}
      nodes{fullDatabaseId url body viewerDidAuthor isMinimized}
    }
  }}
}`

// conversationAnswer is the answer to conversationQuery.
type conversationAnswer struct {
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
	Data struct {
		Repository struct {
			PullRequest *struct {
				HeadRefOid string `json:"headRefOid"`
				State      string `json:"state"`
				Comments   struct {
					PageInfo struct {
						HasNextPage bool   `json:"hasNextPage"`
						EndCursor   string `json:"endCursor"`
					} `json:"pageInfo"`
					Nodes []struct {
						FullDatabaseID  jsontext.Value `json:"fullDatabaseId"` // a number in a string
						URL             string         `json:"url"`
						Body            string         `json:"body"`
						ViewerDidAuthor bool           `json:"viewerDidAuthor"`
						IsMinimized     bool           `json:"isMinimized"`
					} `json:"nodes"`
				} `json:"comments"`
			} `json:"pullRequest"`
		} `json:"repository"`
	} `json:"data"`
}

func (c conversations) readGraphQL(ctx context.Context, pull int) (*Conversation, error) {
	found := &Conversation{}
	variables := map[string]any{"owner": c.client.env.Owner, "repo": c.client.env.Repo, "pull": pull}
	for range maxCommentPages {
		var answer conversationAnswer
		if err := c.query(ctx, variables, &answer); err != nil {
			return nil, err
		}
		p := answer.Data.Repository.PullRequest
		if len(answer.Errors) > 0 || p == nil {
			return nil, &APIError{Doing: doingRead(pull), Reason: Unexpected, Message: "GraphQL has no answer"}
		}
		found.Head, found.Open = p.HeadRefOid, p.State == "OPEN"
		for _, n := range p.Comments.Nodes {
			id, err := strconv.ParseInt(strings.Trim(string(n.FullDatabaseID), `"`), 10, 64)
			if err != nil {
				return nil, &APIError{Doing: doingRead(pull), Reason: Unexpected, Message: "a comment has no id"}
			}
			found.Comments = append(found.Comments, Comment{ID: id, URL: n.URL, Body: n.Body, Own: n.ViewerDidAuthor, Minimized: n.IsMinimized})
		}
		if !p.Comments.PageInfo.HasNextPage {
			break
		}
		variables["after"] = p.Comments.PageInfo.EndCursor
	}
	return found, nil
}

func doingRead(pull int) string { return fmt.Sprintf("read the comments of pull request %d", pull) }

func (c conversations) query(ctx context.Context, variables map[string]any, into any) error {
	const doing = "ask GraphQL for comments"
	req, err := c.client.API.NewRequest(http.MethodPost, c.client.env.GraphQLURL, map[string]any{"query": conversationQuery, "variables": variables})
	if err != nil {
		return Explain(doing, err)
	}
	res, err := c.client.http.Do(req.WithContext(ctx))
	if err != nil {
		return Explain(doing, err)
	}
	defer res.Body.Close()
	if err := github.CheckResponse(res); err != nil {
		return Explain(doing, err)
	}
	b, err := io.ReadAll(res.Body) // bounded by the client
	if err == nil {
		err = decode(b, into)
	}
	if err != nil {
		return &APIError{Doing: doing, Status: res.StatusCode, Reason: Unexpected, Message: "the answer is not the JSON that was expected", Err: err}
	}
	return nil
}

// restComment is a comment of the REST API.
type restComment struct {
	ID      int64   `json:"id"`
	HTMLURL string  `json:"html_url"`
	Body    string  `json:"body"`
	User    Account `json:"user"`
}

func (c conversations) readREST(ctx context.Context, pull int) (*Conversation, error) {
	number := strconv.Itoa(pull)
	var p PullRequest
	if _, err := c.client.get(ctx, fmt.Sprintf("read pull request %d", pull), c.client.repo("pulls", number), nil, &p); err != nil {
		return nil, err
	}
	found := &Conversation{Head: p.Head.SHA, Open: p.State == "open"}
	_, err := pages(ctx, c.client, doingRead(pull), c.client.repo("issues", number, "comments"), url.Values{}, maxCommentPages, func(page []restComment) bool {
		for _, x := range page {
			found.Comments = append(found.Comments, Comment{ID: x.ID, URL: x.HTMLURL, Body: x.Body, Own: x.User.Login == actionsBot})
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (c conversations) Create(ctx context.Context, pull int, body string) (*Comment, error) {
	made, _, err := c.client.API.Issues.CreateComment(ctx, c.client.env.Owner, c.client.env.Repo, pull, &github.IssueComment{Body: &body})
	return written("comment on the pull request", made, err)
}

func (c conversations) Edit(ctx context.Context, comment int64, body string) (*Comment, error) {
	made, _, err := c.client.API.Issues.EditComment(ctx, c.client.env.Owner, c.client.env.Repo, comment, &github.IssueComment{Body: &body})
	return written("edit the comment of the pull request", made, err)
}

func written(doing string, made *github.IssueComment, err error) (*Comment, error) {
	if err != nil {
		return nil, Explain(doing, err)
	}
	return &Comment{ID: made.GetID(), URL: made.GetHTMLURL(), Body: made.GetBody(), Own: true}, nil
}

func (c conversations) Delete(ctx context.Context, comment int64) error {
	if _, err := c.client.API.Issues.DeleteComment(ctx, c.client.env.Owner, c.client.env.Repo, comment); err != nil {
		return Explain("delete a comment that two runs wrote", err)
	}
	return nil
}

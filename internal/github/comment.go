package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/redact"
)

const (
	// maxComment is the most bytes of a comment. GitHub's limit is 65,536 of
	// what it calls characters, which these bytes are never more than.
	maxComment = 60_000
	// commentTime is how long posting may take altogether.
	commentTime = 60 * time.Second
)

// Comment is a comment of a pull request.
type Comment struct {
	ID        int64
	URL       string // its page
	Body      string
	Own       bool // written by the token that is used
	Minimized bool // folded away by someone
}

// Conversation is what is to know of a pull request before one comments.
type Conversation struct {
	Head     string // the commit at its head
	Open     bool
	Comments []Comment // all of them
}

// Conversations is what the comment needs of GitHub's API.
type Conversations interface {
	Read(ctx context.Context, pull int) (*Conversation, error)
	Create(ctx context.Context, pull int, body string) (*Comment, error)
	Edit(ctx context.Context, comment int64, body string) (*Comment, error)
	Delete(ctx context.Context, comment int64) error
}

// CommentPlan says whether and where to comment.
type CommentPlan struct {
	Mode     CommentMode   // "" is CommentNever
	Pull     int           // number of the pull request; 0: there is none
	Head     string        // its commit that the run is about
	ReadOnly string        // why the token cannot write, when that is known
	API      Conversations // nil: there is no token
}

// CommentState says what became of a comment.
type CommentState string

// The states of a comment.
const (
	CommentOff       CommentState = "off" // not asked for, or no pull request
	CommentCreated   CommentState = "created"
	CommentUpdated   CommentState = "updated"
	CommentUnchanged CommentState = "unchanged" // it says so already, or there is nothing to say
	CommentOutdated  CommentState = "outdated"  // a newer run or commit has the say
	CommentFailed    CommentState = "failed"
)

// CommentResult is what became of a comment.
type CommentResult struct {
	State  CommentState
	URL    string // empty when there is none
	Reason string // why there is no new text; empty when there is
}

// mark is the hidden line at the end of a comment, by which a later run finds
// it and tells whether its own result is newer.
type mark struct {
	key     string // of the suite: a-z, 0-9 and -
	run     int64  // GitHub's id of the workflow run
	attempt int
	head    string // commit
	state   string // hash of gate and states
}

// markLine matches the last line of a comment, nothing else: a comment of the
// same author may quote a stranger's text.
func markLine() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\n)<!-- oloproof-gate v=1 key=([a-z0-9-]{1,80}) run=([0-9]{1,18}) attempt=([0-9]{1,9}) sha=([0-9a-f]*) state=([0-9a-f]*) -->\s*$`)
}

func (m mark) String() string {
	return fmt.Sprintf("<!-- oloproof-gate v=1 key=%s run=%d attempt=%d sha=%s state=%s -->", m.key, m.run, m.attempt, m.head, m.state)
}

// marked splits a comment into its text and its mark.
func marked(body string) (text string, m mark, ok bool) {
	at := markLine().FindStringSubmatchIndex(body)
	if at == nil {
		return body, mark{}, false
	}
	part := func(i int) string { return body[at[2*i]:at[2*i+1]] }
	m = mark{key: part(1), head: part(4), state: part(5)}
	m.run, _ = strconv.ParseInt(part(2), 10, 64)
	m.attempt, _ = strconv.Atoi(part(3))
	return body[:at[0]], m, true
}

// newer reports whether m is of a later run, or a later attempt, than other.
// The ids of a repository's runs grow.
func (m mark) newer(other mark) bool {
	return m.run > other.run || m.run == other.run && m.attempt > other.attempt
}

// CommentKey returns the key by which the comment of the suite called name is
// found again, of a-z, 0-9 and -. No other name gives the same one.
func CommentKey(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	readable := strings.Join(words, "-")
	sum := sha256.Sum256([]byte("comment/v1\x00" + name))
	return strings.Trim(readable[:min(len(readable), 40)]+"-"+hex.EncodeToString(sum[:6]), "-")
}

// stateHash is a hash of what a comment says in short: gate, code, states and
// reasons of the rules, and trouble. Figures are no part of it.
func (p *Publication) stateHash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d", p.ExitCode)
	if d := p.Document; d != nil {
		if d.Gate != nil {
			fmt.Fprintf(h, " %q %q", d.Gate.Action, d.Gate.Reasons)
		}
		for _, x := range d.Policies {
			for _, r := range x.Decisions {
				fmt.Fprintf(h, " %q %q %q %q", x.Role, r.Rule, r.State, r.Reasons)
			}
		}
	}
	if p.Trouble != nil {
		fmt.Fprintf(h, " %q", p.Trouble.Title)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// comment posts one text.
type comment struct {
	plan    CommentPlan
	mark    mark
	silent  bool // there is nothing to say
	quiet   bool // nothing blocks: with on-failure there is nothing to say
	allow   bool // nothing to see: with on-change there is nothing to say first
	footer  string
	secrets *redact.Redactor
	render  func(budget int) (string, error)
}

// newComment prepares the comment of a publication.
func (p *Publication) newComment() *comment {
	c := &comment{
		plan: p.Comment, silent: p.silent(), quiet: p.ExitCode == 0 && !p.blocks(), secrets: p.Log.Redactor(),
		mark:   mark{key: CommentKey(p.Name), run: p.RunID, attempt: p.Attempt, head: p.Comment.Head, state: p.stateHash()},
		render: p.markdown,
	}
	d := p.Document
	c.allow = p.Trouble == nil && d != nil && d.Gate != nil && d.Gate.Action == string(decide.Allow)
	switch {
	case p.RunURL != "" && d == nil:
		c.footer = "The log of the [job](" + p.RunURL + ") says more.\n\n"
	case p.RunURL != "":
		c.footer = "The summary of the [job](" + p.RunURL + ") has what is left out here.\n\n"
	}
	return c
}

// blocks reports whether the gate of the document blocks, whatever code the job
// that shows it ends with.
func (p *Publication) blocks() bool {
	return p.Document != nil && p.Document.Gate != nil && p.Document.Gate.ExitCode != 0
}

// post brings the pull request's comment up to date. Its error is trouble with
// the API, after which the comment is as it was.
//
// GitHub has no conditional writes: between the look at the comments and an edit
// a newer run may write, and is then overwritten. The check of the pull request's
// head leaves that to runs of the same commit within the time of one request.
func (c *comment) post(ctx context.Context) (CommentResult, error) {
	switch {
	case c.plan.Mode == CommentNever || c.plan.Mode == "":
		return CommentResult{State: CommentOff, Reason: "comment is never"}, nil
	case c.silent:
		return CommentResult{State: CommentOff, Reason: "nothing was decided"}, nil
	case c.plan.Pull == 0:
		return CommentResult{State: CommentOff, Reason: "there is no pull request"}, nil
	case c.plan.ReadOnly != "":
		return failed(c.plan.ReadOnly + ", and the token of its runs cannot comment")
	case c.plan.API == nil:
		return failed("there is no github-token")
	case ctx.Err() != nil:
		return failed("the job was interrupted")
	}
	ctx, cancel := context.WithTimeout(ctx, commentTime)
	defer cancel()
	now, err := c.plan.API.Read(ctx, c.plan.Pull)
	if err != nil {
		return failure(err)
	}
	if !now.Open {
		return CommentResult{State: CommentOutdated, Reason: "the pull request is closed"}, nil
	}
	if c.plan.Head != "" && now.Head != c.plan.Head {
		return CommentResult{State: CommentOutdated, Reason: "the pull request has a newer commit"}, nil
	}
	return c.update(ctx, c.own(now.Comments))
}

func failed(reason string) (CommentResult, error) { return failure(errors.New(reason)) }

func failure(err error) (CommentResult, error) {
	return CommentResult{State: CommentFailed, Reason: err.Error()}, err
}

// ours is a comment of ours with its parts.
type ours struct {
	Comment
	text string
	mark mark
}

// own returns the comments that are ours by author and by mark, those first
// that were written first. One that someone folded away is left to rest.
func (c *comment) own(all []Comment) []ours {
	var some []ours
	for _, x := range all {
		if text, m, ok := marked(x.Body); ok && x.Own && !x.Minimized && m.key == c.mark.key {
			some = append(some, ours{x, text, m})
		}
	}
	slices.SortFunc(some, func(a, b ours) int { return int(min(1, max(-1, a.ID-b.ID))) })
	return some
}

func (c *comment) update(ctx context.Context, own []ours) (CommentResult, error) {
	for _, x := range own {
		if x.mark.newer(c.mark) {
			return CommentResult{State: CommentOutdated, URL: x.URL, Reason: "a newer run has commented"}, nil
		}
	}
	if len(own) == 0 {
		if c.plan.Mode == CommentOnFailure && c.quiet || c.plan.Mode == CommentOnChange && c.allow {
			return CommentResult{State: CommentUnchanged, Reason: "there is nothing to say"}, nil
		}
		return c.create(ctx)
	}
	first := own[0]
	for _, extra := range own[1:] { // of a race that nobody settled
		if err := c.plan.API.Delete(ctx, extra.ID); err != nil && statusOf(err) != http.StatusNotFound {
			return failure(err)
		}
	}
	if c.mark.state == first.mark.state && c.plan.Mode != CommentAlways && (c.plan.Mode == CommentOnChange || c.quiet) {
		return CommentResult{State: CommentUnchanged, URL: first.URL, Reason: "gate and states are as before"}, nil
	}
	return c.edit(ctx, first)
}

// edit replaces the text of a comment, unless it is the same.
func (c *comment) edit(ctx context.Context, old ours) (CommentResult, error) {
	same := false
	written, err := c.write(func(body string) (*Comment, error) {
		if text, _, _ := marked(body); sameText(text, old.text) {
			same = true
			return &old.Comment, nil
		}
		return c.plan.API.Edit(ctx, old.ID, body)
	})
	switch {
	case statusOf(err) == http.StatusNotFound: // someone deleted it meanwhile
		return c.create(ctx)
	case err != nil:
		return failure(err)
	case same:
		return CommentResult{State: CommentUnchanged, URL: old.URL, Reason: "it says so already"}, nil
	}
	return CommentResult{State: CommentUpdated, URL: written.URL}, nil
}

// sameText compares comments; a browser that edits one changes its line ends.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// create writes a first comment. A failure may come after GitHub did what was
// asked, so the list is read before another attempt.
func (c *comment) create(ctx context.Context) (CommentResult, error) {
	var err error
	for range 2 {
		var made *Comment
		made, err = c.write(func(body string) (*Comment, error) { return c.plan.API.Create(ctx, c.plan.Pull, body) })
		if err == nil {
			return c.settle(ctx, made)
		}
		if status := statusOf(err); status != 0 && status < 500 || ctx.Err() != nil {
			return failure(err)
		}
		now, listErr := c.plan.API.Read(ctx, c.plan.Pull)
		if listErr != nil {
			return failure(err)
		}
		if own := c.own(now.Comments); len(own) > 0 {
			return c.update(ctx, own)
		}
	}
	return failure(err)
}

// settle ends a race: of several comments that runs created at the same time,
// the one with the lowest id stays and gets the newest run's text. Every run
// but the writer of the lowest sees that one, and takes its own away.
func (c *comment) settle(ctx context.Context, made *Comment) (CommentResult, error) {
	created := CommentResult{State: CommentCreated, URL: made.URL}
	now, err := c.plan.API.Read(ctx, c.plan.Pull)
	if err != nil {
		return created, nil // the next run tidies up
	}
	own := c.own(now.Comments)
	if len(own) == 0 || own[0].ID >= made.ID {
		return created, nil
	}
	first := own[0]
	result := CommentResult{State: CommentOutdated, URL: first.URL, Reason: "a newer run has commented"}
	if !first.mark.newer(c.mark) {
		if result, err = c.edit(ctx, first); err != nil {
			return created, nil
		}
	}
	if err := c.plan.API.Delete(ctx, made.ID); err != nil && statusOf(err) != http.StatusNotFound {
		return failure(err)
	}
	return result, nil
}

// write renders the text and hands it over, with fewer sections each time that
// GitHub finds it too long.
func (c *comment) write(do func(body string) (*Comment, error)) (*Comment, error) {
	end := c.footer + c.mark.String()
	for budget := maxComment; ; budget /= 3 {
		text, err := fitted(budget-len(end)-len(blank), c.secrets, c.render)
		if err != nil {
			return nil, err
		}
		body := strings.TrimRight(text, "\n") + "\n" + blank + end
		made, err := do(body)
		if statusOf(err) != http.StatusUnprocessableEntity || len(body) <= budget/3 || budget/3 < minSummary+len(end) {
			return made, err
		}
	}
}

// statusOf returns the HTTP status of an error of the API, or 0.
func statusOf(err error) int {
	var e *APIError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

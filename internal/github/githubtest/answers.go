package githubtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is one request for a handler.
type call struct {
	server  *Server
	world   *World
	request *http.Request
	params  map[string]string
	body    []byte
}

// answer is what a handler gives: a value in JSON, or raw bytes.
type answer struct {
	status int
	header http.Header
	value  any
	raw    []byte
}

func (a *answer) fail(status int, message string) {
	a.status = status
	a.value = map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)}
}

// asIs sends the value without holding it against the description, which does
// not say that GitHub sends null for the repository of a deleted fork.
func (a *answer) asIs() {
	a.raw, _ = json.Marshal(a.value)
	a.value = nil
}

type handler func(c *call, a *answer)

// routes are the operations, by method and path below the repository. A last
// parameter takes the rest of the path.
var routes = []struct {
	method, path string
	handle       handler
}{
	{"GET", "", getRepository},
	{"GET", "/actions/artifacts", listArtifacts},
	{"GET", "/actions/artifacts/{artifact_id}", getArtifact},
	{"GET", "/actions/artifacts/{artifact_id}/{archive_format}", getZip},
	{"GET", "/actions/runs/{run_id}", getRun},
	{"GET", "/actions/runs/{run_id}/artifacts", listRunArtifacts},
	{"GET", "/actions/workflows/{workflow_id}/runs", listRuns},
	{"GET", "/collaborators/{username}/permission", getPermission},
	{"GET", "/commits", listCommits},
	{"GET", "/commits/{commit_sha}/pulls", listCommitPulls},
	{"GET", "/commits/{ref}", getCommit},
	{"GET", "/compare/{basehead}", getComparison},
	{"GET", "/contents/{path}", getContent},
	{"GET", "/git/matching-refs/{ref}", listRefs},
	{"GET", "/issues/{issue_number}/comments", listComments},
	{"POST", "/issues/{issue_number}/comments", createComment},
	{"GET", "/issues/{issue_number}/events", listEvents},
	{"GET", "/issues/comments/{comment_id}", oneComment},
	{"PATCH", "/issues/comments/{comment_id}", oneComment},
	{"DELETE", "/issues/comments/{comment_id}", oneComment},
	{"GET", "/pulls", listPulls},
	{"GET", "/pulls/{pull_number}", getPull},
	{"GET", "/releases/assets/{asset_id}", getAsset},
	{"GET", "/releases/tags/{tag}", getRelease},
}

// greedy parameters take slashes.
var greedy = []string{"{path}", "{ref}", "{tag}", "{basehead}"}

// route finds the operation of a path below the repository.
func (s *Server) route(method, below string) (operation string, params map[string]string, handle handler) {
	for _, r := range routes {
		if r.method != method {
			continue
		}
		if params, ok := match(r.path, below); ok {
			return r.path, params, r.handle
		}
	}
	return "", nil, nil
}

func match(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	params := map[string]string{}
	for i, w := range want {
		if i >= len(got) {
			return nil, false
		}
		value := got[i]
		if i == len(want)-1 && slices.Contains(greedy, w) {
			value = strings.Join(got[i:], "/")
		} else if i == len(want)-1 && len(got) > len(want) {
			return nil, false
		}
		if !strings.HasPrefix(w, "{") {
			if w != value {
				return nil, false
			}
			continue
		}
		decoded, err := url.PathUnescape(value)
		if err != nil || decoded == "" {
			return nil, false
		}
		params[strings.Trim(w, "{}")] = decoded
	}
	return params, true
}

func (c *call) query(name string) string { return c.request.URL.Query().Get(name) }

func (c *call) number(name string) int64 {
	n, _ := strconv.ParseInt(c.params[name], 10, 64)
	return n
}

// page cuts a list as the request asks and links to the next page.
func page[T any](c *call, a *answer, list []T) []T {
	size, _ := strconv.Atoi(or(c.query("per_page"), "30"))
	n, _ := strconv.Atoi(or(c.query("page"), "1"))
	size = min(size, 100)
	from := min(len(list), (n-1)*size)
	to := min(len(list), from+size)
	if to < len(list) {
		u := *c.request.URL
		q := u.Query()
		q.Set("page", strconv.Itoa(n+1))
		u.RawQuery = q.Encode()
		a.header.Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, c.server.URL, u.String()))
	}
	return list[from:to]
}

func (c *call) repository(example map[string]any, id int64) map[string]any {
	owner := Owner
	if id != RepositoryID {
		owner = ForkOwner
	}
	example["id"] = id
	example["full_name"] = owner + "/" + Repo
	example["name"] = Repo
	example["default_branch"] = Main
	return example
}

func getRepository(c *call, a *answer) {
	a.value = c.repository(c.server.spec.example("full-repository-default-response"), RepositoryID)
}

func (c *call) runJSON(r Run) map[string]any {
	r = r.filled()
	v := c.server.spec.example("workflow-run")
	v["id"], v["run_attempt"], v["workflow_id"], v["path"] = r.ID, r.Attempt, r.WorkflowID, r.Path
	v["event"], v["status"], v["conclusion"] = r.Event, r.Status, r.Conclusion
	if r.Conclusion == "" {
		v["conclusion"] = nil
	}
	v["head_branch"], v["head_sha"] = r.HeadBranch, SHA(r.Commit)
	v["created_at"], v["updated_at"], v["run_started_at"] = stamp(r.CreatedAt), stamp(r.CreatedAt), stamp(r.CreatedAt)
	v["pull_requests"] = []any{}
	v["repository"] = c.repository(v["repository"].(map[string]any), r.RepositoryID)
	head := c.server.spec.example("workflow-run")["head_repository"].(map[string]any)
	v["head_repository"] = c.repository(head, r.HeadRepository)
	if r.HeadRepository == -1 {
		v["head_repository"] = nil
	}
	return v
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func getRun(c *call, a *answer) {
	r, ok := c.world.run(c.number("run_id"))
	if !ok {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	a.value = c.runJSON(r)
	if r.HeadRepository == -1 {
		a.asIs()
	}
}

func listRuns(c *call, a *answer) {
	var list []Run
	for _, r := range c.world.Runs {
		r = r.filled()
		if r.WorkflowID == c.number("workflow_id") && matches(c.query("head_sha"), SHA(r.Commit)) &&
			matches(c.query("event"), r.Event) && matches(c.query("branch"), r.HeadBranch) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(x, y Run) int { return y.CreatedAt.Compare(x.CreatedAt) })
	total, some := len(list), []any{}
	null := false
	for _, r := range page(c, a, list) {
		null = null || r.HeadRepository == -1
		some = append(some, c.runJSON(r))
	}
	a.value = map[string]any{"total_count": total, "workflow_runs": some}
	if null {
		a.asIs()
	}
}

func matches(want, got string) bool { return want == "" || want == got }

func (c *call) artifactJSON(x Artifact) map[string]any {
	x = x.filled(c.world)
	v := c.server.spec.example("artifact")
	v["id"], v["name"], v["size_in_bytes"], v["expired"] = x.ID, x.Name, x.Size, x.Expired
	v["created_at"], v["updated_at"], v["expires_at"] = stamp(x.CreatedAt), stamp(x.CreatedAt), stamp(x.CreatedAt.AddDate(0, 0, 90))
	v["digest"] = x.Digest
	if x.Digest == "-" {
		v["digest"] = nil
	}
	if c.server.enterprise {
		delete(v, "digest")
	}
	r, _ := c.world.run(x.Run)
	v["workflow_run"] = map[string]any{"id": x.Claims, "repository_id": r.RepositoryID, "head_repository_id": x.HeadRepository,
		"head_branch": x.HeadBranch, "head_sha": SHA(x.Commit)}
	if x.Claims == -1 {
		v["workflow_run"] = nil
	}
	return v
}

func (c *call) artifacts(a *answer, keep func(Artifact) bool) {
	var list []Artifact
	for _, x := range c.world.Artifacts {
		if matches(c.query("name"), x.Name) && keep(x) {
			list = append(list, x.filled(c.world))
		}
	}
	slices.SortStableFunc(list, func(x, y Artifact) int { return y.CreatedAt.Compare(x.CreatedAt) })
	total, some := len(list), []any{}
	for _, x := range page(c, a, list) {
		some = append(some, c.artifactJSON(x))
	}
	a.value = map[string]any{"total_count": total, "artifacts": some}
}

func listArtifacts(c *call, a *answer) { c.artifacts(a, func(Artifact) bool { return true }) }

func listRunArtifacts(c *call, a *answer) {
	c.artifacts(a, func(x Artifact) bool { return x.Run == c.number("run_id") })
}

func (c *call) artifact() (Artifact, bool) {
	for _, x := range c.world.Artifacts {
		if x.ID == c.number("artifact_id") {
			return x.filled(c.world), true
		}
	}
	return Artifact{}, false
}

func getArtifact(c *call, a *answer) {
	x, ok := c.artifact()
	if !ok {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	a.value = c.artifactJSON(x)
}

func getZip(c *call, a *answer) {
	x, ok := c.artifact()
	switch {
	case !ok:
		a.fail(http.StatusNotFound, "Not Found")
	case x.Expired:
		a.fail(http.StatusGone, "Artifact has expired")
	default:
		a.status = http.StatusFound
		a.header.Set("Location", c.server.blobAddress(fmt.Sprintf("/artifacts/%d.zip", x.ID), x.Bytes))
	}
}

func getPermission(c *call, a *answer) {
	login := c.params["username"]
	permission, ok := c.world.Permissions[login]
	if !ok {
		a.fail(http.StatusNotFound, login+" is not a user")
		return
	}
	v := c.server.spec.example("repository-collaborator-permission-response-if-user-has-admin-permissions")
	v["permission"], v["role_name"] = permission, permission
	user := v["user"].(map[string]any)
	user["login"], user["id"], user["role_name"] = login, c.world.UserIDs[login], permission
	a.value = v
}

// fill gives a commit of an example its id and parents.
func (c *call) fill(v map[string]any, name string) map[string]any {
	parents := []any{}
	for _, p := range c.world.Parents[name] {
		parents = append(parents, map[string]any{"sha": SHA(p), "url": "https://api.github.com/commits/" + SHA(p)})
	}
	v["sha"], v["parents"] = SHA(name), parents
	return v
}

func getCommit(c *call, a *answer) {
	name, ok := c.world.resolve(c.params["ref"])
	if !ok {
		a.fail(http.StatusNotFound, "No commit found for SHA")
		return
	}
	v := c.fill(c.server.spec.example("commit"), name)
	delete(v, "files") // the published example's lack required fields
	a.value = v
}

func listCommits(c *call, a *answer) {
	name, ok := c.world.resolve(c.query("sha"))
	if !ok {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	some := []any{}
	for _, one := range page(c, a, c.world.history(name)) {
		some = append(some, c.fill(c.server.spec.firstOf("commit-items"), one))
	}
	a.value = some
}

func getComparison(c *call, a *answer) {
	from, to, _ := strings.Cut(c.params["basehead"], "...")
	base, ok := c.world.resolve(from)
	head, ok2 := c.world.resolve(to)
	if !ok || !ok2 {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	mergeBase, ahead, behind := c.world.compare(base, head)
	if mergeBase == "" {
		a.fail(http.StatusNotFound, "No common ancestor between "+from+" and "+to)
		return
	}
	v := c.server.spec.example("commit-comparison")
	status := "identical"
	switch {
	case len(ahead) > 0 && len(behind) > 0:
		status = "diverged"
	case len(ahead) > 0:
		status = "ahead"
	case len(behind) > 0:
		status = "behind"
	}
	v["status"], v["ahead_by"], v["behind_by"], v["total_commits"] = status, len(ahead), len(behind), len(ahead)
	commits := []any{}
	slices.Reverse(ahead)
	for _, one := range page(c, a, ahead) {
		commits = append(commits, c.fill(c.server.spec.firstOf("commit-items"), one))
	}
	v["commits"] = commits
	v["merge_base_commit"] = c.fill(v["merge_base_commit"].(map[string]any), mergeBase)
	v["base_commit"] = c.fill(v["base_commit"].(map[string]any), base)
	a.value = v
}

func getContent(c *call, a *answer) {
	name, ok := c.world.resolve(c.query("ref"))
	f, found := c.world.Files[name+":"+c.params["path"]]
	if !ok || !found {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	describe := func(example string) {
		v := c.server.spec.example(example)
		v["path"] = c.params["path"]
		a.value = v
	}
	switch f.Kind {
	case "dir":
		a.value = decodeExample[[]any](c.server.spec, "content-file-response-if-content-is-a-directory")
	case "symlink":
		describe("content-file-response-if-content-is-a-symlink")
	case "submodule":
		describe("content-file-response-if-content-is-a-submodule")
	default:
		if !strings.Contains(c.request.Header.Get("Accept"), "raw") {
			describe("content-file-response-if-content-is-a-file")
			return
		}
		a.header.Set("Content-Type", "application/vnd.github.raw+json; charset=utf-8")
		a.raw = f.Content
	}
}

func listRefs(c *call, a *answer) {
	some := []any{}
	for ref, name := range c.world.Refs {
		if strings.HasPrefix(ref, "refs/"+c.params["ref"]) {
			v := c.server.spec.firstOf("git-ref-items")
			v["ref"] = ref
			v["object"].(map[string]any)["sha"] = SHA(name)
			some = append(some, v)
		}
	}
	slices.SortFunc(some, func(x, y any) int {
		return cmp.Compare(x.(map[string]any)["ref"].(string), y.(map[string]any)["ref"].(string))
	})
	a.value = some
}

func (c *call) side(v map[string]any, repo int64, ref, name string) {
	v["ref"], v["sha"] = ref, SHA(name)
	if repository, ok := v["repo"].(map[string]any); ok {
		v["repo"] = c.repository(repository, repo)
	}
}

func (c *call) pullJSON(v map[string]any, p Pull) map[string]any {
	v["number"], v["state"], v["created_at"] = p.Number, "open", stamp(p.CreatedAt)
	if p.Closed {
		v["state"] = "closed"
	}
	head, base := v["head"].(map[string]any), v["base"].(map[string]any)
	repo := int64(RepositoryID)
	if p.Fork {
		repo = ForkID
	}
	c.side(head, repo, or(p.HeadRef, "feature"), p.Head)
	c.side(base, RepositoryID, or(p.BaseRef, Main), "base")
	if p.ForkGone {
		head["repo"] = nil
	}
	labels := []any{}
	for i, l := range p.Labels {
		labels = append(labels, map[string]any{"id": i + 1, "node_id": "x", "url": "https://api.github.com/labels/x", "name": l,
			"description": "", "color": "f29513", "default": false})
	}
	v["labels"] = labels
	v["requested_teams"] = []any{} // those of the published example lack what the description demands
	return v
}

func getPull(c *call, a *answer) {
	for _, p := range c.world.Pulls {
		if int64(p.Number) == c.number("pull_number") {
			a.value = c.pullJSON(c.server.spec.example("pull-request"), p)
			if p.ForkGone {
				a.asIs()
			}
			return
		}
	}
	a.fail(http.StatusNotFound, "Not Found")
}

func (c *call) pulls(a *answer, keep func(Pull) bool) {
	some := []any{}
	for _, p := range c.world.Pulls {
		if keep(p) {
			some = append(some, c.pullJSON(c.server.spec.firstOf("pull-request-simple-items"), p))
		}
	}
	a.value = page(c, a, some)
}

func listPulls(c *call, a *answer) {
	c.pulls(a, func(p Pull) bool {
		owner := Owner
		if p.Fork {
			owner = ForkOwner
		}
		return matches(c.query("head"), owner+":"+or(p.HeadRef, "feature")) && (c.query("state") != "open" || !p.Closed)
	})
}

func listCommitPulls(c *call, a *answer) {
	c.pulls(a, func(p Pull) bool { return SHA(p.Head) == c.params["commit_sha"] })
}

func listEvents(c *call, a *answer) {
	some := []any{}
	for _, p := range c.world.Pulls {
		if int64(p.Number) != c.number("issue_number") {
			continue
		}
		for i, e := range page(c, a, p.Events) {
			v := c.server.spec.firstOf("issue-event-for-issue-items")
			v["id"], v["event"], v["created_at"] = i+1, e.Event, stamp(e.At)
			actor := v["actor"].(map[string]any)
			actor["login"], actor["id"], actor["type"] = e.Login, e.ID, or(e.Type, "User")
			delete(v, "label")
			if e.Label != "" {
				v["label"] = map[string]any{"name": e.Label, "color": "red"}
			}
			some = append(some, v)
		}
	}
	a.value = some
}

func (c *call) commentJSON(x Comment) map[string]any {
	v := c.server.spec.example("issue-comment")
	v["id"], v["body"] = x.ID, x.Body
	v["html_url"] = fmt.Sprintf("https://github.com/%s/%s/pull/%d#issuecomment-%d", Owner, Repo, x.Pull, x.ID)
	user := v["user"].(map[string]any)
	user["login"], user["type"] = x.Login, or(x.Type, "Bot")
	return v
}

func listComments(c *call, a *answer) {
	some := []any{}
	for _, x := range c.world.Comments {
		if int64(x.Pull) == c.number("issue_number") {
			some = append(some, c.commentJSON(x))
		}
	}
	a.value = page(c, a, some)
}

// bodyLimit is the most characters of a comment.
const bodyLimit = 65536

func (c *call) commentBody(a *answer) (string, bool) {
	var sent struct {
		Body string `json:"body"`
	}
	if err := json.Unmarshal(c.body, &sent); err != nil {
		a.fail(http.StatusBadRequest, "Problems parsing JSON")
		return "", false
	}
	if len([]rune(sent.Body)) > bodyLimit {
		a.status = http.StatusUnprocessableEntity
		a.value = map[string]any{"message": "Validation Failed", "documentation_url": "https://docs.github.com/rest",
			"errors": []any{map[string]any{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body is too long (maximum is 65536 characters)"}}}
		return "", false
	}
	return sent.Body, true
}

func createComment(c *call, a *answer) {
	body, ok := c.commentBody(a)
	if !ok {
		return
	}
	x := Comment{ID: 1, Pull: int(c.number("issue_number")), Login: "github-actions[bot]", Type: "Bot", Body: body}
	for _, other := range c.world.Comments {
		x.ID = max(x.ID, other.ID+1)
	}
	c.world.Comments = append(c.world.Comments, x)
	a.status, a.value = http.StatusCreated, c.commentJSON(x)
	a.header.Set("Location", "https://api.github.com/comments/1")
}

func oneComment(c *call, a *answer) {
	i := slices.IndexFunc(c.world.Comments, func(x Comment) bool { return x.ID == c.number("comment_id") })
	if i < 0 {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	switch c.request.Method {
	case http.MethodDelete:
		c.world.Comments = slices.Delete(c.world.Comments, i, i+1)
		a.status = http.StatusNoContent
		return
	case http.MethodPatch:
		body, ok := c.commentBody(a)
		if !ok {
			return
		}
		c.world.Comments[i].Body = body
	}
	a.value = c.commentJSON(c.world.Comments[i])
}

func (c *call) assetJSON(x Asset) map[string]any {
	v := c.server.spec.example("release-asset")
	v["id"], v["name"], v["size"] = x.ID, x.Name, len(x.Bytes)
	return v
}

func getRelease(c *call, a *answer) {
	v := c.server.spec.example("release")
	some := []any{}
	for _, x := range c.world.Assets {
		if x.Tag == c.params["tag"] {
			some = append(some, c.assetJSON(x))
		}
	}
	if len(some) == 0 {
		a.fail(http.StatusNotFound, "Not Found")
		return
	}
	v["tag_name"], v["assets"] = c.params["tag"], some
	a.value = v
}

func getAsset(c *call, a *answer) {
	for _, x := range c.world.Assets {
		if x.ID != c.number("asset_id") {
			continue
		}
		if c.request.Header.Get("Accept") != "application/octet-stream" {
			a.value = c.assetJSON(x)
			return
		}
		a.status = http.StatusFound
		a.header.Set("Location", c.server.blobAddress(fmt.Sprintf("/assets/%d", x.ID), x.Bytes))
		return
	}
	a.fail(http.StatusNotFound, "Not Found")
}

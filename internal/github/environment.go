// Package github is the side of oloproof that talks to GitHub: the environment
// of Actions, the event, the baseline with its trust rules, files at the base
// commit, the review label, and what is published.
//
// GitHub's API is the authority on where an artifact came from. What an
// artifact says of itself is only compared with it.
package github

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Environment is what the runner says of the job, from GITHUB_* variables. No
// token is part of it.
type Environment struct {
	APIURL     string // without a trailing slash: https://api.github.com, or https://HOST/api/v3
	ServerURL  string // https://github.com
	GraphQLURL string

	Owner, Repo  string // of GITHUB_REPOSITORY
	RepositoryID int64  // 0 when the runner does not say

	RunID       int64 // GitHub's id of the workflow run
	Attempt     int   // from 1
	Workflow    string
	WorkflowRef string // OWNER/REPO/.github/workflows/FILE@REF
	Job         string

	EventName string
	EventPath string
	SHA       string // the commit that is tested
	Ref       string // refs/heads/BRANCH, refs/tags/TAG, refs/pull/N/merge
	Actor     string

	Workspace string
	// OutputPath and SummaryPath are the files for outputs and the job summary;
	// empty when there are none.
	OutputPath, SummaryPath string
	RunnerTemp              string
}

// Repository returns OWNER/REPO.
func (e *Environment) Repository() string { return e.Owner + "/" + e.Repo }

// RunURL is the page of the workflow run.
func (e *Environment) RunURL() string { return e.PageOfRun(e.RunID) }

// PageOfRun is the page of a workflow run of the repository.
func (e *Environment) PageOfRun(id int64) string {
	return fmt.Sprintf("%s/%s/actions/runs/%d", e.ServerURL, e.Repository(), id)
}

// Enterprise reports whether the host is a GitHub Enterprise Server, where
// artifacts have no digest. github.com and the hosts of ghe.com are none, as in
// https://github.com/actions/toolkit (isGhes).
func (e *Environment) Enterprise() bool {
	u, err := url.Parse(e.ServerURL)
	if err != nil {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return host != "github.com" && !strings.HasSuffix(host, ".ghe.com") && !strings.HasSuffix(host, ".localhost")
}

// InActions reports whether the program runs in GitHub Actions.
func InActions(getenv func(string) string) bool { return getenv("GITHUB_ACTIONS") == "true" }

// ReadEnvironment reads the environment of a job. The error names the variable
// that is missing or malformed.
func ReadEnvironment(getenv func(string) string) (*Environment, error) {
	r := reader{getenv: getenv}
	e := &Environment{
		APIURL:       r.address("GITHUB_API_URL", "https://api.github.com"),
		ServerURL:    r.address("GITHUB_SERVER_URL", "https://github.com"),
		RepositoryID: r.number("GITHUB_REPOSITORY_ID", 0),
		RunID:        r.number("GITHUB_RUN_ID", -1),
		Attempt:      int(r.number("GITHUB_RUN_ATTEMPT", 1)),
		Workflow:     getenv("GITHUB_WORKFLOW"),
		WorkflowRef:  getenv("GITHUB_WORKFLOW_REF"),
		Job:          getenv("GITHUB_JOB"),
		EventName:    r.required("GITHUB_EVENT_NAME"),
		EventPath:    getenv("GITHUB_EVENT_PATH"),
		SHA:          r.commit("GITHUB_SHA"),
		Ref:          getenv("GITHUB_REF"),
		Actor:        getenv("GITHUB_ACTOR"),
		Workspace:    getenv("GITHUB_WORKSPACE"),
		OutputPath:   getenv("GITHUB_OUTPUT"),
		SummaryPath:  getenv("GITHUB_STEP_SUMMARY"),
		RunnerTemp:   getenv("RUNNER_TEMP"),
	}
	e.GraphQLURL = r.address("GITHUB_GRAPHQL_URL", strings.TrimSuffix(e.APIURL, "/v3")+"/graphql")
	e.Owner, e.Repo = r.repository("GITHUB_REPOSITORY")
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}

// reader reads variables and keeps the first error.
type reader struct {
	getenv func(string) string
	err    error
}

func (r *reader) fail(name, value, want string) {
	if r.err != nil {
		return
	}
	if value == "" {
		r.err = fmt.Errorf("%s is not set: it is part of the environment of GitHub Actions, want %s", name, want)
		return
	}
	r.err = fmt.Errorf("%s is %q, want %s", name, value, want)
}

func (r *reader) required(name string) string {
	value := r.getenv(name)
	if value == "" {
		r.fail(name, value, "a value")
	}
	return value
}

// number reads a positive number; fallback stands for one that is not set, and
// -1 says that it has to be.
func (r *reader) number(name string, fallback int64) int64 {
	value := r.getenv(name)
	if value == "" && fallback >= 0 {
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 {
		r.fail(name, value, "a positive number")
	}
	return n
}

func (r *reader) commit(name string) string {
	value := r.getenv(name)
	if !isCommit(value) {
		r.fail(name, value, "the id of a commit")
	}
	return value
}

func (r *reader) repository(name string) (owner, repo string) {
	value := r.getenv(name)
	owner, repo, ok := strings.Cut(value, "/")
	if !ok || !isRepositoryPart(owner) || !isRepositoryPart(repo) {
		r.fail(name, value, "OWNER/REPO")
	}
	return owner, repo
}

// address reads a URL of http or https without a trailing slash.
func (r *reader) address(name, fallback string) string {
	value := r.getenv(name)
	if value == "" {
		return fallback
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		r.fail(name, value, "a URL such as "+fallback)
	}
	return strings.TrimRight(value, "/")
}

// isRepositoryPart reports whether s may be the name of an owner or a
// repository: it becomes part of a path.
func isRepositoryPart(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return s != "" && s != "." && s != ".."
}

// isCommit reports whether s is the full id of a commit: SHA-1, or SHA-256.
func isCommit(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// isZero reports whether a commit id stands for none.
func isZero(s string) bool { return strings.Trim(s, "0") == "" }

// branchOf returns the branch that a full ref names, or "" when it names none.
func branchOf(ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

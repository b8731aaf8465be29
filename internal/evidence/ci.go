package evidence

// CI says which GitHub Actions run made a run. The API is the authority on it;
// what stands here is compared with what the API says.
type CI struct {
	RepositoryID int64  `json:"repository_id"`
	RunID        int64  `json:"run_id"`  // GitHub's id of the workflow run
	Attempt      int    `json:"attempt"` // from 1
	WorkflowRef  string `json:"workflow_ref"`
	Event        string `json:"event"` // push, pull_request, …
	Ref          string `json:"ref"`   // refs/heads/main, …
	SHA          string `json:"sha"`   // the commit that was tested
}

package githubtest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Payload returns a published example of an event, such as
// pull_request-synchronize, of the world's repository, with changes by path:
// "pull_request.head.repo" to nil makes a deleted fork.
func Payload(t testing.TB, name string, changes map[string]any) []byte {
	t.Helper()
	v := map[string]any{}
	if name != "schedule" { // which has no published example
		b, err := testdata.ReadFile("testdata/events/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
	} else {
		v["schedule"] = "17 3 * * *"
		v["repository"] = map[string]any{}
	}
	defaults := map[string]any{
		"repository.id": RepositoryID, "repository.full_name": Owner + "/" + Repo, "repository.default_branch": Main,
	}
	if _, ok := v["pull_request"]; ok {
		for _, side := range []string{"head", "base"} {
			defaults["pull_request."+side+".repo.id"] = RepositoryID
			defaults["pull_request."+side+".repo.full_name"] = Owner + "/" + Repo
		}
		defaults["pull_request.base.ref"] = Main
		defaults["pull_request.head.ref"] = "feature"
	}
	for path, value := range defaults {
		set(t, v, path, value)
	}
	for path, value := range changes {
		set(t, v, path, value)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// set changes one value of a payload.
func set(t testing.TB, v map[string]any, path string, value any) {
	t.Helper()
	parts := strings.Split(path, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := v[p].(map[string]any)
		if !ok {
			t.Fatalf("the payload has no %s", path)
		}
		v = next
	}
	v[parts[len(parts)-1]] = value
}

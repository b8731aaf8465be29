package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	parentID   = "run_01KBC4W2ZV9XJ8QH5N3T7R6M10"
	childID    = "run_01KBC4W2ZV9XJ8QH5N3T7R6M11"
	controlID  = "run_01KBC4W2ZV9XJ8QH5N3T7R6M12"
	ordinaryID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M13"
)

func childManifest(id, role string, n int) *evidence.Manifest {
	m := testManifest(n)
	m.ID = id
	m.Child = &evidence.Child{Parent: parentID, Criterion: "ok", Intervention: "gold context", Role: role, Work: "sha256:w"}
	return m
}

// The runs that a diagnosis makes are named by their ids only: latest and the
// list pass them over.
func TestChildrenArePassedOver(t *testing.T) {
	s := openTest(t)
	storeRun(t, s, parentID, 2)
	for id, role := range map[string]string{childID: evidence.RoleIntervention, controlID: evidence.RoleControl} {
		m := childManifest(id, role, 2)
		w := must[*Writer](t)(s.Create(m))
		addAll(t, w, upTo(2), 1, 1)
		check(t, w.Finish(ended(m, evidence.RunExplored)))
	}
	latest := func(name, want string) {
		t.Helper()
		r := must[*Run](t)(s.Resolve(name))
		defer r.Close()
		if r.Manifest.ID != want {
			t.Errorf("%s is %s, want %s", name, r.Manifest.ID, want)
		}
	}
	latest("latest", parentID)
	latest(childID, childID)
	_, err := s.Resolve("latest~1")
	wantError(t, err, "holds 1 run, so there is no latest~1")
	storeRun(t, s, ordinaryID, 2)
	latest("latest", ordinaryID)
	latest("latest~1", parentID)

	ids := func(runs []*Run, damaged []error, err error) (all []string) {
		check(t, err)
		for _, r := range runs {
			all = append(all, r.Manifest.ID)
			r.Close()
		}
		return all
	}
	if diff := cmp.Diff([]string{ordinaryID, parentID}, ids(s.List(2))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{ordinaryID, controlID, childID}, ids(s.ListAll(3))); diff != "" {
		t.Error(diff)
	}
	r := must[*Run](t)(s.Resolve(controlID))
	defer r.Close()
	if diff := cmp.Diff(childManifest(controlID, evidence.RoleControl, 2).Child, r.Manifest.Child); diff != "" {
		t.Error(diff)
	}
}

// An interrupted child is taken up by the same work only, and not by hand.
func TestResumeChild(t *testing.T) {
	s := openTest(t)
	m := childManifest(childID, evidence.RoleControl, 2)
	w := must[*Writer](t)(s.Create(m))
	check(t, w.Add(testRecord(0, 1)))
	take := func(work evidence.Digest, role string) *Writer {
		t.Helper()
		return must[*Writer](t)(s.ResumeChild(work, role))
	}
	if take("sha256:w", evidence.RoleControl) != nil {
		t.Error("taken from under its writer")
	}
	check(t, w.Abort(ended(m, evidence.RunCanceled)))
	_, err := s.Resume(childID)
	wantError(t, err, childID+" belongs to a diagnosis of "+parentID)
	if take("sha256:w", evidence.RoleIntervention) != nil || take("sha256:x", evidence.RoleControl) != nil {
		t.Error("other work was taken up")
	}
	w = take("sha256:w", evidence.RoleControl)
	if w == nil || !w.Done(0) || w.Done(1) {
		t.Fatal("not taken up")
	}
	check(t, w.Add(testRecord(1, 1)))
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	if take("sha256:w", evidence.RoleControl) != nil {
		t.Error("a finished one was taken up")
	}
}

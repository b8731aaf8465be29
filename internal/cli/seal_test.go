package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

// TestCompleteRunsAreDecided: a run whose decision cannot be stored is not
// complete, so that --resume finishes it.
func TestCompleteRunsAreDecided(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &evidence.Manifest{
		Schema: evidence.RunSchema, ID: evidence.NewRunID(time.Unix(0, 0), strings.NewReader(strings.Repeat("x", 100))),
		Dataset: evidence.DatasetID{Cases: 1}, Completeness: evidence.Complete, Status: evidence.RunDecided,
	}
	w, err := st.Create(m)
	if err != nil {
		t.Fatal(err)
	}
	c := &evidence.Case{ID: "a", Input: evidence.Value("1"), Digest: evidence.Digest("sha256:" + strings.Repeat("0", 64))}
	if err := w.Add(&store.Record{Case: c, Execution: evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value("1")}}); err != nil {
		t.Fatal(err)
	}
	run := &finishedRun{manifest: m, writer: w}
	defer run.close()
	unwritable := math.NaN()
	if err := run.seal(&report.Document{Metrics: []report.Metric{{Estimate: &unwritable}}}); err == nil {
		t.Fatal("a document that is no JSON was stored")
	}
	run.close()
	if _, err := st.Resume(m.ID); err != nil {
		t.Errorf("the run cannot be resumed: %v", err)
	}
}

package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const testID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1D"

// testManifest describes a run of n cases.
func testManifest(n int) *evidence.Manifest {
	rate := func(id string) evidence.MetricSpec {
		return evidence.MetricSpec{ID: id, Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"}
	}
	return &evidence.Manifest{
		Schema: evidence.RunSchema,
		Tool:   evidence.Tool{Name: "oloproof", Version: "0.0.0"},
		ID:     testID, Status: evidence.RunRunning, Completeness: evidence.Partial,
		Name: "oloproof.yaml", Project: "p", SuitePath: "oloproof.yaml",
		Dataset: evidence.DatasetID{Path: "cases.jsonl", Cases: n},
		System:  evidence.SystemID{Name: "s", Kind: "http"},
		Metrics: []evidence.MetricSpec{
			rate("answer_correct"), rate("hit_rate_at_2"),
			{ID: "latency_p95", Kind: evidence.Quantile, Quantile: 0.95, Source: "latency_ms", Unit: "ms"},
			rate("recall_at_2"), rate("citations_valid"),
		},
		Slices:    []string{"metadata.topic"},
		Counts:    evidence.Counts{Cases: n},
		StartedAt: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
	}
}

// testRecord is the record of case i, about size bytes in cases.jsonl. Every
// seventh case ended in an error.
func testRecord(i, size int) *Record {
	c := &evidence.Case{
		ID: fmt.Sprintf("case_%06d", i), Index: i,
		Input:    evidence.Value(fmt.Sprintf(`{"question":"what is %d?"}`, i)),
		Expected: evidence.Value(`{"answer":"42"}`),
		Metadata: evidence.Value(`{"topic":"numbers"}`),
	}
	c.Digest, _ = evidence.CaseDigest(c)
	at := time.Date(2026, 11, 30, 10, 0, 0, i*1000, time.UTC)
	rec := &Record{
		Case: c, Slices: []string{"numbers"},
		Execution: evidence.Execution{
			Status: evidence.StatusOK, StartedAt: at, LatencyMS: float64(i) / 8,
			Attempts: []evidence.Attempt{{HTTPStatus: 200, LatencyMS: float64(i) / 8}},
			Output:   evidence.Value(`{"answer":"` + strings.Repeat("x", size) + `"}`),
		},
	}
	pass := evidence.Judgment{State: evidence.Judged, Value: float64(i % 2), Detail: "secret detail"}
	rec.Judgments = []evidence.Judgment{pass, pass, pass, {State: evidence.NotApplicable, Reason: evidence.ReasonNoRelevanceLabels}}
	if i%7 == 3 {
		rec.Execution.Status, rec.Execution.Output = evidence.StatusError, nil
		rec.Execution.Error = &evidence.ExecutionError{Kind: evidence.ErrStatus, Message: "503", HTTPStatus: 503}
		for k := range rec.Judgments {
			rec.Judgments[k] = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonExecutionError}
		}
	}
	return rec
}

func openTest(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), ".oloproof"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError asks for an error that holds every one of some texts.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
}

// addAll adds cases by some goroutines, as the runner does.
func addAll(t testing.TB, w *Writer, indexes []int, size, workers int) {
	t.Helper()
	work := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range work {
				if err := w.Add(testRecord(i, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, i := range indexes {
		work <- i
	}
	close(work)
	group.Wait()
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func ended(m *evidence.Manifest, status evidence.RunStatus) *evidence.Manifest {
	end := *m
	end.Status = status
	end.FinishedAt = m.StartedAt.Add(time.Minute)
	return &end
}

// storeRun stores a complete run of n cases.
func storeRun(t testing.TB, s *Store, id string, n int) {
	t.Helper()
	m := testManifest(n)
	m.ID = id
	w := must[*Writer](t)(s.Create(m))
	addAll(t, w, upTo(n), 40, 1)
	check(t, w.Finish(ended(m, evidence.RunExplored)))
}

// contents returns the files of a directory, but for some paths.
func contents(t testing.TB, dir string, except ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		if slices.Contains(except, filepath.Join(dir, e.Name())) {
			continue
		}
		all[e.Name()] = string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, e.Name()))))
	}
	return all
}

func names(files map[string]string) []string {
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// undisturbed returns the files of a run of n cases that nothing went wrong in.
func undisturbed(t testing.TB, n, size int) map[string]string {
	t.Helper()
	s := openTest(t)
	m := testManifest(n)
	w := must[*Writer](t)(s.Create(m))
	addAll(t, w, upTo(n), size, 1)
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	return contents(t, s.runDir(testID))
}

func outcomes(t testing.TB, r *Run) []evidence.Outcome {
	t.Helper()
	var all []evidence.Outcome
	check(t, r.Outcomes(func(i int, o *evidence.Outcome) error {
		if i != len(all) {
			t.Errorf("outcome %d came as number %d", len(all), i)
		}
		kept := *o
		kept.Slices, kept.Judgments = slices.Clone(o.Slices), slices.Clone(o.Judgments)
		all = append(all, kept)
		return nil
	}))
	return all
}

func TestRunReadsBack(t *testing.T) {
	const n = 20
	s := openTest(t)
	m := testManifest(n)
	w := must[*Writer](t)(s.Create(m))
	if diff := cmp.Diff(evidence.RunRunning, w.Manifest().Status); diff != "" {
		t.Error(diff)
	}
	addAll(t, w, upTo(n), 40, 4)
	end := ended(m, evidence.RunDecided)
	check(t, w.Finish(end))
	check(t, w.SaveDocument(func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }))
	check(t, w.Close())

	if got := contents(t, s.runDir(testID)); !slices.Equal(names(got), []string{"cases.jsonl", "gate.json", "judgments.jsonl", "run.json"}) {
		t.Errorf("files of the run: %q", names(got))
	} else if strings.Contains(got["judgments.jsonl"], "secret detail") || strings.Contains(got["judgments.jsonl"], "question") {
		t.Error("judgments.jsonl holds content")
	}
	if got := string(must[[]byte](t)(os.ReadFile(filepath.Join(s.Dir(), ".gitignore")))); got != "*\n" {
		t.Errorf(".gitignore is %q", got)
	}

	r := must[*Run](t)(s.Resolve("latest"))
	defer r.Close()
	if diff := cmp.Diff(end, r.Manifest, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("manifest (-given +read):\n%s", diff)
	}
	if doc := must[[]byte](t)(r.Document()); string(doc) != "{}" {
		t.Errorf("document %q", doc)
	}
	var want []evidence.Outcome
	for i := range n {
		o := testRecord(i, 40).Outcome()
		o.Judgments = slices.Clone(o.Judgments)
		for k := range o.Judgments {
			o.Judgments[k].Detail = ""
		}
		want = append(want, o)
	}
	if diff := cmp.Diff(want, outcomes(t, r)); diff != "" {
		t.Errorf("outcomes (-added +read):\n%s", diff)
	}
	i := 0
	check(t, r.CaseLines(func(line evidence.CaseLine) error {
		rec := testRecord(i, 40)
		rec.Case.Line = 0
		if diff := cmp.Diff(*rec.Case, line.Case); diff != "" {
			t.Errorf("case %d (-added +read):\n%s", i, diff)
		}
		if diff := cmp.Diff(rec.Execution, line.Execution, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("execution %d (-added +read):\n%s", i, diff)
		}
		i++
		return nil
	}))
	if i != n {
		t.Errorf("%d case lines, want %d", i, n)
	}
	line := must[evidence.CaseLine](t)(r.CaseLine("case_000003"))
	if line.Case.Index != 3 || line.Execution.Error.HTTPStatus != 503 {
		t.Errorf("case_000003 is %+v", line)
	}
	_, err := r.CaseLine("case_00003")
	wantError(t, err, `has no case "case_00003" among its 20`, `did you mean "case_000003"?`)
}

// Whatever order cases finish in, on however many goroutines, the files are the
// same.
func TestOrderOfCompletionChangesNothing(t *testing.T) {
	const n = 60
	want := undisturbed(t, n, 100)
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.Permutation(upTo(n)).Draw(rt, "order")
		workers := rapid.IntRange(1, 9).Draw(rt, "workers")
		stop := rapid.IntRange(0, n).Draw(rt, "stop")
		s := openTest(t)
		m := testManifest(n)
		w := must[*Writer](t)(s.Create(m))
		addAll(t, w, order[:stop], 100, workers)
		if stop > 0 {
			check(t, w.Abort(ended(m, evidence.RunCanceled)))
			w = must[*Writer](t)(s.Resume("latest"))
		}
		for k, i := range order {
			if w.Done(i) != (k < stop) {
				rt.Fatalf("case %d: done is %v after %d of %v", i, w.Done(i), stop, order)
			}
		}
		addAll(t, w, order[stop:], 100, workers)
		check(t, w.Finish(ended(m, evidence.RunExplored)))
		if diff := cmp.Diff(want, contents(t, s.runDir(testID))); diff != "" {
			rt.Fatalf("files (-in order +as drawn):\n%s", diff)
		}
	})
}

func TestWriterRefuses(t *testing.T) {
	s := openTest(t)
	m := testManifest(3)
	w := must[*Writer](t)(s.Create(m))
	defer w.Close()
	check(t, w.Add(testRecord(1, 1)))
	wantError(t, w.Add(testRecord(1, 1)), "case_000001", "stored already")
	wantError(t, w.Add(testRecord(3, 1)), "number 4 of 3")
	short := testRecord(0, 1)
	short.Judgments = short.Judgments[:2]
	wantError(t, w.Add(short), "2 judgments")
	wantError(t, w.Finish(ended(m, evidence.RunExplored)), "1 of 3 cases")
	wantError(t, w.Abort(m), `status "RUNNING"`)
	other := ended(m, evidence.RunExplored)
	other.ID = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1E"
	wantError(t, w.Abort(other), "cannot end as")
	if _, err := s.Create(m); err == nil {
		t.Error("a run was created twice")
	}
	bad := testManifest(3)
	bad.ID = "run_../../../../escape_of_the_id"
	_, err := s.Create(bad)
	wantError(t, err, "no run id")
	bad.ID, bad.Dataset.Cases = testID, 0
	_, err = s.Create(bad)
	wantError(t, err, "found 0")
}

// A run that ends before its first case leaves nothing behind.
func TestCloseRemovesAnEmptyRun(t *testing.T) {
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(3)))
	check(t, w.Close())
	check(t, w.Close())
	if got := must[[]string](t)(s.ids()); len(got) != 0 {
		t.Errorf("runs %q", got)
	}
}

// A run that is begun again holds what was added afterwards, and nothing else.
func TestRestart(t *testing.T) {
	s := openTest(t)
	m := testManifest(4)
	w := must[*Writer](t)(s.Create(m))
	addAll(t, w, []int{0, 1, 2}, 10, 1)
	check(t, w.Abort(ended(m, evidence.RunError)))

	w = must[*Writer](t)(s.Resume("latest"))
	check(t, w.Restart())
	for i := range 4 {
		if w.Done(i) {
			t.Errorf("case %d is done", i)
		}
	}
	addAll(t, w, []int{3, 1, 0, 2}, 10, 1)
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	if got := len(outcomes(t, must[*Run](t)(s.Resolve("latest")))); got != 4 {
		t.Errorf("%d outcomes, want 4", got)
	}
}

// Errored cases are finished; cases stored as NOT_RUN are not.
func TestResumeRunsAgainWhatDidNotRun(t *testing.T) {
	const n = 10
	s := openTest(t)
	m := testManifest(n)
	w := must[*Writer](t)(s.Create(m))
	addAll(t, w, []int{5, 3, 0}, 10, 1)
	for _, i := range []int{1, 2, 4} {
		rec := testRecord(i, 10)
		rec.Execution = evidence.Execution{Status: evidence.StatusNotRun}
		for k := range rec.Judgments {
			rec.Judgments[k] = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}
		}
		check(t, w.Add(rec))
	}
	check(t, w.Abort(ended(m, evidence.RunCanceled)))

	r := must[*Run](t)(s.Resolve("latest"))
	var ids []string
	for _, o := range outcomes(t, r) {
		ids = append(ids, o.ID[len("case_00000"):]+" "+string(o.Status))
	}
	if diff := cmp.Diff([]string{"0 OK", "1 NOT_RUN", "2 NOT_RUN", "3 ERROR", "4 NOT_RUN", "5 OK"}, ids); diff != "" {
		t.Errorf("outcomes of the stopped run (-want +got):\n%s", diff)
	}
	line := must[evidence.CaseLine](t)(r.CaseLine("case_000005"))
	if line.Case.Index != 5 {
		t.Errorf("index %d, want 5", line.Case.Index)
	}
	_, err := r.CaseLine("case_000009")
	wantError(t, err, "did not finish", "among the 6 cases stored")

	w = must[*Writer](t)(s.Resume("latest"))
	var again []int
	check(t, w.Replay(func(i int, o *evidence.Outcome, line *evidence.CaseLine) error {
		again = append(again, i)
		if want := fmt.Sprintf("case_%06d", i); o.ID != want {
			t.Errorf("replay gives %s as %d", o.ID, i)
		}
		want := testRecord(i, 10).Execution
		if diff := cmp.Diff(&want, &line.Execution, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("execution %d (-added +replayed):\n%s", i, diff)
		}
		return nil
	}))
	if diff := cmp.Diff([]int{0, 3, 5}, again); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
	var rest []int
	for i := range n {
		if !w.Done(i) {
			rest = append(rest, i)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 4, 6, 7, 8, 9}, rest); diff != "" {
		t.Errorf("to do (-want +got):\n%s", diff)
	}
	addAll(t, w, rest, 10, 3)
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	if diff := cmp.Diff(undisturbed(t, n, 10), contents(t, s.runDir(testID))); diff != "" {
		t.Errorf("files (-undisturbed +resumed):\n%s", diff)
	}
}

func TestOneWriter(t *testing.T) {
	s := openTest(t)
	m := testManifest(2)
	w := must[*Writer](t)(s.Create(m))
	check(t, w.Add(testRecord(0, 1)))
	_, err := s.Resume(testID)
	wantError(t, err, testID, "is being written by another process")
	check(t, w.Close())
	w = must[*Writer](t)(s.Resume(testID))
	_, err = s.Resume(testID)
	wantError(t, err, "is being written by another process")
	check(t, w.Add(testRecord(1, 1)))
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	_, err = s.Resume(testID)
	wantError(t, err, "is finished [EXPLORED/COMPLETE]: there is nothing to resume")
}

func TestResumeNamesTheUnfinishedRun(t *testing.T) {
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(2)))
	check(t, w.Add(testRecord(0, 1)))
	check(t, w.Close())
	const newer = "run_01KBC4W2ZV9XJ8QH5N3T7R6M1E"
	storeRun(t, s, newer, 2)
	_, err := s.Resume("latest")
	wantError(t, err, newer, "nothing to resume", testID+" did not finish")
}

// A decision that was written while the run was incomplete is not shown and
// does not outlive a resumption.
func TestDocumentOfAnUnfinishedRun(t *testing.T) {
	s := openTest(t)
	m := testManifest(2)
	w := must[*Writer](t)(s.Create(m))
	check(t, w.Add(testRecord(0, 1)))
	check(t, w.SaveDocument(writes([]byte("{}"))))
	check(t, w.Abort(ended(m, evidence.RunError)))
	r := must[*Run](t)(s.Resolve("latest"))
	if doc := must[[]byte](t)(r.Document()); doc != nil {
		t.Errorf("document %q", doc)
	}
	wantError(t, r.SaveDocument(writes([]byte("{}"))), "not complete")
	w = must[*Writer](t)(s.Resume("latest"))
	check(t, w.Add(testRecord(1, 1)))
	check(t, w.Finish(ended(m, evidence.RunExplored)))
	r = must[*Run](t)(s.Resolve("latest"))
	if doc := must[[]byte](t)(r.Document()); doc != nil {
		t.Errorf("document %q", doc)
	}
	check(t, r.SaveDocument(writes([]byte("{1}"))))
	if doc := must[[]byte](t)(r.Document()); string(doc) != "{1}" {
		t.Errorf("document %q", doc)
	}
}

func TestList(t *testing.T) {
	s := openTest(t)
	runs, damaged, err := s.List(0)
	if len(runs)+len(damaged) > 0 || err != nil {
		t.Errorf("an empty store lists %v, %v, %v", runs, damaged, err)
	}
	ids := []string{"run_01KBC4W2ZV9XJ8QH5N3T7R6M1A", "run_01KBC4W2ZV9XJ8QH5N3T7R6M1B", "run_01KBC4W2ZV9XJ8QH5N3T7R6M1C"}
	for _, id := range ids {
		storeRun(t, s, id, 2)
	}
	check(t, os.WriteFile(filepath.Join(s.runDir(ids[1]), manifestFile), []byte("{"), 0o644))
	check(t, os.Mkdir(filepath.Join(s.dir, runsDir, "notes"), 0o755))
	runs, damaged, err = s.List(0)
	check(t, err)
	var got []string
	for _, r := range runs {
		got = append(got, r.Manifest.ID)
	}
	if diff := cmp.Diff([]string{ids[2], ids[0]}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if len(damaged) != 1 {
		t.Fatalf("damaged %v", damaged)
	}
	wantError(t, damaged[0], ids[1], "damaged")
	if runs, _, _ = s.List(1); len(runs) != 1 || runs[0].Manifest.ID != ids[2] {
		t.Errorf("newest run is %v", runs)
	}
	// A damaged run is never stood in for by an older one.
	_, err = s.Resolve("latest~1")
	wantError(t, err, ids[1], "damaged")
}

func TestOpenRefusesAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	check(t, os.WriteFile(file, nil, 0o644))
	_, err := Open(file)
	wantError(t, err, "is a file, want a directory", "OLOPROOF_HOME")
	s := &Store{dir: filepath.Join(file, ".oloproof")}
	_, err = s.Create(testManifest(1))
	wantError(t, err, "create the store", "OLOPROOF_HOME")
}

func TestReadOnlyStore(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o555))
	s := must[*Store](t)(Open(filepath.Join(dir, ".oloproof")))
	_, err := s.Create(testManifest(1))
	wantError(t, err, "create the store", "permission denied", "OLOPROOF_HOME")
	check(t, os.Chmod(dir, 0o755))
	check(t, must[*Writer](t)(s.Create(testManifest(1))).Close())
	check(t, os.Chmod(filepath.Join(s.Dir(), runsDir), 0o555))
	_, err = s.Create(testManifest(1))
	wantError(t, err, "create the run", "permission denied", "OLOPROOF_HOME")
}

// What a writer keeps in memory of a case is small, however large the case is.
func TestWriterMemory(t *testing.T) {
	const n, perCase = 20_000, 64 // bytes; the slice may be twice as long as needed
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(n)))
	rec := testRecord(0, 1000)
	check(t, w.Add(rec))
	before := heap()
	for i := 1; i < n; i++ {
		one := *rec.Case
		one.Index = i
		rec.Case = &one
		check(t, w.Add(rec))
	}
	if grown := heap() - before; grown > n*perCase {
		t.Errorf("the heap grew by %d bytes over %d cases, want at most %d", grown, n, n*perCase)
	}
	check(t, w.Close())
}

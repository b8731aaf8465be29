package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/runner"
)

// behaviour is what the system under test does with one case.
type behaviour struct {
	takes time.Duration
	fails *evidence.ExecutionError
	err   error
}

var errBroken = errors.New("broken")

// bench is a run in the making: every case is OK at once unless told otherwise.
type bench struct {
	cfg     runner.Config
	mu      sync.Mutex
	started []string
	busy    int
	most    int
	records map[string]*runner.Record
}

func newBench(n, concurrency int, does func(i int) behaviour) *bench {
	b := &bench{records: map[string]*runner.Record{}}
	b.cfg = runner.Config{
		Len:  n,
		Case: func(i int) (*evidence.Case, error) { return &evidence.Case{ID: id(i), Index: i}, nil },
		System: systemFunc(func(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
			return b.execute(ctx, c, does(c.Index))
		}),
		Judge:       judge,
		Redact:      redact.New(nil),
		Sink:        b.keep,
		Concurrency: concurrency,
		Now:         time.Now,
	}
	return b
}

func id(i int) string { return fmt.Sprintf("case-%d", i) }

type systemFunc func(context.Context, *evidence.Case) (evidence.Execution, error)

func (f systemFunc) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	return f(ctx, c)
}

func (b *bench) execute(ctx context.Context, c *evidence.Case, does behaviour) (evidence.Execution, error) {
	b.enter(c.ID)
	defer b.leave()
	select {
	case <-time.After(does.takes):
	case <-ctx.Done():
		return evidence.Execution{}, ctx.Err()
	}
	if does.err != nil {
		return evidence.Execution{}, does.err
	}
	if does.fails != nil {
		return evidence.Execution{Status: evidence.StatusError, Error: does.fails}, nil
	}
	return evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(`"` + c.ID + `"`)}, nil
}

func (b *bench) enter(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, id)
	b.busy++
	b.most = max(b.most, b.busy)
}

func (b *bench) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
}

func (b *bench) keep(r *runner.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.records[r.Case.ID] != nil {
		return fmt.Errorf("%s came twice", r.Case.ID)
	}
	b.records[r.Case.ID] = r
	return nil
}

func judge(_ context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
	if e.Error != nil {
		return []evidence.Judgment{{State: evidence.Missing, Reason: evidence.ReasonExecutionError}}, nil
	}
	return []evidence.Judgment{{State: evidence.Judged, Value: 1, Detail: string(e.Output)}}, nil
}

// run runs the bench in a bubble: fake time, and an error when a goroutine
// outlives the run.
func (b *bench) run(t *testing.T) (s runner.Summary, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { s, err = runner.Run(t.Context(), b.cfg) })
	return s, err
}

func connectionError() *evidence.ExecutionError {
	return &evidence.ExecutionError{Kind: evidence.ErrConnection, Message: "no answer (connection refused)"}
}

func status(code int) *evidence.ExecutionError {
	return &evidence.ExecutionError{Kind: evidence.ErrStatus, HTTPStatus: code, Message: fmt.Sprintf("status %d", code)}
}

// Whatever the cases take and however many run at once, the same records come
// out, every case starts in its turn, and the bound holds.
func TestOrderOfCompletionChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(rt, "cases")
		concurrency := rapid.IntRange(1, 12).Draw(rt, "concurrency")
		takes := rapid.SliceOfN(rapid.IntRange(0, 20), n, n).Draw(rt, "takes")
		failed := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 422, 500}), n, n).Draw(rt, "status")
		done := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, true}), n, n).Draw(rt, "done")
		b := newBench(n, concurrency, func(i int) behaviour {
			does := behaviour{takes: time.Duration(takes[i]) * time.Second}
			if failed[i] != 0 {
				does.fails = status(failed[i])
			}
			return does
		})
		b.cfg.Done = func(i int) bool { return done[i] }
		var seen []runner.Progress
		b.cfg.Progress = func(p runner.Progress) { seen = append(seen, p) }
		var read []string // without a lock: one call at a time
		b.cfg.Case = func(i int) (*evidence.Case, error) {
			read = append(read, id(i))
			return &evidence.Case{ID: id(i), Index: i}, nil
		}
		summary, err := b.run(t)
		if err != nil {
			rt.Fatal(err)
		}
		var order []string
		want := map[string]*runner.Record{}
		expect := runner.Summary{Total: n}
		for i := range n {
			if done[i] {
				expect.Skipped++
				continue
			}
			expect.Finished++
			order = append(order, id(i))
			record := &runner.Record{Case: &evidence.Case{ID: id(i), Index: i}}
			if failed[i] != 0 {
				record.Execution = evidence.Execution{Status: evidence.StatusError, Error: status(failed[i])}
			} else {
				expect.OK++
				record.Execution = evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(`"` + id(i) + `"`)}
			}
			record.Judgments, _ = judge(t.Context(), record.Case, &record.Execution)
			want[id(i)] = record
		}
		if diff := cmp.Diff(want, b.records); diff != "" {
			rt.Errorf("records (-want +got):\n%s", diff)
		}
		if !slices.Equal(order, read) || len(b.started) != len(order) {
			rt.Errorf("read %v and started %d, want %v", read, len(b.started), order)
		}
		if b.most > concurrency {
			rt.Errorf("%d cases in flight, want at most %d", b.most, concurrency)
		}
		problems := summary.Problems
		if summary.Problems = nil; !cmp.Equal(expect, summary) {
			rt.Errorf("summary %+v, want %+v", summary, expect)
		}
		errors := 0
		for _, p := range problems {
			errors += p.Count
			first := slices.Index(failed, p.HTTPStatus)
			for done[first] {
				first += 1 + slices.Index(failed[first+1:], p.HTTPStatus)
			}
			if p.CaseID != id(first) {
				rt.Errorf("first case of %d is %s, want %s", p.HTTPStatus, p.CaseID, id(first))
			}
		}
		if errors != expect.Finished-expect.OK {
			rt.Errorf("problems %+v count %d cases, want %d", problems, errors, expect.Finished-expect.OK)
		}
		for i, p := range seen {
			if p.Finished != i+1 || p.Total != n || p.OK > p.Finished {
				rt.Errorf("progress %d = %+v", i, p)
			}
		}
		if len(seen) != expect.Finished {
			rt.Errorf("%d progress reports, want %d", len(seen), expect.Finished)
		}
	})
}

func TestOneWorkerKeepsTheOrder(t *testing.T) {
	b := newBench(30, 1, func(int) behaviour { return behaviour{} })
	if _, err := b.run(t); err != nil {
		t.Fatal(err)
	}
	for i, started := range b.started {
		if started != id(i) {
			t.Fatalf("case %d to start is %s", i, started)
		}
	}
}

// The case that stops a run is the first in data set order, however the cases
// race; all before it are kept, and what is kept is whole.
func TestTheFirstBrokenCaseStopsTheRun(t *testing.T) {
	kinds := map[string]func(i int, b *bench){
		"contract": func(int, *bench) {},
		"system":   func(int, *bench) {},
		"case": func(i int, b *bench) {
			read := b.cfg.Case
			b.cfg.Case = func(j int) (*evidence.Case, error) {
				if j == i {
					return nil, errBroken
				}
				return read(j)
			}
		},
		"no case": func(i int, b *bench) {
			read := b.cfg.Case
			b.cfg.Case = func(j int) (*evidence.Case, error) {
				if j == i {
					return nil, nil
				}
				return read(j)
			}
		},
		"panic of the judge": func(i int, b *bench) {
			b.cfg.Judge = func(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
				if c.Index == i {
					panic("out of range")
				}
				return judge(ctx, c, e)
			}
		},
	}
	for kind, change := range kinds {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				n := rapid.IntRange(1, 30).Draw(rt, "cases")
				takes := rapid.SliceOfN(rapid.IntRange(0, 20), n, n).Draw(rt, "takes")
				bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, min(n, 3), rapid.ID).Draw(rt, "bad")
				slices.Sort(bad)
				b := newBench(n, rapid.IntRange(1, 8).Draw(rt, "concurrency"), func(i int) behaviour {
					does := behaviour{takes: time.Duration(takes[i]) * time.Second}
					switch {
					case kind == "contract" && slices.Contains(bad, i):
						does.err = &evidence.ContractError{CaseID: id(i)}
					case kind == "system" && i == bad[0]:
						does.err = errBroken
					}
					return does
				})
				change(bad[0], b)
				summary, err := b.run(t)
				var contract *evidence.ContractError
				var panicked *runner.PanicError
				switch {
				case kind == "contract":
					if !errors.As(err, &contract) || contract.CaseID != id(bad[0]) {
						rt.Fatalf("error = %v, want that of %s", err, id(bad[0]))
					}
				case kind == "no case":
					if err == nil {
						rt.Fatal("no error")
					}
				case kind == "panic of the judge":
					if !errors.As(err, &panicked) || panicked.CaseID != id(bad[0]) || len(panicked.Stack) == 0 {
						rt.Fatalf("error = %v, want a panic at %s", err, id(bad[0]))
					}
				default:
					if !errors.Is(err, errBroken) {
						rt.Fatalf("error = %v, want %v", err, errBroken)
					}
				}
				for i := range bad[0] {
					if b.records[id(i)] == nil {
						rt.Errorf("%s is not kept, though it stands before %s", id(i), id(bad[0]))
					}
				}
				if b.records[id(bad[0])] != nil {
					rt.Errorf("%s is kept", id(bad[0]))
				}
				if summary.Finished != len(b.records) {
					rt.Errorf("%d cases finished, %d kept", summary.Finished, len(b.records))
				}
				for _, r := range b.records {
					if len(r.Judgments) != 1 {
						rt.Errorf("%s is kept without judgments", r.Case.ID)
					}
				}
			})
		})
	}
}

func TestContractErrorCancelsWhatIsBehindIt(t *testing.T) {
	b := newBench(100, 4, func(i int) behaviour {
		switch i {
		case 1:
			return behaviour{takes: time.Second, err: &evidence.ContractError{CaseID: id(1)}}
		case 0:
			return behaviour{takes: 5 * time.Second}
		}
		return behaviour{takes: time.Hour}
	})
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, _ = runner.Run(t.Context(), b.cfg)
		took = time.Since(start)
	})
	if took != 5*time.Second || len(b.records) != 1 || b.records[id(0)] == nil {
		t.Errorf("took %s and kept %d cases, want 5s and %s only", took, len(b.records), id(0))
	}
	if len(b.started) != 4 {
		t.Errorf("%d cases started, want the 4 in flight only", len(b.started))
	}
}

func TestSinkErrorStops(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			b := newBench(100, 4, func(i int) behaviour { return behaviour{takes: time.Duration(i+1) * time.Second} })
			b.cfg.Sink = func(r *runner.Record) error {
				if r.Case.Index == 10 && how == "panic" {
					panic("no disk")
				}
				if r.Case.Index == 10 {
					return errBroken
				}
				return b.keep(r)
			}
			summary, err := b.run(t)
			var panicked *runner.PanicError
			if how == "error" && !errors.Is(err, errBroken) || how == "panic" && !errors.As(err, &panicked) {
				t.Errorf("error = %v", err)
			}
			if summary.Finished != 10 || len(b.records) != 10 {
				t.Errorf("%d finished and %d kept, want 10", summary.Finished, len(b.records))
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	b := newBench(100, 4, func(int) behaviour { return behaviour{takes: 2 * time.Second} })
	var summary runner.Summary
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		summary, err = runner.Run(ctx, b.cfg)
	})
	if !errors.Is(err, context.DeadlineExceeded) || summary.Finished != 8 || len(b.records) != 8 {
		t.Errorf("Run = %+v, %v with %d kept, want 8 finished and kept and the context's error", summary, err, len(b.records))
	}

	t.Run("an answer that is there is kept", func(t *testing.T) {
		b := newBench(3, 1, func(int) behaviour { return behaviour{} })
		ctx, cancel := context.WithCancel(t.Context())
		b.cfg.System = systemFunc(func(context.Context, *evidence.Case) (evidence.Execution, error) {
			cancel()
			return evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value("1")}, nil
		})
		summary, err := runner.Run(ctx, b.cfg)
		if !errors.Is(err, context.Canceled) || summary.Finished != 1 || len(b.records) != 1 {
			t.Errorf("Run = %+v, %v with %d kept, want 1 finished and kept", summary, err, len(b.records))
		}
	})
	t.Run("too late to matter", func(t *testing.T) {
		b := newBench(1, 1, func(int) behaviour { return behaviour{} })
		ctx, cancel := context.WithCancel(t.Context())
		b.cfg.Sink = func(r *runner.Record) error { cancel(); return b.keep(r) }
		if summary, err := runner.Run(ctx, b.cfg); err != nil || summary.Finished != 1 {
			t.Errorf("Run = %+v, %v, want a finished run: nothing was left to do", summary, err)
		}
	})
	t.Run("before the start", func(t *testing.T) {
		b := newBench(3, 2, func(int) behaviour { return behaviour{} })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if summary, err := runner.Run(ctx, b.cfg); !errors.Is(err, context.Canceled) || len(b.started) != 0 || summary.Total != 3 {
			t.Errorf("Run = %+v, %v with %d started, want none", summary, err, len(b.started))
		}
	})
}

func TestDeadEndpoint(t *testing.T) {
	tests := []struct {
		name           string
		n, concurrency int
		does           func(i int) *evidence.ExecutionError
		dead           int // cases of the DeadError; 0 is none
		finished       int
	}{
		{"refused", 1000, 2, func(int) *evidence.ExecutionError { return connectionError() }, 8, 8},
		{"more in flight", 1000, 20, func(int) *evidence.ExecutionError { return connectionError() }, 20, 20},
		{"mixed signs", 1000, 1, func(i int) *evidence.ExecutionError {
			return []*evidence.ExecutionError{status(401), status(403), status(404), connectionError()}[i%4]
		}, 8, 8},
		{"one answer", 20, 1, func(i int) *evidence.ExecutionError {
			if i == 7 {
				return nil
			}
			return status(401)
		}, 0, 20},
		{"an answer later does not matter", 20, 1, func(i int) *evidence.ExecutionError {
			if i == 8 {
				return nil
			}
			return status(401)
		}, 8, 8},
		{"other errors are no sign", 20, 1, func(i int) *evidence.ExecutionError {
			if i == 3 {
				return status(500)
			}
			return status(404)
		}, 0, 20},
		{"timeouts", 20, 1, func(int) *evidence.ExecutionError { return &evidence.ExecutionError{Kind: evidence.ErrTimeout} }, 8, 8},
		{"used-up quota, no token and too many requests", 20, 1, func(i int) *evidence.ExecutionError {
			return []*evidence.ExecutionError{{Kind: evidence.ErrQuota}, {Kind: evidence.ErrAuth}, status(429)}[i%3]
		}, 8, 8},
		{"other errors for long", 100, 1, func(int) *evidence.ExecutionError { return status(500) }, 40, 40},
		{"other errors for long, more in flight", 1000, 20, func(int) *evidence.ExecutionError { return status(500) }, 100, 100},
		{"a small suite", 7, 1, func(int) *evidence.ExecutionError { return connectionError() }, 0, 7},
		{"as many as it takes", 8, 8, func(int) *evidence.ExecutionError { return connectionError() }, 8, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tt.n, tt.concurrency, func(i int) behaviour { return behaviour{takes: time.Duration(i) * time.Millisecond, fails: tt.does(i)} })
			summary, err := b.run(t)
			var dead *runner.DeadError
			if errors.As(err, &dead) != (tt.dead > 0) {
				t.Fatalf("error = %v", err)
			}
			if dead != nil {
				if want := tt.does(0).Message; dead.Cases != tt.dead || dead.CaseID != id(0) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("error = %+v, want %d cases and %q", dead, tt.dead, want)
				}
			}
			if summary.Finished != tt.finished || len(b.records) != tt.finished {
				t.Errorf("%d finished, %d kept, want %d", summary.Finished, len(b.records), tt.finished)
			}
		})
	}
}

// TestStopAfter: an endpoint that goes away in the middle.
func TestStopAfter(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, tt := range []struct {
		name     string
		stop     *int
		answered int // cases before it goes away
		finished int
		message  string
	}{
		{"default", nil, 5, 45, "no answer to 40 cases in a row, after 5 that were answered, so the rest was not tried; case \"c005\": "},
		{"given", number(3), 5, 8, "no answer to 3 cases in a row, after 5 that were answered, so the rest was not tried; case \"c005\": "},
		{"given, from the start", number(3), 0, 3, "no answer to any of the first 3 cases, so the rest was not tried; case \"c000\": "},
		{"never", number(0), 5, 100, ""},
		{"an answer in between", number(60), 50, 100, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(100, 1, func(i int) behaviour {
				if i < tt.answered {
					return behaviour{}
				}
				return behaviour{fails: connectionError()}
			})
			b.cfg.StopAfter = tt.stop
			summary, err := b.run(t)
			var dead *runner.DeadError
			if summary.Finished != tt.finished || errors.As(err, &dead) != (tt.message != "") {
				t.Fatalf("%d finished, %v; want %d, %q", summary.Finished, err, tt.finished, tt.message)
			}
			if want := strings.NewReplacer("c005", id(5), "c000", id(0)).Replace(tt.message); dead != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error = %q, want %q at its beginning", err, want)
			}
		})
	}
}

func TestSummaryNamesProblems(t *testing.T) {
	b := newBench(7, 1, func(i int) behaviour {
		return behaviour{fails: []*evidence.ExecutionError{status(500), connectionError(), nil, status(422), status(422), connectionError(), nil}[i]}
	})
	summary, err := b.run(t)
	if err != nil {
		t.Fatal(err)
	}
	want := runner.Summary{Total: 7, Finished: 7, OK: 2, Problems: []runner.Problem{
		{Kind: evidence.ErrConnection, Count: 2, CaseID: id(1), First: *connectionError()},
		{Kind: evidence.ErrStatus, HTTPStatus: 422, Count: 2, CaseID: id(3), First: *status(422)},
		{Kind: evidence.ErrStatus, HTTPStatus: 500, Count: 1, CaseID: id(0), First: *status(500)},
	}}
	if diff := cmp.Diff(want, summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// What the system said is judged as it is; what is kept holds no secret.
func TestSecretsAreJudgedButNotKept(t *testing.T) {
	const secret = "s3cr3t-t0ken"
	text := "x " + secret
	b := newBench(1, 1, nil)
	b.cfg.Redact = redact.New([]string{secret})
	b.cfg.System = systemFunc(func(context.Context, *evidence.Case) (evidence.Execution, error) {
		value := evidence.Value(`{"k":"` + text + `"}`)
		item := evidence.ContextItem{DocID: text, ChunkID: text, Text: &text}
		return evidence.Execution{
			Status: evidence.StatusError,
			Output: value,
			Error:  &evidence.ExecutionError{Message: text, URL: text, Snippet: text},
			Artifacts: evidence.Artifacts{
				Retrieval: []evidence.Retrieval{{Query: value, Candidates: []evidence.Passage{{DocID: text, ChunkID: text, Text: &text, Metadata: value}, {DocID: "a"}}}},
				Context:   []evidence.Context{{Items: []evidence.ContextItem{item}, Dropped: []evidence.DroppedItem{{ContextItem: item}}}},
				Citations: []evidence.Citations{{IDs: []string{text}}},
				Other:     map[string][]evidence.Value{"free/v1": {value}},
			},
		}, nil
	})
	judged := ""
	b.cfg.Judge = func(_ context.Context, _ *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
		judged = string(e.Output)
		return []evidence.Judgment{{State: evidence.Judged, Detail: text}}, nil
	}
	if _, err := b.run(t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(judged, secret) {
		t.Errorf("judged %s, want what the system said", judged)
	}
	record := b.records[id(0)]
	kept, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(kept, []byte(redact.Marker)); bytes.Contains(kept, []byte(secret)) || n != 18 {
		t.Errorf("kept with %d markers, want 18 and no secret: %s", n, kept)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(*runner.Config){
		"concurrency": func(c *runner.Config) { c.Concurrency = 0 },
		"redactor":    func(c *runner.Config) { c.Redact = nil },
		"system":      func(c *runner.Config) { c.System = nil },
		"clock":       func(c *runner.Config) { c.Now = nil },
	} {
		b := newBench(1, 1, nil)
		change(&b.cfg)
		if _, err := runner.Run(t.Context(), b.cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// While answers are judged the system is called for others: n cases of a call and
// a judgment that both wait for as many others would not end otherwise.
func TestJudgingOverlaps(t *testing.T) {
	const n = 6
	b := newBench(n, 1, func(int) behaviour { return behaviour{} })
	b.cfg.Judging = n
	var waiting sync.WaitGroup
	waiting.Add(n)
	b.cfg.Judge = func(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
		waiting.Done()
		waiting.Wait() // for all cases to be answered
		return judge(ctx, c, e)
	}
	summary, err := runner.Run(t.Context(), b.cfg)
	if err != nil || summary.Finished != n || len(b.records) != n {
		t.Errorf("%+v, %v", summary, err)
	}
}

// No more cases than Judging wait for a judge, and an interrupted judgment
// leaves its case unfinished.
func TestJudgingIsBoundedAndInterrupted(t *testing.T) {
	const n, judging = 20, 3
	b := newBench(n, 4, func(int) behaviour { return behaviour{} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.cfg.Judging = judging
	var mu sync.Mutex
	busy, most := 0, 0
	b.cfg.Judge = func(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		mu.Lock()
		busy++
		most = max(most, busy)
		full := busy == judging
		mu.Unlock()
		if c.Index < 2 {
			mu.Lock()
			busy--
			mu.Unlock()
			return judge(ctx, c, e)
		}
		if full {
			cancel()
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	summary, err := runner.Run(ctx, b.cfg)
	if !errors.Is(err, context.Canceled) || summary.Finished != len(b.records) || summary.Finished > 2 || most != judging {
		t.Errorf("%+v, %v; %d judged at a time, %d kept", summary, err, most, len(b.records))
	}
}

// What is used up lets the cases in flight finish as far as they can, and starts
// no other.
func TestSpent(t *testing.T) {
	const n = 30
	b := newBench(n, 4, func(int) behaviour { return behaviour{} })
	b.cfg.Judging = 4
	spent := errors.New("used up")
	var asked atomic.Int32
	b.cfg.Judge = func(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
		if asked.Add(1) > 5 {
			return nil, &runner.SpentError{Reason: spent}
		}
		return judge(ctx, c, e)
	}
	summary, err := runner.Run(t.Context(), b.cfg)
	if !errors.Is(err, spent) || summary.Finished != 5 || len(b.records) != 5 || len(b.started) > 5+4+4+4 {
		t.Errorf("%+v, %v; %d started", summary, err, len(b.started))
	}
}

// An error of the judge ends the run and is told.
func TestJudgeFails(t *testing.T) {
	b := newBench(30, 4, func(int) behaviour { return behaviour{} })
	b.cfg.Judging = 4
	b.cfg.Judge = func(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
		return nil, errBroken
	}
	if summary, err := runner.Run(t.Context(), b.cfg); !errors.Is(err, errBroken) || summary.Finished != 0 {
		t.Errorf("%+v, %v", summary, err)
	}
}

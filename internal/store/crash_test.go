package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// The tests here run this test binary again as the process that is killed.
const (
	childEnv = "OLOPROOF_STORE_TEST_CHILD" // what the child does
	homeEnv  = "OLOPROOF_STORE_TEST_HOME"  // its store
	sizeEnv  = "OLOPROOF_STORE_TEST_SIZE"  // number of cases
)

const crashRecord = 2000 // bytes of an answer

func TestMain(m *testing.M) {
	what := os.Getenv(childEnv)
	if what == "" {
		os.Exit(m.Run())
	}
	if err := child(what); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// child does what its name says and tells on standard output how far it is.
func child(what string) error {
	s, err := Open(os.Getenv(homeEnv))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Getenv(sizeEnv))
	if err != nil {
		return err
	}
	var w *Writer
	if what == "hold" {
		if _, err = s.Resume("latest"); err != nil {
			return err
		}
		fmt.Println("held")
		select {}
	}
	if what == "limited" {
		if err := limitFileSize(1 << 20); err != nil {
			return err
		}
	}
	if w, err = s.Resume(testID); err != nil {
		if w, err = s.Create(testManifest(n)); err != nil {
			return err
		}
	}
	if err := childAdds(w, n); err != nil {
		return err
	}
	fmt.Println("finish")
	if err := w.Finish(ended(testManifest(n), evidence.RunExplored)); err != nil {
		return err
	}
	fmt.Println("finished")
	return nil
}

// childAdds adds what is left on four goroutines and tells each case after Add
// has returned.
func childAdds(w *Writer, n int) error {
	work := make(chan int)
	var out sync.Mutex
	var group sync.WaitGroup
	var failed error
	for range 4 {
		group.Go(func() {
			for i := range work {
				err := w.Add(testRecord(i, crashRecord))
				out.Lock()
				if err == nil {
					fmt.Println("added", i)
				} else if failed == nil {
					failed = err
				}
				out.Unlock()
			}
		})
	}
	for i := range n {
		if !w.Done(i) {
			work <- i
		}
	}
	close(work)
	group.Wait()
	return failed
}

// run starts a child and reads what it tells until stop says so; then the child
// is killed. It returns the cases that the child told of.
func run(t *testing.T, s *Store, what string, n int, stop func(line string) bool) (added []int, last string) {
	t.Helper()
	exe := must[string](t)(os.Executable())
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+what, homeEnv+"="+s.Dir(), sizeEnv+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		last = lines.Text()
		if index, ok := strings.CutPrefix(last, "added "); ok {
			added = append(added, must[int](t)(strconv.Atoi(index)))
		}
		if stop(last) {
			check(t, cmd.Process.Kill()) // SIGKILL
			stop = func(string) bool { return false }
		}
	}
	_ = cmd.Wait() // killed, or ended by itself before
	return added, last
}

// Kill -9 while cases finish: no case is lost whose Add returned, and the
// resumed run is the undisturbed one.
func TestKillWhileAdding(t *testing.T) {
	const n = 300
	want := undisturbed(t, n, crashRecord)
	random := rand.New(rand.NewPCG(3, uint64(os.Getpid())))
	for range 3 {
		s := openTest(t)
		stored := map[int]bool{}
		for kills := 0; len(stored) < n; kills++ {
			if kills > n {
				t.Fatal("no progress")
			}
			left := 1 + random.IntN(n/2)
			added, last := run(t, s, "run", n, func(string) bool { left--; return left == 0 })
			if strings.HasPrefix(last, "error") {
				t.Fatal(last)
			}
			for _, i := range added {
				stored[i] = true
			}
			if last == "finished" {
				break
			}
			w, err := s.Resume("latest")
			if err != nil && strings.Contains(err.Error(), "is finished") {
				break
			}
			check(t, err)
			for i := range stored {
				if !w.Done(i) {
					t.Errorf("case %d was added before the kill and is lost", i)
				}
			}
			check(t, w.Close())
		}
		if w, err := s.Resume("latest"); err == nil {
			complete(t, s, w, n, crashRecord)
		}
		got := contents(t, s.runDir(testID))
		delete(got, journalFile) // killed before it was removed
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("files (-undisturbed +killed):\n%s", diff)
		}
	}
}

// Kill -9 while the run is being finished: it is unfinished and all is there,
// or it is finished and all is there.
func TestKillWhileFinishing(t *testing.T) {
	const n = 800
	want := undisturbed(t, n, crashRecord)
	outcomes := map[string]int{}
	for round := range 4 {
		s := openTest(t)
		sign := []string{"", judgmentsFile + tempSuffix, judgmentsFile, casesFile}[round%4]
		run(t, s, "run", n, func(line string) bool {
			if line == "finish" {
				awaitFile(s.runDir(testID), sign)
			}
			return line == "finish"
		})
		w, err := s.Resume("latest")
		if err == nil {
			outcomes["unfinished"]++
			if got := len(done(w, n)); got != n {
				t.Fatalf("%d cases are done, want %d", got, n)
			}
			check(t, w.Finish(ended(testManifest(n), evidence.RunExplored)))
		} else {
			outcomes["finished"]++
			wantError(t, err, "is finished")
		}
		got := contents(t, s.runDir(testID))
		delete(got, journalFile)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("files (-undisturbed +killed):\n%s", diff)
		}
	}
	t.Logf("after the kill: %v", outcomes)
}

// awaitFile returns as soon as there is a file in a run, or the run is over.
func awaitFile(dir, name string) {
	for name != "" {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return
		}
		if _, err := os.Stat(filepath.Join(dir, journalFile)); err != nil {
			return
		}
	}
}

// Another process that writes a run keeps this one out, until it is killed.
func TestOneWriterAcrossProcesses(t *testing.T) {
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(2)))
	check(t, w.Add(testRecord(0, 1)))
	check(t, w.Close())
	run(t, s, "hold", 2, func(line string) bool {
		if line != "held" {
			t.Errorf("child says %q", line)
		}
		_, err := s.Resume("latest")
		wantError(t, err, "is being written by another process")
		return true
	})
	w = must[*Writer](t)(s.Resume("latest"))
	complete(t, s, w, 2, 1)
}

// A full disk ends the run with an error that says how to go on; what was
// stored stays, and the run goes on when there is room.
func TestDiskFull(t *testing.T) {
	const n = 1000
	s := openTest(t)
	added, last := run(t, s, "limited", n, func(string) bool { return false })
	if last == "error "+errNoLimit.Error() {
		t.Skip(last)
	}
	for _, text := range []string{"error store the run: write", journalFile, "--resume=" + testID} {
		if !strings.Contains(last, text) {
			t.Errorf("child says %q, want %q in it", last, text)
		}
	}
	w := must[*Writer](t)(s.Resume("latest"))
	for _, i := range added {
		if !w.Done(i) {
			t.Errorf("case %d was added and is lost", i)
		}
	}
	if got := len(done(w, n)); got != len(added) || got == 0 || got == n {
		t.Errorf("%d cases are done, %d were added", got, len(added))
	}
	complete(t, s, w, n, crashRecord)
}

// When there is no place for the ordered files, the run stays as it is.
func TestFinishFails(t *testing.T) {
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(3)))
	addAll(t, w, upTo(3), 1, 1)
	inTheWay := filepath.Join(s.runDir(testID), casesFile+tempSuffix)
	check(t, os.Mkdir(inTheWay, 0o755))
	err := w.Finish(ended(testManifest(3), evidence.RunExplored))
	wantError(t, err, "store the run", casesFile, "--resume="+testID)
	if got := names(contents(t, s.runDir(testID), inTheWay)); !slices.Equal(got, []string{journalFile, manifestFile}) {
		t.Errorf("files %q", got)
	}
	check(t, os.Remove(inTheWay))
	check(t, w.Close())
	complete(t, s, must[*Writer](t)(s.Resume("latest")), 3, 1)
}

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// maxCases bounds a data set: what is kept in memory is 24 bytes a case.
const maxCases = 50_000_000

// keepBuffer is the largest buffer that is kept for the next line, in bytes.
const keepBuffer = 1 << 20

// Writer writes one run. Add may be called by several goroutines at once; the
// other methods may not be called before every Add has returned. Each run has
// at most one writer, in whichever process.
type Writer struct {
	dir      string
	manifest evidence.Manifest
	judged   int  // metrics that judgments belong to
	created  bool // by this writer, and not finished or aborted so far

	buffers sync.Pool // of *[]byte, for lines that are being encoded

	mu       sync.Mutex // guards what follows
	entries  []entry    // by place in the data set
	finished int        // entries with a line that is not open
	end      int64      // of the journal, with the lines that still wait
	waiting  *batch     // takes lines until its leader writes them
	spare    []byte     // the buffer of a batch that is done
	err      error      // the first failure; no case is taken after it

	writing sync.Mutex // held by the leader that writes its batch
	journal *os.File   // nil when closed
	written int64      // bytes of whole lines in the journal
}

// batch is the lines that one system call writes.
type batch struct {
	data []byte
	done chan struct{} // closed when written or failed
	err  error         // set before done is closed
}

// Create starts the run that m describes, with the state RUNNING. m.ID and
// m.Dataset.Cases must be set; m is copied. Close the writer in the end.
func (s *Store) Create(m *evidence.Manifest) (*Writer, error) {
	if !validID(m.ID) {
		return nil, fmt.Errorf("%q is no run id, want run_ and 26 characters", m.ID)
	}
	if m.Dataset.Cases < fewestCases(m) || m.Dataset.Cases > maxCases {
		return nil, fmt.Errorf("a run has %d to %d cases, found %d", fewestCases(m), maxCases, m.Dataset.Cases)
	}
	if err := s.ensure(runsDir); err != nil {
		return nil, err
	}
	running := *m
	running.Status, running.Completeness, running.Files = evidence.RunRunning, evidence.Partial, nil
	dir := s.runDir(m.ID)
	if err := createRunDir(dir, &running); err != nil {
		return nil, s.notWritten("create the run", err)
	}
	w := newWriter(dir, &running)
	w.created = true
	if err := w.openJournal(); err != nil {
		os.RemoveAll(dir)
		return nil, s.notWritten("create the run", err)
	}
	return w, nil
}

// createRunDir makes the directory of a run appear with its manifest inside.
func createRunDir(dir string, m *evidence.Manifest) error {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	fresh := filepath.Join(filepath.Dir(dir), ".new_"+m.ID)
	err := os.Mkdir(fresh, 0o755)
	if err == nil {
		err = writeManifest(fresh, m)
	}
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		os.RemoveAll(fresh)
	}
	return err
}

// Resume takes up a run of the store that did not finish: named as in
// [Store.Resolve], but not a bundle. A torn last line is dropped. The caller
// compares [Writer.Manifest] and what [Writer.Replay] gives with what it is
// about to run. A case that ended in an error is finished; one that is stored
// as NOT_RUN is not.
func (s *Store) Resume(name string) (*Writer, error) {
	id, err := s.storedID(name)
	if err != nil {
		return nil, err
	}
	r, err := s.openStored(id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if c := r.Manifest.Child; c != nil {
		return nil, fmt.Errorf("%s belongs to a diagnosis of %s: when the same diagnosis is made again it goes on where it stopped", id, c.Parent)
	}
	return s.takeUp(r)
}

// ResumeChild takes up the run of an interrupted diagnosis that did this work in
// this role. It is nil when there is none, or when another process is at it.
func (s *Store) ResumeChild(work evidence.Digest, role string) (*Writer, error) {
	runs, _, err := s.list(1, func(m *evidence.Manifest) bool {
		return m.Child != nil && m.Child.Work == work && m.Child.Role == role && !finished(m)
	})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	defer runs[0].Close()
	w, err := s.takeUp(runs[0])
	if _, busy := errors.AsType[*busyError](err); busy {
		return nil, nil
	}
	return w, err
}

// busyError says that another process writes a run.
type busyError struct{ id string }

func (e *busyError) Error() string {
	return e.id + " is being written by another process: wait for it, or stop it first"
}

// takeUp opens an unfinished run for writing.
func (s *Store) takeUp(r *Run) (*Writer, error) {
	id := r.Manifest.ID
	if r.python != nil {
		return nil, fmt.Errorf("%s is a bundle of the Python tool, which cannot be resumed here: start a new run", r.Place())
	}
	if finished(r.Manifest) {
		os.Remove(filepath.Join(r.dir, journalFile)) // left by a crash just after run.json
		return nil, s.nothingToResume(r.Manifest)
	}
	w := newWriter(r.dir, r.Manifest)
	if err := w.openJournal(); err != nil {
		if errors.Is(err, errLocked) {
			return nil, &busyError{id}
		}
		return nil, fmt.Errorf("resume %s: %w", id, err)
	}
	if err := w.load(r); err != nil {
		w.Close()
		return nil, fmt.Errorf("resume %s: %w", id, err)
	}
	return w, nil
}

// nothingToResume names a run that can be resumed instead, if there is one.
func (s *Store) nothingToResume(m *evidence.Manifest) error {
	err := fmt.Errorf("%s is finished [%s/%s]: there is nothing to resume", m.ID, m.Status, m.Completeness)
	runs, _, listErr := s.List(0)
	if listErr != nil {
		return err
	}
	for _, r := range runs {
		if !finished(r.Manifest) {
			return fmt.Errorf("%w; %s did not finish", err, r.Manifest.ID)
		}
	}
	return err
}

func newWriter(dir string, m *evidence.Manifest) *Writer {
	w := &Writer{dir: dir, manifest: *m, judged: m.JudgedMetrics()}
	w.buffers.New = func() any { return new([]byte) }
	return w
}

// errLocked says that another writer holds a journal.
var errLocked = errors.New("locked by another process")

func (w *Writer) openJournal() error {
	f, err := os.OpenFile(filepath.Join(w.dir, journalFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		f.Close()
		return err
	}
	w.journal = f
	return nil
}

// load learns from the journal what is done, and cuts off what a crash left
// behind the last whole line.
func (w *Writer) load(r *Run) error {
	// The run may have ended, journal and all, before the lock was ours.
	if err := r.readManifest(); err != nil {
		return err
	}
	if w.manifest = *r.Manifest; finished(r.Manifest) {
		os.Remove(filepath.Join(w.dir, journalFile))
		return errors.New("another process has just finished it")
	}
	entries, end, err := indexJournal(w.journal, r.Manifest)
	if err != nil {
		return err
	}
	for _, e := range entries {
		w.set(e)
	}
	w.end, w.written = end, end
	if err := w.journal.Truncate(end); err != nil {
		return fmt.Errorf("drop a torn line: %w", err)
	}
	return w.sweep()
}

// sweep removes what a killed writer left behind. A decision that was written
// before the run was complete is none.
func (w *Writer) sweep() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		left := strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix)
		if !left && name != documentFile {
			continue
		}
		if err := os.Remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Manifest returns the manifest as it is stored.
func (w *Writer) Manifest() *evidence.Manifest {
	m := w.manifest
	return &m
}

// Done reports whether the case at a place in the data set has finished.
func (w *Writer) Done(i int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entry(i)
	return e.size > 0 && !e.open
}

// entry returns the entry of a case, or none. The lock is held, or not needed.
func (w *Writer) entry(i int) entry {
	if i < 0 || i >= len(w.entries) {
		return entry{}
	}
	return w.entries[i]
}

func (w *Writer) set(e entry) {
	for int(e.index) >= len(w.entries) {
		w.entries = append(w.entries, entry{})
	}
	if old := w.entries[e.index]; old.size > 0 && !old.open {
		w.finished--
	}
	w.entries[e.index] = e
	if e.size > 0 && !e.open {
		w.finished++
	}
}

// Restart forgets every case, so that all are taken again.
func (w *Writer) Restart() error {
	if err := w.journal.Truncate(0); err != nil {
		return fmt.Errorf("begin %s again: %w", w.manifest.ID, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries, w.finished, w.end, w.written = nil, 0, 0, 0
	return nil
}

// Replay gives every finished case, in data set order: its outcome and all that
// was recorded. Both are valid during the call.
func (w *Writer) Replay(visit func(index int, o *evidence.Outcome, line *evidence.CaseLine) error) error {
	var buf []byte
	var o evidence.Outcome
	for i, e := range w.entries {
		if e.size == 0 || e.open {
			continue
		}
		l, used, err := readEntry(w.journal, e, buf)
		if err != nil {
			return err
		}
		buf = used
		if err := evidence.DecodeOutcome(l.outcome, &w.manifest, &o); err != nil {
			return fmt.Errorf("case %d of %s: %w", i+1, w.manifest.ID, err)
		}
		line, err := evidence.DecodeCaseLine(l.body)
		if err != nil {
			return fmt.Errorf("case %s of %s: %w", o.ID, w.manifest.ID, err)
		}
		if err := visit(i, &o, &line); err != nil {
			return err
		}
	}
	return nil
}

// Add stores one finished case: when it returns nil, the case outlives the
// process. A record whose status is NOT_RUN says that the case did not finish;
// the case may be added again. After the first failure every Add fails.
func (w *Writer) Add(rec *Record) error {
	buf := w.buffers.Get().(*[]byte)
	line, err := w.encode((*buf)[:0], rec)
	if err != nil {
		return fmt.Errorf("store case %s: %w", rec.Case.ID, err)
	}
	place := entry{size: uint32(len(line)), index: int32(rec.Case.Index), open: rec.Execution.Status == evidence.StatusNotRun}
	err = w.put(line, place, rec.Case.ID)
	if *buf = line; cap(line) <= keepBuffer {
		w.buffers.Put(buf)
	}
	return err
}

// AddOutcome stores what judgments.jsonl keeps of a case whose question and
// answers are not known here, at its place in the data set. A run with such a
// case carries no cases.jsonl.
func (w *Writer) AddOutcome(index int, o *evidence.Outcome) error {
	if len(o.Judgments) != w.judged || len(o.Slices) != len(w.manifest.Slices) {
		return fmt.Errorf("store case %s: %w", o.ID, w.misfit(len(o.Judgments), len(o.Slices)))
	}
	line := append(evidence.AppendOutcome(beginLine(nil, index), &w.manifest, o), '\t')
	line, err := endLine(line)
	if err != nil {
		return fmt.Errorf("store case %s: %w", o.ID, err)
	}
	return w.put(line, entry{size: uint32(len(line)), index: int32(index), open: o.Status == evidence.StatusNotRun}, o.ID)
}

// put takes a line and returns when it is on the disk.
func (w *Writer) put(line []byte, place entry, id string) error {
	b, leads, err := w.join(line, place, id)
	if err != nil {
		return err
	}
	if leads {
		w.write(b)
	} else {
		<-b.done
	}
	return b.err
}

// encode appends the journal line of a record.
func (w *Writer) encode(dst []byte, rec *Record) ([]byte, error) {
	if len(rec.Judgments) != w.judged || len(rec.Slices) != len(w.manifest.Slices) {
		return nil, w.misfit(len(rec.Judgments), len(rec.Slices))
	}
	outcome := rec.Outcome()
	dst = beginLine(dst, rec.Case.Index)
	dst = evidence.AppendOutcome(dst, &w.manifest, &outcome)
	dst = append(dst, '\t')
	dst = evidence.AppendCaseLine(dst, &w.manifest, rec.Case, &rec.Execution, rec.Judgments)
	return endLine(dst)
}

func (w *Writer) misfit(judgments, slices int) error {
	return fmt.Errorf("%d judgments and %d slices, the run has %d and %d", judgments, slices, w.judged, len(w.manifest.Slices))
}

// join puts a line into the batch that is written next. Whoever opens a batch
// leads it.
func (w *Writer) join(line []byte, place entry, id string) (b *batch, leads bool, err error) {
	index := int(place.index)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, false, w.err
	}
	if index < 0 || index >= w.manifest.Dataset.Cases {
		return nil, false, fmt.Errorf("case %s is number %d of %d", id, index+1, w.manifest.Dataset.Cases)
	}
	if old := w.entry(index); old.size > 0 && !old.open {
		return nil, false, fmt.Errorf("case %s is stored already", id)
	}
	if w.waiting == nil {
		w.waiting = &batch{data: w.spare[:0], done: make(chan struct{})}
		w.spare, leads = nil, true
	}
	b = w.waiting
	place.off = w.end
	w.set(place)
	w.end += int64(len(line))
	b.data = append(b.data, line...)
	return b, leads, nil
}

// write appends a batch to the journal. While the batch before it is being
// written, more cases join; that bounds the number of system calls by the speed
// of the disk, without a timer.
func (w *Writer) write(b *batch) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	w.waiting = nil
	b.err = w.err
	w.mu.Unlock()
	if b.err == nil {
		_, err := w.journal.WriteAt(b.data, w.written)
		if err != nil {
			b.err = w.fail(err)
		} else {
			w.written += int64(len(b.data))
		}
	}
	close(b.done)
	if cap(b.data) <= keepBuffer {
		w.mu.Lock()
		w.spare = b.data
		w.mu.Unlock()
	}
}

// fail ends the taking of cases and forgets those that did not reach the disk.
func (w *Writer) fail(cause error) error {
	w.journal.Truncate(w.written) // else the torn line is dropped on resuming
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = w.trouble(cause)
	for i, e := range w.entries {
		if e.size > 0 && e.off >= w.written {
			w.set(entry{index: int32(i)})
		}
	}
	return w.err
}

// trouble says what to do about an error of the disk.
func (w *Writer) trouble(cause error) error {
	return fmt.Errorf("store the run: %w; the cases stored so far are kept: when the disk takes data again, go on with run --resume=%s",
		cause, w.manifest.ID)
}

// Finish completes a run in which every case has finished: it puts the lines in
// data set order and replaces run.json by m, with Completeness COMPLETE and the
// digests of the files, which it sets in m. A run whose Finish fails, or is
// killed, can be resumed.
func (w *Writer) Finish(m *evidence.Manifest) error {
	if err := w.checkEnd(m); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	if w.finished != w.manifest.Dataset.Cases {
		return fmt.Errorf("%d of %d cases of %s have finished, so it cannot be complete", w.finished, w.manifest.Dataset.Cases, m.ID)
	}
	files, err := stageOrdered(w.dir, w.journal, w.entries)
	if err != nil {
		return w.trouble(err)
	}
	if err := files.publish(); err != nil {
		return w.trouble(err)
	}
	m.Completeness, m.Files = evidence.Complete, files.files()
	if err := writeManifest(w.dir, m); err != nil {
		return w.trouble(err)
	}
	w.manifest, w.created = *m, false
	err = w.closeJournal()
	// What is left when this fails is never read again.
	os.Remove(filepath.Join(w.dir, journalFile))
	return err
}

// Abort ends a run in which not every case has finished: run.json becomes m
// with Completeness PARTIAL, and the run can be resumed.
func (w *Writer) Abort(m *evidence.Manifest) error {
	if err := w.checkEnd(m); err != nil {
		return err
	}
	m.Completeness, m.Files = evidence.Partial, nil
	if err := writeManifest(w.dir, m); err != nil {
		return w.trouble(err)
	}
	w.manifest, w.created = *m, false
	return w.closeJournal()
}

func (w *Writer) checkEnd(m *evidence.Manifest) error {
	switch {
	case w.journal == nil:
		return fmt.Errorf("the writer of %s is closed", w.manifest.ID)
	case m.ID != w.manifest.ID:
		return fmt.Errorf("run %s cannot end as %s", w.manifest.ID, m.ID)
	case m.Dataset.Cases != w.manifest.Dataset.Cases:
		return fmt.Errorf("run %s began with %d cases and cannot end with %d", m.ID, w.manifest.Dataset.Cases, m.Dataset.Cases)
	case m.Status == evidence.RunRunning || m.Status == "":
		return fmt.Errorf("run %s cannot end with the status %q", m.ID, m.Status)
	}
	return nil
}

// SaveDocument writes gate.json, before Finish. It is not shown while the run is
// unfinished, and [Store.Resume] removes it.
func (w *Writer) SaveDocument(write func(io.Writer) error) error {
	return replaceFile(filepath.Join(w.dir, documentFile), write)
}

// Close lets go of the run; it stays as it is, to be resumed. A run that this
// writer created and that holds no case is removed. Close may be called again.
func (w *Writer) Close() error {
	if w.journal == nil {
		return nil
	}
	err := w.closeJournal()
	if w.created && w.end == 0 {
		return errors.Join(err, os.RemoveAll(w.dir))
	}
	return err
}

func (w *Writer) closeJournal() error {
	err := w.journal.Close()
	w.journal = nil
	return err
}

// stageOrdered writes judgments.jsonl and cases.jsonl of a directory from the
// lines of a journal, in the order of entries; those without a line are passed
// over. There is no cases.jsonl when the evidence of some case is not known.
func stageOrdered(dir string, journal io.ReaderAt, entries []entry) (staged, error) {
	var st staged
	err := st.order(dir, journal, entries)
	if err == nil {
		err = st.close()
	}
	if err != nil {
		st.discard()
	}
	return st, err
}

func (s *staged) order(dir string, journal io.ReaderAt, entries []entry) error {
	judgments, err := s.create(filepath.Join(dir, judgmentsFile))
	if err != nil {
		return err
	}
	cases, err := s.create(filepath.Join(dir, casesFile))
	if err != nil {
		return err
	}
	journal = &window{ReaderAt: journal}
	var buf []byte
	bare := false
	defer func() {
		if bare {
			s.drop(cases)
		}
	}()
	for _, e := range entries {
		if e.size == 0 {
			continue
		}
		var l journalLine
		if l, buf, err = readEntry(journal, e, buf); err != nil {
			return err
		}
		bare = bare || len(l.body) == 0
		if err := errors.Join(judgments.writeLine(l.outcome), cases.writeLine(l.body)); err != nil {
			return err
		}
	}
	return nil
}

// finished reports whether a manifest is that of a run whose files are whole
// and in order.
func finished(m *evidence.Manifest) bool { return m.Completeness == evidence.Complete }

package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// testJournal returns the journal of a run in which some cases were added in
// this order, and the offset of each line.
func testJournal(t testing.TB, n int, order ...int) (journal []byte, starts []int) {
	t.Helper()
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(n)))
	for _, i := range order {
		starts = append(starts, int(w.end))
		check(t, w.Add(testRecord(i, 30)))
	}
	check(t, w.Close())
	return must[[]byte](t)(os.ReadFile(filepath.Join(s.runDir(testID), journalFile))), starts
}

// unfinished returns a store with a run that has this journal.
func unfinished(t testing.TB, n int, journal []byte) *Store {
	t.Helper()
	s := openTest(t)
	check(t, s.ensure(runsDir))
	check(t, createRunDir(s.runDir(testID), testManifest(n)))
	check(t, os.WriteFile(filepath.Join(s.runDir(testID), journalFile), journal, 0o644))
	return s
}

func done(w *Writer, n int) []int {
	var all []int
	for i := range n {
		if w.Done(i) {
			all = append(all, i)
		}
	}
	return all
}

// complete runs what is left and finishes, and compares with an undisturbed
// run.
func complete(t testing.TB, s *Store, w *Writer, n, size int) {
	t.Helper()
	var rest []int
	for i := range n {
		if !w.Done(i) {
			rest = append(rest, i)
		}
	}
	addAll(t, w, rest, size, 2)
	check(t, w.Finish(ended(testManifest(n), evidence.RunExplored)))
	if diff := cmp.Diff(undisturbed(t, n, size), contents(t, s.runDir(testID))); diff != "" {
		t.Errorf("files (-undisturbed +resumed):\n%s", diff)
	}
}

// A journal may end anywhere: the whole lines count.
func TestTornJournal(t *testing.T) {
	const n = 4
	journal, starts := testJournal(t, n, 2, 0, 3)
	var cuts []int
	for cut := 0; cut < len(journal); cut += 17 {
		cuts = append(cuts, cut)
	}
	for _, end := range append(starts[1:], len(journal)) {
		cuts = append(cuts, end-1, end, min(end+1, len(journal)))
	}
	for _, cut := range cuts {
		whole := 0
		for whole < len(starts) && (whole+1 < len(starts) && starts[whole+1] <= cut || cut == len(journal)) {
			whole++
		}
		s := unfinished(t, n, journal[:cut])
		r := must[*Run](t)(s.Resolve("latest"))
		if got := len(outcomes(t, r)); got != whole {
			t.Fatalf("cut at %d: %d outcomes, want %d", cut, got, whole)
		}
		w := must[*Writer](t)(s.Resume("latest"))
		want := slices.Sorted(slices.Values([]int{2, 0, 3}[:whole]))
		if got := done(w, n); !slices.Equal(got, want) {
			t.Fatalf("cut at %d: done %v, want %v", cut, got, want)
		}
		if cut%5 == 0 {
			complete(t, s, w, n, 30)
		}
		check(t, w.Close())
	}
}

// Whatever a crash or a bad disk left among the lines costs those lines only.
func TestDamagedJournal(t *testing.T) {
	const n = 4
	journal, starts := testJournal(t, n, 2, 0, 3)
	damage := func(at int, with ...byte) []byte {
		b := slices.Clone(journal)
		copy(b[at:], with)
		return b
	}
	for _, tt := range []struct {
		name    string
		journal []byte
		done    []int
	}{
		{"empty", nil, nil},
		{"zeros behind it", append(slices.Clone(journal), make([]byte, 5000)...), []int{0, 2, 3}},
		{"garbage behind it", append(slices.Clone(journal), "\x00\xff\n{}\n12345678 0 {}\t{}\n"...), []int{0, 2, 3}},
		{"zeros in the middle", damage(starts[1]+40, make([]byte, 20)...), []int{2, 3}},
		{"a flipped bit in the case", damage(starts[2]-5, journal[starts[2]-5]^1), []int{2, 3}},
		{"a flipped bit in the index", damage(starts[1]+9, journal[starts[1]+9]^1), []int{2, 3}},
		{"a line break in a line", damage(starts[1]+100, '\n'), []int{2, 3}},
		{"a line twice", slices.Concat(journal, journal[:starts[1]]), []int{0, 2, 3}},
		{"only garbage", bytes.Repeat([]byte("x"), 3<<20), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := unfinished(t, n, tt.journal)
			w := must[*Writer](t)(s.Resume("latest"))
			if diff := cmp.Diff(tt.done, done(w, n)); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			complete(t, s, w, n, 30)
		})
	}
}

func TestJournalOfAnotherRun(t *testing.T) {
	journal, _ := testJournal(t, 4, 2, 0, 3)
	s := unfinished(t, 3, journal)
	_, err := s.Resume("latest")
	wantError(t, err, "case 4", "says 3 cases", "do not belong together")
	r := must[*Run](t)(s.Resolve("latest"))
	wantError(t, r.Outcomes(func(int, *evidence.Outcome) error { return nil }), "do not belong together")
}

// A crash while a run is finished leaves a state that counts as unfinished, or
// as finished, and never as both.
func TestCrashInFinish(t *testing.T) {
	const n = 5
	journal, _ := testJournal(t, n, 4, 2, 0, 3, 1)
	whole := undisturbed(t, n, 30)
	put := func(t *testing.T, s *Store, name, text string) {
		check(t, os.WriteFile(filepath.Join(s.runDir(testID), name), []byte(text), 0o644))
	}
	t.Run("while it writes", func(t *testing.T) {
		s := unfinished(t, n, journal)
		put(t, s, judgmentsFile+tempSuffix, whole[judgmentsFile][:100])
		put(t, s, casesFile+tempSuffix, whole[casesFile]+"more")
		complete(t, s, must[*Writer](t)(s.Resume("latest")), n, 30)
	})
	t.Run("between the names", func(t *testing.T) {
		s := unfinished(t, n, journal)
		put(t, s, judgmentsFile, whole[judgmentsFile])
		put(t, s, casesFile+tempSuffix, whole[casesFile])
		complete(t, s, must[*Writer](t)(s.Resume("latest")), n, 30)
	})
	t.Run("before run.json", func(t *testing.T) {
		s := unfinished(t, n, journal)
		put(t, s, judgmentsFile, whole[judgmentsFile])
		put(t, s, casesFile, whole[casesFile])
		complete(t, s, must[*Writer](t)(s.Resume("latest")), n, 30)
	})
	t.Run("after run.json", func(t *testing.T) {
		s := unfinished(t, n, journal)
		for name, text := range whole {
			put(t, s, name, text)
		}
		_, err := s.Resume("latest")
		wantError(t, err, "is finished")
		if diff := cmp.Diff(whole, contents(t, s.runDir(testID))); diff != "" {
			t.Errorf("files (-undisturbed +crashed):\n%s", diff)
		}
		r := must[*Run](t)(s.Resolve("latest"))
		if got := len(outcomes(t, r)); got != n {
			t.Errorf("%d outcomes, want %d", got, n)
		}
	})
}

// A reader that opened a run before its writer finished it reads the result.
func TestReaderMeetsFinish(t *testing.T) {
	s := openTest(t)
	w := must[*Writer](t)(s.Create(testManifest(3)))
	r := must[*Run](t)(s.Resolve("latest"))
	if got := len(outcomes(t, r)); got != 0 {
		t.Errorf("%d outcomes of a run that has begun", got)
	}
	addAll(t, w, upTo(3), 1, 1)
	check(t, w.Finish(ended(testManifest(3), evidence.RunExplored)))
	if got := len(outcomes(t, r)); got != 3 {
		t.Errorf("%d outcomes, want 3", got)
	}
	if r.Manifest.Completeness != evidence.Complete {
		t.Errorf("completeness %s", r.Manifest.Completeness)
	}
}

// The journal scanner takes any bytes; what it keeps it finds again, alone.
func FuzzJournal(f *testing.F) {
	journal, starts := testJournal(f, 4, 2, 0, 3)
	f.Add(journal)
	f.Add(journal[:starts[1]+7])
	f.Add(append([]byte("\n\n00000000 \n"), journal...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := testManifest(4)
		var kept []byte
		end, _, err := scanJournal(bytes.NewReader(b), func(off int64, size int, l journalLine) error {
			line := b[off : off+int64(size)]
			again, ok := parseLine(line[:size-1])
			if !ok || again.index != l.index || !bytes.Equal(again.body, l.body) {
				t.Fatalf("line at %d does not read again", off)
			}
			kept = append(kept, line...)
			return nil
		})
		if err != nil || end < int64(len(kept)) || end > int64(len(b)) {
			t.Fatalf("end %d of %d with %d kept: %v", end, len(b), len(kept), err)
		}
		whole, bad, err := scanJournal(bytes.NewReader(kept), func(int64, int, journalLine) error { return nil })
		if err != nil || bad != 0 || whole != int64(len(kept)) {
			t.Fatalf("kept lines alone: end %d of %d, %d bad, %v", whole, len(kept), bad, err)
		}
		entries, _, err := indexJournal(bytes.NewReader(b), m)
		if err != nil {
			return
		}
		for _, e := range entries {
			if _, _, err := readEntry(bytes.NewReader(b), e, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Lines come out as they went in, in order, however the reader cuts them.
func TestDecodeLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 10 {
		var text []byte
		var want []string
		for range random.IntN(2000) {
			line := bytes.Repeat([]byte{'a' + byte(random.IntN(26))}, random.IntN(500))
			if random.IntN(300) == 0 {
				line = bytes.Repeat(line, 2000)
			}
			want = append(want, string(line))
			text = append(append(text, line...), '\n')
		}
		if round%2 == 0 && len(want) > 0 && want[len(want)-1] != "" {
			text = text[:len(text)-1]
		}
		var got []string
		decode := func(line []byte, into *string) error { *into = string(line); return nil }
		check(t, decodeLines(bytes.NewReader(text), 2<<20, decode, func(i int, line *string) error {
			if i != len(got) {
				t.Fatalf("line %d came as number %d", i, len(got))
			}
			got = append(got, *line)
			return nil
		}))
		if !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		if len(want) == 0 {
			continue
		}
		at := random.IntN(len(want))
		n, fault := 0, errors.New("fault")
		failing := func(line []byte, into *string) error {
			if *into = string(line); *into == want[at] {
				return fault
			}
			return nil
		}
		err := decodeLines(bytes.NewReader(text), 2<<20, failing, func(int, *string) error { n++; return nil })
		first := slices.Index(want, want[at])
		var placed *lineError
		if !errors.As(err, &placed) || placed.line != first+1 || n != first {
			t.Fatalf("fault in line %d: %v after %d lines", first+1, err, n)
		}
		n = 0
		err = decodeLines(bytes.NewReader(text), 2<<20, decode, func(int, *string) error {
			if n++; n > at {
				return fault
			}
			return nil
		})
		if err != fault || n != at+1 {
			t.Fatalf("stopped after %d lines with %v, want %d", n, err, at+1)
		}
	}
	err := decodeLines(bytes.NewReader(make([]byte, 1<<20)), 1<<18, func([]byte, *int) error { return nil }, func(int, *int) error { return nil })
	wantError(t, err, "after line 0", "longer than 262144 bytes")
}

// A window reads what lies there, wherever it is asked.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := make([]byte, rapid.IntRange(1, 3*windowBytes).Draw(t, "size"))
		for i := range data {
			data[i] = byte(i * 7 >> 3)
		}
		w := &window{ReaderAt: bytes.NewReader(data)}
		at := 0
		for range 60 {
			if rapid.IntRange(0, 9).Draw(t, "jump") == 0 {
				at = rapid.IntRange(0, len(data)).Draw(t, "at")
			}
			p := make([]byte, rapid.IntRange(1, 40_000).Draw(t, "bytes"))
			want := data[at:min(len(data), at+len(p))]
			n, err := w.ReadAt(p, int64(at))
			if !bytes.Equal(p[:n], want) || (err == nil) != (n == len(p)) {
				t.Fatalf("%d bytes at %d of %d: %d bytes, %v", len(p), at, len(data), n, err)
			}
			at = min(len(data), at+n)
		}
	})
}

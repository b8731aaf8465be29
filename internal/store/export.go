package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Export copies a run to dir as a bundle: run.json, judgments.jsonl,
// cases.jsonl and gate.json, as far as the run has them. Digests are checked on
// the way. A bundle of the Python tool becomes one of this tool. An unfinished run is exported in data set order as far as it came. A
// bundle in dir is replaced; a directory with anything else is refused.
func (s *Store) Export(r *Run, dir string) error {
	if err := s.checkTarget(r, dir); err != nil {
		return fmt.Errorf("export %s: %w", r.Manifest.ID, err)
	}
	if err := s.prepareTarget(dir); err != nil {
		return fmt.Errorf("export %s: %w", r.Manifest.ID, err)
	}
	if err := r.copyTo(dir); err != nil {
		os.Remove(dir) // only if nothing is in it
		return fmt.Errorf("export %s: %w", r.Manifest.ID, err)
	}
	return nil
}

// checkTarget refuses to write over anything but a bundle.
func (s *Store) checkTarget(r *Run, dir string) error {
	if inside(filepath.Join(s.dir, runsDir), dir) {
		return fmt.Errorf("%s is where runs are kept, name another directory", dir)
	}
	if r.dir != "" && inside(r.dir, dir) {
		return fmt.Errorf("%s is the run itself, name another directory", dir)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isBundleFile(strings.TrimSuffix(e.Name(), tempSuffix)) || !e.Type().IsRegular() {
			return fmt.Errorf("%s holds %s, which is no file of a bundle: name a new directory, or the bundle to replace", dir, e.Name())
		}
	}
	// A data set may be called cases.jsonl too: only run.json tells a bundle.
	old, err := openDir(dir)
	if err != nil {
		return fmt.Errorf("it would write over what is no bundle: %w; name a new directory", err)
	}
	return old.Close()
}

// inside reports whether path lies in dir or is dir.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// resolved returns the absolute path with links followed, as far as it exists.
func resolved(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}

func (s *Store) prepareTarget(dir string) error {
	if inside(filepath.Join(s.dir, bundlesDir), dir) {
		if err := s.ensure(bundlesDir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// copyTo writes the run's files into dir. Nothing there changes before all of
// them are written under temporary names, and run.json changes last.
func (r *Run) copyTo(dir string) error {
	st, m, err := r.stage(dir)
	if err != nil {
		return err
	}
	document, err := r.Document()
	if err != nil {
		st.discard()
		return err
	}
	signoffs, err := r.signoffBytes()
	if err != nil {
		st.discard()
		return err
	}
	if err := st.publish(); err != nil {
		return err
	}
	if err := removeOthers(dir, st, document != nil); err != nil {
		return err
	}
	if signoffs != nil {
		if err := replaceFile(filepath.Join(dir, signoffsFile), writes(signoffs)); err != nil {
			return err
		}
	}
	if document != nil {
		if err := replaceFile(filepath.Join(dir, documentFile), writes(document)); err != nil {
			return err
		}
	}
	if m != nil {
		return writeManifest(dir, m)
	}
	return replaceFile(filepath.Join(dir, manifestFile), writes(r.raw))
}

func writes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// removeOthers removes the files of the bundle that lay in dir before and that
// the new one does not have.
func removeOthers(dir string, st staged, document bool) error {
	keep := map[string]bool{documentFile: document}
	for _, d := range st {
		keep[filepath.Base(d.path)] = true
	}
	for _, name := range []string{judgmentsFile, casesFile, documentFile, signoffsFile} {
		if keep[name] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// stage writes the two files of lines into dir under temporary names. For an
// unfinished run it returns the manifest that names them.
func (r *Run) stage(dir string) (staged, *evidence.Manifest, error) {
	if r.python != nil {
		return r.stagePython(dir)
	}
	journal, err := r.openJournal()
	if err != nil {
		return nil, nil, err
	}
	if journal == nil {
		st, err := r.stageCopies(dir)
		return st, nil, err
	}
	defer journal.Close()
	entries, _, err := indexJournal(journal, r.Manifest)
	if err != nil {
		return nil, nil, err
	}
	st, err := stageOrdered(dir, journal, entries)
	if err != nil {
		return nil, nil, err
	}
	m := *r.Manifest
	m.Files = st.files()
	return st, &m, nil
}

// stagePython writes the lines of a bundle of the Python tool as ours.
func (r *Run) stagePython(dir string) (staged, *evidence.Manifest, error) {
	var st staged
	err := r.convertPython(&st, dir)
	if err == nil {
		err = st.close()
	}
	if err != nil {
		st.discard()
		return nil, nil, err
	}
	m := *r.Manifest
	m.Files = st.files()
	return st, &m, nil
}

func (r *Run) convertPython(st *staged, dir string) error {
	judgments, err := st.create(filepath.Join(dir, judgmentsFile))
	if err != nil {
		return err
	}
	cases, err := st.create(filepath.Join(dir, casesFile))
	if err != nil {
		return err
	}
	var b []byte
	var o evidence.Outcome
	return r.CaseLines(func(line evidence.CaseLine) error {
		all := make([]evidence.Judgment, len(line.Judgments))
		for i := range all {
			all[i] = line.Judgments[i].Judgment
		}
		r.python.outcome(&line, &o)
		b = evidence.AppendOutcome(b[:0], r.Manifest, &o)
		if err := judgments.writeLine(b); err != nil {
			return err
		}
		b = evidence.AppendCaseLine(b[:0], r.Manifest, &line.Case, &line.Execution, all)
		return cases.writeLine(b)
	})
}

// stageCopies copies the files that the manifest names. cases.jsonl may have
// been left out of a bundle.
func (r *Run) stageCopies(dir string) (staged, error) {
	var st staged
	for _, f := range r.Manifest.Files {
		if err := r.stageCopy(&st, dir, f.Name); err != nil {
			st.discard()
			return nil, err
		}
	}
	if err := st.close(); err != nil {
		st.discard()
		return nil, err
	}
	return st, nil
}

func (r *Run) stageCopy(st *staged, dir, name string) error {
	if r.src.missing(name) && name == casesFile {
		return nil
	}
	from, err := r.openChecked(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := st.create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if _, err := io.Copy(to.b, from); err != nil {
		return err
	}
	return from.verify()
}

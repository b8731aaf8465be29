package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/relax"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// Most bytes of a file that is read at the base commit.
const (
	maxBaseConfig  = 1 << 20
	maxBaseDataset = 64 << 20
)

// fileAt reads a file of the repository at the base commit; the path has slashes
// and starts at the root. The error is fs.ErrNotExist when there is none.
type fileAt func(ctx context.Context, name string, limit int64) ([]byte, error)

// baseSuite is the suite with its cases as it was before the proposed change.
type baseSuite struct {
	suite *suite.Suite
	data  *dataset.Dataset
	eval  *evaluate.Set
	// labels are people's, as they were: those of the change do not say what its
	// judge is worth.
	labels *labels.File
	dir    string // temporary
}

func (b *baseSuite) close() {
	if b.data != nil {
		b.data.Close()
	}
	os.RemoveAll(b.dir)
}

// openBaseSuite reads suite and data set at the base commit. It is nil when the
// suite was not there. The error is that it could not be read.
func openBaseSuite(ctx context.Context, read fileAt, config string) (*baseSuite, error) {
	text, err := read(ctx, config, maxBaseConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	beside := func(name string) string { return path.Join(path.Dir(config), filepath.ToSlash(name)) }
	s, err := suite.Parse(config, text, func(name string) ([]byte, error) { return read(ctx, filepath.ToSlash(name), maxBaseConfig) })
	if err != nil {
		return nil, fmt.Errorf("the suite at the base commit: %w", err)
	}
	b := &baseSuite{suite: s}
	if b.dir, err = os.MkdirTemp("", "oloproof-base-"); err != nil {
		return nil, err
	}
	if err := b.open(ctx, read, beside); err != nil {
		b.close()
		return nil, fmt.Errorf("the data set at the base commit: %w", err)
	}
	b.labels = &labels.File{Path: beside(s.Labels)}
	if !s.Judged() {
		return b, nil
	}
	people, err := read(ctx, beside(s.Labels), maxBaseDataset)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		b.labels, err = labels.Parse(beside(s.Labels), people)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the labels at the base commit: %w", err)
	}
	return b, nil
}

// place is where the data set is copied to.
func (b *baseSuite) place() string {
	return filepath.Join(b.dir, "data", filepath.Base(filepath.FromSlash(b.suite.Dataset)))
}

// open copies the files of the data set and indexes it. beside turns a path of the
// suite into one from the root.
func (b *baseSuite) open(ctx context.Context, read fileAt, beside func(string) string) (err error) {
	place := b.place()
	for _, name := range dataFiles(b.suite) {
		content, err := read(ctx, beside(name), maxBaseDataset)
		if err != nil {
			return err
		}
		copied := filepath.Join(b.dir, "qrels")
		if below, ok := strings.CutPrefix(filepath.ToSlash(name), filepath.ToSlash(b.suite.Dataset)); ok {
			copied = place + filepath.FromSlash(below)
		}
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return err
		}
	}
	if b.eval, err = evaluate.New(b.suite); err != nil {
		return err
	}
	form := b.suite
	if b.suite.DataForm != nil && b.suite.DataForm.Qrels != "" {
		copied := *b.suite
		spec := *copied.DataForm
		spec.Qrels, copied.DataForm, form = filepath.Join(b.dir, "qrels"), &spec, &copied
	}
	b.data, err = openDataset(form, place, dataset.Options{Slices: b.suite.Slices, Visit: b.eval.Check})
	return err
}

// relaxations lists in what a proposed suite and its cases are laxer. Files are
// named from the repository's root, as fromRoot does it.
func (b *baseSuite) relaxations(s *suite.Suite, d *dataset.Dataset, fromRoot func(string) string) ([]relax.Relaxation, error) {
	list := suite.Relaxations(b.suite, s)
	cases, err := dataset.Relaxations(b.data, d, b.suite.Slices)
	for i := range cases {
		if cases[i].File == b.place() {
			cases[i].File = path.Join(path.Dir(b.suite.Path), filepath.ToSlash(b.suite.Dataset))
		} else {
			cases[i].File = fromRoot(cases[i].File)
		}
	}
	return append(list, cases...), err
}

// keep holds the suite against the proposed cases and the run; baseline is nil when
// there is none. It is nil when nothing was taken away.
func (b *baseSuite) keep(proposed *dataset.Dataset, candidate, baseline *store.Run) (*decide.KeptSuite, error) {
	c := decide.Candidate{Side: stored(candidate)}
	if candidate.HasCases() {
		c.CaseLines = candidate.CaseLines
	}
	base := decide.BaseSuite{Cases: b.data, Specs: b.eval.Specs(), Judge: b.eval.Judge, Trust: b.labels.Of}
	if baseline == nil {
		return decide.NewKeptSuite(base, proposed, c, nil)
	}
	before := stored(baseline)
	return decide.NewKeptSuite(base, proposed, c, &before)
}

// stored is a run as it was judged.
func stored(run *store.Run) compare.Side {
	return compare.Side{Manifest: run.Manifest, Outcomes: run.Outcomes}
}

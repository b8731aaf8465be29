package cli

import (
	"errors"
	"path/filepath"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/store"
)

// storedRun is a run read back, counted, with the policy that is to decide it.
type storedRun struct {
	store    *store.Store
	run      *store.Run
	manifest *evidence.Manifest
	tally    *tally
	policy   *policy.Policy
}

// openStored reads a run and the policy that is to decide it again. Close the
// run in the end.
func (e *Env) openStored(name string, c configFlags) (*storedRun, error) {
	st, err := e.openStore(c.config)
	if err != nil {
		return nil, err
	}
	p, faults := loadPolicy(c, policy.Load)
	if p == nil && faults != nil {
		return nil, faults
	}
	if p == nil {
		return nil, problem.Errorf("there is no policy: %s does not exist, so name one with --policy", filepath.Join(filepath.Dir(c.config), "release.yaml"))
	}
	run, err := st.Resolve(name)
	if err != nil {
		return nil, err
	}
	s := &storedRun{store: st, run: run, policy: p}
	if err = trustStored(run.Manifest, c.config); err == nil {
		err = decidesNothing(run)
	}
	switch {
	case err != nil:
	case faults != nil:
		err = againstMetrics(p, faults, run.Manifest)
	default:
		err = s.read()
	}
	if err != nil {
		run.Close()
		return nil, err
	}
	return s, nil
}

// againstMetrics adds to what is wrong with a policy by itself what is wrong with
// it against the metrics of a run, so that a person sees all of it at once.
func againstMetrics(p *policy.Policy, faults error, m *evidence.Manifest) error {
	var list, more problem.List
	if !errors.As(faults, &list) {
		return faults
	}
	errors.As(p.Check(m.Metrics, m.Slices), &more)
	return append(list[:len(list):len(list)], more...).Err()
}

func (s *storedRun) read() (err error) {
	if err := s.policy.Check(s.run.Manifest.Metrics, s.run.Manifest.Slices); err != nil {
		return err
	}
	if err := checkRole(s.policy, s.run.Manifest); err != nil {
		return err
	}
	if s.manifest, s.tally, err = load(s.run); err != nil {
		return err
	}
	if s.manifest.Counts.OK == 0 {
		return problem.Errorf("no case of %s was answered, so there is nothing to decide; oloproof inspect %s --failures shows why", s.manifest.ID, s.manifest.ID)
	}
	return nil
}

package github

import (
	"context"
	"fmt"
	"time"
)

// maxManifests is how many manifests are read to learn where a policy lay.
const maxManifests = 3

// History says whether the base branch has a gate of a name, and where its
// policies lay. It tells a proposal that introduces a gate from one that moves
// or drops its policy.
type History struct {
	// Stored reports that a trusted run on the branch stored this name. When it
	// is false the event introduces the gate.
	Stored   bool
	Branch   string
	ID       int64 // the last such run
	URL      string
	At       time.Time
	Policies []string // the paths in its manifest
	Suite    string   // that of the suite; "" when it is not known
	Lost     bool     // no manifest can be read any more, so both are unknown
	Trail    []Considered
}

// History looks for the last trusted run on the base branch that stored a name.
// Of any workflow: a proposal may rename the workflow's file. When Baseline found
// a run, its manifest tells the policies and nothing needs to be asked. The error
// is that GitHub could not be asked; a list that cannot be read to its end is one
// too, since it may hide such a run.
func (l *Lookup) History(ctx context.Context, name, dir string) (*History, error) {
	ctx, cancel := l.client.Begin(ctx)
	defer cancel()
	branch := l.event.BaseBranch(l.env)
	if branch == "" {
		var err error
		if branch, err = l.defaultBranch(ctx); err != nil {
			return nil, err
		}
	}
	s := &search{Lookup: l, q: Query{Name: name, Dir: dir}}
	if err := s.prepare(ctx, branch); err != nil {
		return nil, err
	}
	s.trust.workflow = 0
	named, err := l.artifactsNamed(ctx, ArtifactName(name, "refs/heads/"+branch, ""), branch, s.trust.repository)
	if err != nil {
		return nil, err
	}
	h := &History{Branch: branch}
	err = s.readHistory(ctx, named.list, h)
	h.Trail = s.trail
	if err != nil {
		return nil, err
	}
	if !h.Stored && !named.whole {
		return nil, &APIError{Doing: "look for earlier runs on " + clean(branch), Reason: Unexpected,
			Message: "artifacts of other branches and forks fill every page that is read"}
	}
	h.Lost = h.Stored && h.Policies == nil
	return h, nil
}

func (s *search) readHistory(ctx context.Context, list []*Artifact, h *History) error {
	read := 0
	for _, a := range list {
		if a.Run.ID == s.trust.own {
			continue
		}
		r, err := s.run(ctx, a.Run.ID)
		if IsNotFound(err) {
			s.reject(fmt.Sprintf("run %d", a.Run.ID), "it was deleted")
			continue
		}
		if err != nil {
			return err
		}
		candidate := describe(r, "earlier run")
		why := s.trust.rejectRun(r)
		if why == "" {
			why = s.trust.rejectArtifact(a, r, false)
		}
		if why != "" {
			s.reject(candidate, why)
			continue
		}
		if !h.Stored {
			h.Stored, h.ID, h.URL, h.At = true, r.ID, s.env.PageOfRun(r.ID), a.CreatedAt
		}
		if read++; read > maxManifests {
			return nil
		}
		why, err = s.pathsOf(ctx, a, r, h)
		if err != nil {
			return err
		}
		s.trail = append(s.trail, Considered{Candidate: candidate, RejectedBecause: why})
		if why == "" {
			return nil
		}
	}
	return nil
}

// pathsOf takes from the manifest of a run where its policies and its suite lay.
func (s *search) pathsOf(ctx context.Context, a *Artifact, r *Run, h *History) (why string, err error) {
	if a.Expired {
		return "its artifact has expired", nil
	}
	run, why, err := s.open(ctx, a, r)
	if err != nil || why != "" {
		return why, err
	}
	defer run.Close()
	h.Suite, h.Policies = run.Manifest.SuitePath, []string{}
	for _, p := range run.Manifest.Policies {
		h.Policies = append(h.Policies, p.Path)
	}
	return "", nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/relax"
	"github.com/oloproof/oloproof-go/internal/report"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// maxPolicy is the most bytes of a policy or lock at the base commit.
const maxPolicy = 1 << 20

// proposal is what the base commit says of a gate that a change proposes to
// alter.
type proposal struct {
	commit     string
	read       fileAt
	suite      *baseSuite     // nil when the suite is new
	release    *policy.Policy // nil when there is none at the base commit
	compare    *policy.Policy
	unreadable error // why suite or policies at the base commit could not be read
}

// readBase reads policies, suite and data set at the base commit.
func (j *ciJob) readBase(ctx context.Context) error {
	j.base = &proposal{}
	if j.lookup == nil {
		j.base.unreadable = errors.New("there is no github-token, so the base commit cannot be read")
		return nil
	}
	ctx, cancel := j.client.Begin(ctx)
	defer cancel()
	base, err := j.lookup.Base(ctx)
	if err != nil {
		j.base.unreadable = err
		return nil
	}
	j.base.commit = base.Commit
	lookup := j.lookup
	j.base.read = func(ctx context.Context, name string, limit int64) ([]byte, error) {
		return lookup.File(ctx, base.Commit, name, limit)
	}
	if j.base.suite, err = openBaseSuite(ctx, j.base.read, j.atRoot(j.in.Config)); err != nil {
		j.base.unreadable = err
	}
	if j.base.release, err = j.basePolicy(ctx, j.in.Policy, "release.yaml"); err != nil {
		j.base.unreadable = err
	}
	if j.base.compare, err = j.basePolicy(ctx, j.in.ComparePolicy, "compare.yaml"); err != nil {
		j.base.unreadable = err
	}
	return nil
}

// atRoot turns a path from working-directory into one from the repository's root.
func (j *ciJob) atRoot(name string) string {
	return path.Join(filepath.ToSlash(j.in.WorkingDirectory), filepath.ToSlash(name))
}

// basePolicy reads a policy at the base commit; nil when there is none.
func (j *ciJob) basePolicy(ctx context.Context, name, beside string) (*policy.Policy, error) {
	if strings.HasPrefix(name, "builtin:") {
		return policy.Load(name)
	}
	if name == "" {
		name = path.Join(path.Dir(filepath.ToSlash(j.in.Config)), beside)
	}
	return j.policyAt(ctx, j.atRoot(name))
}

func (j *ciJob) policyAt(ctx context.Context, name string) (*policy.Policy, error) {
	data, err := j.base.read(ctx, name, maxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("the policy at the base commit: %w", err)
	}
	return p, nil
}

// guard is the transport that calls only hosts that may be called.
func (j *ciJob) guard(p *project, f runFlags) (http.RoundTripper, error) {
	implied := []string{}
	add := func(raw string) {
		if u, err := url.Parse(raw); err == nil && u.Host != "" && !strings.Contains(raw, "${") {
			implied = append(implied, u.Host)
		}
	}
	add(j.in.URL)
	switch {
	case j.base != nil && j.base.suite != nil:
		add(j.base.suite.suite.System.HTTP.URL)
	case j.base == nil: // nobody proposes: the suite is the repository's own
		add(p.suite.System.HTTP.URL)
	}
	listed := j.in.AllowedHosts
	if p.suite.System.Start != nil && j.in.AllowExec && j.in.URL == "" {
		listed = append(listed[:len(listed):len(listed)], "127.0.0.1", "localhost")
	}
	rules, err := netguard.New(netguard.Options{
		Listed: listed, Implied: implied,
		Container: netguard.InContainer(j.getenv, func(path string) bool { _, err := os.Stat(path); return err == nil }),
		Gateway:   gateway,
	})
	if err != nil {
		return nil, err
	}
	concurrency := p.suite.Concurrency.System
	if f.concurrency > 0 {
		concurrency = f.concurrency
	}
	return rules.Transport(httpsystem.NewTransport(concurrency)), nil
}

func gateway() (netip.Addr, error) {
	routes, err := os.Open(netguard.RoutesFile)
	if err != nil {
		return netip.Addr{}, err
	}
	defer routes.Close()
	return netguard.Gateway(routes)
}

// decide finds the baseline, decides every policy and stores the result.
func (j *ciJob) decide(ctx context.Context, r *ciRun) error {
	ctx, cancel := j.begin(ctx)
	defer cancel()
	baseline, pin, err := j.baselines(ctx)
	if err != nil {
		return err
	}
	defer closeBaseline(baseline)
	defer closeBaseline(pin)
	d := &ciDecision{ciJob: j, run: r, baseline: baseline, pin: pin}
	if err := d.policies(ctx); err != nil {
		return err
	}
	if err := d.integrity(ctx); err != nil {
		return err
	}
	if err := d.decide(); err != nil {
		return err
	}
	r.verdict.in.Baseline = reportBaseline(baseline)
	doc := r.document()
	for _, p := range r.verdict.in.Policies {
		r.manifest.Policies = append(r.manifest.Policies, evidence.PolicyRef{Path: filepath.ToSlash(p.Policy.Path), Digest: evidence.Digest(p.Policy.Digest)})
		j.ending.Gates = append(j.ending.Gates, p.Result.Gate)
	}
	if doc.Gate != nil {
		r.manifest.Status = evidence.RunDecided
	}
	if r.manifest.Completeness != evidence.Complete {
		r.manifest.Status = evidence.RunError
	}
	j.unreadable(baseline)
	if doc.Gate != nil {
		doc.Gate.ExitCode = j.ending.ExitCode()
	}
	j.pub.Document = doc
	j.pub.BaselineState = string(baseline.State)
	j.pub.BaselineRunID, j.pub.BaselineSHA = baseline.ID, baseline.Commit
	return r.seal(doc)
}

func (j *ciJob) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.client == nil {
		return context.WithCancel(ctx)
	}
	return j.client.Begin(ctx)
}

// unreadable notes that something could not be looked up, which ends with 2
// unless a FAIL blocks.
func (j *ciJob) unreadable(baseline *github.Baseline) {
	switch {
	case j.base != nil && j.base.unreadable != nil:
		j.ending.Unreadable = true
		j.pub.Trouble = &github.Trouble{
			Title: "Could not read policy and suite at the base commit", Err: j.base.unreadable,
			Remedy: "check the permissions of the job (contents: read) and run it again",
		}
	case baseline.State == github.Unavailable:
		j.ending.Unreadable = true
		j.pub.Trouble = &github.Trouble{
			Title: "Could not look for the baseline", Err: baseline.Err,
			Remedy: "check the permissions of the job (actions: read) and run it again",
		}
	}
}

// baselines looks for the run to compare with and for the pinned reference; the
// second is nil when there is none.
func (j *ciJob) baselines(ctx context.Context) (baseline, pin *github.Baseline, err error) {
	q := github.Query{Name: j.name, MaxAge: j.in.BaselineMaxAge, Dir: j.temp, Choice: j.in.Baseline}
	if j.in.BaselineLock != "" {
		if q.Lock, err = j.lock(ctx); err != nil {
			return nil, nil, err
		}
	}
	if q.Choice.Path != "" {
		if q.Choice.Path, err = j.local(q.Choice.Path); err != nil {
			return nil, nil, err
		}
	}
	if j.lookup == nil {
		return j.withoutGitHub(q)
	}
	if baseline, err = j.lookup.Baseline(ctx, q); err != nil {
		return nil, nil, err
	}
	if q.Lock != nil && baseline.How != "the pinned reference" {
		pin = j.lookup.Pin(ctx, q)
	}
	return baseline, pin, nil
}

// withoutGitHub takes the baseline from a path, which is all there is to look at.
func (j *ciJob) withoutGitHub(q github.Query) (baseline, pin *github.Baseline, err error) {
	switch {
	case q.Choice.None:
		return &github.Baseline{State: github.Off, Reason: "the input baseline is none"}, nil, nil
	case q.Choice.Path == "" && j.gh != nil:
		return &github.Baseline{State: github.Unavailable, Err: errors.New("there is no github-token")}, nil, nil
	case q.Choice.Path == "":
		return &github.Baseline{State: github.None, Reason: "outside GitHub Actions a baseline is a path: --baseline"}, nil, nil
	}
	st, err := j.env.openStore(j.config)
	if err != nil {
		return nil, nil, err
	}
	run, err := st.Resolve(q.Choice.Path)
	if err != nil {
		return nil, nil, err
	}
	return &github.Baseline{State: github.Found, Run: run, How: "the path " + q.Choice.Path, Commit: run.Manifest.Commit}, nil, nil
}

// lock reads the pin: at the base commit for a proposed change.
func (j *ciJob) lock(ctx context.Context) (*github.Lock, error) {
	if j.base != nil && j.base.read != nil {
		data, err := j.base.read(ctx, j.atRoot(j.in.BaselineLock), github.MaxLock)
		if err == nil {
			return github.ParseLock(j.in.BaselineLock, data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			j.base.unreadable = err
			return nil, nil
		}
	}
	file, err := j.local(j.in.BaselineLock)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return github.ParseLock(j.in.BaselineLock, data)
}

func closeBaseline(b *github.Baseline) {
	if b != nil {
		b.Close()
	}
}

func reportBaseline(b *github.Baseline) *report.Baseline {
	out := &report.Baseline{State: string(b.State), Commit: b.Commit, Branch: b.Branch, Age: age(b.Age, b.Distance), Trail: []report.Rejects{}}
	if b.Run != nil {
		out.Run = b.Run.Manifest.ID
	}
	for _, t := range b.Trail {
		out.Trail = append(out.Trail, report.Rejects{Candidate: t.Candidate, RejectedBecause: t.RejectedBecause})
	}
	return out
}

// ciDecision is everything that decides a job's gate.
type ciDecision struct {
	*ciJob
	run           *ciRun
	baseline, pin *github.Baseline
	release       []rolePolicy // that decide the run
	compare       []rolePolicy // that decide the comparison
	introduction  bool         // nothing of this name was ever stored: comparisons only advise
	kept          *keptSuite   // nil unless the proposed suite took something away
	released      bool         // by the review label
}

// rolePolicy is a policy with the role in which it decides.
type rolePolicy struct {
	role   string
	policy *policy.Policy
}

// policies finds out which policies decide: the base commit's and the proposed
// ones, of which the stricter gate counts, or the only ones there are.
func (d *ciDecision) policies(ctx context.Context) error {
	proposedCompare, err := d.proposedCompare()
	if err != nil {
		return err
	}
	own := d.run.project.policy
	if d.base == nil || d.base.unreadable != nil {
		d.use(&d.release, report.RoleOnly, own)
		d.use(&d.compare, report.RoleOnly, proposedCompare)
		d.pub.PolicySource = "checkout"
		return d.firstRun(ctx)
	}
	release, compare := d.base.release, d.base.compare
	if release == nil && compare == nil {
		moved, err := d.wherePoliciesWere(ctx)
		if err != nil {
			return err
		}
		for _, p := range moved {
			if len(p.RunRules()) > 0 && release == nil {
				release = p
			}
			if len(p.ComparisonRules()) > 0 && compare == nil {
				compare = p
			}
		}
	}
	if release == nil && compare == nil { // an introduction, or moved
		d.use(&d.release, report.RoleOnly, own)
		d.use(&d.compare, report.RoleOnly, proposedCompare)
		d.pub.PolicySource = "checkout"
		return nil
	}
	d.pub.PolicySource = "base commit " + d.base.commit
	d.use(&d.release, report.RoleBase, release)
	d.use(&d.compare, report.RoleBase, compare)
	d.use(&d.release, report.RoleProposed, own)
	d.use(&d.compare, report.RoleProposed, proposedCompare)
	for _, pair := range [][2]*policy.Policy{{release, own}, {compare, proposedCompare}} {
		if pair[0] != nil {
			d.relaxed(policyRelaxations(pair[0], pair[1]))
		}
	}
	return nil
}

// policyRelaxations lists in what a policy was relaxed; a missing one has no rule.
func policyRelaxations(old, proposed *policy.Policy) []relax.Relaxation {
	if proposed == nil {
		return []relax.Relaxation{{File: old.Path, Text: "the policy is removed, with all its rules"}}
	}
	return policy.Relaxations(old, proposed)
}

func (d *ciDecision) use(list *[]rolePolicy, role string, p *policy.Policy) {
	if p == nil {
		return
	}
	for _, there := range *list {
		if there.policy.Digest == p.Digest {
			return // the proposed policy means the same as the base commit's
		}
	}
	*list = append(*list, rolePolicy{role, p})
}

func (d *ciDecision) proposedCompare() (*policy.Policy, error) {
	flags := configFlags{config: d.config, policy: d.in.ComparePolicy}
	if flags.policy != "" && !strings.HasPrefix(flags.policy, "builtin:") {
		var err error
		if flags.policy, err = d.local(flags.policy); err != nil {
			return nil, err
		}
	}
	return loadComparePolicy(flags)
}

// firstRun finds out whether a run on a branch is the first of its name.
func (d *ciDecision) firstRun(ctx context.Context) error {
	if d.lookup == nil || d.baseline.State != github.None {
		return nil
	}
	h, err := d.lookup.History(ctx, d.name, d.temp)
	if err != nil {
		return nil // then it is none: what blocks, blocks
	}
	d.introduction = !h.Stored
	return nil
}

// wherePoliciesWere reads the policies of a gate at the paths of its last trusted
// run, when there are none at the paths named now.
func (d *ciDecision) wherePoliciesWere(ctx context.Context) ([]*policy.Policy, error) {
	var paths []string
	if d.baseline.State == github.Found {
		for _, ref := range d.baseline.Run.Manifest.Policies {
			paths = append(paths, ref.Path)
		}
	} else {
		h, err := d.lookup.History(ctx, d.name, d.temp)
		if err != nil {
			d.base.unreadable = err
			return nil, nil
		}
		if !h.Stored {
			d.introduction = true
			return nil, nil
		}
		paths = h.Policies
	}
	var found []*policy.Policy
	for _, name := range paths {
		p, err := d.policyAt(ctx, d.atRoot(name))
		if strings.HasPrefix(name, "builtin:") {
			p, err = policy.Load(name)
		}
		if err != nil {
			d.base.unreadable = err
			return nil, nil
		}
		if p != nil {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		d.run.verdict.in.Policies = append(d.run.verdict.in.Policies, report.PolicyResult{
			Role: report.RoleBase, Policy: &policy.Policy{Path: strings.Join(paths, ", ")}, Result: decide.Result{Gate: decide.Moved()},
		})
	}
	return found, nil
}

// integrity finds out what the proposed suite took away, and whether people
// released it.
func (d *ciDecision) integrity(ctx context.Context) error {
	if d.base == nil || d.base.suite == nil {
		return nil
	}
	p := d.run.project
	list, err := d.base.suite.relaxations(p.suite, p.data)
	if err != nil {
		return err
	}
	d.relaxed(list)
	if d.kept, err = newKeptSuite(d.base.suite, p, d.run.run, d.baseline.Run); err != nil {
		return err
	}
	if d.kept == nil {
		return nil
	}
	label := ""
	if d.base.release != nil {
		if d.base.release.SuiteChanges == policy.SuiteChangesAllow {
			d.kept = nil
			return nil
		}
		label = d.base.release.ReviewLabel
	}
	if label == "" {
		label = policy.DefaultReviewLabel
	}
	review, err := d.lookup.Review(ctx, label)
	if err != nil {
		d.run.verdict.note("the review label could not be looked up: %v", err)
		return nil
	}
	d.released = review.Released
	if review.Released {
		d.run.verdict.note("the change of the suite was released by the label %s, set by %s", review.Label, strings.Join(review.By, ", "))
	} else {
		d.run.verdict.note("the suite was relaxed, and no label releases it: %s", review.Why)
	}
	return nil
}

func (d *ciDecision) relaxed(list []relax.Relaxation) {
	for _, r := range list {
		d.run.verdict.in.Relaxations = append(d.run.verdict.in.Relaxations, report.Relaxation(r))
	}
}

// decide decides every policy.
func (d *ciDecision) decide() error {
	v := d.run.verdict
	for _, p := range d.release {
		if err := d.check(p); err != nil {
			return err
		}
		if d.kept == nil || d.released {
			v.decideRun(p.role, p.policy)
			continue
		}
		kept, err := d.kept.kept(p.policy)
		if err != nil {
			return err
		}
		v.decideRelaxed(p.role, p.policy, kept)
	}
	for _, p := range d.compare {
		if err := d.check(p); err != nil {
			return err
		}
		if err := d.decideAgainst(p, report.RoleBaseline, d.baseline); err != nil {
			return err
		}
		if d.pin != nil {
			if err := d.decideAgainst(p, report.RolePin, d.pin); err != nil {
				return err
			}
		}
	}
	if len(v.in.Policies) == 0 {
		v.note("there is no policy, so nothing was decided: add release.yaml beside the suite")
	}
	return nil
}

// check holds a policy against the metrics. A base policy may name metrics that
// the proposed suite does not have any more.
func (d *ciDecision) check(p rolePolicy) error {
	m := d.run.manifest
	if p.role != report.RoleBase {
		if err := p.policy.Check(m.Metrics, m.Slices); err != nil {
			return err
		}
	}
	return checkRole(p.policy, m)
}

// decideAgainst decides a comparison policy on one baseline.
func (d *ciDecision) decideAgainst(p rolePolicy, role string, b *github.Baseline) error {
	v, m := d.run.verdict, d.run.manifest
	if b.State != github.Found {
		reason := decide.ReasonNoBaseline
		if b.State == github.Incompatible {
			reason = decide.ReasonBaselineIncompatible
		}
		result := decide.WithoutBaseline(p.policy, reason, m.Completeness)
		if d.introduction {
			result = result.Advisory()
		}
		v.add(p.role, p.policy, result)
		return nil
	}
	c, err := compareAt(d.run.run, b.Run, compare.Options{Level: p.policy.ConfidenceLevel, Method: p.policy.DifferenceMethod})
	if err != nil {
		var apart problem.List
		if !errors.As(err, &apart) {
			return err
		}
		v.note("the baseline cannot be compared with: %v", err)
		v.add(p.role, p.policy, decide.WithoutBaseline(p.policy, decide.ReasonBaselineIncompatible, m.Completeness))
		return nil
	}
	v.compared(role, c)
	result := decide.Compare(p.policy, c)
	if d.released {
		result = result.Release(p.policy, m.Completeness)
	}
	v.add(p.role, p.policy, result)
	return nil
}

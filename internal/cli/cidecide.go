package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	"github.com/oloproof/oloproof-go/internal/suite"
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

// close gives back what the base commit's data set is copied to.
func (p *proposal) close() {
	if p.suite != nil {
		p.suite.close()
	}
}

// readBase reads policies, suite and data set at the base commit.
func (j *ciJob) readBase(ctx context.Context) error {
	j.base = &proposal{}
	if j.lookup == nil {
		j.base.unreadable = errNoToken
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
	switch {
	case name == "":
		name = j.atRoot(path.Join(path.Dir(filepath.ToSlash(j.in.Config)), beside))
	case !strings.HasPrefix(name, builtinPrefix):
		name = j.atRoot(name)
	}
	return j.policyAt(ctx, name)
}

// policyAt reads a policy, named from the repository's root, at the base commit;
// nil when there is none.
func (j *ciJob) policyAt(ctx context.Context, name string) (*policy.Policy, error) {
	if strings.HasPrefix(name, builtinPrefix) {
		return policy.Load(name)
	}
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

// trustedSuite is the suite whose hosts may be called without being listed: that
// of the base commit, or the repository's own when nobody proposes a change. It
// is nil when there is none.
func (j *ciJob) trustedSuite(p *project) *suite.Suite {
	switch {
	case j.base == nil:
		return p.suite
	case j.base.suite != nil:
		return j.base.suite.suite
	}
	return nil
}

// guard are the rules of calls to the system: only hosts that may be called.
func (j *ciJob) guard(p *project) (*netguard.Rules, error) {
	implied := hosts(j.in.URL)
	if s := j.trustedSuite(p); s != nil {
		implied = append(implied, hosts(s.System.URLs()...)...)
	}
	return j.ruled(p, implied)
}

// guardJudges are those of calls to judges. The deployment under test is no host
// of theirs: whoever proposes a change may have written it, and judges bring keys.
func (j *ciJob) guardJudges(p *project) (*netguard.Rules, error) {
	var implied []string
	if s := j.trustedSuite(p); s != nil {
		for i := range s.Evaluators {
			for _, stage := range s.Evaluators[i].Stages() {
				implied = append(implied, hosts(stage.Judge.Endpoint())...)
			}
		}
	}
	return j.ruled(p, implied)
}

// hosts are the hosts of the URLs that are written out.
func hosts(urls ...string) []string {
	all := []string{}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil && u.Host != "" && !strings.Contains(raw, "${") {
			all = append(all, u.Host)
		}
	}
	return all
}

// ruled are rules that allow the implied hosts and those that are listed.
func (j *ciJob) ruled(p *project, implied []string) (*netguard.Rules, error) {
	listed := j.in.AllowedHosts
	if p.suite.System.Start != nil && j.in.AllowExec && j.in.URL == "" {
		listed = append(listed[:len(listed):len(listed)], "127.0.0.1", "localhost")
	}
	return netguard.New(netguard.Options{
		Listed: listed, Implied: implied,
		Container: netguard.InContainer(j.getenv, os.ReadFile),
		Gateway:   gateway,
	})
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
	baseline, pin, err := j.baselines(ctx)
	if err != nil {
		return err
	}
	defer closeBaseline(baseline)
	defer closeBaseline(pin)
	if pin != nil && pin.State != github.Found {
		r.verdict.note("the pinned reference is %s: %s", pin.State, why(pin))
	}
	if baseline.State == github.Found && baseline.Unfinished {
		r.verdict.note("a nearer run of the base branch has not ended: run this job again when it has, to compare with that one")
	}
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
	r.verdict.in.Baseline = reportBaseline(baseline, d.introduction)
	for _, p := range r.verdict.in.Policies {
		ref := evidence.PolicyRef{Path: p.Policy.Path, Digest: evidence.Digest(p.Policy.Digest)}
		if ref.Digest != "" && !slices.Contains(r.manifest.Policies, ref) {
			r.manifest.Policies = append(r.manifest.Policies, ref)
		}
		j.ending.Gates = append(j.ending.Gates, p.Result.Gate)
	}
	switch {
	case r.manifest.Completeness != evidence.Complete:
		r.manifest.Status = evidence.RunError
	case len(r.verdict.in.Policies) > 0:
		r.manifest.Status = evidence.RunDecided
	}
	doc := r.document()
	j.unreadable(doc, baseline, pin)
	j.pub.Document = doc
	j.pub.Next, j.pub.Case = j.next(doc)
	j.tell(doc)
	if awaitsReview(doc) {
		j.pub.Review = d.review
	}
	j.pub.BaselineState = string(baseline.State)
	j.pub.BaselineRunID, j.pub.BaselineSHA = baseline.ID, baseline.Commit
	return r.seal(doc)
}

// awaitsReview reports whether the review label would change a decision.
func awaitsReview(doc *report.Document) bool {
	for _, p := range doc.Policies {
		for _, x := range p.Decisions {
			for _, reason := range x.Reasons {
				switch reason {
				case decide.ReasonSuiteRelaxed, decide.ReasonEvaluatorChanged, decide.ReasonTooFewPairs:
					return true
				}
			}
		}
	}
	return false
}

// tell prints the result into the log, folded where that is possible.
func (j *ciJob) tell(doc *report.Document) {
	j.log.Group("Result")
	defer j.log.EndGroup()
	// A log that cannot be written changes no result.
	_ = report.Text(j.log, doc, report.TextOptions{Next: j.pub.Next, Case: j.pub.Case})
}

// next are the commands that bring the result to whoever reads it, and how one of
// its cases is shown. Without content there is no answer to look at.
func (j *ciJob) next(doc *report.Document) (next []string, show func(id string) string) {
	dir := j.pub.OutputDir
	if j.gh != nil {
		dir = path.Base(dir)
		artifact := github.ArtifactName(j.name, j.gh.Ref, j.in.Shard.String())
		next = append(next, fmt.Sprintf("gh run download %d --repo %s --name %s --dir %s", j.gh.RunID, j.gh.Repository(), artifact, shellWord(dir)))
	}
	show = given{bundle: dir, bare: !j.in.IncludeContent}.showCase(doc)
	return append(next, cmp.Or(show(""), "oloproof inspect "+shellWord(dir))), show
}

// unreadable notes that something could not be looked up, which blocks, and ends
// with 2 unless a FAIL does.
func (j *ciJob) unreadable(doc *report.Document, baseline, pin *github.Baseline) {
	var wrong problem.List
	t := &github.Trouble{}
	switch {
	case j.base != nil && j.base.unreadable != nil:
		t.Title, t.Err = "Could not read policy and suite at the base commit", j.base.unreadable
		t.Remedy = remedy(t.Err, "contents: read")
		if errors.As(t.Err, &wrong) {
			t.Remedy = "the file on the base branch is wrong: mend it there, which someone has to merge past this gate"
		}
	case baseline.State == github.Unavailable:
		t.Title, t.Err = "Could not look for the baseline", baseline.Err
		if t.Remedy = remedy(t.Err, "actions: read"); github.IsRefused(t.Err) {
			t.Remedy = "run the workflow on the base branch again: its next result takes the place of this one"
		}
	case pin != nil && pin.State == github.Unavailable:
		t.Title, t.Err = "Could not read the pinned reference", pin.Err
		if t.Remedy = remedy(t.Err, "actions: read, contents: read"); github.IsRefused(t.Err) {
			t.Remedy = "correct the lock on the base branch, or put the bytes that it names in their place"
		}
	default:
		return
	}
	j.ending.Unreadable, j.pub.Trouble = true, t
	if g := doc.Gate; g != nil {
		if g.ExitCode = j.ending.ExitCode(); g.Action != string(decide.Block) {
			g.Action, g.Meaning = string(decide.Block), "Blocked because not all could be looked up that the decision needs."
		}
		g.Reasons = append(g.Reasons, decide.GateNotLookedUp)
	}
}

var errNoToken = errors.New("there is no github-token")

// remedy says what may help against trouble with GitHub.
func remedy(err error, permissions string) string {
	switch {
	case errors.Is(err, errNoToken):
		return "leave the input github-token out, which gives it the job's own, or give it one: it is empty"
	case github.IsDenied(err):
		return "check the permissions of the job (" + permissions + ") and run it again"
	}
	return "run the job again"
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
		baseline, err = j.fromPath(q.Choice.Path)
		return baseline, nil, err
	}
	if j.lookup == nil {
		return j.withoutGitHub(q), nil, nil
	}
	if baseline, err = j.lookup.Baseline(ctx, q); err != nil {
		return nil, nil, err
	}
	if q.Lock != nil && !baseline.Pinned && baseline.ID != q.Lock.RunID {
		pin = j.lookup.Pin(ctx, q)
	}
	return baseline, pin, nil
}

// fromPath takes the baseline from a bundle of the workspace.
func (j *ciJob) fromPath(name string) (*github.Baseline, error) {
	file, err := j.local("baseline", name)
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil { // a place, not the name of a stored run
		return nil, err
	}
	st, err := j.env.openStore(j.config)
	if err != nil {
		return nil, err
	}
	run, err := st.Resolve(file)
	if err != nil {
		return nil, problem.Errorf("baseline: %v", err)
	}
	return &github.Baseline{State: github.Found, Run: run, How: "the path " + name, Commit: run.Manifest.Commit}, nil
}

// withoutGitHub is the baseline where nobody can be asked.
func (j *ciJob) withoutGitHub(q github.Query) *github.Baseline {
	switch {
	case q.Choice.None:
		return &github.Baseline{State: github.Off, Reason: "the input baseline is none"}
	case j.gh != nil:
		return &github.Baseline{State: github.Unavailable, Err: errNoToken}
	}
	return &github.Baseline{State: github.None, Reason: "outside GitHub Actions the input baseline names a path"}
}

// lock reads the pin: at the base commit for a proposed change, which must not
// choose its own. It is nil when there is none yet.
func (j *ciJob) lock(ctx context.Context) (*github.Lock, error) {
	name := j.atRoot(j.in.BaselineLock)
	if j.base != nil {
		if j.base.read == nil {
			return nil, nil // nothing of the base commit can be read, which blocks
		}
		data, err := j.base.read(ctx, name, github.MaxLock)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			j.base.unreadable = err
			return nil, nil
		}
		return github.ParseLock(name, data)
	}
	data, err := j.pub.Workspace.Read(name, github.MaxLock)
	if err != nil {
		return nil, problem.At(name, "the input baseline-lock cannot be read: %v", err)
	}
	return github.ParseLock(name, data)
}

func closeBaseline(b *github.Baseline) {
	if b != nil {
		b.Close()
	}
}

// why says why a baseline was not found: of the last candidate, if there is one.
func why(b *github.Baseline) string {
	if n := len(b.Trail); n > 0 {
		return b.Trail[n-1].RejectedBecause
	}
	return b.Reason
}

func reportBaseline(b *github.Baseline, introduction bool) *report.Baseline {
	out := &report.Baseline{State: string(b.State), Commit: b.Commit, Branch: b.Branch, Age: age(b.Age, b.Distance), How: b.How, Trail: []report.Rejects{}}
	if b.Run != nil {
		out.Run = b.Run.Manifest.ID
	}
	if b.State != github.Unavailable { // of that the trouble is told
		out.Reason = b.Reason
	}
	if out.Reason != "" && b.Unfinished {
		out.Reason += "; one has not ended yet, so run this job again when it has"
	}
	if introduction {
		out.Reason += "; the gate is new to the branch, so comparison rules only warn"
	}
	for _, t := range b.Trail {
		if t.RejectedBecause == "" {
			continue // what was picked
		}
		out.Trail = append(out.Trail, report.Rejects{Candidate: t.Candidate, RejectedBecause: t.RejectedBecause})
	}
	return out
}

// ciDecision is everything that decides a job's gate.
type ciDecision struct {
	*ciJob
	run           *ciRun
	baseline, pin *github.Baseline
	release       []rolePolicy      // that decide the run
	compare       []rolePolicy      // that decide the comparison
	introduction  bool              // nothing of this name was ever stored: comparisons only advise
	kept          *decide.KeptSuite // nil unless the proposed suite took something away
	released      bool              // by the review label
	review        *github.Review
}

// rolePolicy is a policy with the role in which it decides.
type rolePolicy struct {
	role   string
	policy *policy.Policy
}

// policies finds out which policies decide: the base commit's and the proposed
// ones, of which the stricter gate counts, or the only ones there are.
func (d *ciDecision) policies(ctx context.Context) error {
	compare, err := d.proposedCompare()
	if err != nil {
		return d.rooted(err)
	}
	own := d.run.project.policy
	d.introduces(ctx)
	d.pub.PolicySource = "checkout"
	if d.base == nil || d.base.unreadable != nil || !d.wherePoliciesWere(ctx) {
		d.use(&d.release, report.RoleOnly, own)
		d.use(&d.compare, report.RoleOnly, compare)
		return nil
	}
	d.pub.PolicySource = "base commit " + d.base.commit
	for _, x := range []struct {
		list         *[]rolePolicy
		base, change *policy.Policy
	}{{&d.release, d.base.release, own}, {&d.compare, d.base.compare, compare}} {
		d.use(x.list, report.RoleBase, x.base)
		d.use(x.list, report.RoleProposed, x.change)
		if x.base != nil {
			d.relaxed(policyRelaxations(x.base, x.change))
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
	for i := range *list {
		if there := &(*list)[i]; there.policy.Digest == p.Digest {
			*there = rolePolicy{report.RoleOnly, p} // both mean the same, and the change's lines are known
			return
		}
	}
	*list = append(*list, rolePolicy{role, p})
}

func (d *ciDecision) proposedCompare() (*policy.Policy, error) {
	flags := configFlags{config: d.config}
	var err error
	if flags.policy, err = d.policyFile("compare-policy", d.in.ComparePolicy); err != nil {
		return nil, err
	}
	if d.base != nil && d.base.compare != nil && takenAway(flags.policy) {
		return nil, nil // the base commit's decides
	}
	p, err := loadComparePolicy(flags)
	if p != nil {
		p.Path = d.fromRoot(p.Path)
	}
	return p, err
}

// introduces finds out whether the gate is new: no trusted run on the branch ever
// stored its name. Then comparison rules have nothing to look at, and only warn.
func (d *ciDecision) introduces(ctx context.Context) {
	if d.lookup == nil || d.baseline.State != github.None {
		return
	}
	past, err := d.pastRuns(ctx)
	switch {
	case err == nil:
		d.introduction = !past.Stored
	case d.base == nil:
		d.run.verdict.note("whether this is the first run of its name could not be looked up: %v", err)
	default:
		d.base.unreadable = err
	}
}

// pastRuns is what earlier runs of the name on the base branch have left.
func (j *ciJob) pastRuns(ctx context.Context) (*github.History, error) {
	if j.past != nil {
		return j.past, nil
	}
	var err error
	j.past, err = j.lookup.History(ctx, j.name, j.temp)
	return j.past, err
}

// wherePoliciesWere looks for policies that are not at the paths named now at
// those of the last trusted run, so that a policy which was moved still decides.
// It reports whether some policy of the base commit decides; where the base
// branch had one that is nowhere now, the gate blocks.
func (d *ciDecision) wherePoliciesWere(ctx context.Context) bool {
	base := d.base
	if base.release != nil && (base.compare != nil || d.baseline.State != github.Found) {
		return true
	}
	var paths []string
	lost := false // nothing says where they were
	if d.baseline.State == github.Found {
		for _, ref := range d.baseline.Run.Manifest.Policies {
			paths = append(paths, ref.Path)
		}
	} else {
		past, err := d.pastRuns(ctx)
		if err != nil {
			base.unreadable = err
			return false
		}
		paths, lost = past.Policies, past.Lost
	}
	for _, name := range paths {
		if err := d.find(ctx, name); err != nil {
			base.unreadable = err
			return false
		}
	}
	none := base.release == nil && base.compare == nil
	if none && len(paths) > 0 || base.release == nil && lost {
		d.run.verdict.add(report.RoleBase, &policy.Policy{Path: strings.Join(paths, ", ")}, decide.Result{Gate: decide.Moved()})
	}
	return !none
}

// find reads a policy of the last trusted run at the base commit and takes it for
// what is not known yet.
func (d *ciDecision) find(ctx context.Context, name string) error {
	p, err := d.policyAt(ctx, name)
	if err != nil || p == nil {
		return err
	}
	if d.base.release == nil && len(p.RunRules()) > 0 {
		d.base.release = p
	}
	if d.base.compare == nil && len(p.ComparisonRules()) > 0 {
		d.base.compare = p
	}
	return nil
}

// integrity finds out what the proposed suite took away, and whether people
// released it.
func (d *ciDecision) integrity(ctx context.Context) error {
	if d.whereTheSuiteWas(ctx); d.base == nil || d.base.suite == nil {
		return nil
	}
	p := d.run.project
	list, err := d.base.suite.relaxations(p.suite, p.data, d.fromRoot)
	if err != nil {
		return err
	}
	d.relaxed(list)
	if d.kept, err = d.base.suite.keep(p.data, d.run.run, d.baseline.Run); err != nil {
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
		d.kept.Released = true
		d.run.verdict.note("the change of the suite was released by the label %s, set by %s", review.Label, strings.Join(review.By, ", "))
	} else {
		d.review = review
		d.run.verdict.note("the suite was relaxed, and no label releases it: %s", review.Why)
	}
	return nil
}

// whereTheSuiteWas looks for a suite that is not at the path named now at that of
// the last trusted run of this name, so that one which was moved is held against
// what it was.
func (d *ciDecision) whereTheSuiteWas(ctx context.Context) {
	base := d.base
	if base == nil || base.suite != nil || base.unreadable != nil {
		return
	}
	was := ""
	if d.baseline.State == github.Found {
		was = d.baseline.Run.Manifest.SuitePath
	} else {
		past, err := d.pastRuns(ctx)
		if err != nil {
			base.unreadable = err
			return
		}
		if !past.Stored {
			return
		}
		was = past.Suite
	}
	var err error
	if was != "" {
		if base.suite, err = openBaseSuite(ctx, base.read, was); err != nil {
			base.unreadable = err
			return
		}
	}
	if base.suite == nil {
		d.run.verdict.note("the base branch has a gate of this name, and its suite is not found at the base commit: nothing says whether cases or evaluators were taken away")
	}
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
		if d.kept == nil {
			v.decideRun(p.role, p.policy)
			continue
		}
		kept, err := d.kept.Kept(p.policy)
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
		result := decide.WithoutBaseline(p.policy, reason, m.Coverage())
		if d.introduction {
			result = result.Advisory()
		}
		v.add(p.role, p.policy, result)
		return nil
	}
	opt := compare.Options{Level: p.policy.ConfidenceLevel, Method: p.policy.DifferenceMethod}
	c, err := compareAt(d.run.run, b.Run, opt)
	if err != nil {
		var apart problem.List
		if !errors.As(err, &apart) {
			return err
		}
		v.note("the baseline cannot be compared with: %v", err)
		v.add(p.role, p.policy, decide.WithoutBaseline(p.policy, decide.ReasonBaselineIncompatible, m.Coverage()))
		return nil
	}
	if err := labelArms(c, p.policy, d.run.project.labels, d.run.run, b.Run); err != nil {
		return err
	}
	v.compared(role, c)
	result := decide.Compare(p.policy, c)
	if d.kept != nil {
		before, err := d.kept.Comparison(stored(b.Run), opt)
		if err != nil {
			return err
		}
		if before != nil {
			before.Arms = c.Arms
			result = decide.CompareRelaxed(p.policy, c, before, d.kept.OfComparison())
		}
	}
	if d.released {
		result = result.Release(p.policy, m.Coverage())
	}
	v.add(p.role, p.policy, result)
	return nil
}

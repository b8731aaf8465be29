package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// deployed is what the service says of its version while a run goes on.
type deployed struct {
	from  *suite.VersionFrom
	watch *httpsystem.Watch // of every answer; nil when the version is asked for
	// said is what is known so far, from the part of the run before a resumption too.
	said evidence.Deployment
}

// askDeployed asks the service for its version, if the suite says where.
func (x *activeRun) askDeployed(ctx context.Context) error {
	from := x.project.suite.System.VersionFrom
	if from == nil {
		return nil
	}
	d := &deployed{from: from, said: evidence.Deployment{Of: from.Of}}
	x.deployed = d
	if from.URL == "" {
		if x.flags.reuse {
			return usageError{fmt.Errorf("--reuse needs to know the version before a case is called, and system.version_from reads it of the answers: add a url to it, or leave --reuse out")}
		}
		d.watch = &httpsystem.Watch{Header: from.Header}
		return nil
	}
	var err error
	d.said.First, err = x.ask(ctx)
	return err
}

// ask asks the service for its version.
func (x *activeRun) ask(ctx context.Context) (string, error) {
	from, to := x.project.suite.System.VersionFrom, x.resolved.VersionFrom
	transport, closeTransport, err := x.connect(1)
	if err != nil {
		return "", err
	}
	defer closeTransport()
	version, err := httpsystem.Deployed{
		URL: to.URL, Headers: to.Headers, Timeout: from.Timeout,
		UserAgent: "oloproof/" + Version(), Read: from.Read, Redact: x.redact, Transport: transport,
		Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64,
	}.Ask(ctx)
	if err != nil {
		return "", x.versionProblem(ctx, err)
	}
	return x.redact.String(version), nil
}

// versionProblem places the reason why the version could not be read.
func (x *activeRun) versionProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	from := x.project.suite.System.VersionFrom
	return x.project.suite.Problem(from.Pos, "the version could not be read of the service (system.version_from): %v", err)
}

// watched returns the transport of the system, with an eye on the version when
// the answers say it, and what closes it.
func (x *activeRun) watched(concurrency int) (http.RoundTripper, func(), error) {
	base, closeBase, err := x.connect(concurrency)
	if err != nil || x.deployed == nil || x.deployed.watch == nil {
		return base, closeBase, err
	}
	x.deployed.watch.Base = base
	return x.deployed.watch, closeBase, nil
}

// indexVersion is the version of the index that the service says; "" when it does not.
func (x *activeRun) indexVersion() string {
	if x.deployed == nil || x.deployed.from.Of != suite.OfIndex {
		return ""
	}
	return x.deployed.said.First
}

// deployedVersion is the version of the system that the service says; "" when it
// does not.
func (x *activeRun) deployedVersion() string {
	if x.deployed == nil || x.deployed.from.Of != suite.OfVersion {
		return ""
	}
	return x.deployed.said.First
}

// resumeDeployed takes up what an interrupted run knew of the version.
func (x *activeRun) resumeDeployed(kept *evidence.Manifest) {
	if x.deployed != nil && kept.System.Deployed != nil && x.deployed.watch != nil {
		x.deployed.said = *kept.System.Deployed
	}
}

// noteDeployed writes into the manifest what is known of the version so far.
func (x *activeRun) noteDeployed() {
	if x.deployed == nil {
		return
	}
	x.deployed.look(x.redact.String)
	said := x.deployed.said
	x.manifest.System.Deployed = &said
}

// look sums up what the answers said so far.
func (d *deployed) look(redacted func(string) string) {
	if d.watch == nil {
		return
	}
	for _, version := range d.watch.Seen() {
		version = redacted(version)
		switch {
		case d.said.First == "":
			d.said.First = version
		case version != d.said.First:
			d.said.Changed = true
		}
		d.said.Last = version
	}
}

// confirmDeployed asks the service for its version again, after the last case.
func (x *activeRun) confirmDeployed(ctx context.Context) error {
	d := x.deployed
	if d == nil {
		return nil
	}
	if d.watch == nil {
		last, err := x.ask(ctx)
		if err != nil {
			return err
		}
		d.said.Last, d.said.Changed = last, last != d.said.First
	} else if seen := d.watch.Seen(); slices.Contains(seen, "") {
		return x.versionProblem(ctx, problem.Errorf("%s has no header %s", choose(len(seen) == 1, "no answer of the system", "one answer of the system"), d.from.Header))
	}
	x.noteDeployed()
	if d.watch != nil && d.from.Of == suite.OfVersion && d.said.First != "" { // known only now
		return x.identifyDeployed()
	}
	return nil
}

// identifyDeployed makes the version that the service says a part of the system's
// identity.
func (x *activeRun) identifyDeployed() error {
	m, d := x.manifest, x.deployed
	if d == nil || d.said.First == "" {
		return nil
	}
	if d.from.Of == suite.OfVersion {
		m.System.Version = d.said.First
	}
	digest, err := evidence.ContentID("system-deployed/v1", []any{string(m.System.Digest), d.said.Of, d.said.First})
	m.System.Digest = digest
	return err
}

// words says which version the service says.
func (d *deployed) words() string {
	return fmt.Sprintf("%s %s, which the service says", choose(d.from.Of == suite.OfIndex, "Version of the index", "Version"), report.Clean(d.said.First))
}

// deployedNote says that the version changed; "" when it did not.
func (x *activeRun) deployedNote() string {
	if x.deployed == nil || !x.deployed.said.Changed {
		return ""
	}
	what := "version of the service"
	if x.deployed.from.Of == suite.OfIndex {
		what = "version of the service's index"
	}
	return fmt.Sprintf("the %s changed during the run, from %s to %s, so no rule is a PASS: run again when the deployment is done", what, report.Clean(x.deployed.said.First), report.Clean(x.deployed.said.Last))
}

package report

import (
	"fmt"
	"io"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// RunEntry is one run of a list.
type RunEntry struct {
	Manifest *evidence.Manifest
	Document *Document // nil when the run was not decided
}

// Runs lists runs, the newest first: the name by which commands take it, its
// id, when it started, how far it came, its gate, and below what came of each
// rule. Times are shown in the zone of the manifest.
func Runs(w io.Writer, runs []RunEntry) error {
	p := newPrinter(w, 0, false)
	if len(runs) == 0 {
		p.raw("no runs yet: oloproof run makes one")
	}
	ordinary := 0
	for _, r := range runs {
		m := r.Manifest
		name := "latest"
		if ordinary > 0 {
			name = fmt.Sprintf("latest~%d", ordinary)
		}
		if m.Child != nil {
			name = ""
		} else {
			ordinary++
		}
		status := string(m.Status)
		if m.Completeness == evidence.Partial {
			status += "/" + string(m.Completeness)
		}
		p.raw(fmt.Sprintf("%-9s  %s  %s  %s  %s", name, Clean(m.ID), m.StartedAt.Format("2006-01-02 15:04"),
			Clean(status), Clean(gateWord(m))))
		if c := m.Child; c != nil {
			p.raw(fmt.Sprintf("  %s of %s, %s", Clean(c.Role), Clean(c.Parent), Clean(c.Intervention)))
			continue
		}
		if r.Document != nil {
			for _, pol := range r.Document.Policies {
				for _, d := range pol.Decisions {
					p.raw("  " + Clean(d.Rule) + ": " + StateWord(d.State))
				}
			}
		}
	}
	return p.flush()
}

// gateWord is what came of a run's policy.
func gateWord(m *evidence.Manifest) string {
	switch {
	case m.Child != nil:
		return "decides nothing"
	case m.Gate != "":
		return m.Gate
	case len(m.Policies) > 0:
		return "not decided"
	}
	return "no policy"
}

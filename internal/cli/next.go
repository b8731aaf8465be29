package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// given is what the user typed to name a project and a run. The commands to try
// next repeat it, so that they find the same ones.
type given struct {
	configFlags
	url    string
	bundle string // path of a run that is not in the store; "" for one that is
	bare   bool   // no command shows its cases: it was made without questions and answers, or lies elsewhere
	merged bool   // the run was put together from shards
}

// flags returns the flags that a command needs to find the same project.
// withPolicy and withURL add what only some commands take.
func (g given) flags(withPolicy, withURL bool) string {
	var b strings.Builder
	add := func(flag, value, standard string) {
		if value != "" && value != standard {
			b.WriteString(" " + flag + " " + shellWord(value))
		}
	}
	add("--config", filepath.ToSlash(g.config), "oloproof.yaml")
	if withPolicy {
		add("--policy", filepath.ToSlash(g.policy), "")
	}
	if withURL {
		add("--url", publicWord(g.url), "")
	}
	return b.String()
}

// publicWord returns a URL, or the word URL in place of one with credentials or
// a query, which are not for logs.
func publicWord(url string) string {
	if url == "" || httpsystem.PublicURL(url) == url {
		return url
	}
	return "URL"
}

// next returns the commands to try after a document was shown.
func (g given) next(doc *report.Document) []string {
	id := doc.Run.ID
	run := id
	if g.bundle != "" {
		run = shellWord(filepath.ToSlash(g.bundle))
	}
	steps := report.NextSteps(doc)
	for i, step := range steps {
		switch {
		case strings.HasPrefix(step, "oloproof run --resume") && g.merged:
			step = "oloproof merge, with the shards that are missing"
		case strings.HasPrefix(step, "oloproof run --resume") && g.bundle == "":
			step = "oloproof run --resume=" + id
		case g.bare || strings.HasPrefix(step, "oloproof export") && g.bundle != "":
			step = "oloproof plan " + id
		case strings.HasPrefix(step, "oloproof run --resume"):
			step = report.InspectCase(id, "")
		case strings.HasPrefix(step, "oloproof gate"):
			step = "write release.yaml beside the suite, then oloproof gate " + id
		}
		takesPolicy := !strings.HasPrefix(step, "oloproof inspect") && !strings.HasPrefix(step, "oloproof export")
		steps[i] = strings.ReplaceAll(step, id, run) + g.flags(takesPolicy, strings.HasPrefix(step, "oloproof run"))
	}
	return steps
}

// nextAfterComparison returns the commands to try after a comparison was shown.
func (g given) nextAfterComparison(doc *report.Document) []string {
	steps := report.CompareNext(doc)
	if g.bare && len(doc.Comparisons) > 0 {
		steps = []string{report.ReportComparison(doc)}
	}
	for i := range steps {
		steps[i] = g.named(steps[i], doc.Run.ID)
	}
	return steps
}

// showCase returns the command that shows a case of a document's run, and of "" its
// failing cases; "" when none can.
func (g given) showCase(doc *report.Document) func(string) string {
	return func(id string) string {
		if g.bare {
			return ""
		}
		return g.named(report.InspectCase(doc.Run.ID, id), doc.Run.ID)
	}
}

// run is how a command names the run of that id.
func (g given) run(id string) string {
	if g.bundle != "" {
		return shellWord(filepath.ToSlash(g.bundle))
	}
	return id
}

// named puts the words of the user for a run and its project into a command.
func (g given) named(command, run string) string {
	if g.bundle != "" {
		command = strings.Replace(command, run, shellWord(filepath.ToSlash(g.bundle)), 1)
	}
	return command + g.flags(false, false)
}

// of adds how a run was named: a stored one by its id, another by its place.
func (g given) of(run *store.Run, st *store.Store) given {
	if !st.Holds(run) {
		g.bundle, g.bare = run.Place(), !run.HasCases()
	}
	return g
}

var plainWord = lazily(`^[A-Za-z0-9_./:@%+=,~-]+$`)

// shellWord quotes a word for a shell where that is needed.
func shellWord(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// lazily compiles a regular expression when it is first used, so that commands
// without one start as fast as they can.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

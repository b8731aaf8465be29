package suite

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// RAG is system.rag: a staged system. One of Object, Command and HTTP is set.
type RAG struct {
	Object        string     // a Python class as MODULE:CLASS
	Command       *Command   // a program that offers retrieve and generate
	HTTP          *Endpoints // an endpoint for each stage
	Depth         int        // 0 when the suite does not say
	TopK          int        // 0 when the suite does not say
	TokenBudget   *int       // nil when the suite does not say
	IndexVersion  string     // "" when the suite does not say
	CitationsPath string     // "" when the suite does not say
	CountTokens   string     // words or characters/4; "" leaves it to the system
	Pos           Position
	KeyPos        map[string]Position // of each key's value that is written
}

// The ways of counting tokens that need no help of the system.
const (
	CountWords    = "words"
	CountQuarters = "characters/4"
)

// DefaultCitationsPath is where the output of a staged system has the cited ids,
// when nobody says.
const DefaultCitationsPath = "citations"

func (r *RAG) table() *y.MapType {
	command, endpoints := &Command{}, newEndpoints()
	return y.Mapping(y.Table{
		{Key: "object", Type: targetType(y.Into(&r.Object)),
			Doc: "A Python class with retrieve and generate, or an instance of one, as MODULE:CLASS; modules are looked for beside the suite first."},
		{Key: "command", Type: command.table().At(func(at Position) { r.Command, command.Pos = command, at }),
			Doc: "A program in any language that offers retrieve and generate."},
		{Key: "http", Type: endpoints.table().At(func(at Position) { r.HTTP, endpoints.Pos = endpoints, at }),
			Doc: "An endpoint for each stage."},
		{Key: "depth", Type: y.Int(y.Into(&r.Depth)).Min(1), Null: true,
			Doc: "Candidates that are asked of the retrieval. Needed unless the program itself says it."},
		{Key: "top_k", Type: y.Int(y.Into(&r.TopK)).Min(1), Null: true,
			Doc: "How many of the first candidates may go into the context, at most depth. Needed unless the program itself says it."},
		{Key: "token_budget", Type: y.Int(y.Opt(&r.TokenBudget)).Min(1), Null: true,
			Doc: "Tokens that the context may have: while it has more, its last passage is dropped. Without it, and unless the program says one, nothing is dropped."},
		{Key: "count_tokens", Type: y.Enum(y.Into(&r.CountTokens), CountWords, CountQuarters), Null: true,
			Doc: "How the tokens of a passage are counted here. Without it the system's own count_tokens does."},
		{Key: "index_version", Type: y.Name(y.Into(&r.IndexVersion)), Null: true,
			Doc: "Version of the index, part of the identity of the retrieval: change it whenever the index changes, or old retrievals are reused."},
		{Key: "citations_path", Type: y.String(y.Into(&r.CitationsPath)).Want("a dotted path").Check(dottedPath), Null: true,
			Doc: "Where the output has the list of cited ids, as a dotted path; citations when nobody says."},
	}).Keys(y.Into(&r.KeyPos)).OneOf("object", "command", "http")
}

// meaning is what belongs to the identity of the system, as far as the suite
// says it; see [Suite.Staged] for the rest.
func (r *RAG) meaning() meaning {
	m := r.runs()
	maps.Copy(m, meaning{
		"depth": r.Depth, "top_k": r.TopK, "token_budget": r.TokenBudget, "count_tokens": r.CountTokens,
		"index_version": r.IndexVersion, "citations_path": r.CitationsPath,
	})
	return m
}

// runs is what says which code the stages are.
func (r *RAG) runs() meaning {
	m := meaning{"object": r.Object}
	if c := r.Command; c != nil {
		m["command"] = c.meaning()
	}
	if e := r.HTTP; e != nil {
		m["retrieve"], m["generate"] = e.Retrieve.meaning(), e.Generate.meaning()
	}
	return m
}

// program returns the place and the key of the program that the stages are; ""
// for stages that are called over HTTP.
func (r *RAG) program() (Position, string) {
	switch {
	case r.HTTP != nil:
		return Position{}, ""
	case r.Command != nil:
		return r.Command.Pos, "system.rag.command"
	}
	return cmp.Or(r.KeyPos["object"], r.Pos), "system.rag.object"
}

// check finds what is wrong across the keys of a staged system.
func (r *RAG) check(f *y.File, d *draft) {
	if at, ok := d.systemKeys["timeout_s"]; ok && r.Object == "" {
		f.Problem(at, "system.timeout_s is for Python systems: a stage has timeout_s below %s", choose(r.HTTP != nil, "system.rag.http.retrieve and generate", "system.rag.command"))
	}
	if r.Depth > 0 && r.TopK > r.Depth {
		f.Problem(r.KeyPos["top_k"], "%s", topKAboveDepth(r.TopK, r.Depth))
	}
	if r.HTTP != nil {
		r.HTTP.check(f, r)
	}
}

func topKAboveDepth(topK, depth int) string {
	return fmt.Sprintf("system.rag.top_k is %d and depth is %d: only %[2]d candidates are asked for, so top_k is at most %[2]d", topK, depth)
}

// Declared is what a staged system says of itself. What it does not say is zero.
type Declared struct {
	Depth, TopK   int
	TokenBudget   *int
	IndexVersion  string
	CitationsPath string
	CountsTokens  bool // it can count the tokens of a passage
}

// Staged returns how the staged system of the suite is run: as the suite says,
// and else as the system itself does. The error is a [problem.List].
func (s *Suite) Staged(d Declared) (*evidence.StagedSettings, error) {
	r := s.System.RAG
	out := &evidence.StagedSettings{
		Depth: cmp.Or(r.Depth, d.Depth), TopK: cmp.Or(r.TopK, d.TopK), TokenBudget: cmp.Or(r.TokenBudget, d.TokenBudget),
		IndexVersion: cmp.Or(r.IndexVersion, d.IndexVersion), CitationsPath: cmp.Or(r.CitationsPath, d.CitationsPath, DefaultCitationsPath),
		CountTokens: r.CountTokens,
	}
	var problems problem.List
	at := func(keys ...string) Position {
		for _, key := range keys {
			if at, ok := r.KeyPos[key]; ok {
				return at
			}
		}
		return r.Pos
	}
	for _, needed := range []struct {
		key, what string
		value     int
	}{{"depth", "how many candidates to ask of the retrieval", out.Depth}, {"top_k", "how many candidates may go into the context", out.TopK}} {
		if needed.value < 1 {
			problems.Add(s.problem(r.Pos, "system.rag.%s is missing: neither the suite nor the system says %s", needed.key, needed.what))
		}
	}
	if out.Depth > 0 && out.TopK > out.Depth {
		problems.Add(s.problem(at("top_k", "depth"), "%s", topKAboveDepth(out.TopK, out.Depth)))
	}
	if fault := dottedPath(out.CitationsPath); fault != "" {
		problems.Add(s.problem(at("citations_path"), "%s", strings.Replace(fault, "KEY", "citations_path", 1)))
	}
	if b := out.TokenBudget; b != nil && *b < 1 {
		problems.Add(s.problem(at("token_budget"), "token_budget is %d, it must be at least 1", *b))
	}
	if out.TokenBudget != nil && out.CountTokens == "" && !d.CountsTokens {
		problems.Add(s.problem(at("token_budget"), "system.rag.token_budget needs a way to count tokens, and the system has no count_tokens: add one, or count_tokens: %s or %s to system.rag, or drop the budget", CountWords, CountQuarters))
	}
	return out, problems.Err()
}

package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
	"github.com/oloproof/oloproof-go/internal/system/process"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// openStaged starts the stages of a staged system and puts them together.
func (x *activeRun) openStaged(ctx context.Context, concurrency int) (*system, error) {
	rag := x.project.suite.System.RAG
	if rag.HTTP != nil {
		return x.openEndpoints(concurrency)
	}
	var p *program
	var err error
	needs := []string{process.MethodRetrieve, process.MethodGenerate}
	if rag.Command != nil {
		p, err = x.startProgram(ctx, rag.Command, needs...)
	} else {
		p, err = x.startPython(ctx, process.PythonRAG, rag.Object, rag.KeyPos["object"], concurrency, needs...)
	}
	if err != nil {
		return nil, err
	}
	s, err := x.stagedProgram(p)
	if err != nil {
		p.close()
		return nil, err
	}
	return s, nil
}

// openEndpoints puts the endpoints of the stages together. What is deployed there
// cannot be seen, so answers are reused only when asked for.
func (x *activeRun) openEndpoints(concurrency int) (*system, error) {
	rag := x.project.suite.System.RAG.HTTP
	retrieve, closeRetrieve, err := x.stageEndpoint(rag.Retrieve, x.resolved.Retrieve, concurrency)
	if err != nil {
		return nil, err
	}
	generate, closeGenerate, err := x.stageEndpoint(rag.Generate, x.resolved.Generate, concurrency)
	if err != nil {
		closeRetrieve()
		return nil, err
	}
	at := [2]string{x.place(x.resolved.Retrieve.URL), x.place(x.resolved.Generate.URL)}
	s := &system{
		close:  func() { closeRetrieve(); closeGenerate() },
		called: report.Clean(x.redact.String(httpsystem.PublicURL(x.resolved.Retrieve.URL) + " and " + httpsystem.PublicURL(x.resolved.Generate.URL))),
	}
	if x.resolved.Start == nil { // else the port is another one each time
		s.places = at[:]
	}
	stages := staged.Endpoints{Retrieval: retrieve, Generation: generate, Plain: len(rag.Retrieve.Artifacts) == 0, Passages: suite.Passages, Redact: x.redact}
	if err := x.assemble(s, stages, suite.Declared{}, strings.Join(s.places, " ")); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// stageEndpoint makes the endpoint of a stage, and what closes it.
func (x *activeRun) stageEndpoint(h *suite.HTTP, r *suite.ResolvedEndpoint, concurrency int) (*httpsystem.System, func(), error) {
	transport, closeTransport, err := x.connect(concurrency)
	if err != nil {
		return nil, nil, err
	}
	s, err := httpsystem.New(httpsystem.Config{
		URL: r.URL, Method: h.Method, Headers: r.Headers, Timeout: h.Timeout, MaxBody: h.MaxBody,
		Mapping: h.Mapping, Calls: r.Calls, UUID: (&uuids{random: x.env.Rand}).next,
		Concurrency: concurrency, UserAgent: "oloproof/" + Version(), Redact: x.redact, Limits: suite.Limits{Retries: suite.DefaultRetries},
		Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64, Transport: transport,
	})
	if err != nil {
		closeTransport()
		return nil, nil, err
	}
	return s, func() { s.Close(); closeTransport() }, nil
}

// stagedProgram makes a staged system of a program that offers the stages.
func (x *activeRun) stagedProgram(p *program) (*system, error) {
	declared, err := declaredBy(p.Hello())
	if err != nil {
		return nil, x.project.suite.Problem(x.project.suite.System.RAG.Pos, "%s", x.redact.String(err.Error()))
	}
	s := p.system()
	identity, err := evidence.ContentID("stage-program/v1", []any{string(p.code), s.declares()})
	if err != nil {
		return nil, err
	}
	stages := staged.Program{Client: p.Client, Redact: x.redact}
	return s, x.assemble(s, stages, declared, string(identity))
}

// assemble makes s the system that runs stages as the suite says, and else as
// they declare. identity tells the code behind them from another one's.
func (x *activeRun) assemble(s *system, stages staged.Stages, declared suite.Declared, identity string) (err error) {
	project := x.project.suite
	if s.staged, err = project.Staged(declared); err != nil {
		return err
	}
	if version := x.indexVersion(); version != "" {
		s.staged.IndexVersion = version
	}
	cfg := staged.Config{
		Stages: stages, Depth: s.staged.Depth, TopK: s.staged.TopK, TokenBudget: s.staged.TokenBudget,
		CitationsPath: s.staged.CitationsPath, Now: x.env.Now, Redact: x.redact,
	}
	switch s.staged.CountTokens {
	case suite.CountWords:
		cfg.Count = staged.Words
	case suite.CountQuarters:
		cfg.Count = staged.Quarters
	}
	side := func(domain string, more ...string) (id evidence.Digest) {
		if err == nil {
			id, err = evidence.ContentID(domain, append([]string{string(project.StagesDigest()), identity, x.deployedVersion()}, more...))
		}
		return id
	}
	cfg.Retrieval = side("stage-retrieve-code/v1", s.staged.IndexVersion)
	cfg.Generation = side("stage-generate-code/v1")
	if err != nil {
		return err
	}
	if s.staged.IndexVersion == "" && x.reuses(s) {
		s.notes = append(s.notes, "no index_version is declared, so earlier retrievals are reused until the code or its settings change: set system.rag.index_version, and change it with the index")
	}
	system, err := staged.New(cfg)
	s.System, s.stages = system, system
	return err
}

// declaredBy reads what a program says of itself as a staged system.
func declaredBy(hello process.Hello) (suite.Declared, error) {
	d := suite.Declared{CountsTokens: hello.Offers(process.MethodCountTokens)}
	for key, v := range evidence.Members(hello.Settings) {
		if evidence.IsNull(v) {
			continue
		}
		var err error
		switch key {
		case "depth":
			d.Depth, err = wholeSetting(v)
		case "top_k":
			d.TopK, err = wholeSetting(v)
		case "token_budget":
			var budget int
			budget, err = wholeSetting(v)
			d.TokenBudget = &budget
		case "index_version":
			d.IndexVersion, err = textSetting(v)
		case "citations_path":
			d.CitationsPath, err = textSetting(v)
		}
		if err != nil {
			return d, fmt.Errorf("the program declares %s wrongly: %v", key, err)
		}
	}
	return d, nil
}

func wholeSetting(v evidence.Value) (int, error) {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("want a whole number of at least 1, found %s", evidence.Shorten(v, 60))
	}
	return n, nil
}

func textSetting(v evidence.Value) (string, error) {
	text, ok := evidence.Text(v)
	if !ok || text == "" {
		return "", fmt.Errorf("want a text, found %s", evidence.Shorten(v, 60))
	}
	return text, nil
}

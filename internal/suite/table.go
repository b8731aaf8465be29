package suite

import (
	"slices"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Why a key of a suite is not taken.
const (
	notByThisTool = "not supported by this tool"
	notYet        = "not supported yet"
	ofPolicies    = "a key of policies: write it into release.yaml or compare.yaml"
)

// MaxConcurrency is the most calls in flight.
const MaxConcurrency = 10_000

// Patterns that mean the same in RE2 and in JSON Schema.
const (
	namePattern  = `^[A-Za-z_][A-Za-z0-9_]*$`
	tokenPattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" // RFC 9110 section 5.6.2
	kindPattern  = `^[a-z][a-z0-9_]*(/v[1-9][0-9]*)?$`
	slicePattern = `^(metadata\.[A-Za-z0-9_][A-Za-z0-9_.-]*|relevant_position|context_truncated)$`
)

// draft holds what only the checks of the whole suite need.
type draft struct {
	httpVersion          string
	systemKeys, httpKeys map[string]Position // of each key's value
	slicePos             []Position          // of each slice
}

// versionKey reports whether a version was written, be it a wrong one.
func (d *draft) versionKey() bool {
	_, system := d.systemKeys["version"]
	_, http := d.httpKeys["version"]
	return system || http
}

// Key returns the table of a suite's keys, for its JSON Schema and reference.
func Key() y.Type {
	return new(Suite).table(new(draft))
}

// table binds every key of a suite.
func (s *Suite) table(d *draft) y.Type {
	ignored := func(note string) y.Type {
		return y.Ignored(func(Position) { s.Notes = append(s.Notes, note) })
	}
	budget := &Budget{}
	return y.Mapping(y.Table{
		{Key: "version", Type: y.Const(1, "this is the only version of the format that there is"),
			Doc: "Version of the format."},
		{Key: "project", Type: y.Name(y.Into(&s.Project)), Required: true,
			Doc: "Name of the project, shown in reports."},
		{Key: "dataset", Type: y.Either(s.datasetPath("the path of a JSONL file"), s.dataForm()), Required: true,
			Doc: "Path of the data set, a JSONL file with one case a line, relative to the suite; or a mapping that says how to read another file."},
		{Key: "labels", Type: y.String(y.Into(&s.Labels)).Want("the path of a JSONL file").Check(oneLine).Default(DefaultLabels),
			Doc: "Path of the file with people's labels of answers that judges judged, relative to the suite. It need not be there."},
		{Key: "suite_role", Type: y.Enum(y.Into(&s.Role), "development", "adversarial", "measurement", "release"), Null: true,
			Doc: "What the suite is for. It is recorded; a policy may ask for release by require_suite_role."},
		{Key: "system", Type: s.System.table(d), Required: true,
			Doc: "The system under test."},
		{Key: "concurrency", Type: s.Concurrency.table(),
			Doc: "Bounds on calls in flight."},
		{Key: "evaluators", Type: y.List(y.Into(&s.Evaluators), (*Evaluator).table).Min(1), Required: true,
			Doc: "How answers are judged. Each evaluator becomes a metric with the name of its criterion."},
		{Key: "metrics", Type: y.List(y.Into(&s.Measures), (*Measure).table).Shown([]string{}),
			Doc: "Metrics beyond those of the evaluators."},
		{Key: "slices", Type: y.List(y.Into(&s.Slices), d.sliceName).Unique().Shown([]string{}),
			Doc: "Groups of cases that are also reported on their own: metadata.KEY is one slice for each value of that key. A staged system also has relevant_position (top_k, beyond_top_k, not_retrieved) and context_truncated (true, false)."},
		{Key: "min_slice_support", Type: y.Int(y.Into(&s.MinSliceSupport)).Min(1).Default(30),
			Doc: "Cases that a slice must have before it shows an interval."},
		{Key: "cache", Type: y.Bool(y.Into(&s.Cache)).Default(false),
			Doc: "Reuse answers of earlier runs of the same system, as --reuse does. A deployed endpoint is then not called again."},
		{Key: "replicates", Type: y.Const(1, "repeated calls are "+notYet),
			Doc: "Calls for each case."},
		{Key: "pricing", Type: y.List(y.Into(&s.Pricing), (*Price).table).Shown([]string{}),
			Doc: "What the models of judges cost, for reports and budget.usd."},
		{Key: "budget", Type: budget.table().At(func(at Position) { s.Budget, budget.Pos = budget, at }), Null: true,
			Doc: "Bounds on the calls of judges in one run. The run stops before the call that follows; what is under way is finished. The cases that are left make the run partial."},
		{Key: "egress", Type: ignored("egress has no effect: this tool sends nothing to a workspace"),
			Doc: "Accepted and ignored."},
		{Key: "export_key", Type: ignored("export_key has no effect: this tool keys no digest"),
			Doc: "Accepted and ignored."},
		y.Refused("version_from", "a key of system: write system.version_from"),
		y.Refused("rules", ofPolicies),
		y.Refused("predictive", notByThisTool),
		y.Refused("adversarial", notByThisTool),
		y.Refused("metamorphic", notByThisTool),
	}).Keys(y.Into(&s.KeyPos))
}

func (c *Concurrency) table() y.Type {
	return y.Mapping(y.Table{
		{Key: "system", Type: y.Int(y.Into(&c.System)).Min(1).Max(MaxConcurrency).Default(8), Doc: "Calls of the system in flight."},
		{Key: "judge", Type: y.Int(y.Into(&c.Judge)).Min(1).Max(MaxConcurrency).Default(4), Doc: "Calls of a judge in flight."},
	})
}

func (s *System) table(d *draft) y.Type {
	http := &HTTP{}
	command, callable, rag := &Command{}, &Callable{}, &RAG{}
	start, from := &Start{}, &VersionFrom{}
	return y.Mapping(y.Table{
		{Key: "name", Type: y.Name(y.Into(&s.Name)), Required: true,
			Doc: "Name of the system, shown in reports."},
		{Key: "version", Type: y.Name(y.Into(&s.Version)), Null: true,
			Doc: "Version of the deployed system. Part of its identity: change it with every deployment."},
		{Key: "config", Type: y.JSON(y.Into(&s.Config)).Object(), Null: true,
			Doc: "Free settings that belong to the system's identity, such as a model name."},
		{Key: "http", Type: overPreset(http.table(d).At(func(Position) { s.HTTP = http })),
			Doc: "A system that answers over HTTP. The input of a case is sent as the JSON body."},
		{Key: "command", Type: command.table().At(func(at Position) { s.Command, command.Pos = command, at }),
			Doc: "A system that is a program in any language: it stays up and answers JSON lines on its standard streams."},
		{Key: "callable", Type: targetType(func(text string) { s.Callable, callable.Target = callable, text }).At(y.Into(&callable.Pos)),
			Doc: "A system that is a Python function, as MODULE:FUNCTION; modules are looked for beside the suite first."},
		{Key: "rag", Type: rag.table().At(func(at Position) { s.RAG, rag.Pos = rag, at }),
			Doc: "A staged system, whose retrieval and generation are called apart."},
		{Key: "start", Type: start.table().At(func(at Position) { s.Start, start.Pos = start, at }), Null: true,
			Doc: "A service to launch before the first case and to end after the last. Not launched with --url."},
		{Key: "records", Type: y.List(y.Into(&s.Records), recordTable).Unique(), Null: true,
			Doc: "Kinds of artifact that a program or callable records. Without it the program itself may say so."},
		{Key: "timeout_s", Type: y.Seconds(y.Into(&s.Timeout)).Default(ProgramTimeout.Seconds()),
			Doc: "Deadline of one answer of a Python system, in seconds."},
		{Key: "code_paths", Type: y.List(y.Into(&s.CodePaths), codePathTable), Null: true,
			Doc: "Files, directories and patterns that a program is made of, relative to the suite. Their bytes are its identity."},
		{Key: "version_from", Type: from.table().At(func(at Position) { s.VersionFrom, from.Pos = from, at }), Null: true,
			Doc: "Where the service says which version is deployed, in place of version. It is read before the first case and after the last: a run in which it changes cannot PASS."},
		y.Refused("recorded", notYet),
		y.Refused("held", notByThisTool),
		y.Refused("per_step", notByThisTool),
		y.Refused("simulated_user", notByThisTool),
		y.Refused("environment", notByThisTool),
	}).At(y.Into(&s.Pos)).Keys(y.Into(&d.systemKeys)).OneOf(systemKinds...)
}

func (h *HTTP) table(d *draft) *y.MapType {
	return y.Mapping(slices.Concat(y.Table{
		{Key: "url", Type: y.String(y.Into(&h.URL)).Want("an http or https URL").Check(staticURL).At(y.Into(&h.URLPos)), Required: true,
			Doc: "URL that is called for every case, http or https. ${NAME} is read from the environment; with system.start, ${PORT} is a free port. --url overrides it."},
		{Key: "preset", Type: y.String(y.Into(&h.Preset)).Want("the name of a preset"), Null: true,
			Doc: "A well-known service whose requests and answers are known: every other key is laid over those of the preset. probe --list-presets lists them."},
		{Key: "method", Type: y.Enum(y.Into(&h.Method), "POST", "GET", "PUT").Default("POST"),
			Doc: "HTTP method."},
		{Key: "headers", Type: y.Entries(y.Into(&h.Headers), tokenPattern, "a header name (letters, digits and hyphens)", headerTable),
			Doc: "Request headers. ${NAME} in a value is read from the environment and never stored."},
		{Key: "output_path", Type: y.String(y.Into(&h.OutputPath)).Want("a dotted path").Check(dottedPath), Null: true,
			Doc: "Where the output stands in the response, as a dotted path; the whole body when absent."},
		{Key: "version", Type: y.Name(y.Into(&d.httpVersion)), Null: true,
			Doc: "Version of the deployed system, when system.version is absent."},
		{Key: "timeout_s", Type: y.Seconds(y.Into(&h.Timeout)).Default(30),
			Doc: "Deadline of one attempt in seconds, from the connection to the last byte."},
		{Key: "max_body_bytes", Type: y.Int(func(n int) { h.MaxBody = int64(n) }).Min(1).Default(32 << 20),
			Doc: "Largest response body that is read, in bytes; a larger one is an errored case."},
		{Key: "gold_context", Type: h.goldContext(), Null: true,
			Doc: "How the endpoint is asked for an answer from passages that it is given, for diagnose: a request with {{passages}}, or {{texts}}, in its body."},
	}, h.mappingTable(), h.accessTable())).Keys(func(at map[string]Position) { d.httpKeys, h.KeyPos = at, at })
}

func headerTable(name string, at Position, h *Header) y.Type {
	h.Name, h.Pos = name, at
	return y.String(y.Into(&h.Value)).Empty().Check(headerValue).Check(sameForAll).Check(references)
}

func (t *Start) table() *y.MapType {
	return y.Mapping(y.Table{
		{Key: "command", Type: y.List(y.Into(&t.Command), word).Min(1), Required: true,
			Doc: "Program and arguments, no shell. ${OLOPROOF_BIN} is this program, ${PORT} a free port, other ${NAME} come from the environment."},
		{Key: "ready", Type: y.String(y.Into(&t.Ready)).Want("a URL or HOST:PORT").Check(readyAddress), Required: true,
			Doc: "URL or HOST:PORT that answers once the service is up."},
		{Key: "timeout_s", Type: y.Seconds(func(d time.Duration) { t.Timeout = d }).Default(30),
			Doc: "Seconds until ready must answer."},
		{Key: "env", Type: y.Entries(y.Into(&t.Env), namePattern, "a variable name (letters, digits and underscores)", variableTable), Doc: "Variables added to the environment of the service; ${NAME} as in command."},
	})
}

func (d *draft) sliceName(into *string) y.Type {
	return y.String(y.Into(into)).SchemaPattern(slicePattern).Check(checkSlice).At(func(at Position) { d.slicePos = append(d.slicePos, at) })
}

// Types of metrics that are measured.
const (
	typeQuantile  = "quantile"
	typeMean      = "mean"
	typeErrorRate = "error_rate"
)

func (q *Measure) table() y.Type {
	id := y.Field{Key: "id", Type: y.Name(y.Into(&q.ID)), Required: true, Doc: "Name of the metric."}
	source := y.Field{Key: "source", Type: y.Enum(y.Into(&q.Source), "latency_ms", "first_token_ms", "input_tokens", "output_tokens", "cost_usd").
		Refuse(notByThisTool, "agent_steps", "agent_tool_calls"), Required: true,
		Doc: "What is measured: latency_ms is the time of the attempt that answered, first_token_ms that to the first text of a stream, in milliseconds; tokens and cost are what the system says the answer took."}
	price := &evidence.Prices{}
	prices := y.Field{Key: "prices", Type: y.Mapping(y.Table{
		{Key: "input_per_mtok", Type: y.Number(y.Into(&price.Input)).Min(0), Required: true, Doc: "USD for a million tokens of input."},
		{Key: "output_per_mtok", Type: y.Number(y.Into(&price.Output)).Min(0), Required: true, Doc: "USD for a million tokens of output."},
	}).At(func(Position) { q.Prices = price }),
		Doc: "For cost_usd: what tokens cost, for a system that says tokens and no cost."}
	optional := id
	optional.Required, optional.Doc = false, id.Doc+" error_rate when absent."
	return y.Variants("type", "metric", y.Into(&q.Type),
		y.Variant{Name: typeQuantile, Doc: "A quantile of a measured quantity.", Table: y.Table{id, source,
			{Key: "quantile", Type: y.Number(y.Into(&q.Quantile)).Above(0).Below(1).Hint(y.AsShare), Required: true,
				Doc: "Which quantile, such as 0.95."},
			prices,
		}},
		y.Variant{Name: typeMean, Doc: "The mean of a measured quantity.", Table: y.Table{id, source,
			{Key: "range", Type: y.List(y.Into(&q.ends), func(x *float64) y.Type { return y.Number(y.Into(x)).Min(0) }).Min(2),
				Doc: "The least and the largest value that there can be, [LEAST, LARGEST]. Without it a mean has no upper limit."},
			prices,
		}},
		y.Variant{Name: typeErrorRate, Doc: "Share of the cases whose execution errored.", Table: y.Table{optional}},
	).At(y.Into(&q.Pos)).Keys(y.Into(&q.KeyPos)).
		Refuse(notYet, "every_replicate").
		Refuse(notByThisTool, "every_criterion", "ranking", "human_score", "human_preference", "human_difference", "cost_per_accepted")
}

// complete fills in what depends on other keys, and says what is wrong with
// the range.
func (q *Measure) complete() (key, fault string) {
	if q.Type == typeErrorRate {
		q.Source = evidence.SourceError
		if q.ID == "" {
			q.ID = typeErrorRate
		}
	}
	if q.Prices != nil && q.Source != evidence.SourceCost {
		return "prices", "prices are for the source cost_usd"
	}
	if q.ends == nil {
		return "", ""
	}
	if len(q.ends) != 2 || !(q.ends[0] < q.ends[1]) {
		return "range", "the range must be two numbers, the smaller one first: [LEAST, LARGEST]"
	}
	q.Range = [2]float64{q.ends[0], q.ends[1]}
	return "", ""
}

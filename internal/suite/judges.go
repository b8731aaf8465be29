package suite

import (
	"cmp"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Types of evaluators that ask a model.
const (
	TypeRubricJudge          = "rubric_judge"
	TypeGroundednessJudge    = "groundedness_judge"
	TypeCitationSupportJudge = "citation_support_judge"
	TypeProbabilityJudge     = "probability_judge"
	TypeCascade              = "cascade"
)

// Providers of judges.
const (
	ProviderOpenAI           = "openai"
	ProviderOpenAICompatible = "openai_compatible"
	ProviderAnthropic        = "anthropic"
)

// Forms of the question of a probability judge.
const (
	FormYesNo  = "yes_no"
	FormChoice = "choice"
	FormScore  = "score"
)

// PromptVersion is the newest version of the prompts that judges are asked with.
const PromptVersion = 1

// maxAnswers is how many options or levels there are letters for.
const maxAnswers = 20

// Judge is how an evaluator asks a model. Which fields hold depends on the type.
type Judge struct {
	Provider        string
	Model           string
	BaseURL         string // as written, with ${NAME}; the provider's own when absent
	APIKeyEnv       string // variable that holds the key; the provider's own when absent
	Timeout         time.Duration
	Prompt          int     // version of the prompt
	Rubric          string  // as written, or the content of RubricFile; "" is the type's own
	RubricFile      string  // as written, or ""
	Temperature     float64 // judges that reply in text
	SendTemperature bool
	MaxTokens       int

	Question       string // of a probability judge
	Form           string
	MinProbability float64
	Options        []Answer // form choice
	PassOptions    []string
	Levels         []Answer // form score, lowest first
	PassAtLeast    string
	Order          []string // of options or levels, when it is not that of the file
	Calibration    *Calibration
}

// Answer is an option or a level, with what it means.
type Answer struct{ Name, Meaning string }

// Calibration maps the log odds of a probability judge: slope · logit + intercept.
type Calibration struct {
	Slope, Intercept float64
	FromVersion      string // evaluator digest that it was fitted to
}

// Cascade asks a second judge where the first one is unsure.
type Cascade struct {
	First, Then     *Evaluator
	EscalateBetween [2]float64
}

// Price is what the tokens of a model cost, in USD for a million.
type Price struct {
	Model         string
	Input, Output float64
	Pos           Position
}

// Budget bounds the calls of judges of one run. What is nil is not bounded.
type Budget struct {
	ModelCalls, Tokens *int
	USD                *float64
	Pos                Position
}

// Reads says what an evaluator that asks a model shows to it.
type Reads struct{ Input, Expected, Output, Context, Citations bool }

// Reads returns what the judge reads.
func (e *Evaluator) Reads() Reads {
	switch e.Type {
	case TypeGroundednessJudge:
		return Reads{Input: true, Output: true, Context: true}
	case TypeCitationSupportJudge:
		return Reads{Input: true, Output: true, Context: true, Citations: true}
	case TypeRubricJudge, TypeProbabilityJudge, TypeCascade:
		return Reads{Input: true, Output: true, Expected: true}
	}
	return Reads{}
}

// AsksModel reports whether evaluators of a type ask a model.
func AsksModel(evaluatorType string) bool {
	switch evaluatorType {
	case TypeRubricJudge, TypeGroundednessJudge, TypeCitationSupportJudge, TypeProbabilityJudge, TypeCascade:
		return true
	}
	return false
}

// Stages lists the evaluators that an evaluator asks models by: itself, or the
// stages of a cascade; none when it asks no model.
func (e *Evaluator) Stages() []*Evaluator {
	switch {
	case e.Cascade != nil:
		return slices.DeleteFunc([]*Evaluator{e.Cascade.First, e.Cascade.Then}, func(e *Evaluator) bool { return e == nil })
	case e.Judge != nil:
		return []*Evaluator{e}
	}
	return nil
}

// judges lists everything in the suite that asks a model.
func (s *Suite) judges() []*Evaluator {
	var all []*Evaluator
	for i := range s.Evaluators {
		all = append(all, s.Evaluators[i].Stages()...)
	}
	return all
}

// Judged reports whether some evaluator asks a model.
func (s *Suite) Judged() bool { return len(s.judges()) > 0 }

func (e *Evaluator) judgeVariants() []y.Variant {
	return []y.Variant{
		e.variant(TypeRubricJudge, "A model decides by a rubric of yours whether the output passes. It reads input, expected and output.",
			e.judgeKeys(e.rubricKeys(true), e.criterion(), e.onError())...),
		e.variant(TypeGroundednessJudge, "A model decides whether the passages that reached the answering model carry the output. It reads input, context and output, not expected.",
			e.judgeKeys(e.rubricKeys(false), e.criterionOr("groundedness"), e.onError())...),
		e.variant(TypeCitationSupportJudge, "A model decides whether the passages that the output cites carry what they are cited for. It reads input, context, citations and output.",
			e.judgeKeys(e.rubricKeys(false), e.criterionOr("citation_support"), e.onError())...),
		e.variant(TypeProbabilityJudge, "A model answers a question with one token, and the probabilities of the possible answers decide. It reads input, expected and output.",
			e.judgeKeys(e.probabilityKeys(), e.criterion(), e.onError())...),
		e.variant(TypeCascade, "A probability judge, and where it is unsure a second judge.",
			e.criterion(),
			y.Field{Key: "first", Type: e.stage(func(c *Cascade, stage *Evaluator) { c.First = stage }, TypeProbabilityJudge), Required: true,
				Doc: "The judge that is asked first, a probability_judge. It needs no criterion of its own."},
			y.Field{Key: "then", Type: e.stage(func(c *Cascade, stage *Evaluator) { c.Then = stage }, TypeRubricJudge, TypeProbabilityJudge), Required: true,
				Doc: "The judge that decides where the first one is unsure."},
			y.Field{Key: "escalate_between", Type: y.List(func(band []float64) {
				if len(band) == 2 {
					e.cascade().EscalateBetween = [2]float64{band[0], band[1]}
				}
			}, func(into *float64) y.Type { return y.Number(y.Into(into)).Min(0).Max(1).Hint(y.AsShare) }).Min(2), Required: true,
				Doc: "[low, high]: probabilities of the first judge, ends included, at which the second one decides. min_probability of the first one lies between."},
			e.onError()),
	}
}

func (e *Evaluator) cascade() *Cascade {
	if e.Cascade == nil {
		e.Cascade = &Cascade{}
	}
	return e.Cascade
}

// stage binds one judge of a cascade.
func (e *Evaluator) stage(set func(*Cascade, *Evaluator), types ...string) y.Type {
	stage := &Evaluator{}
	optional := stage.criterion()
	optional.Required, optional.Null = false, true
	optional.Doc = "That of the cascade, if it is written."
	variants := map[string]y.Variant{
		TypeRubricJudge:      stage.variant(TypeRubricJudge, "A model decides by a rubric.", stage.judgeKeys(stage.rubricKeys(true), optional)...),
		TypeProbabilityJudge: stage.variant(TypeProbabilityJudge, "A model answers with one token.", stage.judgeKeys(stage.probabilityKeys(), optional)...),
	}
	var chosen []y.Variant
	for _, t := range types {
		chosen = append(chosen, variants[t])
	}
	return y.Variants("type", "judge", func(name string) { stage.Type = name; set(e.cascade(), stage) }, chosen...).
		At(y.Into(&stage.Pos)).Keys(y.Into(&stage.KeyPos))
}

func (e *Evaluator) judge() *Judge {
	if e.Judge == nil {
		e.Judge = &Judge{}
	}
	return e.Judge
}

// setJudge is a function that sets something of the judge.
func setJudge[T any](e *Evaluator, set func(*Judge, T)) func(T) {
	return func(v T) { set(e.judge(), v) }
}

// judgeKeys lists the keys of every judge, with those of its kind.
func (e *Evaluator) judgeKeys(own []y.Field, around ...y.Field) []y.Field {
	fields := []y.Field{around[0]}
	fields = append(fields,
		y.Field{Key: "provider", Type: y.Enum(setJudge(e, func(j *Judge, s string) { j.Provider = s }), ProviderOpenAI, ProviderOpenAICompatible, ProviderAnthropic), Required: true,
			Doc: "Whose API is called: openai, anthropic, or openai_compatible for another server that speaks OpenAI's chat completions."},
		y.Field{Key: "model", Type: y.Name(setJudge(e, func(j *Judge, s string) { j.Model = s })), Required: true,
			Doc: "Name of the model, as the provider takes it. A dated one changes least."},
	)
	fields = append(fields, own...)
	fields = append(fields,
		y.Field{Key: "base_url", Type: y.String(setJudge(e, func(j *Judge, s string) { j.BaseURL = s })).Want("an http or https URL").Check(staticURL), Null: true,
			Doc: "Where the API is, up to and without /chat/completions or /messages. ${NAME} and, with system.start, ${PORT} as in system.http.url. The provider's own when absent; openai_compatible needs it."},
		y.Field{Key: "api_key_env", Type: y.String(setJudge(e, func(j *Judge, s string) { j.APIKeyEnv = s })).Want("the name of an environment variable").Secret().SchemaPattern(namePattern).Check(variableName), Null: true,
			Doc: "Environment variable that holds the key: OPENAI_API_KEY or ANTHROPIC_API_KEY when absent. It is read when the judge is called; a server on this machine may do without."},
		y.Field{Key: "timeout_s", Type: y.Seconds(setJudge(e, func(j *Judge, d time.Duration) { j.Timeout = d })).Default(60),
			Doc: "Deadline of one attempt in seconds."},
		y.Field{Key: "prompt", Type: y.Int(setJudge(e, func(j *Judge, n int) { j.Prompt = n })).Min(1).Max(PromptVersion).Default(PromptVersion),
			Doc: "Version of the prompt, which oloproof judge show prints. The newest when absent."},
	)
	return append(fields, around[1:]...)
}

func (e *Evaluator) rubricKeys(required bool) []y.Field {
	doc := " One of rubric_text and rubric_file."
	if !required {
		doc = " At most one of rubric_text and rubric_file; a rubric of ours when both are absent."
	}
	return []y.Field{
		{Key: "rubric_text", Type: y.String(setJudge(e, func(j *Judge, s string) { j.Rubric = s })).Check(notBlank), Null: true,
			Doc: "What passes and what fails, in words for the model." + doc},
		{Key: "rubric_file", Type: y.String(setJudge(e, func(j *Judge, s string) { j.RubricFile = s })).Want("the path of a text file").Check(oneLine), Null: true,
			Doc: "File that holds the rubric, relative to the suite."},
		{Key: "temperature", Type: y.Number(setJudge(e, func(j *Judge, v float64) { j.Temperature = v })).Min(0).Max(2).Default(0),
			Doc: "Temperature that is asked for."},
		{Key: "send_temperature", Type: y.Bool(setJudge(e, func(j *Judge, b bool) { j.SendTemperature = b })).Default(true),
			Doc: "Whether temperature is sent. Some models refuse it."},
		{Key: "max_tokens", Type: y.Int(setJudge(e, func(j *Judge, n int) { j.MaxTokens = n })).Min(1).Default(512),
			Doc: "Most tokens of a reply."},
	}
}

func (e *Evaluator) probabilityKeys() []y.Field {
	answers := func(set func(*Judge, []Answer)) y.Type {
		return y.Entries(setJudge(e, set), `^.+$`, "a name", func(name string, _ Position, a *Answer) y.Type {
			a.Name = name
			return y.String(y.Into(&a.Meaning)).Empty()
		})
	}
	return []y.Field{
		{Key: "question", Type: y.String(setJudge(e, func(j *Judge, s string) { j.Question = s })).Check(notBlank), Required: true,
			Doc: "What the model is asked about the output."},
		{Key: "form", Type: y.Enum(setJudge(e, func(j *Judge, s string) { j.Form = s }), FormYesNo, FormChoice, FormScore), Required: true,
			Doc: "How it is answered: yes_no, choice of options, or score on levels."},
		{Key: "min_probability", Type: y.Number(setJudge(e, func(j *Judge, v float64) { j.MinProbability = v })).Above(0).Max(1).Hint(y.AsShare), Required: true,
			Doc: "Passes when the answers that pass have at least this probability together."},
		{Key: "options", Type: answers(func(j *Judge, a []Answer) { j.Options = a }), Null: true,
			Doc: "form choice: each option and what it means, at least two."},
		{Key: "pass_options", Type: y.List(setJudge(e, func(j *Judge, s []string) { j.PassOptions = s }), func(s *string) y.Type { return y.String(y.Into(s)) }).Min(1).Unique(), Null: true,
			Doc: "form choice: the options that pass."},
		{Key: "levels", Type: answers(func(j *Judge, a []Answer) { j.Levels = a }), Null: true,
			Doc: "form score: each level and what it means, lowest first, at least two."},
		{Key: "pass_at_least", Type: y.String(setJudge(e, func(j *Judge, s string) { j.PassAtLeast = s })), Null: true,
			Doc: "form score: the lowest level that passes."},
		{Key: "order", Type: y.List(setJudge(e, func(j *Judge, s []string) { j.Order = s }), func(s *string) y.Type { return y.String(y.Into(s)) }).Unique(), Null: true,
			Doc: "Order in which options or levels get their letters; that of the file when absent."},
		{Key: "calibration", Type: e.calibration(), Null: true,
			Doc: "Corrects the log odds of the model: slope · log odds + intercept, as fitted to labels."},
	}
}

func (e *Evaluator) calibration() y.Type {
	c := &Calibration{}
	return y.Mapping(y.Table{
		{Key: "slope", Type: y.Number(y.Into(&c.Slope)).Above(0), Required: true, Doc: "Above 0."},
		{Key: "intercept", Type: y.Number(y.Into(&c.Intercept)), Required: true, Doc: "Added to the log odds."},
		{Key: "from_version", Type: y.Name(y.Into(&c.FromVersion)), Required: true, Doc: "Content id of the evaluator that it was fitted to."},
	}).At(func(Position) { e.judge().Calibration = c })
}

func (b *Budget) table() *y.MapType {
	return y.Mapping(y.Table{
		{Key: "model_calls", Type: y.Int(y.Opt(&b.ModelCalls)).Min(1), Doc: "Calls of judges."},
		{Key: "tokens", Type: y.Int(y.Opt(&b.Tokens)).Min(1), Doc: "Tokens in and out, as the providers count them."},
		{Key: "usd", Type: y.Number(y.Opt(&b.USD)).Above(0), Doc: "Cost by pricing, which every model then needs."},
	}).Schema(y.Schema{"minProperties": 1})
}

func (p *Price) table() y.Type {
	return y.Mapping(y.Table{
		{Key: "model", Type: y.Name(y.Into(&p.Model)), Required: true, Doc: "Name of the model, exactly as the judge has it."},
		{Key: "input_per_mtok", Type: y.Number(y.Into(&p.Input)).Min(0), Required: true, Doc: "USD for a million tokens of prompts."},
		{Key: "output_per_mtok", Type: y.Number(y.Into(&p.Output)).Min(0), Required: true, Doc: "USD for a million tokens of replies."},
	}).At(y.Into(&p.Pos))
}

// variableName does not repeat the text: it may be a key.
func variableName(text string) string {
	if !regexp.MustCompile(namePattern).MatchString(text) {
		return "KEY must be the name of an environment variable, such as OPENAI_API_KEY; if it is the key itself, replace the key, since others may have read the file"
	}
	return ""
}

func notBlank(text string) string {
	if strings.TrimSpace(text) == "" {
		return "KEY holds nothing but white space"
	}
	return ""
}

// completeJudge fills in what depends on the provider.
func (e *Evaluator) completeJudge() {
	for _, stage := range e.Stages() {
		j := stage.judge()
		if stage != e {
			stage.Criterion = cmp.Or(stage.Criterion, e.Criterion)
		}
		j.inOrder(j.Options)
		j.inOrder(j.Levels)
		if j.APIKeyEnv == "" {
			j.APIKeyEnv = "OPENAI_API_KEY"
			if j.Provider == ProviderAnthropic {
				j.APIKeyEnv = "ANTHROPIC_API_KEY"
			}
		}
	}
}

// BaseURL of a provider when the suite names none.
func providerURL(provider string) string {
	switch provider {
	case ProviderOpenAI:
		return "https://api.openai.com/v1"
	case ProviderAnthropic:
		return "https://api.anthropic.com/v1"
	}
	return ""
}

// Endpoint is the URL of the judge's API as written; the provider's own when none is.
func (j *Judge) Endpoint() string { return cmp.Or(j.BaseURL, providerURL(j.Provider)) }

// checkJudges finds what is wrong across the keys of judges.
func (s *Suite) checkJudges(f *y.File, readFile func(string) ([]byte, error)) {
	priced := map[string]bool{}
	for _, p := range s.Pricing {
		if priced[p.Model] {
			f.Problem(p.Pos, "pricing has the model %s twice: remove one", p.Model)
		}
		priced[p.Model] = true
	}
	for i := range s.Evaluators {
		e := &s.Evaluators[i]
		if e.Cascade != nil {
			s.checkCascade(f, e)
		}
		for _, stage := range e.Stages() {
			s.checkJudge(f, stage, readFile)
			if s.Budget != nil && s.Budget.USD != nil && !priced[stage.Judge.Model] && stage.Judge.Model != "" {
				f.Problem(stage.at("model"), "the model %s has no price, so budget.usd cannot be kept: add it to pricing", stage.Judge.Model)
			}
		}
	}
	switch b := s.Budget; {
	case b == nil:
	case b.ModelCalls == nil && b.Tokens == nil && b.USD == nil:
		f.Problem(b.Pos, "budget bounds nothing: set model_calls, tokens or usd")
	case !s.Judged():
		s.Notes = append(s.Notes, "budget has no effect: it bounds the calls of judges, and no evaluator is one")
	}
	if len(s.Pricing) > 0 && !s.Judged() {
		s.Notes = append(s.Notes, "pricing has no effect: it prices the calls of judges, and no evaluator is one")
	}
}

func (s *Suite) checkJudge(f *y.File, e *Evaluator, readFile func(string) ([]byte, error)) {
	j := e.Judge
	if j.Provider == ProviderOpenAICompatible && j.BaseURL == "" && !written(e, "base_url") {
		f.Problem(e.Pos, "%s: the provider openai_compatible needs base_url, such as http://localhost:11434/v1", e.Type)
	}
	if u, err := url.Parse(j.BaseURL); err == nil && u.User != nil { // one of variables does not parse, and is not stored
		f.Problem(e.at("base_url"), "base_url holds a user or a password, which would be stored with every run: remove it, and give the key in the environment variable that api_key_env names")
	}
	if u, err := url.Parse(placeholders(j.BaseURL)); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		f.Problem(e.at("base_url"), "base_url has a query or a fragment, which no API path can follow: remove it")
	}
	if e.Type == TypeProbabilityJudge {
		s.checkProbability(f, e)
		return
	}
	switch text, file := written(e, "rubric_text"), written(e, "rubric_file"); {
	case text && file:
		f.Problem(e.at("rubric_file"), "both rubric_text and rubric_file are given: remove one")
	case e.Type == TypeRubricJudge && !text && !file:
		f.Problem(e.Pos, "rubric_judge needs a rubric: add rubric_text or rubric_file")
	case j.RubricFile != "":
		s.readRubric(f, e, readFile)
	}
}

func written(e *Evaluator, key string) bool {
	_, ok := e.KeyPos[key]
	return ok
}

func (s *Suite) readRubric(f *y.File, e *Evaluator, readFile func(string) ([]byte, error)) {
	path := e.Judge.RubricFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	data, err := readFile(path)
	switch {
	case err != nil:
		f.Problem(e.at("rubric_file"), "the rubric cannot be read: %s", y.Cause(err))
		return
	case strings.TrimSpace(string(data)) == "":
		f.Problem(e.at("rubric_file"), "the rubric %s is empty", path)
		return
	case strings.ToValidUTF8(string(data), "") != string(data):
		f.Problem(e.at("rubric_file"), "the rubric %s is not UTF-8 text", path)
		return
	}
	e.Judge.Rubric = strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
}

func (s *Suite) checkProbability(f *y.File, e *Evaluator) {
	j := e.Judge
	if j.Provider == ProviderAnthropic {
		f.Problem(e.at("provider"), "anthropic reports no probabilities of tokens: a probability_judge needs openai, or openai_compatible with a server that reports them")
	}
	other := map[string][]string{
		FormYesNo:  {"options", "pass_options", "levels", "pass_at_least"},
		FormChoice: {"levels", "pass_at_least"},
		FormScore:  {"options", "pass_options"},
	}
	for _, key := range other[j.Form] {
		if written(e, key) {
			f.Problem(e.at(key), "%s does not belong to form %s: remove it", key, j.Form)
			return
		}
	}
	var names []string
	for _, a := range slices.Concat(j.Options, j.Levels) {
		names = append(names, a.Name)
	}
	if len(j.Order) > 0 && !slices.Equal(slices.Sorted(slices.Values(j.Order)), slices.Sorted(slices.Values(names))) {
		f.Problem(e.at("order"), "order must name every option or level once")
		return
	}
	passing := len(j.PassOptions)
	switch j.Form {
	case FormChoice:
		if len(names) < 2 {
			f.Problem(e.at("options"), "form choice needs at least two options")
			return
		}
		if passing == 0 {
			f.Problem(e.at("pass_options"), "form choice needs pass_options, the options that pass")
			return
		}
		for _, p := range j.PassOptions {
			if !slices.Contains(names, p) {
				f.Problem(e.at("pass_options"), "pass_options names %q, which is none of the options", p)
				return
			}
		}
	case FormScore:
		at := slices.Index(names, j.PassAtLeast)
		if len(names) < 2 {
			f.Problem(e.at("levels"), "form score needs at least two levels, the lowest first")
			return
		}
		if at < 0 {
			f.Problem(e.at("pass_at_least"), "pass_at_least must name one of the levels")
			return
		}
		passing = len(names) - at
	}
	switch {
	case len(names) > maxAnswers:
		f.Problem(e.Pos, "%d answers are more than the %d that have a letter of their own", len(names), maxAnswers)
	case len(names) > 0 && passing == len(names):
		f.Problem(e.Pos, "every answer passes, so the question decides nothing")
	}
}

func (s *Suite) checkCascade(f *y.File, e *Evaluator) {
	c := e.Cascade
	for _, stage := range []*Evaluator{c.First, c.Then} {
		if stage != nil && stage.Criterion != e.Criterion && written(stage, "criterion") {
			f.Problem(stage.at("criterion"), "the stages of a cascade judge its own criterion, %s: leave criterion out", e.Criterion)
		}
	}
	low, high := c.EscalateBetween[0], c.EscalateBetween[1]
	switch {
	case !written(e, "escalate_between") || c.First == nil || c.First.Judge == nil:
	case low == 0 && high == 0:
		f.Problem(e.at("escalate_between"), "escalate_between must be [low, high], two probabilities")
	case low >= high:
		f.Problem(e.at("escalate_between"), "escalate_between is [%v, %v]: the first must be below the second", low, high)
	case c.First.Judge.MinProbability < low || c.First.Judge.MinProbability > high:
		f.Problem(e.at("escalate_between"), "escalate_between [%v, %v] must contain min_probability of the first judge, %v: else its confident verdicts would contradict each other", low, high, c.First.Judge.MinProbability)
	}
}

// judgeMeaning is what makes a judge the instrument that it is.
func (e *Evaluator) judgeMeaning() meaning {
	j := e.Judge
	m := meaning{"provider": j.Provider, "model": j.Model, "prompt": j.Prompt, "base_url": orNull(j.BaseURL)}
	if e.Type != TypeProbabilityJudge {
		m["rubric_text"] = orNull(j.Rubric)
		m["temperature"], m["send_temperature"], m["max_tokens"] = j.Temperature, j.SendTemperature, j.MaxTokens
		return m
	}
	m["question"], m["form"], m["min_probability"] = j.Question, j.Form, j.MinProbability
	switch j.Form {
	case FormChoice:
		m["options"], m["pass_options"] = answersMeaning(j.Options), slices.Sorted(slices.Values(j.PassOptions))
		m["order"] = answerNames(j.Options)
	case FormScore:
		m["levels"], m["pass_at_least"] = answersMeaning(j.Levels), j.PassAtLeast
		m["order"] = answerNames(j.Levels)
	}
	if c := j.Calibration; c != nil {
		m["calibration"] = meaning{"slope": c.Slope, "intercept": c.Intercept, "from_version": c.FromVersion}
	}
	return m
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func answerNames(answers []Answer) []string {
	names := make([]string, len(answers))
	for i, a := range answers {
		names[i] = a.Name
	}
	return names
}

// inOrder puts answers into the order that is written, if one is.
func (j *Judge) inOrder(answers []Answer) {
	if len(j.Order) == len(answers) {
		slices.SortStableFunc(answers, func(a, b Answer) int {
			return cmp.Compare(slices.Index(j.Order, a.Name), slices.Index(j.Order, b.Name))
		})
	}
}

// answersMeaning loses the order of the answers, which their letters follow.
func answersMeaning(answers []Answer) meaning {
	m := meaning{}
	for _, a := range answers {
		m[a.Name] = a.Meaning
	}
	return m
}

// stageMeaning is a stage of a cascade, in the keys of the suite.
func (e *Evaluator) stageMeaning() meaning {
	m := e.judgeMeaning()
	m["type"] = e.Type
	return m
}

// StageDigest is the content id of a stage of an evaluator as an instrument, its
// criterion left out. Verdicts are cached under it.
func (e *Evaluator) StageDigest() evidence.Digest { return contentID("judge/v1", e.stageMeaning()) }

// Connection is where and with what a judge is called.
type Connection struct {
	URL string // of the API, without a slash at its end
	Key string // "" when the variable is unset or empty
}

// NeedsKey reports whether the API may not be called without a key: it may when
// it is on this machine.
func (c Connection) NeedsKey() bool {
	u, err := url.Parse(c.URL)
	if err != nil {
		return true
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback())
}

// connections resolves where the judges are called.
func (x *expander) connections(s *Suite) map[*Judge]Connection {
	var all map[*Judge]Connection
	for _, e := range s.judges() {
		j := e.Judge
		c := Connection{URL: providerURL(j.Provider)}
		if j.BaseURL != "" {
			c.URL = x.expand("base_url", j.BaseURL, e.at("base_url"), checkURL)
		}
		c.URL = strings.TrimRight(c.URL, "/")
		if key, ok := x.lookup(j.APIKeyEnv); ok && key != "" {
			c.Key = strings.TrimSpace(key)
			x.secrets = append(x.secrets, c.Key)
		}
		if all == nil {
			all = map[*Judge]Connection{}
		}
		all[j] = c
	}
	return all
}

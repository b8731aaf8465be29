package evidence

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// The states of a judgment in the files of a run.
const (
	wordObserved = "observed"
	wordMissing  = "missing"
	wordExcluded = "excluded"
)

// JudgedMetrics returns how many metrics of the manifest come from judgments:
// all but the measured ones. A case has one judgment for each, in this order.
func (m *Manifest) JudgedMetrics() int {
	n := 0
	for i := range m.Metrics {
		if m.Metrics[i].Judged() {
			n++
		}
	}
	return n
}

// OutcomeOf returns what judgments.jsonl keeps of a finished case. It shares
// the slices given; their Detail is not written.
func OutcomeOf(c *Case, e *Execution, slices []string, judgments []Judgment) Outcome {
	o := Outcome{
		ID: c.ID, Digest: c.Digest, Slices: slices, Status: e.Status,
		LatencyMS: e.LatencyMS, Attempts: len(e.Attempts), Usage: e.Usage, Judgments: judgments,
	}
	if e.Error != nil {
		o.ErrorKind, o.HTTPStatus = e.Error.Kind, e.Error.HTTPStatus
	}
	return o
}

// AppendOutcome appends the line of a case in judgments.jsonl, without its line
// feed: canonical JSON, fields without a value left out. The metrics and slices
// of the manifest name the judgments and slice values.
func AppendOutcome(dst []byte, m *Manifest, o *Outcome) []byte {
	dst = append(dst, `{"attempts":`...)
	dst = strconv.AppendInt(dst, int64(o.Attempts), 10)
	dst = append(dst, `,"digest":`...)
	dst = appendString(dst, string(o.Digest))
	if o.ErrorKind != "" {
		dst = append(dst, `,"error":`...)
		dst = appendString(dst, string(o.ErrorKind))
	}
	if o.HTTPStatus != 0 {
		dst = append(dst, `,"http_status":`...)
		dst = strconv.AppendInt(dst, int64(o.HTTPStatus), 10)
	}
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, o.ID)
	dst = append(dst, `,"judgments":`...)
	dst = appendJudgments(dst, m, o.Judgments, false)
	dst = append(dst, `,"latency_ms":`...)
	dst = appendFloat(dst, o.LatencyMS)
	dst = appendSlices(dst, m, o.Slices)
	dst = append(dst, `,"status":`...)
	dst = appendString(dst, string(o.Status))
	return append(appendUsage(dst, o.Usage), '}')
}

// appendJudgments appends an object, criterion to judgment.
func appendJudgments(dst []byte, m *Manifest, judgments []Judgment, detail bool) []byte {
	type named struct {
		name string
		at   int
	}
	var few [16]named
	order := few[:0]
	for i := range m.Metrics {
		if m.Metrics[i].Judged() && len(order) < len(judgments) {
			order = append(order, named{m.Metrics[i].ID, len(order)})
		}
	}
	slices.SortFunc(order, func(a, b named) int { return compareNames(a.name, b.name) })
	dst = append(dst, '{')
	for i, o := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o.name)
		dst = appendJudgment(append(dst, ':'), &judgments[o.at], detail)
	}
	return append(dst, '}')
}

func appendJudgment(dst []byte, j *Judgment, detail bool) []byte {
	dst = append(dst, '{')
	if detail && j.Asked != nil {
		dst = append(appendAsked(append(dst, `"asked":`...), j.Asked), ',')
	}
	if j.Cached {
		dst = append(dst, `"cached":true,`...)
	}
	if detail && j.Detail != "" {
		dst = append(dst, `"detail":`...)
		dst = append(appendString(dst, j.Detail), ',')
	}
	if j.State == Judged {
		dst = append(dst, `"state":"`+wordObserved+`","value":`...)
		return append(appendFloat(dst, j.Value), '}')
	}
	dst = append(dst, `"reason":`...)
	dst = appendString(dst, j.Reason)
	if j.State == NotApplicable {
		return append(dst, `,"state":"`+wordExcluded+`"}`...)
	}
	return append(dst, `,"state":"`+wordMissing+`"}`...)
}

// appendAsked appends how a judge came to a judgment.
func appendAsked(dst []byte, a *Asked) []byte {
	dst = append(dst, '{')
	first := true
	key := func(name string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	whole := func(name string, n int64) {
		if n != 0 {
			key(name)
			dst = strconv.AppendInt(dst, n, 10)
		}
	}
	number := func(name string, f *float64) {
		if f != nil {
			key(name)
			dst = appendFloat(dst, *f)
		}
	}
	word := func(name, s string) {
		if s != "" {
			key(name)
			dst = appendString(dst, s)
		}
	}
	whole("calls", int64(a.Calls))
	number("cost_usd", a.CostUSD)
	whole("input_tokens", a.InputTokens)
	if a.LatencyMS != 0 {
		number("latency_ms", &a.LatencyMS)
	}
	word("model", a.Model)
	whole("output_tokens", a.OutputTokens)
	number("probability", a.Probability)
	word("prompt", a.Prompt)
	word("reply", a.Reply)
	word("route", a.Route)
	return append(dst, '}')
}

// appendSlices appends the slice values that the case has.
func appendSlices(dst []byte, m *Manifest, values []string) []byte {
	var few [8]int
	order := few[:0]
	for i := range min(len(m.Slices), len(values)) {
		if values[i] != NoSlice {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return dst
	}
	slices.SortFunc(order, func(a, b int) int { return compareNames(m.Slices[a], m.Slices[b]) })
	dst = append(dst, `,"slices":{`...)
	for i, at := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.Slices[at])
		dst = appendString(append(dst, ':'), values[at])
	}
	return append(dst, '}')
}

// AppendCaseLine appends the line of a case in cases.jsonl, without its line
// feed: one JSON object with sorted keys and no white space, fields without a
// value left out. Numbers in the values of the case and of the system keep
// their spelling. judgments follow the judged metrics of the manifest.
func AppendCaseLine(dst []byte, m *Manifest, c *Case, e *Execution, judgments []Judgment) []byte {
	dst = append(dst, `{"artifacts":`...)
	dst = AppendArtifacts(dst, &e.Artifacts)
	dst = append(dst, `,"execution":`...)
	dst = appendExecution(dst, e)
	dst = append(dst, `,"judgments":`...)
	dst = appendJudgments(dst, m, judgments, true)
	dst = append(dst, `,"scenario":`...)
	return append(appendScenario(dst, c), '}')
}

func appendScenario(dst []byte, c *Case) []byte {
	dst = append(dst, '{')
	if len(c.Expected) > 0 {
		dst = append(dst, `"expected":`...)
		dst = append(appendRaw(dst, c.Expected), ',')
	}
	if c.GroupID != "" {
		dst = append(dst, `"group_id":`...)
		dst = append(appendString(dst, c.GroupID), ',')
	}
	dst = append(dst, `"id":`...)
	dst = appendString(dst, c.ID)
	dst = append(dst, `,"input":`...)
	dst = appendRaw(dst, c.Input)
	if len(c.Metadata) > 0 {
		dst = append(dst, `,"metadata":`...)
		dst = appendRaw(dst, c.Metadata)
	}
	return append(dst, '}')
}

func appendExecution(dst []byte, e *Execution) []byte {
	dst = append(dst, `{"attempts":`...)
	dst = appendList(dst, e.Attempts, appendAttempt)
	if e.Error != nil {
		dst = append(dst, `,"error":`...)
		dst = appendExecutionError(dst, e.Error)
	}
	if e.FromCache {
		dst = append(dst, `,"from_cache":true`...)
	}
	dst = append(dst, `,"latency_ms":`...)
	dst = appendFloat(dst, e.LatencyMS)
	if e.Log != "" {
		dst = append(dst, `,"log":`...)
		dst = appendString(dst, e.Log)
	}
	if len(e.Output) > 0 {
		dst = append(dst, `,"output":`...)
		dst = appendRaw(dst, e.Output)
	}
	if len(e.RawOutput) > 0 {
		dst = append(dst, `,"raw_output":`...)
		dst = appendRaw(dst, e.RawOutput)
	}
	if e.Stages != (StageUse{}) {
		dst = appendStageUse(dst, e.Stages)
	}
	if !e.StartedAt.IsZero() {
		dst = append(dst, `,"started_at":"`...)
		dst = e.StartedAt.UTC().AppendFormat(dst, time.RFC3339Nano)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"status":`...)
	dst = appendString(dst, string(e.Status))
	return append(appendUsage(dst, e.Usage), '}')
}

func appendStageUse(dst []byte, u StageUse) []byte {
	dst = append(dst, `,"stages":{`...)
	if u.Generate != "" {
		dst = append(dst, `"generate":`...)
		dst = appendString(dst, u.Generate)
	}
	if u.Retrieve != "" {
		if u.Generate != "" {
			dst = append(dst, ',')
		}
		dst = append(dst, `"retrieve":`...)
		dst = appendString(dst, u.Retrieve)
	}
	return append(dst, '}')
}

func appendAttempt(dst []byte, a *Attempt) []byte {
	dst = append(dst, '{')
	if a.Error != "" {
		dst = append(dst, `"error":`...)
		dst = append(appendString(dst, string(a.Error)), ',')
	}
	if a.HTTPStatus != 0 {
		dst = append(dst, `"http_status":`...)
		dst = append(strconv.AppendInt(dst, int64(a.HTTPStatus), 10), ',')
	}
	dst = append(dst, `"latency_ms":`...)
	dst = appendFloat(dst, a.LatencyMS)
	if a.WaitMS != 0 {
		dst = append(dst, `,"wait_ms":`...)
		dst = appendFloat(dst, a.WaitMS)
	}
	return append(dst, '}')
}

func appendExecutionError(dst []byte, e *ExecutionError) []byte {
	dst = append(dst, '{')
	if e.HTTPStatus != 0 {
		dst = append(dst, `"http_status":`...)
		dst = append(strconv.AppendInt(dst, int64(e.HTTPStatus), 10), ',')
	}
	dst = append(dst, `"kind":`...)
	dst = appendString(dst, string(e.Kind))
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, e.Message)
	if e.Snippet != "" {
		dst = append(dst, `,"snippet":`...)
		dst = appendString(dst, e.Snippet)
	}
	if e.URL != "" {
		dst = append(dst, `,"url":`...)
		dst = appendString(dst, e.URL)
	}
	return append(dst, '}')
}

// compareNames orders names by UTF-16 code units, as RFC 8785 does. That is
// the order of the bytes unless a name has a character of U+E000 or above.
func compareNames(a, b string) int {
	if isLow(a) && isLow(b) {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isLow(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0xe000 }) < 0
}

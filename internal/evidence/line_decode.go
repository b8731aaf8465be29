package evidence

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// DecodeOutcome reads a line of judgments.jsonl into o, whose slices are used
// again. Keys that it does not know are skipped, so that later versions may
// add some. The error says what is wrong with the line: it may be torn, or
// belong to a run with other metrics.
func DecodeOutcome(line []byte, m *Manifest, o *Outcome) error {
	d := outcomeDecoder{line: line, m: m, o: o}
	old := *o
	*o = Outcome{
		Slices:    fill(old.Slices, len(m.Slices), NoSlice),
		Judgments: fill(old.Judgments, m.JudgedMetrics(), Judgment{}),
	}
	end, err := eachMember(line, 0, d.member)
	if err != nil {
		return err
	}
	if end = skipSpace(line, end); end < len(line) {
		return fault(line, end, "want the end of the line")
	}
	return d.check()
}

func fill[T any](s []T, n int, with T) []T {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = with
	}
	return s
}

type outcomeDecoder struct {
	line []byte
	m    *Manifest
	o    *Outcome
	seen uint // bit per key, to refuse a key that stands twice
}

func (d *outcomeDecoder) member(name []byte, i int) (end int, err error) {
	bit := uint(0)
	switch string(name) {
	case "attempts":
		bit = 1
		d.o.Attempts, end, err = integer(d.line, i)
	case "digest":
		bit = 2
		end, err = d.text(i, func(s []byte) { d.o.Digest = Digest(s) })
	case "error":
		bit = 4
		end, err = d.text(i, func(s []byte) { d.o.ErrorKind = ErrorKind(intern(s)) })
	case "http_status":
		bit = 8
		d.o.HTTPStatus, end, err = integer(d.line, i)
	case "id":
		bit = 16
		end, err = d.text(i, func(s []byte) { d.o.ID = string(s) })
	case "judgments":
		bit = 32
		end, err = d.judgments(i)
	case "latency_ms":
		bit = 64
		d.o.LatencyMS, end, err = double(d.line, i)
	case "slices":
		bit = 128
		end, err = d.slices(i)
	case "status":
		bit = 256
		end, err = d.text(i, func(s []byte) { d.o.Status = Status(intern(s)) })
	case "usage":
		bit = 512
		d.o.Usage, end, err = decodeUsage(d.line, i)
	default:
		end = valueEnd(d.line, i)
		if !Value(d.line[i:end]).IsValid() {
			err = fault(d.line, i, "want a JSON value")
		}
	}
	if err == nil && d.seen&bit != 0 {
		err = fmt.Errorf("key %q stands twice", name)
	}
	d.seen |= bit
	return end, err
}

func (d *outcomeDecoder) text(i int, set func([]byte)) (int, error) {
	s, end, ok := text(d.line, i)
	if !ok {
		return i, fault(d.line, i, "want a string")
	}
	set(s)
	return end, nil
}

func (d *outcomeDecoder) slices(i int) (int, error) {
	return eachMember(d.line, i, func(name []byte, i int) (int, error) {
		at := slices.IndexFunc(d.m.Slices, func(s string) bool { return s == string(name) })
		if at < 0 {
			return i, fmt.Errorf("slice %q is not one of the run", name)
		}
		if d.o.Slices[at] != NoSlice {
			return i, fmt.Errorf("slice %q stands twice", name)
		}
		return d.text(i, func(s []byte) { d.o.Slices[at] = string(s) })
	})
}

func (d *outcomeDecoder) judgments(i int) (int, error) {
	return eachMember(d.line, i, func(name []byte, i int) (int, error) {
		metric, at := judgedMetric(d.m, name)
		if at < 0 {
			return i, fmt.Errorf("criterion %q is not one of the run", name)
		}
		j := &d.o.Judgments[at]
		if j.State != 0 {
			return i, fmt.Errorf("criterion %q stands twice", name)
		}
		end, err := decodeJudgment(d.line, i, j)
		if err == nil {
			err = metric.Check(j)
		}
		if err != nil {
			return i, fmt.Errorf("judgment of %q: %w", name, err)
		}
		j.Detail, j.Asked = "", nil
		return end, nil
	})
}

// judgedMetric returns the metric of a criterion and its place among the
// judged ones, or -1.
func judgedMetric(m *Manifest, name []byte) (metric *MetricSpec, at int) {
	for i := range m.Metrics {
		if !m.Metrics[i].Judged() {
			continue
		}
		if m.Metrics[i].ID == string(name) {
			return &m.Metrics[i], at
		}
		at++
	}
	return nil, -1
}

// decodeJudgment reads one judgment, in the form of this tool.
func decodeJudgment(b []byte, i int, j *Judgment) (int, error) {
	hasValue := false
	end, err := eachMember(b, i, func(name []byte, i int) (end int, err error) {
		switch string(name) {
		case "state":
			word, end, ok := text(b, i)
			if !ok {
				return i, fault(b, i, "want a state")
			}
			switch string(word) {
			case wordObserved:
				j.State = Judged
			case wordMissing:
				j.State = Missing
			case wordExcluded:
				j.State = NotApplicable
			default:
				return i, fault(b, i, "want observed, missing or excluded")
			}
			return end, nil
		case "value":
			hasValue = true
			j.Value, end, err = double(b, i)
			return end, err
		case "reason":
			word, end, ok := text(b, i)
			if !ok {
				return i, fault(b, i, "want a reason")
			}
			j.Reason = intern(word)
			return end, nil
		case "detail":
			word, end, ok := text(b, i)
			if !ok {
				return i, fault(b, i, "want a string")
			}
			j.Detail = string(word)
			return end, nil
		case "cached":
			end = valueEnd(b, i)
			if string(b[i:end]) != "true" {
				return i, fault(b, i, "want true")
			}
			j.Cached = true
			return end, nil
		case "asked":
			j.Asked = &Asked{}
			return decodeAsked(b, i, j.Asked)
		}
		return i, fmt.Errorf("unknown key %q", name)
	})
	switch {
	case err != nil:
		return end, err
	case j.State == 0:
		return end, errors.New("no state")
	case hasValue != (j.State == Judged):
		return end, errors.New("an observed judgment has a value, and no other has")
	case (j.Reason != "") != (j.State != Judged):
		return end, errors.New("a judgment without a value has a reason, and no other has")
	case j.Reason != "" && !isCode(j.Reason):
		return end, fmt.Errorf("reason %q is no code", shorten(j.Reason, 40))
	}
	return end, nil
}

// decodeAsked reads how a judge came to a judgment.
func decodeAsked(b []byte, i int, a *Asked) (int, error) {
	words := map[string]*string{"model": &a.Model, "prompt": &a.Prompt, "reply": &a.Reply, "route": &a.Route}
	numbers := map[string]**float64{"cost_usd": &a.CostUSD, "probability": &a.Probability}
	return eachMember(b, i, func(name []byte, i int) (end int, err error) {
		n := 0
		if into, ok := words[string(name)]; ok {
			word, end, ok := text(b, i)
			if !ok {
				return i, fault(b, i, "want a string")
			}
			*into = string(word)
			return end, nil
		}
		if into, ok := numbers[string(name)]; ok {
			f, end, err := double(b, i)
			*into = &f
			return end, err
		}
		switch string(name) {
		case "calls":
			a.Calls, end, err = integer(b, i)
		case "input_tokens":
			n, end, err = integer(b, i)
			a.InputTokens = int64(n)
		case "output_tokens":
			n, end, err = integer(b, i)
			a.OutputTokens = int64(n)
		case "latency_ms":
			a.LatencyMS, end, err = double(b, i)
		default:
			return i, fmt.Errorf("unknown key %q", name)
		}
		return end, err
	})
}

// Check says whether the value of a judgment is one of the metric: 0 or 1 for a
// rate, a number of the range for a mean.
func (metric *MetricSpec) Check(j *Judgment) error {
	switch {
	case j.State != Judged:
		return nil
	case metric.Kind == Rate && j.Value != 0 && j.Value != 1:
		return fmt.Errorf("value %v of a rate, want 0 or 1", j.Value)
	case metric.Kind == Mean && (j.Value < metric.Range[0] || j.Value > metric.Range[1]):
		return fmt.Errorf("value %v is outside [%v, %v]", j.Value, metric.Range[0], metric.Range[1])
	}
	return nil
}

// check looks at the outcome as a whole.
func (d *outcomeDecoder) check() error {
	o := d.o
	switch {
	case o.ID == "":
		return errors.New("no id")
	case !o.Digest.valid():
		return fmt.Errorf("digest %q is none", shorten(string(o.Digest), 80))
	case !o.Status.valid():
		return fmt.Errorf("status %q is none", shorten(string(o.Status), 40))
	case o.ErrorKind != "" && !isCode(string(o.ErrorKind)):
		return fmt.Errorf("error %q is no code", shorten(string(o.ErrorKind), 40))
	case o.Attempts < 0 || o.HTTPStatus < 0 || o.LatencyMS < 0:
		return errors.New("a count or a latency is negative")
	}
	for i := range o.Judgments {
		if o.Judgments[i].State == 0 {
			return fmt.Errorf("no judgment of %q", judgedID(d.m, i))
		}
	}
	return nil
}

// isCode reports whether s is a code as the files of a run have them: words of
// lower case letters and digits, joined by _, short enough to be shown.
func isCode(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func judgedID(m *Manifest, at int) string {
	for i := range m.Metrics {
		if !m.Metrics[i].Judged() {
			continue
		}
		if at == 0 {
			return m.Metrics[i].ID
		}
		at--
	}
	return ""
}

func (s Status) valid() bool {
	return s == StatusOK || s == StatusError || s == StatusTimeout || s == StatusNotRun
}

// intern returns a word as a string, without a copy for those of the files.
func intern(word []byte) string {
	switch string(word) {
	case string(StatusOK):
		return string(StatusOK)
	case string(StatusError):
		return string(StatusError)
	case string(StatusTimeout):
		return string(StatusTimeout)
	case string(StatusNotRun):
		return string(StatusNotRun)
	case string(ErrConnection):
		return string(ErrConnection)
	case string(ErrTimeout):
		return string(ErrTimeout)
	case string(ErrStatus):
		return string(ErrStatus)
	case ReasonNoExpected:
		return ReasonNoExpected
	case ReasonNoRelevanceLabels:
		return ReasonNoRelevanceLabels
	case ReasonExecutionError:
		return ReasonExecutionError
	case ReasonNotRun:
		return ReasonNotRun
	}
	return string(word)
}

// double reads the finite number at i.
func double(b []byte, i int) (float64, int, error) {
	end := numberEnd(b, i)
	if end == i+1 && '0' <= b[i] && b[i] <= '9' {
		return float64(b[i] - '0'), end, nil
	}
	if i >= end || b[i] != '-' && (b[i] < '0' || b[i] > '9') || !Value(b[i:end]).IsValid() {
		return 0, i, fault(b, i, "want a number")
	}
	f, err := strconv.ParseFloat(string(b[i:end]), 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, i, fault(b, i, "want a number that fits a double")
	}
	return f, end, nil
}

// integer reads the integer at i.
func integer(b []byte, i int) (int, int, error) {
	end := numberEnd(b, i)
	n, err := strconv.Atoi(string(b[i:end]))
	if err != nil || b[i] == '+' {
		return 0, i, fault(b, i, "want a whole number")
	}
	return n, end, nil
}

// CaseLine is a line of cases.jsonl: one case with all that was recorded.
type CaseLine struct {
	Case      Case
	Execution Execution
	Judgments []NamedJudgment // in the order of the line
}

// NamedJudgment is a judgment with its criterion.
type NamedJudgment struct {
	Criterion string
	Judgment
}

// DecodeCaseLine reads a line of cases.jsonl, of this tool or of a bundle of
// the Python tool. The values share line. The digest of the case is computed.
// The error says what is wrong with the line.
func DecodeCaseLine(line []byte) (CaseLine, error) {
	var l CaseLine
	if v := Value(line); !v.IsValid() {
		return l, syntaxError(line, firstFault(line))
	}
	var artifacts Value
	seen := 0
	_, err := eachMember(line, 0, func(name []byte, i int) (int, error) {
		v := Value(line[i:valueEnd(line, i)])
		var err error
		switch string(name) {
		case "scenario":
			seen |= 1
			err = l.Case.decode(v)
		case "execution":
			seen |= 2
			err = l.Execution.decode(v)
		case "judgments":
			seen |= 4
			l.Judgments, err = decodeJudgments(v)
		case "artifacts":
			artifacts = v
		}
		if err != nil {
			return i, fmt.Errorf("%s: %w", name, err)
		}
		return i + len(v), nil
	})
	if err != nil {
		return l, err
	}
	if seen != 7 {
		return l, errors.New("want the keys scenario, execution and judgments")
	}
	if err := decodeArtifacts(artifacts, &l.Execution.Artifacts); err != nil {
		return l, fmt.Errorf("artifacts: %w", err)
	}
	l.Case.Digest, err = CaseDigest(&l.Case)
	return l, err
}

func (c *Case) decode(v Value) error {
	_, err := eachMember(v, 0, func(name []byte, i int) (int, error) {
		member := v[i:valueEnd(v, i)]
		ok := true
		switch string(name) {
		case "id":
			c.ID, ok = Text(member)
		case "input":
			c.Input = member
		case "expected":
			c.Expected = unlessNull(member)
		case "metadata":
			c.Metadata = unlessNull(member)
			ok = c.Metadata == nil || member.Kind() == '{'
		case "group_id":
			if !IsNull(member) {
				c.GroupID, ok = Text(member)
			}
		}
		if !ok {
			return i, fault(v, i, fmt.Sprintf("%s is of the wrong type", name))
		}
		return i + len(member), nil
	})
	if err == nil && (c.ID == "" || IsNull(c.Input)) {
		err = errors.New("want an id and an input")
	}
	return err
}

func unlessNull(v Value) Value {
	if v.Kind() == 'n' {
		return nil
	}
	return v
}

func (e *Execution) decode(v Value) error {
	if IsNull(v) { // of the Python tool: the run was stopped before the case
		e.Status = StatusNotRun
		return nil
	}
	var output Value
	_, err := eachMember(v, 0, func(name []byte, i int) (int, error) {
		member := v[i:valueEnd(v, i)]
		end := i + len(member)
		var err error
		switch string(name) {
		case "status":
			word, _ := Text(member)
			if e.Status = Status(intern([]byte(word))); !e.Status.valid() {
				err = fault(v, i, "want a status")
			}
		case "output":
			output = member
		case "raw_output":
			e.RawOutput = member.Clone()
		case "error":
			if !IsNull(member) {
				e.Error, err = decodeExecutionError(member)
			}
		case "attempts":
			_, err = eachElement(v, i, func(_, i int) (int, error) {
				end := valueEnd(v, i)
				a, err := decodeAttempt(v[i:end])
				e.Attempts = append(e.Attempts, a)
				return end, err
			})
		case "latency_ms":
			if !IsNull(member) {
				e.LatencyMS, _, err = double(v, i)
			}
			if e.LatencyMS < 0 {
				err = errors.New("the latency is negative")
			}
		case "from_cache":
			e.FromCache = member.Kind() == 't'
		case "usage":
			e.Usage, _, err = decodeUsage(v, i)
		case "stages":
			e.Stages = decodeStageUse(member)
		case "log":
			e.Log, _ = Text(member)
		case "started_at":
			if word, ok := Text(member); ok {
				e.StartedAt, err = time.Parse(time.RFC3339Nano, word)
			}
		}
		return end, err
	})
	if err != nil {
		return err
	}
	if e.Status == "" {
		return errors.New("no status")
	}
	if e.Status == StatusOK {
		if e.Output = output; output == nil {
			return errors.New("no output, although the status is OK")
		}
	}
	return nil
}

// decodeStageUse reads {retrieve, generate}. Words that it does not know say
// nothing.
func decodeStageUse(v Value) StageUse {
	how := func(stage string) string {
		member, _ := Member(v, stage)
		if word, _ := Text(member); word == StageHit || word == StageMiss {
			return word
		}
		return ""
	}
	return StageUse{Retrieve: how("retrieve"), Generate: how("generate")}
}

func decodeAttempt(v Value) (Attempt, error) {
	var a Attempt
	_, err := eachMember(v, 0, func(name []byte, i int) (end int, err error) {
		end = valueEnd(v, i)
		switch string(name) {
		case "error":
			word, _ := Text(v[i:end])
			a.Error = ErrorKind(word)
		case "http_status":
			a.HTTPStatus, _, err = integer(v, i)
		case "latency_ms":
			a.LatencyMS, _, err = double(v, i)
		case "wait_ms":
			a.WaitMS, _, err = double(v, i)
		}
		return end, err
	})
	return a, err
}

// decodeExecutionError reads {kind, message, …}, or {type, message, detail} of
// the Python tool.
func decodeExecutionError(v Value) (*ExecutionError, error) {
	var e ExecutionError
	pythonType := ""
	_, err := eachMember(v, 0, func(name []byte, i int) (end int, err error) {
		end = valueEnd(v, i)
		word, _ := Text(v[i:end])
		switch string(name) {
		case "kind":
			e.Kind = ErrorKind(word)
		case "type":
			pythonType = word
		case "message":
			e.Message = word
		case "http_status":
			e.HTTPStatus, _, err = integer(v, i)
		case "url":
			e.URL = word
		case "snippet":
			e.Snippet = word
		}
		return end, err
	})
	if pythonType != "" && e.Kind == "" {
		e.fromPython(pythonType)
	}
	return &e, err
}

func decodeJudgments(v Value) ([]NamedJudgment, error) {
	all := []NamedJudgment{}
	_, err := eachMember(v, 0, func(name []byte, i int) (int, error) {
		j := NamedJudgment{Criterion: string(name)}
		member := v[i:valueEnd(v, i)]
		var err error
		if _, ofPython := Lookup(member, "status"); ofPython == nil {
			err = decodePythonJudgment(member, &j.Judgment)
		} else {
			_, err = decodeJudgment(member, 0, &j.Judgment)
		}
		if err != nil {
			return i, fmt.Errorf("%s: %w", j.Criterion, err)
		}
		all = append(all, j)
		return i + len(member), nil
	})
	return all, err
}

func decodeArtifacts(v Value, into *Artifacts) error {
	if v == nil {
		return nil
	}
	_, err := eachMember(v, 0, func(name []byte, i int) (int, error) {
		return eachElement(v, i, func(n, i int) (int, error) {
			end := valueEnd(v, i)
			if err := DecodeArtifact(string(name), v[i:end], into); err != nil {
				return i, fmt.Errorf("%s[%d]: %w", name, n, err)
			}
			return end, nil
		})
	})
	return err
}

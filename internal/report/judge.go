package report

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// Judge is what people's labels say of the judge of a metric: what its verdicts
// are worth.
type Judge struct {
	Labels    int  `json:"labels"`    // answers that people and this very judge judged
	Others    int  `json:"others"`    // labels of answers that another instrument judged
	Unsettled int  `json:"unsettled"` // answers that people labelled differently
	People    int  `json:"people"`
	Retired   bool `json:"retired"` // people took it out of use

	Agreement   JudgeFigure `json:"agreement"`
	Sensitivity JudgeFigure `json:"sensitivity"` // of people's passes, those that it passes
	Specificity JudgeFigure `json:"specificity"` // of people's fails, those that it fails
	Bias        JudgeFigure `json:"bias"`        // judge minus people, from -1 to 1
	Kappa       JudgeFigure `json:"kappa"`       // Cohen's, from -1 to 1
}

// JudgeFigure is an estimate with its interval.
type JudgeFigure struct {
	Estimate *float64 `json:"estimate" jsonschema:"nullable"`
	Interval Interval `json:"interval"`
	Of       int      `json:"of"` // labels that it counts
}

// judgeOf measures what the labels of a metric say; nil for a metric that no
// model gives. Without labels the intervals are whole ranges.
func judgeOf(spec evidence.MetricSpec, level float64) *Judge {
	if !spec.AsksModel() {
		return nil
	}
	trust := spec.Trust
	if trust == nil {
		trust = &evidence.Trust{}
	}
	return JudgeOf(measure.WorthOf(trust, level))
}

// JudgeOf is the worth of a judge as the document has it.
func JudgeOf(w measure.Worth) *Judge {
	figure := func(f measure.Figure) JudgeFigure {
		return JudgeFigure{Estimate: finite(f.Estimate), Interval: *intervalOf(&f.Interval), Of: f.Of}
	}
	return &Judge{
		Labels: w.Labels, Others: w.Others, Unsettled: w.Unsettled, People: w.People, Retired: w.Retired != "",
		Agreement: figure(w.Agreement), Sensitivity: figure(w.Sensitivity), Specificity: figure(w.Specificity),
		Bias: figure(w.Bias), Kappa: figure(w.Kappa),
	}
}

func (f JudgeFigure) words(s Scale) string {
	if f.Estimate == nil {
		return "not known"
	}
	return s.Estimate(*f.Estimate) + " " + s.Interval(f.Interval.Lower, f.Interval.Upper)
}

// kappaScale shows three decimals.
func kappaScale() Scale { return Scale{places: 3} }

// judgeWords says in a sentence what the judge of a metric is worth; "" for a
// metric that no model gives.
func judgeWords(m *Metric) string {
	j := m.Judge
	if j == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is given by a model. ", Clean(m.ID))
	switch {
	case j.Retired:
		b.WriteString("People took it out of use. ")
	case j.Labels == 0 && j.Others > 0:
		b.WriteString("Its labels are of another instrument, so that nothing is known of its errors. ")
	case j.Labels == 0 && j.Unsettled > 0:
		b.WriteString("People do not agree on any answer that they labelled, so that nothing is known of its errors. ")
	case j.Labels == 0:
		b.WriteString("Nobody has labelled an answer that it judged, so that nothing is known of its errors. ")
	}
	if j.Labels > 0 {
		unsettled := ""
		if j.Unsettled > 0 {
			unsettled = fmt.Sprintf(", with %s on which people do not agree", count(j.Unsettled, "answer"))
		}
		fmt.Fprintf(&b, "By %s%s: agreement %s, bias %s, sensitivity %s, specificity %s, kappa %s.", count(j.Labels, "label"), unsettled,
			j.Agreement.words(RateScale()), j.Bias.words(RateDifferenceScale()),
			j.Sensitivity.words(RateScale()), j.Specificity.words(RateScale()), j.Kappa.words(kappaScale()))
	}
	return strings.TrimSpace(b.String())
}

// judgeLines are the sentences of all judges.
func judgeLines(metrics []Metric) []string {
	var lines []string
	for i := range metrics {
		if s := judgeWords(&metrics[i]); s != "" {
			lines = append(lines, s)
		}
	}
	return lines
}

// JudgeTable prints what a judge is worth, a figure a line.
func JudgeTable(name string, j *Judge) []string {
	lines := []string{fmt.Sprintf("%s: %s by %s", name, count(j.Labels, "label"), people(j.People))}
	if j.Others > 0 {
		lines = append(lines, fmt.Sprintf("  not counted: %s of answers that another instrument judged", count(j.Others, "label")))
	}
	if j.Unsettled > 0 {
		lines = append(lines, fmt.Sprintf("  %s that people labelled differently, in every interval at the worst", count(j.Unsettled, "answer")))
	}
	for _, x := range []struct {
		name   string
		figure JudgeFigure
		scale  Scale
		says   string
	}{
		{"agreement", j.Agreement, RateScale(), "judged alike"},
		{"sensitivity", j.Sensitivity, RateScale(), "of what people pass, passed by the judge"},
		{"specificity", j.Specificity, RateScale(), "of what people fail, failed by the judge"},
		{"bias", j.Bias, RateDifferenceScale(), "judge minus people: above zero it passes too much"},
		{"kappa", j.Kappa, kappaScale(), "agreement beyond chance (Cohen)"},
	} {
		lines = append(lines, fmt.Sprintf("  %-11s  %-32s  of %-3d  %s", x.name, x.figure.words(x.scale), x.figure.Of, x.says))
	}
	return lines
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

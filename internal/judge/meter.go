package judge

import (
	"fmt"
	"sync"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// SpentError says that the budget of a run is used up: no judge is asked any more.
type SpentError struct{ Message string }

// Error names the bound.
func (e *SpentError) Error() string { return e.Message }

// use is what calls came to.
type use struct {
	calls   int
	in, out int64
	usd     float64
	priced  bool
}

func (u *use) add(v use) {
	if v.calls == 0 {
		return
	}
	u.priced = v.priced && (u.priced || u.calls == 0)
	u.calls += v.calls
	u.in += v.in
	u.out += v.out
	u.usd += v.usd
}

// meter counts the calls of a run and stops them at its budget. It is safe for
// concurrent use.
type meter struct {
	budget *suite.Budget
	prices map[string]suite.Price

	mu       sync.Mutex
	total    use
	unpriced bool
	underway int
}

func newMeter(b *suite.Budget, prices []suite.Price, spent evidence.JudgeUse) *meter {
	m := &meter{budget: b, prices: map[string]suite.Price{}}
	for _, p := range prices {
		m.prices[p.Model] = p
	}
	m.total = use{calls: spent.Calls, in: spent.InputTokens, out: spent.OutputTokens}
	if spent.CostUSD != nil {
		m.total.usd = *spent.CostUSD
	} else {
		m.unpriced = spent.Calls > 0
	}
	return m
}

// reserve takes the right to one call.
func (m *meter) reserve() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.budget; b != nil {
		spent := int(m.total.in + m.total.out)
		switch {
		case b.ModelCalls != nil && m.total.calls+m.underway >= *b.ModelCalls:
			return &SpentError{fmt.Sprintf("budget.model_calls is used up: %d of %d calls of judges", m.total.calls+m.underway, *b.ModelCalls)}
		case b.Tokens != nil && spent >= *b.Tokens:
			return &SpentError{fmt.Sprintf("budget.tokens is used up: the calls of judges took %d tokens of %d", spent, *b.Tokens)}
		case b.USD != nil && m.total.usd >= *b.USD:
			return &SpentError{fmt.Sprintf("budget.usd is used up: the calls of judges cost %.4f of %v USD", m.total.usd, *b.USD)}
		}
	}
	m.underway++
	return nil
}

// release gives a call back that brought no reply. It counts unless it was
// interrupted.
func (m *meter) release(model string, interrupted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.underway--
	if interrupted {
		return
	}
	m.total.calls++
	if _, priced := m.prices[model]; !priced {
		m.unpriced = true
	}
}

// count counts a call with what the provider says it took.
func (m *meter) count(model string, u *use, counted bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.underway--
	price, priced := m.prices[model]
	if u.priced = priced && counted; u.priced {
		u.usd = (float64(u.in)*price.Input + float64(u.out)*price.Output) / 1e6
	} else {
		m.unpriced = true
	}
	m.total.calls++
	m.total.in += u.in
	m.total.out += u.out
	m.total.usd += u.usd
	if b := m.budget; b != nil && !counted && (b.Tokens != nil || b.USD != nil) {
		return &SpentError{fmt.Sprintf("the judge %s does not say how many tokens a call took, so budget.tokens and budget.usd cannot be kept: bound model_calls instead", model)}
	}
	return nil
}

func (m *meter) used() evidence.JudgeUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := evidence.JudgeUse{Calls: m.total.calls, InputTokens: m.total.in, OutputTokens: m.total.out}
	if !m.unpriced && m.total.calls > 0 {
		usd := m.total.usd
		u.CostUSD = &usd
	}
	return u
}

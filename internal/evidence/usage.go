package evidence

import (
	"fmt"
	"math"
	"strconv"
)

// Usage is what an execution took beyond its time, as far as the system says
// so. What it does not say is nil, never 0.
type Usage struct {
	InputTokens  *int64
	OutputTokens *int64
	CostUSD      *float64
	FirstTokenMS *float64 // from the request to the first text of a streamed answer
}

// The quantities that a metric may be made of, as the suite names them.
const (
	SourceLatency      = "latency_ms"
	SourceFirstToken   = "first_token_ms"
	SourceInputTokens  = "input_tokens"
	SourceOutputTokens = "output_tokens"
	SourceCost         = "cost_usd"
)

// Empty reports whether nothing is said.
func (u *Usage) Empty() bool { return u == nil || *u == Usage{} }

// Check says what is wrong with the figures: a count or an amount that is
// negative or not finite.
func (u *Usage) Check() error {
	if u == nil {
		return nil
	}
	for _, count := range []struct {
		name string
		n    *int64
	}{{SourceInputTokens, u.InputTokens}, {SourceOutputTokens, u.OutputTokens}} {
		if count.n != nil && *count.n < 0 {
			return fmt.Errorf("%s is %d, want at least 0", count.name, *count.n)
		}
	}
	for _, amount := range []struct {
		name string
		x    *float64
	}{{SourceCost, u.CostUSD}, {SourceFirstToken, u.FirstTokenMS}} {
		if amount.x != nil && !(*amount.x >= 0 && *amount.x <= math.MaxFloat64) {
			return fmt.Errorf("%s is %v, want a finite number of at least 0", amount.name, *amount.x)
		}
	}
	return nil
}

// appendUsage appends ,"usage":{…}, or nothing when nothing is said.
func appendUsage(dst []byte, u *Usage) []byte {
	if u.Empty() {
		return dst
	}
	dst = append(dst, `,"usage":{`...)
	start := len(dst)
	key := func(name string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), '"', ':')
	}
	if u.CostUSD != nil {
		key(SourceCost)
		dst = appendFloat(dst, *u.CostUSD)
	}
	if u.FirstTokenMS != nil {
		key(SourceFirstToken)
		dst = appendFloat(dst, *u.FirstTokenMS)
	}
	if u.InputTokens != nil {
		key(SourceInputTokens)
		dst = strconv.AppendInt(dst, *u.InputTokens, 10)
	}
	if u.OutputTokens != nil {
		key(SourceOutputTokens)
		dst = strconv.AppendInt(dst, *u.OutputTokens, 10)
	}
	return append(dst, '}')
}

// DecodeUsage reads what a system says that an answer took: an object with
// input_tokens, output_tokens and cost_usd. Null says nothing.
func DecodeUsage(v Value) (*Usage, error) {
	u, _, err := decodeUsage(v, 0)
	if err == nil {
		err = u.Check()
	}
	return u, err
}

// decodeUsage reads the object at i. A null and a key that it does not know
// say nothing; the result is nil when nothing is said.
func decodeUsage(b []byte, i int) (*Usage, int, error) {
	if i < len(b) && b[i] == 'n' {
		end := valueEnd(b, i)
		if string(b[i:end]) != "null" {
			return nil, i, fault(b, i, "want an object")
		}
		return nil, end, nil
	}
	var u Usage
	end, err := eachMember(b, i, func(name []byte, i int) (end int, err error) {
		end = valueEnd(b, i)
		if !Value(b[i:end]).IsValid() {
			return i, fault(b, i, "want a JSON value")
		}
		if string(b[i:end]) == "null" {
			return end, nil
		}
		switch string(name) {
		case SourceCost:
			end, err = setDouble(&u.CostUSD, b[:end], i)
		case SourceFirstToken:
			end, err = setDouble(&u.FirstTokenMS, b[:end], i)
		case SourceInputTokens:
			end, err = setInteger(&u.InputTokens, b[:end], i)
		case SourceOutputTokens:
			end, err = setInteger(&u.OutputTokens, b[:end], i)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return end, err
	})
	if err == nil {
		err = u.Check()
	}
	if err != nil || u == (Usage{}) {
		return nil, end, err
	}
	return &u, end, nil
}

func setDouble(into **float64, b []byte, i int) (int, error) {
	if *into != nil {
		return i, fault(b, i, "a key stands twice")
	}
	x, end, err := double(b, i)
	*into = &x
	return end, err
}

func setInteger(into **int64, b []byte, i int) (int, error) {
	if *into != nil {
		return i, fault(b, i, "a key stands twice")
	}
	n, end, err := integer(b, i)
	count := int64(n)
	*into = &count
	return end, err
}

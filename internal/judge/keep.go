package judge

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// kept is a verdict as the cache holds it.
type kept struct {
	Pass        bool     `json:"pass"`
	Detail      string   `json:"detail,omitempty"`
	Model       string   `json:"model,omitempty"`
	Probability *float64 `json:"probability,omitempty"`
}

func (o *opinion) keep() []byte {
	line, err := json.Marshal(kept{o.Passed, o.Detail, o.Model, o.Probability})
	if err != nil {
		panic(err) // numbers and text only
	}
	return line
}

// readKept reads what keep wrote.
func readKept(line []byte) (opinion, bool) {
	var k kept
	if err := json.Unmarshal(line, &k); err != nil {
		return opinion{}, false
	}
	return opinion{State: evidence.Judged, Passed: k.Pass, Detail: k.Detail, Model: k.Model, Probability: k.Probability, Cached: true}, true
}

// maxReply is how much of a reply without a verdict is kept, in bytes.
const maxReply = 2000

// cut returns the start of a reply.
func cut(s string) string {
	if len(s) <= maxReply {
		return s
	}
	n := maxReply
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

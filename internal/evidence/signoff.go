package evidence

import "time"

// Signoff is a person's decision on the rules of a run that are MANUAL_REVIEW. It
// holds for these rules of this policy on this very evidence.
type Signoff struct {
	Run       string    `json:"run"`
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
	Judgments string    `json:"judgments"` // SHA-256 of judgments.jsonl, hex
	Policy    Digest    `json:"policy"`    // content id of the policy's meaning
	Rules     []string  `json:"rules"`     // ids of the rules that it releases
	Reasons   []string  `json:"reasons"`   // why these rules were MANUAL_REVIEW
}

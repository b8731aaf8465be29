package runnertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"slices"
	"strings"
)

// Mask stands where a secret stood.
const Mask = "***"

// masker is the runner's secret masker.
type masker struct {
	values []string // as they were added
	forms  []string // and encoded
}

// add registers a secret, as the runner does for its own.
func (m *masker) add(value string) {
	if value == "" || slices.Contains(m.values, value) {
		return
	}
	m.values = append(m.values, value)
	for _, form := range encodings(value) {
		if form != "" && !slices.Contains(m.forms, form) {
			m.forms = append(m.forms, form)
		}
	}
}

// encodings are the forms in which the runner looks for a secret.
func encodings(s string) []string {
	forms := []string{s, strings.ReplaceAll(url.QueryEscape(s), "+", "%20"), strings.Trim(s, `"`)}
	if b, err := json.Marshal(s); err == nil {
		forms = append(forms, string(b[1:len(b)-1]))
	}
	var b bytes.Buffer
	if xml.EscapeText(&b, []byte(s)) == nil {
		forms = append(forms, b.String())
	}
	for shift := range min(3, len(s)) {
		forms = append(forms, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s[shift:])), "="))
	}
	return forms
}

// hide replaces secrets, those that touch or overlap together.
func (m *masker) hide(s string) string {
	covered := make([]bool, len(s)+1)
	for _, form := range m.forms {
		for at := 0; ; {
			i := strings.Index(s[at:], form)
			if i < 0 {
				break
			}
			i += at
			for j := i; j < i+len(form); j++ {
				covered[j] = true
			}
			at = i + 1
		}
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !covered[i]:
			b.WriteByte(s[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(Mask)
		}
	}
	return b.String()
}

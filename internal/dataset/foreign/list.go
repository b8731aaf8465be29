package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// listOf returns a list: as it is, or from the text of a cell, where it is JSON,
// a list as Python prints it, or joined by split, by bars, semicolons or line
// ends. A value alone is a list of one.
func listOf(v evidence.Value, split string) (list evidence.Value, fault string) {
	return listBy(v, split, "|", ";", "\n")
}

// listBy is [listOf] with the signs that separate elements when split is "".
func listBy(v evidence.Value, split string, signs ...string) (list evidence.Value, fault string) {
	if v.Kind() == '[' {
		return v, ""
	}
	text, ok := evidence.Text(v)
	if !ok {
		return append(append(evidence.Value{'['}, v...), ']'), ""
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return evidence.Value("[]"), ""
	}
	if strings.HasPrefix(trimmed, "[") {
		if parsed, err := evidence.ParseJSON([]byte(trimmed)); err == nil && parsed.Kind() == '[' {
			return parsed, ""
		}
		parsed, err := python(trimmed)
		if err != nil {
			return nil, fmt.Sprintf("the list %s is neither JSON nor what Python prints: %v", evidence.Shorten(v, 60), err)
		}
		return parsed, ""
	}
	if split == "" {
		for _, sign := range signs {
			if strings.Contains(trimmed, sign) {
				split = sign
				break
			}
		}
	}
	if split == "" {
		if strings.Contains(trimmed, ",") && !strings.Contains(trimmed, " ") || strings.Contains(trimmed, ", ") && len(strings.Fields(trimmed)) == strings.Count(trimmed, ",")+1 {
			return nil, fmt.Sprintf("%s looks like a list with commas: say split: \",\" in fields, or write a JSON list", evidence.Shorten(v, 60))
		}
		return evidence.Value(append(quote([]byte{'['}, trimmed), ']')), ""
	}
	dst := []byte{'['}
	for part := range strings.SplitSeq(trimmed, split) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = quote(dst, part)
	}
	return append(dst, ']'), ""
}

// python reads a list or a dict as Python's repr prints it: texts in either
// quotes, numbers, True, False and None, lists and dicts inside; elements of a
// list may be separated by white space alone, as numpy does it.
func python(text string) (evidence.Value, error) {
	p := pythonParser{text: text}
	dst, err := p.value(nil, 0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, fmt.Errorf("text stands behind it, at character %d", p.at+1)
	}
	v, err := evidence.ParseJSON(dst)
	if err != nil {
		return nil, fmt.Errorf("%s", message(err))
	}
	return v, nil
}

type pythonParser struct {
	text string
	at   int
}

func (p *pythonParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *pythonParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *pythonParser) list(dst []byte, depth int) ([]byte, error) {
	if depth > 20 {
		return nil, fmt.Errorf("lists are nested too deep")
	}
	p.at++ // [
	dst = append(dst, '[')
	for n := 0; ; n++ {
		p.space()
		if p.peek() == ']' {
			p.at++
			return append(dst, ']'), nil
		}
		if n > 0 {
			if p.peek() == ',' {
				p.at++
				p.space()
				if p.peek() == ']' {
					continue
				}
			}
			dst = append(dst, ',')
		}
		var err error
		if dst, err = p.value(dst, depth); err != nil {
			return nil, err
		}
	}
}

// dict reads {KEY: VALUE, …}; the keys of JSON are texts.
func (p *pythonParser) dict(dst []byte, depth int) ([]byte, error) {
	if depth > 20 {
		return nil, fmt.Errorf("dicts are nested too deep")
	}
	p.at++ // {
	dst = append(dst, '{')
	for n := 0; ; n++ {
		p.space()
		if n > 0 && p.peek() == ',' {
			p.at++
			p.space()
		} else if n > 0 && p.peek() != '}' {
			return nil, fmt.Errorf("a comma is missing in a dict, at character %d", p.at+1)
		}
		switch p.peek() {
		case '}':
			p.at++
			return append(dst, '}'), nil
		case '\'', '"':
		case 0:
			return nil, fmt.Errorf("it does not end")
		default:
			return nil, fmt.Errorf("a key of a dict is no text, at character %d", p.at+1)
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.space(); p.peek() != ':' {
			return nil, fmt.Errorf("a colon is missing in a dict, at character %d", p.at+1)
		}
		p.at++
		p.space()
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = p.value(append(quote(dst, key), ':'), depth); err != nil {
			return nil, err
		}
	}
}

func (p *pythonParser) value(dst []byte, depth int) ([]byte, error) {
	switch c := p.peek(); {
	case c == '[':
		return p.list(dst, depth+1)
	case c == '{':
		return p.dict(dst, depth+1)
	case c == '\'' || c == '"':
		s, err := p.string()
		return quote(dst, s), err
	case c == 0:
		return nil, fmt.Errorf("it does not end")
	case strings.HasPrefix(p.text[p.at:], "np."): // np.int64(5), np.str_('a')
		open := strings.IndexByte(p.text[p.at:], '(')
		if open < 0 || depth > 20 {
			return nil, fmt.Errorf("numpy's value at character %d is not understood", p.at+1)
		}
		p.at += open + 1
		dst, err := p.value(dst, depth+1)
		if err == nil && p.peek() != ')' {
			err = fmt.Errorf("a parenthesis is missing at character %d", p.at+1)
		}
		p.at++
		return dst, err
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n,]})", p.text[p.at]) < 0 {
		p.at++
	}
	switch word := p.text[start:p.at]; word {
	case "None", "nan":
		return append(dst, "null"...), nil
	case "True":
		return append(dst, "true"...), nil
	case "False":
		return append(dst, "false"...), nil
	default:
		if v := evidence.Value(word); v.IsValid() && v.Kind() == '0' {
			return append(dst, word...), nil
		}
		return nil, fmt.Errorf("%s is no text, number, True, False or None", strconv.Quote(shorten(word)))
	}
}

// string reads a text with Python's escapes.
func (p *pythonParser) string() (string, error) {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == quote:
			p.at++
			return b.String(), nil
		case c != '\\':
			_, size := utf8.DecodeRuneInString(p.text[p.at:])
			b.WriteString(p.text[p.at : p.at+size])
			p.at += size
			continue
		}
		p.at++
		switch e := p.peek(); e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\\', '\'', '"':
			b.WriteByte(e)
		case 'x', 'u', 'U':
			digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[e]
			if p.at+1+digits > len(p.text) {
				return "", fmt.Errorf("an escape is cut short")
			}
			n, err := strconv.ParseUint(p.text[p.at+1:p.at+1+digits], 16, 32)
			if err != nil {
				return "", fmt.Errorf("an escape has no hexadecimal digits")
			}
			b.WriteRune(rune(n))
			p.at += digits
		default:
			b.WriteByte('\\')
			if e != 0 {
				b.WriteByte(e)
			}
		}
		p.at++
	}
	return "", fmt.Errorf("a text does not end")
}

// nested returns the object or the list that a cell of a table holds as text, as
// JSON or as Python prints it; v itself when it holds none.
func nested(v evidence.Value) evidence.Value {
	text, ok := evidence.Text(v)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != '{' && text[0] != '[' {
		return v
	}
	if parsed, err := evidence.ParseJSON([]byte(text)); err == nil {
		return parsed
	}
	if parsed, err := python(text); err == nil {
		return parsed
	}
	return v
}

package runnertest

import (
	"fmt"
	"strings"
)

// Pair is an entry of an env file.
type Pair struct{ Name, Value string }

// ParseEnvFile reads GITHUB_OUTPUT and the like as the runner does on Linux:
// lines end with LF alone; the first of = and << in a line tells NAME=VALUE
// from NAME<<DELIMITER; a delimiter has to stand alone in a line, and the line
// before it has to end. Pairs before an error stand.
func ParseEnvFile(text string) ([]Pair, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var pairs []Pair
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line == "" {
			continue
		}
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			pairs = append(pairs, Pair{line[:equals], line[equals+1:]})
		case heredoc >= 0:
			p := Pair{Name: line[:heredoc]}
			delimiter := line[heredoc+2:]
			if p.Name == "" || delimiter == "" {
				return pairs, fmt.Errorf("invalid format '%s'. Name must not be empty and delimiter must not be empty", line)
			}
			var err error
			if p.Value, text, err = heredocValue(text, delimiter); err != nil {
				return pairs, err
			}
			pairs = append(pairs, p)
		default:
			return pairs, fmt.Errorf("invalid format '%s'", line)
		}
	}
	return pairs, nil
}

// heredocValue returns the lines before the delimiter, and what follows it.
func heredocValue(text, delimiter string) (value, rest string, err error) {
	var lines []string
	for rest = text; ; {
		if rest == "" {
			return "", "", fmt.Errorf("invalid value. Matching delimiter not found '%s'", delimiter)
		}
		line, after, ended := strings.Cut(rest, "\n")
		if line == delimiter {
			return strings.Join(lines, "\n"), after, nil
		}
		if !ended {
			return "", "", fmt.Errorf("invalid value. EOF marker missing new line")
		}
		lines, rest = append(lines, line), after
	}
}

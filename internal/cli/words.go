package cli

import "fmt"

// countOf returns "1 case" or "2 cases".
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func countCases(n int) string { return countOf(n, "case") }

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

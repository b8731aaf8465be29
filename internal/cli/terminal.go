package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns that tables may take; 0 means that they are
// never cut, since no person reads them on a screen.
func (e *Env) width() int {
	w := e.Stdout
	if !isTerminal(w) {
		return 0
	}
	if v, ok := e.Lookup("COLUMNS"); ok {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return n
		}
	}
	if n, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
		return n
	}
	return 80
}

// color reports whether to colour the output (https://no-color.org).
func (e *Env) color() bool {
	if v, ok := e.Lookup("NO_COLOR"); ok && v != "" {
		return false
	}
	if v, ok := e.Lookup("TERM"); ok && v == "dumb" {
		return false
	}
	return isTerminal(e.Stdout)
}

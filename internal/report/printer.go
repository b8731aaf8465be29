package report

import (
	"bufio"
	"io"
	"strings"
)

// printer writes lines and keeps the first error, so that renderers read as
// what they print.
type printer struct {
	w     *bufio.Writer
	width int // terminal cells; 0: never wrap
	color bool
}

func newPrinter(w io.Writer, width int, color bool) *printer {
	return &printer{w: bufio.NewWriter(w), width: max(width, 0), color: color}
}

// flush ends the printing and returns the first error.
func (p *printer) flush() error { return p.w.Flush() }

// raw prints a line as it is. Errors stay in the writer until flush.
func (p *printer) raw(s string) {
	_, _ = p.w.WriteString(s)
	_ = p.w.WriteByte('\n')
}

// line prints clean text behind an indent; what does not fit goes on below,
// indented two cells more.
func (p *printer) line(indent int, text string, st style) {
	margin := strings.Repeat(" ", indent)
	if p.width == 0 || indent+displayWidth(text) <= p.width {
		p.raw(margin + p.paint(text, st))
		return
	}
	for i, part := range wrap(text, max(p.width-indent-2, 10)) {
		if i > 0 {
			part = "  " + part
		}
		p.raw(margin + p.paint(part, st))
	}
}

// blank prints an empty line.
func (p *printer) blank() { p.raw("") }

package report

import "io"

// Sheet prints an answer that a person is to judge, with what the judge read.
// Passages are pairs of id and text.
func Sheet(w io.Writer, ask string, input, expected []byte, passages [][2]string, citations []string, output []byte) error {
	p := newPrinter(w, 0, false)
	p.raw("to decide:")
	p.lines(ask)
	p.value("input", input)
	if len(expected) > 0 {
		p.value("expected", expected)
	}
	for _, passage := range passages {
		p.raw("passage " + Clean(passage[0]))
		p.lines(passage[1])
	}
	for _, id := range citations {
		p.raw("cites " + Clean(id))
	}
	p.value("output", output)
	return p.flush()
}

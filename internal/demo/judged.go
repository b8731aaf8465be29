package demo

import (
	"crypto/sha256"
	"net/http"
)

// judgedRAG serves the help centre of blackbox_rag with a writer that knows too
// much, and beside it, under /v1, the stand-in judge.
func judgedRAG(opt Options) (http.Handler, error) {
	lib, err := corpus()
	if err != nil {
		return nil, err
	}
	h := &helpCentre{library: lib, expandQuery: opt.ExpandQuery, garnish: knowItAll}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /answer", h.serveAnswer)
	newStandIn(opt).serve(mux)
	return mux, nil
}

// garnishes are sentences that no passage of the corpus carries.
func garnishes() []string {
	return []string{
		"Students pay half of that.",
		"The mobile app shows the same page.",
		"This was changed last spring.",
	}
}

// knowItAll adds to some answers, always to the same ones, a sentence of its own.
func knowItAll(question, answer string) string {
	sum := sha256.Sum256([]byte(question))
	if sum[0]%3 != 0 {
		return answer
	}
	own := garnishes()
	return answer + " " + own[int(sum[1])%len(own)]
}

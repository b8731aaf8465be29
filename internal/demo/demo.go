// Package demo holds the example services and programs: small, deterministic
// applications that stand in for a real one, so that every example runs with
// nothing but the binary. They open no connection of their own and keep no state.
package demo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ErrUnknown is part of the error for a name that no example service has.
var ErrUnknown = errors.New("no such example service")

// Options says how an example service runs.
type Options struct {
	// Addr is where Serve listens, HOST:PORT; port 0 takes a free one.
	Addr string
	// Log is where Serve says that it listens; nil keeps it quiet.
	Log io.Writer
	// Dir is the project that a program reads its data from; In and Out are what
	// it answers on.
	Dir fs.FS
	In  io.Reader
	Out io.Writer
	// ExpandQuery adds synonyms to a question before searching: the candidate
	// change of the tutorial.
	ExpandQuery bool

	// Of the stand-in judge: the model that it says it is, in place of the one it
	// is asked for; the share of texts that it is wrong about; whether it obeys
	// what stands in the text under judgment; how long it takes.
	Model     string
	ErrorRate float64
	Gullible  bool
	Delay     time.Duration
}

// service is one example service, or a program that answers on its standard
// streams.
type service struct {
	name    string
	path    string                              // where it answers
	handler func(Options) (http.Handler, error) // nil for a program
}

// services lists the example services and programs in the order they are shown.
func services() []service {
	return []service{
		{"blackbox_rag", "/answer", blackBox},
		{"support_rag", "", nil},
		{"judged_rag", "/answer", judgedRAG},
		{"judge", "/v1", judgeService},
	}
}

// IsProgram reports whether a name is that of an example program, which [Speak]
// runs, and not of a service.
func IsProgram(name string) bool {
	return slices.ContainsFunc(services(), func(s service) bool { return s.name == name && s.handler == nil })
}

// Names lists the example services and programs.
func Names() []string {
	var names []string
	for _, s := range services() {
		names = append(names, s.name)
	}
	return names
}

// Handler is the example service of that name, or an error that is
// [ErrUnknown] when there is none.
func Handler(name string, opt Options) (http.Handler, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	return s.handler(opt)
}

func find(name string) (service, error) {
	for _, s := range services() {
		if s.name == name && s.handler != nil {
			return s, nil
		}
	}
	return service{}, fmt.Errorf("%w: %q (there is: %s)", ErrUnknown, name, strings.Join(Names(), ", "))
}

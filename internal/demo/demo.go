// Package demo holds the example services: small, deterministic applications
// that stand in for a real one, so that every example runs with nothing but
// the binary. They open no connection of their own and keep no state.
package demo

import (
	"fmt"
	"net/http"
	"strings"
)

// Options changes what an example service does.
type Options struct {
	// ExpandQuery adds synonyms to a question before searching: the candidate
	// change of the tutorial.
	ExpandQuery bool
}

// service is one example service.
type service struct {
	name    string
	handler func(Options) (http.Handler, error)
}

// services lists the example services in the order they are shown.
func services() []service {
	return []service{
		{"blackbox_rag", blackBox},
	}
}

// Names lists the example services.
func Names() []string {
	var names []string
	for _, s := range services() {
		names = append(names, s.name)
	}
	return names
}

// Handler is the example service of that name. It fails when there is none.
func Handler(name string, opt Options) (http.Handler, error) {
	for _, s := range services() {
		if s.name == name {
			return s.handler(opt)
		}
	}
	return nil, fmt.Errorf("no example service %q (there is: %s)", name, strings.Join(Names(), ", "))
}

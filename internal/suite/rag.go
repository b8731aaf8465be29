package suite

import (
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// RAG is system.rag: a staged system.
type RAG struct {
	Pos Position
}

func (r *RAG) table() *y.MapType { return y.Mapping(y.Table{}) }

// meaning is what belongs to the identity of the system.
func (r *RAG) meaning() meaning { return meaning{} }

// program returns the place and the key of the program that the stages are; ""
// for stages that are called over HTTP.
func (r *RAG) program() (Position, string) { return r.Pos, "system.rag" }

package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON writes the document, the same bytes for the same document.
func JSON(w io.Writer, d *Document) error {
	b, err := json.Marshal(d, jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ReadJSON reads a document that [JSON] wrote. It refuses one of another
// version, because a change of meaning is a new version.
func ReadJSON(data []byte) (*Document, error) {
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	switch version.Schema {
	case DocumentSchema:
	case "":
		return nil, errors.New("read document: no schema, so it is no document of this tool")
	default:
		return nil, fmt.Errorf("read document: schema %q, this version of the tool reads %q", version.Schema, DocumentSchema)
	}
	d := new(Document)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return d, nil
}

package probe

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

var update = flag.Bool("update", false, "rewrite expected outputs")

// endpoints holds bodies of deployed services; see its README.
const endpoints = "../../testdata/endpoints"

type expected struct {
	File   string
	Result struct {
		Answer     *string
		Candidates []struct {
			DocID string `json:"doc_id"`
		}
		CitationIDs []string `json:"citation_ids"`
	}
}

func readMappings(t *testing.T) map[string]expected {
	t.Helper()
	all := map[string]expected{}
	for _, name := range []string{"mappings.json", "more.json"} {
		data, err := os.ReadFile(filepath.Join(endpoints, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func body(t *testing.T, path string) evidence.Value {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := evidence.ParseJSON(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// run gives what a jq expression yields.
func run(t *testing.T, expression string, v evidence.Value) any {
	t.Helper()
	q, err := gojq.Parse(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var in any
	if err := dec.Decode(&in); err != nil {
		t.Fatal(err)
	}
	iter := q.Run(in)
	out, ok := iter.Next()
	if !ok {
		t.Fatalf("%s yields nothing", expression)
	}
	if err, ok := out.(error); ok {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// answerOf maps the answer as proposed.
func answerOf(t *testing.T, p *Proposal, v evidence.Value) string {
	t.Helper()
	if p.Answer == nil {
		return ""
	}
	text := ""
	if p.Answer.JQ != "" {
		text, _ = run(t, p.Answer.JQ, v).(string)
	} else {
		found, err := evidence.Lookup(v, p.Answer.Path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ = evidence.Text(found)
	}
	for _, s := range p.Answer.Strip {
		switch {
		case s.Name == "think":
			text = thinkBlock.ReplaceAllString(text, "")
		case s.Name == "references":
			text = references.ReplaceAllString(text, "")
		case s.Regex != "":
			text = fileMarker.ReplaceAllString(text, "")
		}
	}
	return text
}

// docsOf maps the ids of the documents as proposed.
func docsOf(t *testing.T, p *Proposal, v evidence.Value) []string {
	t.Helper()
	if p.Sources == nil {
		return nil
	}
	var ids []string
	if p.Sources.JQ != "" {
		for _, c := range run(t, p.Sources.JQ, v).([]any) {
			ids = append(ids, fmt.Sprint(c.(map[string]any)["doc_id"]))
		}
		return ids
	}
	items, err := evidence.Lookup(v, p.Sources.Items)
	if err != nil {
		t.Fatal(err)
	}
	for item := range evidence.Elements(items) {
		id := ""
		for _, path := range p.Sources.Doc.Paths {
			if found, err := evidence.Lookup(item, path); err == nil && !evidence.IsNull(found) {
				if id, _ = evidence.Text(found); id == "" {
					id = string(found)
				}
				break
			}
		}
		if p.Sources.Doc.Cut {
			id = id[strings.LastIndexByte(id, '/')+1:]
		}
		ids = append(ids, id)
	}
	return ids
}

// What the bodies of deployed services are mapped to by structure alone.
func TestUnaided(t *testing.T) {
	mappings := readMappings(t)
	var names []string
	for name := range mappings {
		names = append(names, name)
	}
	slices.Sort(names)
	right := 0
	for _, name := range names {
		want := mappings[name]
		v := body(t, filepath.Join(endpoints, "responses", want.File))
		p := Propose(v, []string{"How long is the battery warranty?"})
		answer, docs := answerOf(t, p, v), docsOf(t, p, v)
		wantAnswer := ""
		if want.Result.Answer != nil {
			wantAnswer = *want.Result.Answer
		}
		var wantDocs []string
		for _, c := range want.Result.Candidates {
			wantDocs = append(wantDocs, c.DocID)
		}
		ok := answer == wantAnswer && slices.Equal(docs, wantDocs)
		if ok {
			right++
		}
		var cites []string
		if p.Citations != nil {
			cites = p.Citations.IDs
		}
		t.Logf("%v %s\n\tanswer %q\n\tdocs %q\n\tcites %q want %q", ok, name, answer, docs, cites, want.Result.CitationIDs)
		if p.Answer != nil {
			t.Logf("\t%v %s %s %s", p.Answer.Sure, p.Answer.Path, p.Answer.JQ, p.Answer.Why)
		}
		if p.Sources != nil {
			t.Logf("\t%v %s %s items=%s doc=%v chunk=%v score=%v text=%v\n\t%s", p.Sources.Sure, p.Sources.Kind, p.Sources.JQ, p.Sources.Items, p.Sources.Doc, p.Sources.Chunk, p.Sources.Score, p.Sources.Text, p.Sources.Why)
		}
		if !ok {
			t.Logf("\tWANT %q %q", wantAnswer, wantDocs)
		}
	}
	t.Logf("%d of %d", right, len(names))
}

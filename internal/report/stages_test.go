package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// A staged run says behind its Cache line which stages were reused; a run that
// needed no stage, and one that is not staged, say nothing of them.
func TestStagesLine(t *testing.T) {
	for _, tt := range []struct {
		stages *evidence.StageCounts
		want   string // behind the Cache line
	}{
		{nil, ""},
		{&evidence.StageCounts{}, ""},
		{&evidence.StageCounts{RetrieveHits: 13, GenerateHits: 7, GenerateMisses: 6}, "Stages: retrieve 13 hit/0 miss; generate 7 hit/6 miss\n"},
	} {
		in := exampleInput()
		in.Manifest.Stages = tt.stages
		d := Build(in)
		var text, stored bytes.Buffer
		if err := Text(&text, d, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		_, behind, _ := strings.Cut(text.String(), "judgment 0 hit/56 miss\n")
		if tt.want != "" && !strings.HasPrefix(behind, tt.want) || tt.want == "" && strings.Contains(behind, "Stages") {
			t.Errorf("%+v: behind the cache line %q", tt.stages, behind)
		}
		if err := JSON(&stored, d); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(stored.String(), `"stages"`); has != (tt.stages != nil) {
			t.Errorf("%+v: stages in the document: %v", tt.stages, has)
		}
	}
}

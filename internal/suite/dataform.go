package suite

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// casePartPattern matches what a field of a data set can become.
const casePartPattern = `^(id|(input|expected|metadata)(\.[^.]+)*)$`

func (s *Suite) datasetPath(want string) *y.StringType {
	return y.String(y.Into(&s.Dataset)).Want(want).Check(oneLine).At(y.Into(&s.DatasetPos))
}

// dataForm reads a data set that is not in our own form.
func (s *Suite) dataForm() *y.MapType {
	form := &foreign.Spec{}
	return y.Mapping(y.Table{
		{Key: "path", Type: s.datasetPath("a path"), Required: true,
			Doc: "Path of the data set, relative to the suite: a file, or the directory of a BEIR data set."},
		{Key: "format", Type: y.Enum(y.Into(&form.Format), foreign.Formats()...),
			Doc: "How the rows are written; told from the file when absent."},
		{Key: "fields", Type: y.Entries(y.Into(&form.Fields), casePartPattern, "id, input, expected or metadata, with a dotted path into it", fieldTable),
			Doc: "What stands where: a part of the case, and the field of the row, a list of fields of which the first that holds something counts, or {path, as, split}. Others stay as the format has them."},
		{Key: "id", Type: y.Name(y.Into(&form.ID)), Doc: "Field that names the case."},
		{Key: "split", Type: y.Name(y.Into(&form.Split)), Doc: "For beir: which judgments, test when absent."},
		{Key: "qrels", Type: y.String(y.Into(&form.Qrels)).Want("a path").Check(oneLine),
			Doc: "Path of relevance judgments of TREC or BEIR, relative to the suite, joined by the id of the case."},
	}).At(func(Position) { s.DataForm = form })
}

func fieldTable(target string, _ Position, f *foreign.Field) y.Type {
	f.Target = target
	source := func() *y.StringType {
		return y.String(func(path string) { f.Sources = []string{path} }).Want("the field of a row")
	}
	sources := func() *y.ListType {
		return y.List(y.Into(&f.Sources), func(path *string) y.Type {
			return y.String(y.Into(path)).Want("the field of a row")
		}).Min(1)
	}
	return y.Shape(source(), sources(), y.Mapping(y.Table{
		{Key: "path", Type: y.Either(source(), sources()), Required: true, Doc: "Field of the row, a column or a dotted path; of a list the first that holds something."},
		{Key: "as", Type: y.Enum(y.Into(&f.As), foreign.Kinds...), Doc: "How to read it; what the target asks for when absent."},
		{Key: "split", Type: y.String(y.Into(&f.Split)).Want("a text").Empty(), Doc: "What stands between the elements of a list in one cell."},
	}))
}

// NeedsForm reports whether the data set is a file that a path alone does not
// read, so that its lines are not worth looking at.
func (s *Suite) NeedsForm() bool {
	if s.DataForm != nil {
		return false
	}
	for _, ending := range []string{".csv", ".tsv", ".yaml", ".yml"} {
		if strings.HasSuffix(strings.ToLower(s.Dataset), ending) {
			return true
		}
	}
	return false
}

// checkDataForm finds what is wrong across the keys of the data set.
func (s *Suite) checkDataForm() (fault string) {
	if s.NeedsForm() {
		return fmt.Sprintf("dataset is %s, and a path alone is a JSONL file: write dataset: {path: %s}", s.Dataset, s.Dataset)
	}
	if s.DataForm == nil {
		return ""
	}
	if s.DataForm.Split != "" && s.DataForm.Format != "" && s.DataForm.Format != "beir" {
		return "dataset.split is for the format beir"
	}
	if s.DataForm.Format == "trec" && s.DataForm.Qrels == "" {
		return "dataset.qrels is missing: the format trec joins topics with judgments"
	}
	return ""
}

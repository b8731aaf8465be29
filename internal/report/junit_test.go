package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func renderJUnit(t fataler, d *Document, failing []FailingCase) string {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, d, failing); err != nil {
		t.Fatalf("JUnit: %v", err)
	}
	return b.String()
}

func TestJUnitGolden(t *testing.T) {
	failing := []FailingCase{{ID: "money_back", Criteria: []FailedCriterion{{ID: "answer_correct"}}}}
	golden(t, "junit_run.xml", renderJUnit(t, Build(exampleInput()), failing))
	golden(t, "junit_compare.xml", renderJUnit(t, comparedDocument(exampleComparison()), nil))
}

// element is any XML element, with its attributes and children in order.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e element) attr(name string) (string, bool) {
	i := slices.IndexFunc(e.Attrs, func(a xml.Attr) bool { return a.Name.Local == name })
	if i < 0 {
		return "", false
	}
	return e.Attrs[i].Value, true
}

// junitProblems holds a report against what the schema of Ant's JUnit task asks
// (names and order of elements, required attributes, their forms), which is the
// strictest of those in use.
func junitProblems(source string) []string {
	var root element
	if err := xml.Unmarshal([]byte(source), &root); err != nil {
		return []string{err.Error()}
	}
	var problems []string
	want := func(ok bool, what string) {
		if !ok {
			problems = append(problems, what)
		}
	}
	attrs := func(e element, forms map[string]string) {
		for name, form := range forms {
			v, ok := e.attr(name)
			want(ok && regexp.MustCompile(`^(?s:`+form+`)$`).MatchString(v), e.XMLName.Local+" "+name+"="+strconv.Quote(v))
		}
		for _, a := range e.Attrs {
			_, known := forms[a.Name.Local]
			want(known, e.XMLName.Local+" has "+a.Name.Local)
		}
	}
	const token = `\S(.*\S)?`
	want(root.XMLName.Local == "testsuites" && len(root.Attrs) == 0, "the root")
	for _, suite := range root.Children {
		attrs(suite, map[string]string{
			"name": token, "package": token, "id": `\d+`, "timestamp": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`, "hostname": token,
			"tests": `\d+`, "failures": `\d+`, "errors": `\d+`, "time": `\d+(\.\d+)?`,
		})
		counts := map[string]int{}
		var order []string
		for _, child := range suite.Children {
			order = append(order, child.XMLName.Local)
			switch child.XMLName.Local {
			case "properties":
				for _, p := range child.Children {
					attrs(p, map[string]string{"name": token, "value": `.*`})
				}
			case "testcase":
				counts["tests"]++
				attrs(child, map[string]string{"name": token, "classname": token, "time": `\d+(\.\d+)?`})
				want(len(child.Children) <= 1, "a test case with several outcomes")
				for _, outcome := range child.Children {
					counts[outcome.XMLName.Local+"s"]++
					attrs(outcome, map[string]string{"message": `.*`, "type": `.*`})
				}
			}
		}
		for _, name := range []string{"tests", "failures", "errors"} {
			got, _ := suite.attr(name)
			want(got == strconv.Itoa(counts[name]), name+" counts "+got)
		}
		want(regexp.MustCompile(`^properties( testcase)* system-out system-err$`).MatchString(strings.Join(order, " ")), "order "+strings.Join(order, " "))
	}
	return problems
}

func TestJUnitFollowsTheSchema(t *testing.T) {
	for name, in := range inputs() {
		if problems := junitProblems(renderJUnit(t, Build(in), nil)); len(problems) > 0 {
			t.Errorf("%s: %q", name, problems)
		}
	}
	if problems := junitProblems(`<testsuites><testsuite name="" tests="2"><testcase/></testsuite></testsuites>`); len(problems) < 5 {
		t.Errorf("few problems found: %q", problems)
	}
	rapid.Check(t, func(t *rapid.T) {
		foreign := func(place string) string { return drawForeign(t, place) }
		got := renderJUnit(t, hostileDocument(foreign), hostileOptions(foreign).Failing)
		if problems := junitProblems(got); len(problems) > 0 {
			t.Fatalf("%q in\n%s", problems, got)
		}
		dec := xml.NewDecoder(strings.NewReader(got))
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := tok.(xml.CharData); ok && bytes.ContainsFunc(c, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) }) {
				t.Fatalf("unprintable text %q", c)
			}
		}
	})
}

// A second reader of XML agrees that the reports are well formed.
func TestJUnitIsWellFormed(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed")
	}
	for name, in := range inputs() {
		cmd := exec.Command(lint, "--noout", "-")
		cmd.Stdin = strings.NewReader(renderJUnit(t, Build(in), nil))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

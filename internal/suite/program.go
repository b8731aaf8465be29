package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Command is system.command: a program that stays up and speaks the protocol
// of docs/systems.md over its standard streams.
type Command struct {
	Run       []string      // program and arguments, with ${NAME} as written
	Env       []Header      // added to the environment, values with ${NAME} as written
	Dir       string        // where it runs, relative to the suite; "" is the suite's directory
	Processes int           // how many of it run; 1 by default
	Timeout   time.Duration // for one answer; 120 s by default
	Pos       Position
	KeyPos    map[string]Position // of each key's value that is written
}

// Callable is system.callable: a function of a Python module.
type Callable struct {
	Target string // MODULE:ATTRIBUTE
	Pos    Position
}

// CodePath is one entry of code_paths: a file, a directory or a pattern.
type CodePath struct {
	Path string // relative to the suite, with slashes
	Pos  Position
}

// ProgramTimeout is how long a program may take for an answer, when the suite
// does not say.
const ProgramTimeout = 120 * time.Second

// targetPattern matches MODULE:ATTRIBUTE.
const targetPattern = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`

func (c *Command) table() *y.MapType {
	return y.Mapping(y.Table{
		{Key: "run", Type: y.List(y.Into(&c.Run), word).Min(1), Required: true,
			Doc: "Program and arguments, no shell. ${OLOPROOF_BIN} is this program, other ${NAME} come from the environment."},
		{Key: "env", Type: y.Entries(y.Into(&c.Env), namePattern, "a variable name (letters, digits and underscores)", variableTable),
			Doc: "Variables added to the program's environment. ${NAME} in a value is read from ours and never stored."},
		{Key: "cwd", Type: y.String(y.Into(&c.Dir)).Want("a directory").Check(oneLine), Null: true,
			Doc: "Directory that the program runs in, relative to the suite; the suite's own when absent."},
		{Key: "processes", Type: y.Int(y.Into(&c.Processes)).Min(1).Max(1000).Default(1),
			Doc: "How many processes of the program run. Each gets one case at a time, or as many as its hello says, up to concurrency.system in all."},
		{Key: "timeout_s", Type: y.Seconds(y.Into(&c.Timeout)).Default(ProgramTimeout.Seconds()),
			Doc: "Deadline of one answer in seconds. A program that does not keep it is ended and started again."},
	}).Keys(y.Into(&c.KeyPos))
}

// word is one word of a command line.
func word(into *string) y.Type {
	return y.String(y.Into(into)).Empty().Check(noNUL).Check(references)
}

func variableTable(name string, at Position, h *Header) y.Type {
	h.Name, h.Pos = name, at
	return y.String(y.Into(&h.Value)).Empty().Check(noNUL).Check(references)
}

func targetType(set func(string)) *y.StringType {
	return y.String(set).Want("a Python function as MODULE:FUNCTION").Check(checkTarget).SchemaPattern(targetPattern)
}

func checkTarget(text string) string {
	if regexp.MustCompile(targetPattern).MatchString(text) {
		return ""
	}
	fix := "write MODULE:NAME, such as app:run"
	if name, _, ok := strings.Cut(text, ".py"); ok && !strings.ContainsAny(name, `/\`) {
		fix = fmt.Sprintf("a module is named without .py, such as %s:run", name)
	}
	return fmt.Sprintf("KEY is %q: %s", text, fix)
}

func codePathTable(into *CodePath) y.Type {
	return y.String(y.Into(&into.Path)).Want("a path").Check(oneLine).At(y.Into(&into.Pos))
}

func recordTable(into *string) y.Type {
	return y.String(y.Into(into)).Pattern(kindPattern, "a kind such as retrieval/v1")
}

// checkSystem asks that the keys of the system go with its kind.
func (s *Suite) checkSystem(f *y.File, d *draft) {
	_, written := d.systemKeys["timeout_s"]
	s.System.DefaultTimeout = !written
	kind := s.System.Kind()
	if kind == "" {
		return
	}
	for _, rule := range []struct {
		key     string
		allowed []string
		why     string
	}{
		{"start", []string{"http"}, "system.start launches a service to be called over HTTP: a system of kind %s is started by itself"},
		{"records", []string{"command", "callable"}, "system.records is for systems that record by themselves, of kind command or callable, not for one of kind %s"},
		{"timeout_s", []string{"callable", "rag"}, "system.timeout_s is for Python systems: a system of kind %s has timeout_s below system.%[1]s"},
		{"code_paths", []string{"command", "callable", "rag"}, "system.code_paths is for programs: the code behind a system of kind %s cannot be seen, so change system.version with every deployment"},
	} {
		if rag := s.System.RAG; rule.key == "start" && rag != nil && rag.HTTP != nil {
			continue
		}
		if at, ok := d.systemKeys[rule.key]; ok && !slices.Contains(rule.allowed, kind) {
			f.Problem(at, rule.why, kind)
		}
	}
}

// systemKinds lists the keys of system that say what kind it is.
var systemKinds = []string{"http", "command", "callable", "rag"}

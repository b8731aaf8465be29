package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite expected outputs")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"oloproof": main, "stages": stages})
}

// TestScripts runs the program as a user does: testdata/script, one story a file.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			bundles, err := filepath.Abs("internal/store/testdata/python") // exported by Oloproof 0.1.0a20 (PyPI)
			e.Setenv("PYTHON", bundles)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// service_test.go
			"equalruns": equalruns,
			"awaits":    awaits,
			"calls":     calls,
			"holdsno":   holdsno,
			"serve":     serve,
			"stops":     stops,
			"unread":    unread,
			"secure":    secure, // secure_test.go

			// diagnose_test.go
			"changed": changed,
			"notes":   notes,
			// deployed_test.go
			"deploys":   deploys,
			"posts":     posts,
			"endpoints": endpoints, // stageendpoints_test.go

			"capture": capture,
			"exits":   exits,
			"pack":    pack,
			"port":    port,
			"ready":   ready,
			"replace": replace,
			"same":    same,
			"valid":   valid,
		},
	})
}

// port NAME: sets NAME to a free port.
func port(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// capture NAME REGEXP: sets NAME to the first match in the last standard output,
// or to what stands in parentheses there.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing like %s in\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found[len(found)-1])
}

// pack ZIP ENTRY...: makes a zip of files under their own names; SIZE:ENTRY is
// one of so many spaces.
func pack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pack ZIP ENTRY...")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	z := zip.NewWriter(f)
	for _, entry := range args[1:] {
		size, name, blank := strings.Cut(entry, ":")
		if !blank {
			name = entry
		}
		w, err := z.Create(name)
		ts.Check(err)
		if !blank {
			_, err = io.WriteString(w, ts.ReadFile(strings.TrimPrefix(name, "../")))
			ts.Check(err)
			continue
		}
		left, err := strconv.Atoi(size)
		ts.Check(err)
		for spaces := bytes.Repeat([]byte(" "), 1<<20); left > 0; left -= len(spaces) {
			_, err = w.Write(spaces[:min(left, len(spaces))])
			ts.Check(err)
		}
	}
	ts.Check(z.Close())
}

// replace FILE OLD NEW: the text NEW stands wherever OLD stood, which it must.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o644))
}

// valid SCHEMA FILE: the JSON file fits the JSON Schema, which has an objection
// to an empty object.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid SCHEMA FILE")
	}
	var values [2]any
	for i, name := range args {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(name)))
		ts.Check(err)
		values[i] = v
	}
	c := jsonschema.NewCompiler()
	ts.Check(c.AddResource("schema.json", values[0]))
	schema, err := c.Compile("schema.json")
	ts.Check(err)
	ts.Check(schema.Validate(values[1]))
	if schema.Validate(map[string]any{}) == nil {
		ts.Fatalf("%s takes everything", args[0])
	}
}

// ready ADDR: waits until a server accepts connections.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready HOST:PORT")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if c, err := net.Dial("tcp", args[0]); err == nil {
			c.Close()
			return
		}
	}
	ts.Fatalf("nothing answers at %s", args[0])
}

// same BUNDLE BUNDLE: both hold the same run, but for what no two runs share.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same BUNDLE BUNDLE")
	}
	for _, name := range []string{"run.json", "judgments.jsonl", "cases.jsonl", "gate.json"} {
		a := comparable(ts, filepath.Join(args[0], name))
		b := comparable(ts, filepath.Join(args[1], name))
		if diff := cmp.Diff(a, b); diff != "" {
			ts.Fatalf("%s differs:\n%s", name, diff)
		}
	}
}

// comparable reads a file of JSON values without run ids, times, latencies, costs,
// attempts, digests of files and the service's port.
func comparable(ts *testscript.TestScript, path string) []any {
	text := regexp.MustCompile(`run_[0-9A-Z]{26}`).ReplaceAllString(ts.ReadFile(path), "RUN")
	text = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(text, "HOST")
	var values []any
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return values
		} else if err != nil {
			ts.Fatalf("%s: %v", path, err)
		}
		values = append(values, withoutVariable(v))
	}
}

func withoutVariable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			switch key {
			case "started_at", "finished_at", "latency_ms", "attempts", "files", "latency", "cost":
				delete(v, key)
			default:
				v[key] = withoutVariable(v[key])
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutVariable(v[i])
		}
	}
	return v
}

// exits CODE COMMAND ARG...: the command ends with exactly this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

// TestMain makes the test binary a program under test when it is asked to be one.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROGRAM_ROLE"); role != "" {
		play(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type asked struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Case   string          `json:"case"`
	Params json.RawMessage `json:"params"`
}

const hello = `{"hello":{"protocol":1,"methods":["run","count_tokens"],"name":"stub","version":"7","records":["citations/v1"],"settings":{"depth":6},"concurrency":64}}`

// play is a program that does as the input of a case says.
func play(role string) {
	switch role {
	case "silent":
		select {}
	case "dies":
		fmt.Fprintln(os.Stderr, "no key s3cr3t-t0ken found")
		os.Exit(4)
	case "chatty":
		fmt.Println("Loading the model…")
	case "future":
		fmt.Println(`{"hello":{"protocol":2,"methods":["run"]}}`)
	case "poor":
		fmt.Println(`{"hello":{"protocol":1,"methods":["retrieve"]}}`)
	case "refuses":
		fmt.Println(`{"hello":{"protocol":1,"methods":[],"error":{"message":"no index","detail":"line one\nline two s3cr3t-t0ken"}}}`)
	case "dies again":
		mark := os.Getenv("PROGRAM_MARK")
		if _, err := os.Stat(mark); err == nil {
			os.Exit(5)
		}
		_ = os.WriteFile(mark, nil, 0o600)
	}
	hello := hello
	if role == "becomes another" {
		mark := os.Getenv("PROGRAM_MARK")
		if _, err := os.Stat(mark); err == nil {
			hello = strings.Replace(hello, os.Getenv("PROGRAM_SAID"), os.Getenv("PROGRAM_SAYS"), 1)
		}
		_ = os.WriteFile(mark, nil, 0o600)
	}
	if role != "chatty" && role != "future" && role != "poor" && role != "refuses" {
		fmt.Println(hello)
	}
	if role == "leaves" {
		return
	}
	if role == "deaf" {
		select {}
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	var held []int
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if role == "stubborn" {
				select {}
			}
			return
		}
		var r asked
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		var p struct {
			Input any `json:"input"`
		}
		_ = json.Unmarshal(r.Params, &p)
		do, _ := p.Input.(string)
		switch do {
		case "echo", "":
			fmt.Printf("{\"id\":%d,\"result\":%s}\n", r.ID, r.Params)
		case "record":
			fmt.Printf("{\"id\":%d,\"result\":1,\"artifacts\":{\"citations/v1\":{\"ids\":[\"a\"]}},\"usage\":{\"input_tokens\":3}}\n", r.ID)
		case "twice":
			fmt.Printf("{\"id\":%d,\"result\":1,\"artifacts\":{\"citations/v1\":{\"ids\":[\"a\"]},\"citations/v1\":{\"ids\":[]}}}\n", r.ID)
		case "malformed":
			fmt.Printf("{\"id\":%d,\"result\":1,\"artifacts\":{\"citations/v1\":{\"ids\":[3]}}}\n", r.ID)
		case "odd kind":
			fmt.Printf("{\"id\":%d,\"result\":1,\"artifacts\":{\"retrieval\":{}}}\n", r.ID)
		case "odd usage":
			fmt.Printf("{\"id\":%d,\"result\":1,\"usage\":{\"input_tokens\":\"s3cr3t-t0ken\"}}\n", r.ID)
		case "error without words":
			fmt.Printf("{\"id\":%d,\"error\":\"\"}\n", r.ID)
		case "error of two lines":
			fmt.Printf("{\"id\":%d,\"error\":\"one\\ntwo\"}\n", r.ID)
		case "odd artifacts":
			fmt.Printf("{\"id\":%d,\"result\":1,\"artifacts\":\"s3cr3t-t0ken\"}\n", r.ID)
		case "error":
			fmt.Printf("{\"id\":%d,\"error\":{\"message\":\"no s3cr3t-t0ken\",\"detail\":\"app.py:3\\nkey s3cr3t-t0ken\"}}\n", r.ID)
		case "fatal":
			fmt.Printf("{\"id\":%d,\"error\":{\"message\":\"retrieve() returned 7\",\"fatal\":true}}\n", r.ID)
		case "crash":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(3)
		case "kill":
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		case "hang":
			fmt.Fprintln(os.Stderr, "still thinking")
		case "hang with a child":
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PROGRAM_ROLE=silent")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			_ = cmd.Start()
		case "garbage":
			fmt.Println("Answer: s3cr3t-t0ken")
		case "empty line":
			fmt.Println()
		case "nan":
			fmt.Printf("{\"id\":%d,\"result\":{\"score\":NaN}}\n", r.ID)
		case "latin":
			fmt.Printf("{\"id\":%d,\"result\":\"\xe9\"}\n", r.ID)
		case "nothing":
			fmt.Printf("{\"id\":%d}\n", r.ID)
		case "other":
			fmt.Printf("{\"id\":%d,\"result\":1}\n", r.ID+1000)
		case "double":
			fmt.Printf("{\"id\":%d,\"result\":1}\n{\"id\":%d,\"result\":2}\n", r.ID, r.ID)
		case "double with another": // the second answer comes when another case is in flight
			if held = append(held, r.ID); len(held) == 2 {
				fmt.Printf("{\"id\":%d,\"result\":1}\n{\"id\":%d,\"result\":2}\n", held[0], held[0])
			} else if _, err := os.Stat(os.Getenv("PROGRAM_MARK")); err == nil {
				fmt.Printf("{\"id\":%d,\"result\":\"alone\"}\n", r.ID)
			}
			_ = os.WriteFile(os.Getenv("PROGRAM_MARK"), nil, 0o600)
		case "late": // the first one is answered when another one comes
			if held = append(held, r.ID); len(held) == 1 {
				_ = os.WriteFile(os.Getenv("PROGRAM_MARK"), nil, 0o600)
			} else {
				fmt.Printf("{\"id\":%d,\"result\":\"late\"}\n{\"id\":%d,\"result\":\"own\"}\n", held[0], r.ID)
			}
		case "cut off": // its last line has no end, and it is gone
			fmt.Printf("{\"id\":%d,\"result\":1}", r.ID)
			os.Exit(0)
		case "endless line":
			chunk := strings.Repeat("x", 1<<20)
			for {
				if _, err := fmt.Print(chunk); err != nil {
					os.Exit(0)
				}
			}
		case "endless lines":
			for {
				if _, err := fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 200)); err != nil {
					os.Exit(0)
				}
			}
		case "answers in a flood": // which goes on beside
			go func() {
				for {
					fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 200))
				}
			}()
			fmt.Printf("{\"id\":%d,\"result\":1}\n", r.ID)
		case "close":
			os.Stdout.Close()
			select {}
		case "log":
			fmt.Fprintln(os.Stderr, "thinking about", r.Case)
			fmt.Printf("{\"id\":%d,\"result\":1}\n", r.ID)
		case "hold": // answers in the opposite order once there are three
			if held = append(held, r.ID); len(held) == 3 {
				for i := len(held) - 1; i >= 0; i-- {
					fmt.Printf("{\"id\":%d,\"result\":%d}\n", held[i], held[i])
				}
				held = nil
			}
		case "crash with others", "innocent": // the third of three ends it; later it is alone
			mark := os.Getenv("PROGRAM_MARK")
			_, err := os.Stat(mark)
			if held = append(held, r.ID); err != nil && len(held) == 3 {
				_ = os.WriteFile(mark, nil, 0o600)
				os.Exit(9)
			}
			if err == nil && do == "innocent" {
				fmt.Printf("{\"id\":%d,\"result\":\"fine\"}\n", r.ID)
			} else if err == nil {
				os.Exit(9)
			}
		}
	}
}

func config(role string, env ...string) process.Config {
	return process.Config{
		Command: []string{os.Args[0]}, Env: append([]string{"PROGRAM_ROLE=" + role}, env...),
		Processes: 1, Timeout: 20 * time.Second, Grace: time.Second, Needs: []string{process.MethodRun},
		Redact: redact.New([]string{"s3cr3t-t0ken"}), Now: time.Now,
	}
}

func start(t *testing.T, cfg process.Config) *process.Client {
	t.Helper()
	c, err := process.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ask(c *process.Client, caseID, input string) (process.Reply, error) {
	return c.Call(context.Background(), caseID, process.MethodRun, evidence.Value(`{"input":"`+input+`"}`))
}

func wantFault(t *testing.T, err error, kind evidence.ErrorKind, message, detail string) {
	t.Helper()
	var f *process.Fault
	if !errors.As(err, &f) {
		t.Fatalf("%v is no fault", err)
	}
	if f.Kind != kind || !strings.Contains(f.Message, message) || f.Detail != detail {
		t.Errorf("fault %s %q %q, want %s %q %q", f.Kind, f.Message, f.Detail, kind, message, detail)
	}
}

func TestHelloAndAnswers(t *testing.T) {
	c := start(t, config("serve"))
	h := c.Hello()
	if h.Name != "stub" || h.Version != "7" || !h.Offers("count_tokens") || h.Offers("rerank") || len(h.Records) != 1 || string(h.Settings) != `{"depth":6}` || h.Code != nil {
		t.Errorf("hello %+v", h)
	}
	reply, err := c.Call(t.Context(), "a", process.MethodRun, evidence.Value("{\n \"input\": \"echo\"\n}"))
	if err != nil || string(reply.Result) != `{"input":"echo"}` {
		t.Errorf("reply %s, %v", reply.Result, err)
	}
	reply, err = ask(c, "b", "record")
	if err != nil || len(reply.Artifacts.Citations) != 1 || reply.Artifacts.Citations[0].IDs[0] != "a" || *reply.Usage.InputTokens != 3 {
		t.Errorf("reply %+v, %v", reply, err)
	}
}

func TestFaultsOfACase(t *testing.T) {
	c := start(t, config("serve"))
	for _, tt := range []struct{ input, message, detail string }{
		{"error", "error: no [redacted]", "app.py:3\nkey [redacted]"},
		{"error without words", `error: the program does not say which (an error has a message): ""`, ""},
		{"error of two lines", "error: one two", ""},
		{"crash", "the program ended before it answered (exit status 3)", "out of memory"},
		{"kill", "the program ended before it answered (signal: killed)", ""},
		{"garbage", "a line on standard output that is no answer: Answer: [redacted]", ""},
		{"empty line", "a line on standard output that is no answer: (an empty line)", ""},
		{"nan", `an answer that cannot be read, `, ""},
		{"latin", `an answer that cannot be read, `, ""},
		{"nothing", "it has neither result nor error", ""},
		{"other", "an answer to the request ", ""},
		{"close", "the program closed its standard output, so it was ended", ""},
		{"endless line", "a line of more than 33554432 bytes on standard output", ""},
	} {
		t.Run(tt.input, func(t *testing.T) {
			_, err := ask(c, "x", tt.input)
			wantFault(t, err, evidence.ErrProgram, tt.message, tt.detail)
			if reply, err := ask(c, "y", "echo"); err != nil || len(reply.Retried) != 0 {
				t.Errorf("the next case: %+v, %v", reply, err)
			}
		})
	}
}

func TestContractErrors(t *testing.T) {
	c := start(t, config("serve"))
	for input, want := range map[string]string{
		"twice":         `case "x": malformed citations/v1 artifact: recorded twice for one case: record it once`,
		"malformed":     `case "x": malformed citations/v1 artifact: ids[0]: want a string, found 3; found {"ids":[3]}`,
		"fatal":         `case "x": retrieve() returned 7`,
		"odd kind":      `case "x": malformed retrieval artifact: there is no such kind; it is retrieval/v1; found {}`,
		"odd artifacts": `case "x": malformed any artifact: artifacts: want an object of kinds and artifacts, found "[redacted]"`,
		"odd usage":     `case "x": usage: input_tokens: want a whole number, found "\"[redacted]\"" (at byte 16)`,
	} {
		var f *process.Fault
		if _, err := ask(c, "x", input); err == nil || errors.As(err, &f) || err.Error() != want {
			t.Errorf("%s: %v, want %s", input, err, want)
		}
	}
}

func TestHangEndsWithTheWholeGroup(t *testing.T) {
	cfg := config("serve")
	c := start(t, cfg)
	c.Close()
	cfg.Timeout = 300 * time.Millisecond
	c = start(t, cfg)
	_, err := ask(c, "x", "hang")
	wantFault(t, err, evidence.ErrTimeout, "no answer within 300ms", "still thinking")
	_, err = ask(c, "x", "hang with a child")
	wantFault(t, err, evidence.ErrTimeout, "no answer within 300ms", "")
	if _, err := ask(c, "y", "echo"); err != nil {
		t.Errorf("the next case: %v", err)
	}
}

func TestAnswersInAnyOrder(t *testing.T) {
	c := start(t, config("serve"))
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if _, err := ask(c, fmt.Sprint(i), "hold"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A program that ends with three cases in flight takes them with it; each is
// asked again alone, so that those it can answer are answered.
func TestOneCaseToBlame(t *testing.T) {
	c := start(t, config("serve", "PROGRAM_MARK="+t.TempDir()+"/mark"))
	var all sync.WaitGroup
	for _, input := range []string{"innocent", "innocent", "crash with others"} {
		all.Go(func() {
			reply, err := ask(c, input, input)
			if input == "innocent" {
				if err != nil || string(reply.Result) != `"fine"` || len(reply.Retried) != 1 {
					t.Errorf("innocent: %+v, %v", reply, err)
				}
				return
			}
			wantFault(t, err, evidence.ErrProgram, "exit status 9", "")
		})
	}
	all.Wait()
}

// What is answered twice is noted, whoever was in flight meanwhile, and is not
// held against that one: it is asked again alone.
func TestAnsweredTwice(t *testing.T) {
	c := start(t, config("serve", "PROGRAM_MARK="+t.TempDir()+"/mark"))
	var all sync.WaitGroup
	replies := make([]process.Reply, 2)
	for i := range replies {
		all.Go(func() {
			var err error
			if replies[i], err = ask(c, "x", "double with another"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if replies[0].Retried != nil {
		slices.Reverse(replies)
	}
	if string(replies[0].Result) != "1" || replies[0].Retried != nil || string(replies[1].Result) != `"alone"` || len(replies[1].Retried) != 1 {
		t.Errorf("replies %+v", replies)
	}
	const want = `the program answered case "x" a second time, and was started again: `
	if notes := c.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
		t.Errorf("notes %q, want %s", notes, want)
	}
	c = start(t, config("serve"))
	for _, id := range []string{"a", "b", "a"} {
		if reply, err := ask(c, id, "double"); err != nil || string(reply.Result) != "1" {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	c.Close()
	if notes := c.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "2 cases") {
		t.Errorf("notes %q", notes)
	}
}

// A process that can answer nothing any more is asked nothing: the next case has
// the next one.
func TestEndsBetweenCases(t *testing.T) {
	c := start(t, config("serve"))
	for range 20 {
		if reply, err := ask(c, "x", "cut off"); err != nil || string(reply.Result) != "1" || reply.Retried != nil {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	if _, err := ask(c, "y", "echo"); err != nil {
		t.Error(err)
	}
	const want = "the program ended, or wrote what is no answer, 20 times while no case was in flight"
	if notes := c.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
		t.Errorf("notes %q, want %s", notes, want)
	}
	c = start(t, config("serve"))
	if _, err := ask(c, "x", "crash"); err == nil {
		t.Error("a program that crashes answers")
	}
	c.Close()
	if notes := c.Notes(); notes != nil {
		t.Errorf("notes %q of what a case is to blame for", notes)
	}
}

// An answer that nobody waits for any more is passed over, and is nobody else's.
func TestLateAnswer(t *testing.T) {
	mark := t.TempDir() + "/mark"
	c := start(t, config("serve", "PROGRAM_MARK="+mark))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := c.Call(ctx, "x", process.MethodRun, evidence.Value(`{"input":"late"}`))
		left <- err
	}()
	for { // a hang is a failure
		if _, err := os.Stat(mark); err == nil {
			break
		}
		runtime.Gosched()
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	reply, err := ask(c, "y", "late")
	if err != nil || string(reply.Result) != `"own"` || reply.Retried != nil || c.Notes() != nil {
		t.Errorf("%+v, %v, notes %q", reply, err, c.Notes())
	}
}

func TestStandardErrorBelongsToItsCase(t *testing.T) {
	c := start(t, config("serve"))
	for _, id := range []string{"seats", "plans"} {
		reply, err := ask(c, id, "log")
		if err != nil || reply.Stderr != "thinking about "+id && runtime.GOOS != "windows" {
			t.Errorf("%q, %v", reply.Stderr, err)
		}
	}
}

func TestDoesNotStart(t *testing.T) {
	for role, want := range map[string]string{
		"dies":    "the program did not start: it ended before it said hello (exit status 4)\n  | no key [redacted] found",
		"chatty":  "the program did not start: the first line on standard output is no hello such as {\"hello\": {\"protocol\": 1, \"methods\": [\"run\"]}}: ",
		"future":  "the program speaks version 2 of the protocol, and this oloproof version 1: update the one that is older",
		"poor":    "the program does not offer the method run that this suite needs; its hello lists: retrieve",
		"refuses": "no index\n  | line one\n  | line two [redacted]",
	} {
		if _, err := process.Start(t.Context(), config(role)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", role, err, want)
		}
	}
	cfg := config("silent")
	cfg.Timeout = 100 * time.Millisecond
	if _, err := process.Start(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), "the program did not say hello within 100ms") {
		t.Errorf("silent: %v", err)
	}
	cfg = config("serve")
	cfg.Command = []string{"no-such-program-anywhere"}
	if _, err := process.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "could not be started") {
		t.Errorf("no such program: %v", err)
	}
}

func TestDeadProgramEndsTheRun(t *testing.T) {
	c := start(t, config("serve"))
	faults := 0
	for range 20 {
		_, err := ask(c, "x", "crash")
		var f *process.Fault
		if errors.As(err, &f) {
			faults++
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "the program ended 8 times without an answer in between, so the rest was not tried; the last time: the program ended before it answered (exit status 3)") {
			t.Errorf("error %v", err)
		}
		break
	}
	if faults != 8 {
		t.Errorf("%d cases were errored, want 8", faults)
	}
}

func TestDiesWhenStartedAgain(t *testing.T) {
	c := start(t, config("dies again", "PROGRAM_MARK="+t.TempDir()+"/mark"))
	_, err := ask(c, "x", "crash")
	wantFault(t, err, evidence.ErrProgram, "exit status 3", "out of memory")
	var f *process.Fault
	if _, err := ask(c, "y", "echo"); err == nil || errors.As(err, &f) || !strings.Contains(err.Error(), "did not start: it ended before it said hello (exit status 5)") {
		t.Errorf("error %v", err)
	}
}

// A program that says something else of itself when it is started again is another
// system, and one run has one.
func TestBecomesAnother(t *testing.T) {
	for _, tt := range []struct{ said, says, want string }{
		{`"version":"7"`, `"version":"8"`, `its version was "7" and is "8" now`},
		{`"depth":6`, `"depth":7`, "the settings in its hello are not those of the first one"},
		{`"name":`, `"code":{"a":"b"},"name":`, "its code was edited meanwhile"},
		{`"settings":{"depth":6}`, `"settings":{ "depth":6 }`, ""},
	} {
		c := start(t, config("becomes another", "PROGRAM_MARK="+t.TempDir()+"/mark", "PROGRAM_SAID="+tt.said, "PROGRAM_SAYS="+tt.says))
		_, err := ask(c, "x", "crash")
		wantFault(t, err, evidence.ErrProgram, "exit status 3", "out of memory")
		_, err = ask(c, "y", "echo")
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.says, err)
			}
			continue
		}
		want := "the program is another one since it was started again: " + tt.want + ". The rest was not tried, since one run has one system; make a new run"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.says, err, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, role := range []string{"serve", "stubborn"} {
		c := start(t, config(role))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := c.Call(ctx, "x", process.MethodRun, evidence.Value(`{"input":"hang"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
		c.Close()
		if _, err := ask(c, "x", "echo"); err == nil {
			t.Error("a closed client answers")
		}
	}
}

func TestFloodOnStandardErrorIsBounded(t *testing.T) {
	cfg := config("serve")
	cfg.Timeout, cfg.Start = time.Second, 20*time.Second
	c := start(t, cfg)
	if _, err := ask(c, "x", "answers in a flood"); err != nil {
		t.Error(err)
	}
	c.Close()
	c = start(t, cfg)
	_, err := ask(c, "x", "endless lines")
	var f *process.Fault
	if !errors.As(err, &f) || f.Kind != evidence.ErrTimeout || len(f.Detail) > 64<<10 || !strings.HasPrefix(f.Detail, "noise") {
		t.Errorf("error %v", err)
	}
}

func TestSeveralProcesses(t *testing.T) {
	cfg := config("serve")
	cfg.Processes = 3
	c := start(t, cfg)
	// Each process answers to the third request only: three of nine calls wait for
	// two others in the same one.
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			if reply, err := ask(c, fmt.Sprint(i), "hold"); err != nil || string(reply.Result) > "3" {
				t.Errorf("%s, %v", reply.Result, err)
			}
		})
	}
	all.Wait()
}

// A program that does not read holds up nobody for longer than the deadline.
func TestDeafProgram(t *testing.T) {
	cfg := config("deaf")
	cfg.Timeout, cfg.Start = 200*time.Millisecond, 20*time.Second
	c := start(t, cfg)
	large := strings.Repeat("x", 4<<20)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			_, err := ask(c, fmt.Sprint(i), large)
			wantFault(t, err, evidence.ErrTimeout, "no answer within 200ms", "")
		})
	}
	all.Wait()
}

// What a program says without being asked counts against it when nobody waits.
func TestSaysHelloAndEnds(t *testing.T) {
	c := start(t, config("leaves"))
	for range 9 {
		_, err := ask(c, "x", "echo")
		var f *process.Fault
		if !errors.As(err, &f) {
			if err == nil || !strings.Contains(err.Error(), "the program ended 8 times without an answer in between") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("a program that leaves at once is never called dead")
}

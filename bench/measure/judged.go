package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
)

const (
	judgeLatency  = 200 * time.Millisecond
	judgeInFlight = 16
)

// judged times runs whose every answer goes to a judge that takes its time: the
// first asks it of every case, the second of none.
func (p plan) judged(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	judge, err := p.startJudge(ctx)
	if err != nil {
		return nil, err
	}
	defer judge.stop()
	dir := filepath.Join(p.work, "judged")
	if err := workload.WriteProject(dir, p.slowCases, m.url, slowInFlight); err != nil {
		return nil, err
	}
	if err := addJudge(filepath.Join(dir, "oloproof.yaml"), judge.url); err != nil {
		return nil, err
	}
	run := func(calls int, args ...string) (usage, error) {
		before, err := judge.calls()
		if err != nil {
			return usage{}, err
		}
		u, err := p.program(ctx, dir, "oloproof", append([]string{"run"}, args...)...)
		if err != nil {
			return u, err
		}
		after, err := judge.calls()
		if err == nil && after-before != calls {
			err = fmt.Errorf("the judge was asked %d times, %d were due", after-before, calls)
		}
		return u, err
	}
	log.Printf("judged: %d cases, %v each", p.slowCases, judgeLatency)
	first, err := run(p.slowCases, "--fresh-judgments")
	if err != nil {
		return nil, err
	}
	second, err := best(p.repetitions, func() (usage, error) { return run(0) })
	if err != nil {
		return nil, err
	}
	rounds := (p.slowCases + judgeInFlight - 1) / judgeInFlight
	ideal := time.Duration(rounds) * judgeLatency
	where := fmt.Sprintf("%d cases, a judge of %v, 16 calls of it at one time", p.slowCases, judgeLatency)
	return table{
		{what: "`oloproof run`: " + where + ", once", usage: first, targets: []target{atMostTime(first, ideal*105/100)}},
		{what: fmt.Sprintf("the same again, minimum of %d: the judge is asked nothing", p.repetitions), usage: second},
	}, nil
}

// addJudge adds a judge to the suite at path.
func addJudge(path, base string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	judge := fmt.Sprintf("evaluators:\n  - {type: groundedness_judge, provider: openai_compatible, base_url: %q, model: stand-in}\n", base)
	edited := strings.Replace(string(text), "evaluators:\n", judge, 1)
	edited = strings.Replace(edited, fmt.Sprintf("{system: %d}", slowInFlight), fmt.Sprintf("{system: %d, judge: %d}", slowInFlight, judgeInFlight), 1)
	return os.WriteFile(path, []byte(edited), 0o644)
}

// standIn is a running stand-in judge.
type standIn struct {
	url string // of its API
	cmd *exec.Cmd
}

func (p plan) startJudge(ctx context.Context) (*standIn, error) {
	cmd := exec.CommandContext(ctx, p.path("oloproof"), "example-server", "judge", "--addr", "127.0.0.1:0", "--delay", judgeLatency.String())
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &standIn{cmd: cmd}
	line, err := bufio.NewReader(said).ReadString('\n')
	_, rest, ok := strings.Cut(line, " answers on ")
	if err != nil || !ok {
		s.stop()
		return nil, fmt.Errorf("the stand-in judge does not start: %q %v", line, err)
	}
	s.url = strings.Fields(rest)[0]
	return s, nil
}

func (s *standIn) stop() {
	_ = s.cmd.Process.Kill() // it may have ended with the context already
	_ = s.cmd.Wait()
}

// calls is how often the judge was asked so far.
func (s *standIn) calls() (int, error) {
	response, err := http.Get(strings.TrimSuffix(s.url, "/v1") + "/calls")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var count struct{ Calls int }
	err = json.NewDecoder(response.Body).Decode(&count)
	return count.Calls, err
}

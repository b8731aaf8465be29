package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// mock is a running mock endpoint.
type mock struct {
	url string // of /answer
	cmd *exec.Cmd
}

func (p plan) startMock(ctx context.Context, latency time.Duration) (*mock, error) {
	cmd := exec.CommandContext(ctx, p.path("mock"), "--latency", latency.String())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m := &mock{cmd: cmd}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		m.stop()
		return nil, fmt.Errorf("the mock endpoint does not start: %w", err)
	}
	m.url = strings.TrimSpace(line)
	return m, nil
}

func (m *mock) stop() {
	_ = m.cmd.Process.Kill() // it may have ended with the context already
	_ = m.cmd.Wait()
}

// candidate is the address of the changed service.
func (m *mock) candidate() string { return strings.TrimSuffix(m.url, "/answer") + "/candidate" }

// answered is how many questions the endpoint has answered so far.
func (m *mock) answered() (int, error) {
	response, err := http.Get(strings.TrimSuffix(m.url, "/answer") + "/count")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(body)))
}

// asked runs a measurement and makes sure that it asked so many questions: a
// program that skips its work is fast.
func (m *mock) asked(questions int, measure func() (usage, error)) (usage, error) {
	before, err := m.answered()
	if err != nil {
		return usage{}, err
	}
	u, err := measure()
	if err != nil {
		return u, err
	}
	after, err := m.answered()
	if err != nil {
		return u, err
	}
	if after-before != questions {
		return u, fmt.Errorf("the endpoint answered %d questions, %d were to be asked", after-before, questions)
	}
	return u, nil
}

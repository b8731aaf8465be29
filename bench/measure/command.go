package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// usage is what one process took.
type usage struct {
	wall   time.Duration // from before its start to after its end
	memory int64         // peak resident bytes; 0 where the system does not say
	stdout string
}

// program runs one of the built programs in dir to its end.
func (p plan) program(ctx context.Context, dir, name string, args ...string) (usage, error) {
	return runCommand(ctx, dir, p.path(name), args...)
}

func (p plan) path(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(p.bin, name)
}

func runCommand(ctx context.Context, dir, path string, args ...string) (usage, error) {
	return runWith(ctx, dir, path, nil, args...)
}

// runWith runs a command with more variables.
func runWith(ctx context.Context, dir, path string, env []string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(environment(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start), stdout: stdout.String()}
	if err != nil {
		return u, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(path), strings.Join(args, " "), err, tail(stdout.String()), tail(stderr.String()))
	}
	u.memory = peakMemory(cmd.ProcessState)
	return u, nil
}

// environment is ours without what would steer oloproof.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OLOPROOF_") })
}

func tail(s string) string {
	const most = 2000
	return s[max(0, len(s)-most):]
}

// best repeats a measurement and returns the shortest time beside the largest
// memory of all repetitions.
func best(repetitions int, measure func() (usage, error)) (usage, error) {
	all, err := repeat(repetitions, measure)
	if err != nil {
		return usage{}, err
	}
	return shortest(all), nil
}

func repeat(repetitions int, measure func() (usage, error)) ([]usage, error) {
	if repetitions < 1 {
		return nil, errors.New("at least one repetition is needed")
	}
	var all []usage
	for range repetitions {
		u, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func shortest(all []usage) usage {
	u := all[0]
	for _, other := range all[1:] {
		u.wall = min(u.wall, other.wall)
		u.memory = max(u.memory, other.memory)
	}
	return u
}

// median returns the middle time beside the largest memory.
func median(all []usage) usage {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b usage) int { return int(a.wall - b.wall) })
	u := shortest(all)
	u.wall = sorted[len(sorted)/2].wall
	return u
}

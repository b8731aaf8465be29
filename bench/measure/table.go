package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// row is one measurement; table is all of them.
type row struct {
	what    string
	usage   usage
	targets []target
}

type table []row

// target is what a measurement is held against. Nothing depends on it but the
// words in the table.
type target struct {
	text string
	met  bool
}

func atMostTime(u usage, limit time.Duration) target {
	return target{"at most " + seconds(limit), u.wall <= limit}
}

func atMostMemory(u usage, limit int64) target {
	if u.memory == 0 {
		return target{fmt.Sprintf("at most %d MB (not known here)", limit/megabyte), false}
	}
	return target{fmt.Sprintf("at most %d MB", limit/megabyte), u.memory <= limit}
}

func atMostSize(bytes, limit int64) target {
	return target{fmt.Sprintf("a file of at most %d MB", limit/megabyte), bytes <= limit}
}

func atMostRatio(u, floor usage, limit float64) target {
	ratio := float64(u.wall) / float64(floor.wall)
	return target{fmt.Sprintf("%.2f × the floor, at most %.1f ×", ratio, limit), ratio <= limit}
}

func atLeastFaster(u, other usage, times float64) target {
	ratio := float64(other.wall) / float64(u.wall)
	return target{fmt.Sprintf("%.1f × as fast as the Python tool, at least %.1f ×", ratio, times), ratio >= times}
}

// markdown draws the table.
func (t table) markdown() string {
	var b strings.Builder
	b.WriteString("| measured | time | peak memory | target | |\n|---|---|---|---|---|\n")
	for _, r := range t {
		var texts, verdicts []string
		for _, target := range r.targets {
			texts = append(texts, target.text)
			verdicts = append(verdicts, verdict(target.met))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.what, seconds(r.usage.wall), memory(r.usage.memory),
			strings.Join(texts, "; "), strings.Join(verdicts, "; "))
	}
	return b.String()
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

func seconds(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond))
	}
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3f s", d.Seconds())
}

func memory(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/megabyte)
}

// heading says when, what and where.
func (p plan) heading(ctx context.Context, commit string, now time.Time) string {
	version := "unknown version"
	if u, err := p.program(ctx, p.work, "oloproof", "version"); err == nil {
		version, _, _ = strings.Cut(strings.TrimSpace(u.stdout), "\n")
	}
	if commit != "" {
		version += ", commit " + commit
	}
	return fmt.Sprintf("%s · %s · %s, %s/%s, %s\n\n", now.UTC().Format(time.DateOnly), version, runtime.Version(), runtime.GOOS, runtime.GOARCH, machine())
}

// machine says how large the machine is, as far as the system tells.
func machine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if model := procField("/proc/cpuinfo", "model name"); model != "" {
		parts = append(parts, model)
	}
	if total := procField("/proc/meminfo", "MemTotal"); total != "" {
		var kib int64
		if _, err := fmt.Sscanf(total, "%d kB", &kib); err == nil {
			parts = append(parts, fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20)))
		}
	}
	return strings.Join(parts, ", ")
}

// procField returns the first value of a key in one of Linux's /proc files.
func procField(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(data) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

const (
	figuresStart = "<!-- figures: written by bench/run --write -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// replaceFigures puts text between the two marks of a file.
func replaceFigures(path, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), figuresStart)
	_, after, ended := strings.Cut(rest, figuresEnd)
	if !ok || !ended {
		return fmt.Errorf("%s: the marks of the figures are missing", path)
	}
	return os.WriteFile(path, []byte(before+figuresStart+text+figuresEnd+after), 0o644)
}

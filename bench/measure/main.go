// Measure runs the benchmarks and prints their table. It takes the built
// programs from one directory; bench/run builds them and starts it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// plan is what is measured, and how large.
type plan struct {
	bin         string // directory of oloproof, mock and floor
	work        string // scratch directory, removed by the caller
	cases       int    // of the throughput measurement and of the page
	slowCases   int    // of the latency measurement
	largeCases  int    // of the memory measurement and of the comparison
	repetitions int
	python      string // the Python tool, or ""
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var p plan
	flag.StringVar(&p.bin, "bin", "", "`directory` of the built programs")
	flag.IntVar(&p.cases, "cases", 10_000, "cases at no latency, and of the page")
	flag.IntVar(&p.slowCases, "slow-cases", 1_000, "cases at 50 ms")
	flag.IntVar(&p.largeCases, "large-cases", 100_000, "cases of the large run, and of the comparison")
	flag.IntVar(&p.repetitions, "repetitions", 5, "repetitions of every measurement")
	flag.StringVar(&p.python, "python", "", "`path` of the Python tool oloproof, to time it on the same cases")
	commit := flag.String("commit", "", "`commit` that was built, for the heading")
	readme := flag.String("readme", "", "`file` whose figures are replaced by the table")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, p, *commit, *readme, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, p plan, commit, readme string, out io.Writer) (err error) {
	if p.bin, err = filepath.Abs(p.bin); err != nil {
		return err
	}
	if p.work, err = os.MkdirTemp("", "oloproof-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(p.work)
	table, err := p.measure(ctx)
	if err != nil {
		return err
	}
	text := p.heading(ctx, commit, time.Now()) + table.markdown()
	fmt.Fprint(out, text)
	if readme == "" {
		return nil
	}
	return replaceFigures(readme, text)
}

// measure makes every measurement, the one after the other.
func (p plan) measure(ctx context.Context) (table, error) {
	var t table
	for _, step := range []func(context.Context) (table, error){
		p.startUp, p.throughput, p.latency, p.large, p.comparison, p.action, p.streams, p.mapping, p.programs, p.judged,
	} {
		rows, err := step(ctx)
		if err != nil {
			return nil, err
		}
		t = append(t, rows...)
	}
	return t, nil
}

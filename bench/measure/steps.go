package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
)

// The targets that the table shows.
const (
	startUpTime   = 15 * time.Millisecond
	startUpMemory = 20 * megabyte
	floorRatio    = 1.5
	slowLatency   = 50 * time.Millisecond
	slowInFlight  = 16
	runMemory     = 200 * megabyte
	gateTime      = 600 * time.Millisecond
	gateMemory    = 150 * megabyte
	compareTime   = time.Second
	compareMemory = 150 * megabyte
	pageTime      = 2 * time.Second
	pageSize      = 5 * megabyte

	megabyte = 1_000_000 // bytes
)

// startUp times the commands that do nothing.
func (p plan) startUp(ctx context.Context) (table, error) {
	const starts = 20
	var t table
	for _, arg := range []string{"version", "--help"} {
		log.Printf("start-up: oloproof %s", arg)
		all, err := repeat(starts, func() (usage, error) { return p.program(ctx, p.work, "oloproof", arg) })
		if err != nil {
			return nil, err
		}
		u := median(all)
		t = append(t, row{
			what: fmt.Sprintf("`oloproof %s`, median of %d", arg, starts), usage: u,
			targets: []target{atMostTime(u, startUpTime), atMostMemory(u, startUpMemory)},
		})
	}
	return t, nil
}

// throughput compares a run with the floor at no latency, each at the
// concurrency that suits it best, turn by turn.
func (p plan) throughput(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	dir := filepath.Join(p.work, "throughput")
	if err := workload.WriteProject(dir, p.cases, m.url, slowInFlight); err != nil {
		return nil, err
	}
	floor := func(concurrency int) (usage, error) { return p.runFloor(ctx, m, p.cases, concurrency) }
	tool := func(concurrency int) (usage, error) { return p.runTool(ctx, m, dir, p.cases, concurrency) }
	floorAt, err := bestConcurrency("floor", floor)
	if err != nil {
		return nil, err
	}
	toolAt, err := bestConcurrency("oloproof run", tool)
	if err != nil {
		return nil, err
	}
	var floors, tools []usage
	for i := range p.repetitions {
		log.Printf("throughput: repetition %d of %d", i+1, p.repetitions)
		f, err := floor(floorAt)
		if err != nil {
			return nil, err
		}
		u, err := tool(toolAt)
		if err != nil {
			return nil, err
		}
		log.Printf("throughput: floor %s, oloproof %s", seconds(f.wall), seconds(u.wall))
		floors, tools = append(floors, f), append(tools, u)
	}
	if len(floors) == 0 {
		return nil, fmt.Errorf("at least one repetition is needed")
	}
	f, u := shortest(floors), shortest(tools)
	t := table{
		{what: fmt.Sprintf("the floor: %d cases at 0 ms, concurrency %d, minimum of %d", p.cases, floorAt, p.repetitions), usage: f},
		{
			what:  fmt.Sprintf("`oloproof run`: %d cases at 0 ms, concurrency %d, four evaluators, minimum of %d", p.cases, toolAt, p.repetitions),
			usage: u, targets: []target{atMostRatio(u, f, floorRatio)},
		},
	}
	if p.python == "" {
		return t, nil
	}
	other, err := p.runPython(ctx, m, dir)
	if err != nil {
		return nil, err
	}
	return append(t, row{what: fmt.Sprintf("the Python tool: %d cases at 0 ms, once", p.cases), usage: other}), nil
}

// bestConcurrency tries a few and returns the fastest.
func bestConcurrency(name string, measure func(int) (usage, error)) (int, error) {
	fastest, at := time.Duration(0), 0
	for _, concurrency := range []int{4, 8, 16, 32, 64} {
		u, err := best(2, func() (usage, error) { return measure(concurrency) })
		if err != nil {
			return 0, err
		}
		log.Printf("%s at concurrency %d: %s", name, concurrency, seconds(u.wall))
		if at == 0 || u.wall < fastest {
			fastest, at = u.wall, concurrency
		}
	}
	return at, nil
}

// latency checks that waiting for the endpoint is all that a run takes.
func (p plan) latency(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, slowLatency)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	dir := filepath.Join(p.work, "latency")
	if err := workload.WriteProject(dir, p.slowCases, m.url, slowInFlight); err != nil {
		return nil, err
	}
	var floors, tools []usage
	for i := range max(1, p.repetitions) {
		log.Printf("latency: repetition %d of %d", i+1, p.repetitions)
		f, err := p.runFloor(ctx, m, p.slowCases, slowInFlight)
		if err != nil {
			return nil, err
		}
		u, err := p.runTool(ctx, m, dir, p.slowCases, slowInFlight)
		if err != nil {
			return nil, err
		}
		floors, tools = append(floors, f), append(tools, u)
	}
	rounds := (p.slowCases + slowInFlight - 1) / slowInFlight
	waiting := time.Duration(rounds) * slowLatency
	f, u := shortest(floors), shortest(tools)
	where := fmt.Sprintf("%d cases at %v, concurrency %d, minimum of %d", p.slowCases, slowLatency, slowInFlight, p.repetitions)
	return table{
		{what: "the floor: " + where, usage: f},
		{what: "`oloproof run`: " + where, usage: u, targets: []target{atMostTime(u, waiting*105/100+50*time.Millisecond)}},
	}, nil
}

// large measures the memory of a large run, and the gate of what it stored.
func (p plan) large(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	dir := filepath.Join(p.work, "large")
	if err := workload.WriteProject(dir, p.largeCases, m.url, slowInFlight); err != nil {
		return nil, err
	}
	log.Printf("large: a run of %d cases", p.largeCases)
	u, err := p.runTool(ctx, m, dir, p.largeCases, slowInFlight)
	if err != nil {
		return nil, err
	}
	stored, err := size(filepath.Join(dir, ".oloproof"))
	if err != nil {
		return nil, err
	}
	log.Print("large: its gate")
	gate, err := best(p.repetitions, func() (usage, error) {
		g, err := p.program(ctx, dir, "oloproof", "gate", "latest")
		if err != nil {
			return g, err
		}
		return g, checkCounts(g.stdout, p.largeCases)
	})
	if err != nil {
		return nil, err
	}
	return table{
		{
			what:  fmt.Sprintf("`oloproof run`: %d cases at 0 ms, once (writes %d MB)", p.largeCases, stored/megabyte),
			usage: u, targets: []target{atMostMemory(u, runMemory)},
		},
		{
			what:  fmt.Sprintf("`oloproof gate` of that run, minimum of %d", p.repetitions),
			usage: gate, targets: []target{atMostTime(gate, gateTime), atMostMemory(gate, gateMemory)},
		},
	}, nil
}

// comparison pairs the run that large left with one of a changed service, and
// writes the page of such a comparison of the cases of throughput.
func (p plan) comparison(ctx context.Context) (table, error) {
	m, err := p.startMock(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	large, small := filepath.Join(p.work, "large"), filepath.Join(p.work, "throughput")
	log.Printf("comparison: a candidate of %d cases", p.largeCases)
	if err := p.runCandidate(ctx, m, large, p.largeCases); err != nil {
		return nil, err
	}
	compared, err := best(p.repetitions, func() (usage, error) {
		u, _, err := p.compare(ctx, large, p.largeCases)
		return u, err
	})
	if err != nil {
		return nil, err
	}
	log.Printf("comparison: the page of one of %d cases", p.cases)
	if err := p.runCandidate(ctx, m, small, p.cases); err != nil {
		return nil, err
	}
	_, id, err := p.compare(ctx, small, p.cases)
	if err != nil {
		return nil, err
	}
	page, err := best(p.repetitions, func() (usage, error) {
		return p.program(ctx, small, "oloproof", "report", id, "--html", "page.html")
	})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(small, "page.html"))
	if err != nil {
		return nil, err
	}
	return table{
		{
			what:  fmt.Sprintf("`oloproof compare --json`: two runs of %d cases, four metrics, minimum of %d (prints %d kB)", p.largeCases, p.repetitions, len(compared.stdout)/1000),
			usage: compared, targets: []target{atMostTime(compared, compareTime), atMostMemory(compared, compareMemory)},
		},
		{
			what:  fmt.Sprintf("`oloproof report --html`: a comparison of %d cases, minimum of %d (writes %d kB)", p.cases, p.repetitions, info.Size()/1000),
			usage: page, targets: []target{atMostTime(page, pageTime), atMostSize(info.Size(), pageSize)},
		},
	}, nil
}

// runCandidate runs the suite in dir against the changed service, beside the
// run that is there.
func (p plan) runCandidate(ctx context.Context, m *mock, dir string, cases int) error {
	u, err := m.asked(cases, func() (usage, error) {
		return p.program(ctx, dir, "oloproof", "run", "--url", m.candidate())
	})
	if err != nil {
		return err
	}
	return checkCounts(u.stdout, cases)
}

// compare compares the two runs in dir and makes sure that every case was paired
// and every rule decided. It returns the id of the comparison too.
func (p plan) compare(ctx context.Context, dir string, cases int) (usage, string, error) {
	u, err := p.program(ctx, dir, "oloproof", "compare", "latest", "latest~1", "--json")
	if err != nil {
		return u, "", err
	}
	var doc struct {
		Gate        struct{ Action string }
		Policies    []struct{ Decisions []struct{ State string } }
		Comparisons []struct {
			ID     string
			Paired int
			Flips  []struct{ Passing bool }
		}
	}
	if err := json.Unmarshal([]byte(u.stdout), &doc); err != nil {
		return u, "", err
	}
	if len(doc.Comparisons) != 1 || len(doc.Policies) != 1 || len(doc.Policies[0].Decisions) != 4 || doc.Gate.Action != "ALLOW" {
		return u, "", fmt.Errorf("the comparison decides otherwise:\n%s", tail(u.stdout))
	}
	c := doc.Comparisons[0]
	better, worse := workload.Flipped(cases)
	for _, f := range c.Flips {
		if f.Passing {
			better--
		} else {
			worse--
		}
	}
	if c.Paired != cases || better != 0 || worse != 0 {
		return u, "", fmt.Errorf("%d of %d cases are paired, with %d flips", c.Paired, cases, len(c.Flips))
	}
	return u, c.ID, nil
}

func (p plan) runFloor(ctx context.Context, m *mock, cases, concurrency int) (usage, error) {
	return m.asked(cases, func() (usage, error) {
		return p.program(ctx, p.work, "floor", "--url", m.url, "--cases", strconv.Itoa(cases), "--concurrency", strconv.Itoa(concurrency))
	})
}

// runTool runs the suite in dir into an empty store and leaves the store there
// for who wants to look at it.
func (p plan) runTool(ctx context.Context, m *mock, dir string, cases, concurrency int) (usage, error) {
	if err := os.RemoveAll(filepath.Join(dir, ".oloproof")); err != nil {
		return usage{}, err
	}
	if err := workload.WriteSuite(dir, m.url, concurrency); err != nil {
		return usage{}, err
	}
	u, err := m.asked(cases, func() (usage, error) { return p.program(ctx, dir, "oloproof", "run") })
	if err != nil {
		return u, err
	}
	return u, checkCounts(u.stdout, cases)
}

// checkCounts makes sure that a run judged every answer.
func checkCounts(stdout string, cases int) error {
	for _, counts := range []string{
		fmt.Sprintf("%d / %d observed", workload.Correct(cases), cases), // answer_correct
		fmt.Sprintf("%d / %d observed", cases, cases),                   // the three others
	} {
		if !strings.Contains(stdout, counts) {
			return fmt.Errorf("the run does not say %q:\n%s", counts, tail(stdout))
		}
	}
	return nil
}

func (p plan) runPython(ctx context.Context, m *mock, dir string) (usage, error) {
	log.Print("throughput: the Python tool")
	return m.asked(p.cases, func() (usage, error) {
		return runCommand(ctx, dir, p.python, "run", "--throwaway-key")
	})
}

// size is the number of bytes of all files below dir.
func size(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

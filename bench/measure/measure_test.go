package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReplaceFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(path, []byte("before\n"+figuresStart+"old\n"+figuresEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first\n", "second\n"} {
		if err := replaceFigures(path, text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + figuresStart + text + figuresEnd + "after\n"; string(got) != want {
			t.Errorf("file is %q, want %q", got, want)
		}
	}
	if err := os.WriteFile(path, []byte("no marks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := replaceFigures(path, "lost\n"); err == nil {
		t.Error("a file without marks is no error")
	}
}

func TestREADMEHasTheMarks(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), figuresStart) || !strings.Contains(string(data), figuresEnd) {
		t.Error("bench/README.md lacks the marks between which the figures stand")
	}
}

func TestTargets(t *testing.T) {
	u := usage{wall: 1500 * time.Millisecond, memory: 30 * megabyte}
	tests := []struct {
		target target
		met    bool
	}{
		{atMostTime(u, 1500*time.Millisecond), true},
		{atMostTime(u, 1499*time.Millisecond), false},
		{atMostMemory(u, 30*megabyte), true},
		{atMostMemory(u, 29*megabyte), false},
		{atMostMemory(usage{}, megabyte), false}, // unknown is not met
		{atMostSize(5*megabyte, 5*megabyte), true},
		{atMostSize(5*megabyte+1, 5*megabyte), false},
		{atMostRatio(u, usage{wall: time.Second}, 1.5), true},
		{atMostRatio(u, usage{wall: 999 * time.Millisecond}, 1.5), false},
	}
	for _, tt := range tests {
		if tt.target.met != tt.met {
			t.Errorf("%q: met is %t, want %t", tt.target.text, tt.target.met, tt.met)
		}
	}
}

func TestMarkdownNamesWhatIsNotMet(t *testing.T) {
	u := usage{wall: 20 * time.Millisecond, memory: 12 * megabyte}
	got := table{{what: "start", usage: u, targets: []target{atMostTime(u, 15*time.Millisecond), atMostMemory(u, 20*megabyte)}}}.markdown()
	want := "| start | 20.0 ms | 12.0 MB | at most 15.0 ms; at most 20 MB | **not met**; met |\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("table %q, want it to end with %q", got, want)
	}
}

func TestShortestAndMedian(t *testing.T) {
	all := []usage{{wall: 3, memory: 1}, {wall: 1, memory: 9}, {wall: 2, memory: 4}}
	if got := shortest(all); got.wall != 1 || got.memory != 9 {
		t.Errorf("shortest is %+v", got)
	}
	if got := median(all); got.wall != 2 || got.memory != 9 {
		t.Errorf("median is %+v", got)
	}
}

// A measurement whose work was not done is an error.
func TestSkippedWork(t *testing.T) {
	count := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count += 9
		if _, err := w.Write([]byte{'0' + byte(count/10%10), '0' + byte(count%10), '\n'}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	m := &mock{url: server.URL + "/answer"}
	for questions, ok := range map[int]bool{9: true, 10: false} {
		_, err := m.asked(questions, func() (usage, error) { return usage{}, nil })
		if (err == nil) != ok {
			t.Errorf("%d questions: %v", questions, err)
		}
	}
	if err := checkCounts("│ 15 / 16 observed │ 16 / 16 observed │", 16); err != nil {
		t.Error(err)
	}
	for _, stdout := range []string{"", "16 / 16 observed", "15 / 16 observed"} {
		if checkCounts(stdout, 16) == nil {
			t.Errorf("%q passes for a complete run", stdout)
		}
	}
}

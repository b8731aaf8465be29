package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	read "github.com/oloproof/oloproof-go/internal/suite"
)

// The benchmark believes a run only when it counts as many right answers as
// the workload says there are, so that count has to be the true one.
func TestCorrect(t *testing.T) {
	const n = 1000
	dir := t.TempDir()
	if err := WriteProject(dir, n, "http://127.0.0.1:1/answer", 8); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := Answers()
	if err != nil {
		t.Fatal(err)
	}
	right, cases := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); cases++ {
		var c struct {
			Input    json.RawMessage
			Expected struct {
				Answer   string
				Relevant []struct {
					DocID string `json:"doc_id"`
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		number, err := Number(c.Input)
		if err != nil || number != cases {
			t.Fatalf("input of case %d has number %d, %v", cases, number, err)
		}
		var a struct {
			Result   struct{ Answer string }
			Evidence struct {
				Retrieval struct {
					Candidates []struct {
						DocID string `json:"doc_id"`
					}
				}
			}
		}
		if err := json.Unmarshal(answers[number%len(answers)], &a); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(a.Result.Answer, c.Expected.Answer) {
			right++
		}
		if got := a.Evidence.Retrieval.Candidates[0].DocID; got != c.Expected.Relevant[0].DocID {
			t.Errorf("case %d: %s is retrieved first, want %s", cases, got, c.Expected.Relevant[0].DocID)
		}
		if cases+1 < n && Correct(cases+1) != right {
			t.Fatalf("Correct(%d) = %d, want %d", cases+1, Correct(cases+1), right)
		}
	}
	if cases != n {
		t.Errorf("%d cases, want %d", cases, n)
	}
}

func TestAnswersAreOfRealisticSize(t *testing.T) {
	answers, err := Answers()
	if err != nil {
		t.Fatal(err)
	}
	for v, body := range answers {
		if len(body) < 1000 || len(body) > 2000 {
			t.Errorf("answer %d has %d bytes, want 1 to 2 kB", v, len(body))
		}
	}
}

func TestNumber(t *testing.T) {
	for _, body := range []string{"", "no digits", "99999999999999999999"} {
		if n, err := Number([]byte(body)); err == nil {
			t.Errorf("Number(%q) = %d, want an error", body, n)
		}
	}
}

// The comparison of the two services is believed when as many verdicts flip.
func TestFlipped(t *testing.T) {
	before, err := Answers()
	if err != nil {
		t.Fatal(err)
	}
	after, err := Candidate()
	if err != nil {
		t.Fatal(err)
	}
	right := func(answers [][]byte, i int) bool {
		return bytes.Contains(answers[i%len(answers)], []byte(`{"answer":"`+passage(i)))
	}
	for _, n := range []int{0, 1, 2, 16, 17, 18, 1000} {
		better, worse := 0, 0
		for i := range n {
			switch was, is := right(before, i), right(after, i); {
			case is && !was:
				better++
			case was && !is:
				worse++
			}
		}
		if b, w := Flipped(n); b != better || w != worse {
			t.Errorf("Flipped(%d) = %d, %d, want %d, %d", n, b, w, better, worse)
		}
	}
}

func TestProgramSuitesLoad(t *testing.T) {
	dir := t.TempDir()
	for kind, write := range map[string]func() error{
		"command":  func() error { return WriteProgram(dir, 3, "/bin/program", 4) },
		"callable": func() error { return WriteCallable(dir, 3, 4) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		s, err := read.Load(filepath.Join(dir, "oloproof.yaml"))
		if err != nil || s.System.Kind() != kind || s.Concurrency.System != 4 {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}
	}
}

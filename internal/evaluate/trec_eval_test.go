package evaluate

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// trecRun reads a run of TREC as retrievals by topic: by score, documents of one
// score by their name descending, as trec_eval sorts it. The rank column is ignored.
func trecRun(t *testing.T, name string) map[string]evidence.Retrieval {
	t.Helper()
	type scored struct {
		doc   string
		score float64
	}
	byTopic := map[string][]scored{}
	for _, words := range trecLines(t, name) {
		score, err := strconv.ParseFloat(words[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		byTopic[words[0]] = append(byTopic[words[0]], scored{words[2], score})
	}
	run := map[string]evidence.Retrieval{}
	for topic, docs := range byTopic {
		slices.SortFunc(docs, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.doc, a.doc))
		})
		r := evidence.Retrieval{Depth: 1000}
		for _, d := range docs {
			r.Candidates = append(r.Candidates, evidence.Passage{DocID: d.doc})
		}
		run[topic] = r
	}
	return run
}

func trecLines(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/trec_eval", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][]string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		all = append(all, strings.Fields(scan.Text()))
	}
	return all
}

// trecCases reads the judgments as a user's data set joins them.
func trecCases(t *testing.T, qrels string, topics ...string) map[string]*evidence.Case {
	t.Helper()
	path := filepath.Join(t.TempDir(), "topics.tsv")
	if err := os.WriteFile(path, []byte(strings.Join(topics, "\ttopic\n")+"\ttopic\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]*evidence.Case{}
	_, err := foreign.Read(path, foreign.Spec{Format: "trec", Qrels: filepath.Join("testdata/trec_eval", qrels)}, func(r foreign.Row) error {
		line, err := evidence.DecodeCaseLine(fmt.Appendf(nil, `{"scenario":%s,"execution":null,"judgments":{}}`, r.Case))
		cases[line.Case.ID] = &line.Case
		return err
	}, func(r foreign.Refusal) { t.Errorf("%s:%d: %s", r.File, r.Line, r.Message) })
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// counterpart is the evaluator of a measure of trec_eval.
func counterpart(measure string) suite.Evaluator {
	name, cut := measure, "1000"
	if at := strings.LastIndex(measure, "_"); at > 0 {
		if _, err := strconv.Atoi(measure[at+1:]); err == nil {
			name, cut = measure[:at], measure[at+1:]
		}
	}
	k, _ := strconv.Atoi(cut)
	kind := map[string]string{
		"map": "map", "map_cut": "map", "P": "precision_at_k", "recall": "recall", "ndcg": "ndcg", "ndcg_cut": "ndcg", "recip_rank": "mrr", "success": "hit_rate",
	}[name]
	return suite.Evaluator{Type: kind, K: k}
}

// What trec_eval publishes for its own test data comes out of our evaluators, to
// the four decimals that it prints: of each topic, and as the mean over all.
func TestTrecEvalTestData(t *testing.T) {
	for _, c := range []struct {
		qrels, run, out string
		values          int
	}{
		{"qrels.test", "results.test", "out.test.aq", 168},
		{"qrels.test", "results.trunc", "out.test.aqc", 168},
		{"qrels.rel_level", "results.test", "out.test.aql", 40},
	} {
		t.Run(c.out, func(t *testing.T) {
			cases, run := trecCases(t, c.qrels, "301", "302", "303"), trecRun(t, c.run)
			sums, n := map[string]float64{}, 0
			for _, words := range trecLines(t, c.out) {
				measure, topic, want := words[0], words[1], words[2]
				n++
				value := sums[measure] / float64(len(cases))
				if topic != "all" {
					r, ok := run[topic]
					if !ok { // -c: a topic without a result counts as 0
						r = evidence.Retrieval{Depth: 1000}
					}
					x := &evidence.Execution{Status: evidence.StatusOK, Artifacts: evidence.Artifacts{Retrieval: []evidence.Retrieval{r}}}
					j := judgeOne(t, counterpart(measure), cases[topic], x)
					if j.State != evidence.Judged {
						t.Fatalf("%s of %s: %+v", measure, topic, j)
					}
					value = j.Value
					sums[measure] += value
				}
				if got := strconv.FormatFloat(value, 'f', 4, 64); got != want {
					t.Errorf("%s of %s: %s, want %s", measure, topic, got, want)
				}
			}
			if n != c.values {
				t.Errorf("%d values compared, want %d", n, c.values)
			}
		})
	}
}

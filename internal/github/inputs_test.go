package github

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func inputsOf(values map[string]string) (*Inputs, error) {
	return ReadInputs(func(name string) string { return values[name] })
}

func defaults() *Inputs {
	return &Inputs{
		Command: CommandGate, Config: "oloproof.yaml", BaselineMaxAge: 90 * 24 * time.Hour,
		Comment: CommentAlways, Summary: true, OutputDir: "oloproof-out", WorkingDirectory: ".", Reports: []string{"html", "junit", "json"},
	}
}

func TestInputDefaults(t *testing.T) {
	got, err := inputsOf(map[string]string{"INPUT_COMMENT": "", "INPUT_URL": " \n "})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), got); diff != "" {
		t.Error(diff)
	}
}

func TestInputs(t *testing.T) {
	got, err := inputsOf(map[string]string{
		"INPUT_COMMAND": "merge", "INPUT_FROM": "a dir\n\n b , c\r\nb", "INPUT_CONFIG": " rag/oloproof.yaml ", "INPUT_POLICY": "release.yaml",
		"INPUT_COMPARE-POLICY": "compare.yaml", "INPUT_COMPARE_POLICY": "other.yaml", "INPUT_URL": "https://x", "INPUT_NAME": "rag",
		"INPUT_BASELINE": "123456", "INPUT_BASELINE-LOCK": "lock.json", "INPUT_BASELINE_MAX_AGE": "2w", "INPUT_GITHUB-TOKEN": "t\n",
		"INPUT_COMMENT": "on-change", "INPUT_SUMMARY": "False", "INPUT_OUTPUT-DIR": "", "INPUT_OUTPUT_DIR": "out", "INPUT_WORKING-DIRECTORY": "sub",
		"INPUT_INCLUDE-CONTENT": "TRUE", "INPUT_CONCURRENCY": "8", "INPUT_ALLOWED-HOSTS": "a.example, b.example",
		"INPUT_ENV-ALLOW": "RAG_TOKEN\nOTHER", "INPUT_ALLOW-EXEC": "true", "INPUT_REPORTS": "junit",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Inputs{
		Command: CommandMerge, From: []string{"a dir", "b", "c"}, Config: "rag/oloproof.yaml", Policy: "release.yaml", ComparePolicy: "compare.yaml",
		URL: "https://x", Name: "rag", Baseline: Choice{ID: 123456}, BaselineLock: "lock.json", BaselineMaxAge: 14 * 24 * time.Hour,
		Token: "t", Comment: CommentOnChange, OutputDir: "out", WorkingDirectory: "sub", IncludeContent: true, Concurrency: 8,
		AllowedHosts: []string{"a.example", "b.example"}, EnvAllow: []string{"RAG_TOKEN", "OTHER"}, AllowExec: true, Reports: []string{"junit"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	shard, err := inputsOf(map[string]string{"INPUT_SHARD": "3/8", "INPUT_BASELINE-MAX-AGE": "none", "INPUT_BASELINE": "out/base.zip"})
	if err != nil || shard.Shard != (Part{3, 8}) || shard.Shard.String() != "3/8" || shard.BaselineMaxAge != 0 || shard.Baseline != (Choice{Path: "out/base.zip"}) {
		t.Errorf("%+v, %v", shard, err)
	}
}

func TestWrongInputs(t *testing.T) {
	for name, tt := range map[string]struct{ variable, value, want string }{
		"command":       {"INPUT_COMMAND", "gates", `input command is "gates", did you mean gate? (allowed: gate, merge, report)`},
		"comment":       {"INPUT_COMMENT", "sometimes", `(allowed: always, on-change, on-failure, never)`},
		"case counts":   {"INPUT_COMMENT", "Always", `did you mean always?`},
		"summary":       {"INPUT_SUMMARY", "yes", `input summary is "yes" (allowed: true, false)`},
		"reports":       {"INPUT_REPORTS", "html,pdf", `input reports is "pdf" (allowed: html, junit, json)`},
		"concurrency":   {"INPUT_CONCURRENCY", "0", `want a whole number from 1`},
		"shard":         {"INPUT_SHARD", "0/8", `want I/N`},
		"shard order":   {"INPUT_SHARD", "9/8", `want I/N`},
		"shard count":   {"INPUT_SHARD", "1/257", `at most 256`},
		"age":           {"INPUT_BASELINE-MAX-AGE", "3months", `such as 12h, 30d or 8w`},
		"age of ever":   {"INPUT_BASELINE-MAX-AGE", "99999999999d", `at most ten years`},
		"age of none":   {"INPUT_BASELINE-MAX-AGE", "-1d", `such as 12h`},
		"token to send": {"INPUT_ENV-ALLOW", "actions_runtime_token", `are the runner's and never reach a suite`},
		"all variables": {"INPUT_ENV-ALLOW", "*", `want the name of a variable`},
		"from":          {"INPUT_FROM", "a", `input from is only for the commands merge and report`},
		"zero byte":     {"INPUT_URL", "a\x00b", `zero byte`},
		"no run":        {"INPUT_BASELINE", "0", `want auto, none, the id of a workflow run, or a path`},
		"merge alone":   {"INPUT_COMMAND", "merge", `input from is not set`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inputsOf(map[string]string{tt.variable: tt.value})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s=%q: %v, want %q", tt.variable, tt.value, err, tt.want)
			}
		})
	}
	_, err := inputsOf(map[string]string{"INPUT_COMMAND": "gates"})
	if n := strings.Count(err.Error(), "input "); n != 1 {
		t.Errorf("an unknown command has %d problems: %v", n, err)
	}
	_, err = inputsOf(map[string]string{"INPUT_SUMMARY": "1", "INPUT_COMMENT": "x", "INPUT_GITHUB-TOKEN": "ghs_token"})
	if n := strings.Count(err.Error(), "input "); n != 2 || strings.Contains(err.Error(), "ghs_token") {
		t.Errorf("%d problems: %v", n, err)
	}
}

func TestPathAsBaselineOfAProposal(t *testing.T) {
	in, err := inputsOf(map[string]string{"INPUT_BASELINE": "base"})
	if err != nil {
		t.Fatal(err)
	}
	for event, refused := range map[string]bool{EventPullRequest: true, EventPullRequestTarget: true, EventMergeGroup: true, EventPush: false, EventSchedule: false} {
		if err := in.CheckEvent(&Event{Name: event}); (err != nil) != refused {
			t.Errorf("%s: %v", event, err)
		}
	}
	in.Baseline = Choice{ID: 5}
	if err := in.CheckEvent(&Event{Name: EventPullRequest}); err != nil {
		t.Error(err)
	}
}

func FuzzPart(f *testing.F) {
	for _, s := range []string{"1/1", "3/8", "0/0", "-1/2", "1/2/3", " 1 / 2 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePart(s)
		if err != nil {
			return
		}
		again, err := ParsePart(p.String())
		if err != nil || again != p || p.Index < 1 || p.Index > p.Count {
			t.Errorf("%q gives %+v, then %+v, %v", s, p, again, err)
		}
	})
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tare/hack/guest/plan"
)

// said gives what becomes of events as they come over the line, with a line that is none.
func said(t *testing.T, events ...plan.Event) (out string, problems []string, count string) {
	t.Helper()
	var line, shown bytes.Buffer
	line.WriteString("[    1.0] a message of the kernel\n")
	for _, e := range events {
		if err := json.NewEncoder(&line).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	line.WriteString(`{"suite":"a","ended":{"status`) // it went off in the middle
	r := newResults(&shown, []suite{{Package: "a"}})
	listen(&line, r.add)
	return shown.String(), r.problems(), r.count()
}

func TestResults(t *testing.T) {
	line := func(text string) plan.Event { return plan.Event{Suite: "a", Line: text} }
	end := func(status int, how string) plan.Event {
		return plan.Event{Suite: "a", Ended: &plan.Ended{Status: status, How: how}}
	}
	for _, c := range []struct {
		name     string
		events   []plan.Event
		out      string // with what follows it left out
		problems string
		count    string
	}{
		{"passed", []plan.Event{line("=== RUN   TestA"), line("--- PASS: TestA (0.10s)"), line("    --- PASS: TestA/one (0.00s)"), end(0, "")},
			"PASS  a  TestA (0.10s)\nPASS  a  TestA/one (0.00s)\n", "", "2 passed, 0 failed, 0 skipped"},
		{"failed", []plan.Event{line("    a_test.go:1: why"), line("--- FAIL: TestA (0.10s)"), end(1, "exit status 1")},
			"FAIL  a  TestA (0.10s)\n\n    a_test.go:1: why\n", "a: exit status 1", "0 passed, 1 failed, 0 skipped"},
		{"skipped", []plan.Event{line("--- PASS: TestA (0.10s)"), line("--- SKIP: TestB (0.10s)"), end(0, "")},
			"PASS  a  TestA (0.10s)\nSKIP  a  TestB (0.10s)\n", "a: tests that the guest is for were skipped", "1 passed, 0 failed, 1 skipped"},
		{"one within another skipped", []plan.Event{line("--- PASS: TestA (0.10s)"), line("    --- SKIP: TestA/b (0.10s)"), end(0, "")},
			"PASS  a  TestA (0.10s)\n", "a: tests that the guest is for were skipped", "1 passed, 0 failed, 1 skipped"},
		{"none", []plan.Event{line("testing: warning: no tests to run"), line("PASS"), end(0, "")}, "", "a: no test ran", "0 passed, 0 failed, 0 skipped"},
		{"went off", []plan.Event{line("--- PASS: TestA (0.10s)")}, "PASS  a  TestA (0.10s)\n", "a: its tests have not ended", "1 passed, 0 failed, 0 skipped"},
		{"trouble", []plan.Event{{Trouble: "module x: no"}}, "", "the guest: module x: no; a: its tests have not ended", "0 passed, 0 failed, 0 skipped"},
	} {
		out, problems, count := said(t, c.events...)
		if !strings.HasPrefix(out, c.out) || strings.Join(problems, "; ") != c.problems || count != c.count {
			t.Errorf("%s: %q, %q, %q", c.name, out, problems, count)
		}
	}
}

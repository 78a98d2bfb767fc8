package fio

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestAppended distinguishes the reports of one run, the last of which counts, from the reports of several runs
// that were appended to one file.
func TestAppended(t *testing.T) {
	fixture := func(name string) string {
		text, err := os.ReadFile("../../importer/fio/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	report := func(end, elapsed, start int, more string) string {
		return fmt.Sprintf(`{"timestamp_ms": %d, "jobs": [{"jobname": "a", "elapsed": %d, "job_start": %d}%s]}`+"\n", end, elapsed, start, more)
	}
	first := report(1_700_000_010_000, 10, 1_700_000_000_100, "")
	for _, c := range []struct {
		name, before, after string
		one                 bool // set if both are reports of one run
	}{
		{"interval reports", "", fixture("status-interval.json"), true},
		{"two files of different jobs", fixture("four-jobs.json"), fixture("json-plus.json"), false},
		{"a run and interval reports", fixture("fio-3.0.json"), fixture("status-interval.json"), false},
		{"a later interval", first, report(1_700_000_020_000, 20, 1_700_000_000_100, ""), true},
		{"the same interval rounded", first, report(1_700_000_010_900, 10, 1_700_000_000_100, ""), true},
		{"started later", first, report(1_700_000_020_000, 20, 1_700_000_000_101, ""), false},
		{"not started before", report(1_700_000_001_000, 1, 0, ""), first, true},
		{"the same length, a run later", report(1_700_000_010_000, 10, 0, ""), report(1_700_000_020_500, 10, 0, ""), false},
		{"shorter", report(1_700_000_010_000, 10, 0, ""), report(1_700_000_011_500, 1, 0, ""), false},
		{"of another job", first, strings.Replace(first, `"a"`, `"b"`, 1), false},
		{"a job more", first, report(1_700_000_020_000, 20, 1_700_000_000_100, `, {"jobname": "b"}`), true},
		{"of servers", fixture("client.json"), fixture("client.json"), true},
		{"nothing told", `{"jobs": [{"jobname": "a"}]}` + "\n", `{"jobs": [{"jobname": "a"}]}`, true},
	} {
		_, err := Parse(strings.NewReader(c.before + c.after))
		want := fmt.Sprintf("a second document follows at byte %d: one file is one trial; split it", len(c.before)+1)
		if c.one && err != nil || !c.one && (err == nil || err.Error() != want) {
			t.Errorf("%s: the error is %v, and they are one run: %v", c.name, err, c.one)
		}
	}
}

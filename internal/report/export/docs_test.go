package export

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/run/journal"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/exports.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentedNames checks that the page has every column and every series, the
// columns in their order.
func TestDocumentedNames(t *testing.T) {
	text := page(t)
	var documented []string
	_, table, _ := strings.Cut(text, "| column |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		documented = append(documented, m[1])
	}
	if got, want := fmt.Sprint(documented), fmt.Sprint(columns); got != want {
		t.Errorf("the page has the columns %s, want %s", got, want)
	}
	for _, f := range families(fixture()) {
		if name := strings.Replace(f.name, "_difference", "_ratio", 1); !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page lacks %s", f.name)
		}
	}
	for _, f := range Formats {
		if !strings.Contains(text, "| [`"+f.Name+"`](#") {
			t.Errorf("the page lacks --as %s", f.Name)
		}
	}
}

// query is a script that prints what DuckDB answers in a directory.
const query = `
import duckdb, os, sys
os.chdir(sys.argv[1])
print(duckdb.sql(sys.stdin.read()).fetchall())
`

// TestDocumentedQueries runs every query of the page on a run, and wants an answer
// from each; and none from what compares rounds, where rounds are no pairs.
func TestDocumentedQueries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	bulk, err := journal.NewBulk(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := fixture()
	for i := range r.Record.Trials {
		trial := r.Record.Trials[i]
		if err := bulk.Add(&trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := bulk.Finish(r.Record.Plan, nil); err != nil {
		t.Fatal(err)
	}
	unpaired := filepath.Join(t.TempDir(), "trials.csv")
	if err := os.WriteFile(unpaired, []byte(written(t, "csv", samples())), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "trials.csv"), []byte(written(t, "csv", r)), 0o644); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(sql|sh)\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	ran := map[string]int{}
	for _, block := range blocks {
		for _, line := range strings.SplitAfter(block[2], "\n") {
			if block[1] != "sh" || !strings.HasPrefix(line, "jq ") {
				continue
			}
			ran["jq"]++
			t.Run("jq", func(t *testing.T) {
				if _, err := exec.LookPath("jq"); err != nil {
					missing(t, "%v (make consumers installs it)", err)
				}
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir = dir
				if answer := output(t, cmd, ""); !strings.Contains(answer, "plain") {
					t.Errorf("%s\nanswers %s", line, answer)
				}
			})
		}
		if block[1] != "sql" {
			continue
		}
		ran["sql"]++
		byRound := strings.Contains(block[2], "b.round")
		if byRound {
			ran["rounds"]++
		}
		t.Run("sql", func(t *testing.T) {
			answer := python(t, query, block[2], dir)
			if !strings.Contains(answer, `rules "8"/x-2`) {
				t.Errorf("%s\nanswers %s", block[2], answer)
			}
			if !byRound {
				return
			}
			if answer := python(t, query, block[2], filepath.Dir(unpaired)); strings.TrimSpace(answer) != "[]" {
				t.Errorf("%s\nanswers %s for independent samples, which have no rounds to compare", block[2], answer)
			}
		})
	}
	if ran["jq"] < 2 || ran["sql"] < 4 || ran["rounds"] < 1 {
		t.Errorf("the page has %v queries, fewer than it had", ran)
	}
}

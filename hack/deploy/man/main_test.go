package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tare/internal/cli"
)

func TestEveryCommandHasAPage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir, again := t.TempDir(), t.TempDir()
	for _, to := range []string{dir, again} {
		if err := run([]string{"v1.2.3", to}); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, page := range pages {
		names = append(names, page.Name())
	}
	var want []string
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		want = append(want, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(cli.Root(cli.State{}))
	for _, name := range want {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if head := `"1" "Nov 2023" "tare v1.2.3"`; !strings.Contains(string(text), head) {
			t.Errorf("%s lacks %s", name, head)
		}
		if same, err := os.ReadFile(filepath.Join(again, name)); err != nil || string(same) != string(text) {
			t.Errorf("%s has other bytes the second time: %v", name, err)
		}
	}
	if len(names) != len(want) {
		t.Errorf("there are the pages %v for the commands %v", names, want)
	}
	readable(t, filepath.Join(dir, "tare.1"))
}

// readable reads a page with man: examples stay lines of their own.
func readable(t *testing.T, page string) {
	t.Helper()
	if _, err := exec.LookPath("man"); err != nil {
		return
	}
	man := exec.Command("man", "--local-file", "--warnings", page)
	man.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8")
	var problems strings.Builder
	man.Stderr = &problems
	text, err := man.Output()
	if err != nil || problems.String() != "" {
		t.Errorf("man: %v: %s", err, problems.String())
	}
	if want := "\n       tare show                             what the last run says\n"; !strings.Contains(string(text), want) {
		t.Errorf("the page reads:\n%s", text)
	}
}

func TestTheBinaryHasNoWriterOfPages(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "tare/cmd/tare").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if strings.Contains(p, "md2man") || p == "github.com/spf13/cobra/doc" {
			t.Errorf("tare imports %s", p)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	if err := run([]string{"v1.2.3", t.TempDir()}); err == nil || !strings.HasPrefix(err.Error(), "SOURCE_DATE_EPOCH: ") {
		t.Errorf("a date that is no number: %v", err)
	}
	if err := run(nil); err == nil || err.Error() != "usage: man VERSION DIR" {
		t.Errorf("no arguments: %v", err)
	}
}

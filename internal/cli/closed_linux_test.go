package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestClosedPipe checks that a command that prints ends without a message if its reader, such as head, closes
// the pipe. It ends by SIGPIPE, which shells report as status 141, and leaves nothing half made.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("tare", args...) // TestMain puts tare into PATH
		cmd.Dir, cmd.Env = work, append(os.Environ(), "HOME="+work)
		return cmd
	}
	for value, dir := range []string{"a", "b"} {
		table := "arm,round,metric,unit,better,value\n"
		for _, round := range []string{"1", "2", "3", "4", "5", "6"} {
			table += "plain," + round + ",latency,ms,lower,1" + round + "\nmtls," + round + ",latency,ms,lower,2" + round + strconv.Itoa(value) + "\n"
		}
		if err := os.WriteFile(filepath.Join(work, dir+".csv"), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := command("import", "csv", dir+".csv", "-q", "--dir", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	plan, err := filepath.Abs("../../examples/any-program.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"show a", "show a -o json", "show a -o yaml", "show a -o csv", "show a -o markdown", "show a --as published",
		"report a -o markdown", "report a -o svg", "report a --to x.html", "compare a b", "combine a b", "history .", "history . -o json",
		"export a --as csv", "export a --as json", "export a --as bundle", "export a --as gobench", "gate a --budget latency=500% --observational",
		"verify a", "validate " + plan, "plan " + plan, "plan " + plan + " -o json", "list layers", "list examples quickstart.yaml", "--help", "completion bash",
		"import csv a.csv -q --dir c",
	} {
		t.Run(line, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			defer w.Close()
			var stderr strings.Builder
			cmd := command(strings.Fields(line)...)
			cmd.Stdout, cmd.Stderr = w, &stderr
			err = cmd.Run()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGPIPE || stderr.Len() > 0 {
				t.Errorf("it ends with %v, and %q on stderr", err, stderr.String())
			}
		})
	}
	left, err := os.ReadDir(work)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if strings.HasPrefix(entry.Name(), ".") {
			t.Errorf("%s is left", entry.Name())
		}
	}
	if out, err := command("verify", "a", "b", "c").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFullDisk checks that output that could not be written is an error.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, line := range []string{"list layers", "list examples quickstart.yaml", "--help", "validate ../../examples/any-program.yaml", "plan ../../examples/any-program.yaml"} {
		var stderr strings.Builder
		cmd := exec.Command("tare", strings.Fields(line)...)
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: %v, %q", line, err, stderr.String())
		}
	}
}

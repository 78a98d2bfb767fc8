package journal

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tare/internal/test/slow"
)

// childEnv makes the test binary a writer of trials in the directory that the
// variable names, until it is killed (writeTrials).
const childEnv = "TARE_JOURNAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := writeTrials(dir, os.Getenv(childEnv+"_LIMIT")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeTrials resumes the run in dir and records trials. A trial's raw output has the trial's number as its length.
// After each recorded trial, writeTrials prints "done N". With a limit, it runs under RLIMIT_FSIZE.
func writeTrials(dir, limit string) error {
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	j, err := Resume(dir)
	if err != nil {
		return err
	}
	defer j.Close()
	for n := len(j.Trials()) + 1; ; n++ {
		raw, err := j.Raw(n, 1, "plain", "x")
		if err != nil {
			return err
		}
		w, err := raw.Create("out")
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, strings.Repeat("x", n)); err != nil {
			return err
		}
		tr := trial(n)
		tr.Raw = raw.Dir()
		if err := j.Append(tr); err != nil {
			return err
		}
		fmt.Println("done", n)
	}
}

// TestKill kills a writer at random moments, again and again in one run. Every acknowledged trial must be there,
// whole, and with its raw output.
func TestKill(t *testing.T) {
	slow.Test(t)
	j := create(t)
	dir := j.Dir()
	j.Close()
	acknowledged := 0
	for session := 2; session < 27; session++ {
		last := killWriter(t, dir, acknowledged)
		r := reopen(t, dir)
		if len(r.Trials) < last {
			t.Fatalf("session %d: %d trials of %d acknowledged", session, len(r.Trials), last)
		}
		checkTrials(t, r)
		acknowledged = max(last, len(r.Trials))
	}
	j, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	record(t, j, acknowledged+1)
	t.Logf("%d trials in %d sessions; notes of torn lines: %d", len(j.Trials()), j.Session(), tornNotes(j.run.Notes))
}

// killWriter starts a writer, waits for a few acknowledged trials, and kills the writer a random number of bytes
// later. It returns the last acknowledged trial.
func killWriter(t *testing.T, dir string, before int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())
	last, lines := before, bufio.NewScanner(out)
	for range 1 + rand.IntN(4) {
		if !lines.Scan() {
			break
		}
		last = acknowledgedBy(t, lines.Text())
	}
	for range rand.IntN(100) { // a random moment within the next trial
		runtime.Gosched()
	}
	cmd.Process.Kill()
	for lines.Scan() {
		last = acknowledgedBy(t, lines.Text())
	}
	cmd.Wait() // "signal: killed"
	return last
}

func acknowledgedBy(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(line, "done "))
	if err != nil {
		t.Fatalf("the writer says: %s", line)
	}
	return n
}

// checkTrials compares every trial with the trial that writeTrials wrote.
func checkTrials(t *testing.T, r *Run) {
	t.Helper()
	for i, tr := range r.Trials {
		n := i + 1
		info, err := os.Stat(filepath.Join(r.Dir, tr.Raw, "out"))
		if err != nil || info.Size() != int64(n) {
			t.Fatalf("raw output of trial %d: %v, %v", n, info, err)
		}
		if tr.Round != n || tr.Wall != trial(n).Wall {
			t.Fatalf("trial %d reads as %+v", n, tr)
		}
	}
}

func tornNotes(notes []Note) (n int) {
	for _, note := range notes {
		if strings.HasPrefix(note.Text, "dropped a torn last line") {
			n++
		}
	}
	return n
}

// TestFileSizeLimit runs a writer into RLIMIT_FSIZE, which needs no root: the line that crosses the limit is written
// in part.
func TestFileSizeLimit(t *testing.T) {
	j := create(t)
	dir := j.Dir()
	j.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_LIMIT=10000")
	out, _ := cmd.Output()
	done := strings.Count(string(out), "done ")
	if done == 0 || !strings.Contains(string(out), "every trial recorded so far is intact; raise the limit on file sizes (ulimit -f), then go on with: tare resume "+dir) {
		t.Fatalf("the writer says:\n%s", out)
	}
	checkWhole(t, dir, done)
}

// checkWhole checks that the trials are there, that no torn line is left, and that the run can be resumed.
func checkWhole(t *testing.T, dir string, trials int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, TrialsFile))
	if err != nil || !strings.HasSuffix(string(data), "\n") {
		t.Errorf("the last line is torn: %v", err)
	}
	r := reopen(t, dir)
	if len(r.Trials) != trials {
		t.Errorf("%d trials, want %d", len(r.Trials), trials)
	}
	checkTrials(t, r)
	j, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	record(t, j, trials+1)
}

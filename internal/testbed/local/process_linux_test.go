package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
)

// opened makes a testbed with one site. It is closed with the test.
func opened(t *testing.T, needs experiment.Needs, level any) (*Testbed, testbed.Site) {
	t.Helper()
	bed, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	site, err := bed.Open(t.Context(), testbed.Request{Name: "test", Needs: needs, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return bed, site
}

// must ends the test on an unexpected error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openHost opens a site without a network.
func openHost(t *testing.T) testbed.Site {
	t.Helper()
	_, site := opened(t, experiment.Needs{}, nil)
	return site
}

// begin starts a command on this machine.
func begin(t *testing.T, site testbed.Site, cmd testbed.Command) testbed.Process {
	t.Helper()
	p, err := site.Start(context.Background(), testbed.Host, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the end of a program, which must succeed.
func end(t *testing.T, p testbed.Process) testbed.Usage {
	t.Helper()
	used, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func shell(script string, args ...string) testbed.Command {
	return testbed.Command{Args: append([]string{"sh", "-c", script, "sh"}, args...)}
}

func TestStartRunsTheCommandAsItIs(t *testing.T) {
	site := openHost(t)
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	cmd := shell(`cat; pwd; echo "$TARE_TEST $1"; echo complaint >&2`, "an argument")
	cmd.Dir, cmd.Env = dir, []string{"TARE_TEST=a value"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), &out, &errOut
	end(t, begin(t, site, cmd))
	if want := "input\n" + dir + "\na value an argument\n"; out.String() != want {
		t.Errorf("stdout %q, want %q", out.String(), want)
	}
	if errOut.String() != "complaint\n" {
		t.Errorf("stderr %q", errOut.String())
	}
}

func TestStartErrors(t *testing.T) {
	site := openHost(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	cases := []struct {
		name  string
		ctx   context.Context
		where testbed.Place
		cmd   testbed.Command
		want  string
	}{
		{"no command", context.Background(), testbed.Host, testbed.Command{}, "start: no command given"},
		{"no such program", context.Background(), testbed.Host,
			testbed.Command{Args: []string{"no-such-program"}, Env: []string{"PATH=/nowhere"}},
			"no-such-program: executable file not found in $PATH in PATH=/nowhere; is it installed? (see tare doctor)"},
		{"no such file", context.Background(), testbed.Host, testbed.Command{Args: []string{"/nowhere/x", "a b"}},
			"start /nowhere/x 'a b': fork/exec /nowhere/x: no such file or directory"},
		{"no such place", context.Background(), testbed.ClientPod, shell("true"),
			"site test has no client-pod: it was opened without a network"},
		{"ended context", ended, testbed.Host, shell("true"), "context canceled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := site.Start(c.ctx, c.where, c.cmd)
			if err == nil || err.Error() != c.want {
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
}

func TestExit(t *testing.T) {
	site := openHost(t)
	cases := []struct{ script, want string }{
		{"exit 0", ""},
		{"echo broken >&2; exit 3", `sh -c 'echo broken >&2; exit 3' sh: exit status 3: broken`},
		{"kill -TERM $$", `sh -c 'kill -TERM $$' sh: signal: terminated`},
	}
	for _, c := range cases {
		_, err := begin(t, site, shell(c.script)).Wait()
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
		var exit *testbed.ExitError
		if c.want != "" && !errors.As(err, &exit) {
			t.Errorf("%s: %T is not an *ExitError", c.script, err)
		}
	}
}

func TestUsageCountsDescendants(t *testing.T) {
	site := openHost(t)
	// The second part leaves the group and outlives its parent.
	const burn = `i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done`
	for name, script := range map[string]string{
		"waited for": "(" + burn + ")",
		"left":       "setsid sh -c '" + burn + "; echo done; sleep 100' & read line",
	} {
		t.Run(name, func(t *testing.T) {
			own := end(t, begin(t, site, shell(burn)))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := shell(script)
			cmd.Stdout, cmd.Stdin = w, r // "done" releases the parent
			p := begin(t, site, cmd)
			w.Close()
			used := end(t, p)
			if used.CPU() < own.CPU()/4 {
				t.Errorf("%v used with a descendant that needs about %v", used.CPU(), own.CPU())
			}
			if used.Wall <= 0 || used.MaxRSS <= 0 {
				t.Errorf("wall %v, peak memory %d", used.Wall, used.MaxRSS)
			}
		})
	}
}

func TestPeakMemory(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3 to fill memory")
	}
	site := openHost(t)
	size := int(proc.OwnPeak()) + 100<<20 // above this size the kernel's figure is exact
	cmd := testbed.Command{Args: []string{"python3", "-c", "b = bytearray(" + strconv.Itoa(size) + ")"}}
	p := begin(t, site, cmd)
	used := end(t, p)
	if used.MaxRSS < int64(size) || used.MaxRSS > int64(size)+100<<20 {
		t.Errorf("peak memory %d of a program that fills %d", used.MaxRSS, size)
	}
}

// For a small program, the kernel's ru_maxrss is the value of the process that forked the program.
func TestPeakMemoryOfASmallProgramIsItsOwn(t *testing.T) {
	ballast := bytes.Repeat([]byte{1}, 100<<20)
	site := openHost(t)
	used := end(t, begin(t, site, testbed.Command{Args: []string{"sleep", "0.2"}})) // long enough for its memory to be read
	if used.MaxRSS <= 0 || used.MaxRSS > int64(len(ballast))/2 {
		t.Errorf("peak memory %d of sleep, started by a program of at least %d", used.MaxRSS, len(ballast))
	}
}

func TestCPUGrowsWhileRunningAndStays(t *testing.T) {
	site := openHost(t)
	p := begin(t, site, shell("while :; do :; done"))
	cpu := func() time.Duration {
		used, err := p.CPU()
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	var before time.Duration
	for before == 0 {
		before = cpu()
	}
	after := before
	for after <= before {
		after = cpu()
	}
	if memory, err := p.Memory(); err != nil || memory < 100<<10 || memory > 1<<30 {
		t.Errorf("memory of a shell: %d, %v", memory, err)
	}
	must(t, p.Kill())
	used, err := p.Wait()
	if err == nil || err.Error() != "sh -c 'while :; do :; done' sh: signal: killed" {
		t.Errorf("error %q", err)
	}
	last, err := p.CPU()
	if err != nil || last < after {
		t.Errorf("CPU after the end %v, %v; before it was %v", last, err, after)
	}
	// The scheduler's clock and rusage measure the same CPU time.
	if diff := (used.CPU() - last).Abs(); diff > 20*time.Millisecond {
		t.Errorf("%v by the process clock, %v by rusage", last, used.CPU())
	}
}

func TestContextKills(t *testing.T) {
	site := openHost(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	p, err := site.Start(ctx, testbed.Host, shell("sleep 1000 & sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("the trial took too long"))
	if _, err = p.Wait(); err == nil || err.Error() != "sh -c 'sleep 1000 & sleep 1000' sh: the trial took too long" {
		t.Errorf("error %q", err)
	}
}

// started runs a script that first prints process ids, one per line, and returns these ids. The script's standard
// input ends when these processes run.
func started(t *testing.T, site testbed.Site, script string, lines int) (testbed.Process, []int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stdin, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer release.Close()
	cmd := shell(script)
	cmd.Stdin, cmd.Stdout = stdin, w
	p := begin(t, site, cmd)
	w.Close()
	pids := readPIDs(t, r, lines)
	for _, pid := range pids {
		if !running(pid) {
			t.Fatalf("process %d does not run", pid)
		}
	}
	return p, pids
}

func readPIDs(t *testing.T, r *os.File, lines int) []int {
	t.Helper()
	var pids []int
	for range lines {
		var pid int
		if _, err := fmt.Fscanln(r, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	s, err := proc.Read(pid)
	return err == nil && !s.Gone()
}

// A process can stay behind in four ways: in the group, in its own group, in its own session, and behind a parent
// that ends at once.
const leaveBehind = `
sleep 1000 & echo $!
set -m; sleep 1000 & echo $!; set +m
setsid sh -c 'echo $$; exec sleep 1000' &
(setsid sh -c 'sleep 1000 & echo $!' &)
`

// withoutEnvironment leaves a process that only its limit (the mark) identifies.
const withoutEnvironment = `
env -i setsid sh -c 'echo $$; exec sleep 1000' &
`

// asAnother leaves a process of another user, which has lost the death signal, too. elsewhere leaves a process in
// another cgroup, like one that systemd or a container runtime starts for a program.
const (
	asAnother = `
setsid setpriv --reuid 65534 --clear-groups env -i sh -c 'echo $$; exec sleep 1000' &
`
	elsewhere = `
(setsid sh -c "echo 0 >%s/cgroup.procs; exec env -i sh -c 'echo \$\$; exec sleep 1000'" &)
`
)

// staying returns a script whose processes try to stay behind in all ways that must fail here, and the number of
// these ways.
func staying() (script string, ways int) {
	script, ways = leaveBehind+withoutEnvironment, 5
	if scopes() == nil {
		return script, ways
	}
	script, ways = script+asAnother, ways+1
	mounts, _ := procfs.GetMounts()
	for _, m := range mounts {
		if m.FSType == "cgroup2" && m.Root == "/" {
			return script + fmt.Sprintf(elsewhere, m.MountPoint), ways + 1
		}
	}
	return script, ways
}

func TestNothingIsLeftBehind(t *testing.T) {
	ends := map[string]struct {
		then string
		end  func(testbed.Process)
	}{
		"exit": {"read line", func(p testbed.Process) { _, _ = p.Wait() }},
		"kill": {"sleep 1000", func(p testbed.Process) { _ = p.Kill() }},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			site := openHost(t)
			script, ways := staying()
			p, pids := started(t, site, script+c.then, ways)
			c.end(p)
			for _, pid := range pids {
				if running(pid) {
					t.Errorf("process %d still runs", pid)
				}
				if _, err := proc.Read(pid); err == nil {
					t.Errorf("process %d was not reaped", pid)
				}
			}
		})
	}
}

func TestOtherChildrenAreLeftAlone(t *testing.T) {
	site := openHost(t)
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	must(t, other.Start())
	quick := exec.Command("false")
	must(t, quick.Start())
	p, neighbour := started(t, site, "echo $$; sleep 1000", 1)
	end(t, begin(t, site, shell("true")))
	if !running(other.Process.Pid) || !running(neighbour[0]) {
		t.Error("a process that does not belong to the command was killed")
	}
	if err := quick.Wait(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("another child's exit status was taken away: %v", err)
	}
	_ = p.Kill()
	_ = other.Process.Kill()
	_ = other.Wait()
}

func TestCloseKillsEverything(t *testing.T) {
	bed, site := opened(t, experiment.Needs{}, nil)
	script, ways := staying()
	_, pids := started(t, site, script+"sleep 1000", ways)
	must(t, bed.Close())
	for _, pid := range pids {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if _, err := site.Start(context.Background(), testbed.Host, shell("true")); err == nil || !strings.Contains(err.Error(), "the site is closed") {
		t.Errorf("start after close: %v", err)
	}
	if err := bed.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

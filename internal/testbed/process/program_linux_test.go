package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/test/apart"
	"tare/internal/test/fit"
	"tare/internal/test/slow"
)

// TestMain makes this process the reaper of its orphaned descendants, as a testbed does.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	apart.Rerun()
	os.Exit(m.Run())
}

// testName begins the names of this process's cgroups. A machine may run the tests twice at once, each in its own
// process id namespace.
var testName = "tare-test-" + rand.Text() + "-"

// started starts a shell script, with the test's name as its mark.
func started(t *testing.T, k *Keeper, script string, stdout io.Writer) *Program {
	t.Helper()
	mark := "TARE_TEST=" + t.Name()
	p, err := k.Start(t.Context(), Spec{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: append(os.Environ(), mark), Mark: []string{mark}, Stdout: stdout,
		Name: testName + strings.ReplaceAll(t.Name(), "/", "-"), Attributes: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keepers are one keeper with cgroups, if this machine allows cgroups, and one without.
func keepers(t *testing.T, test func(t *testing.T, k *Keeper)) {
	t.Run("by marks", func(t *testing.T) { test(t, &Keeper{}) })
	t.Run("by cgroups", func(t *testing.T) {
		scopes, err := OpenScopes()
		if err != nil {
			t.Skipf("no cgroups can be made here: %v", err)
		}
		defer scopes.Close()
		test(t, &Keeper{Scopes: scopes})
		if left := scopes.Left(func(name string) bool { return strings.HasPrefix(name, testName) }); left != nil {
			t.Errorf("cgroups %v are left", left)
		}
	})
}

// alive reports whether a process with this beginning of the command line runs.
func alive(t *testing.T, command string) bool {
	t.Helper()
	for pid, s := range descendants() {
		if strings.HasPrefix(name(pid, s), command) && !s.Gone() {
			return true
		}
	}
	return false
}

func TestLeftRunning(t *testing.T) {
	slow.Test(t)
	keepers(t, func(t *testing.T, k *Keeper) {
		begun := time.Now()
		p := started(t, k, "sleep 91 & setsid sleep 92 & exit 0", nil)
		used, err := p.Wait()
		all := time.Since(begun)
		if got := strings.Join(used.Left, "; "); err != nil || got != "sleep 91; sleep 92" {
			t.Errorf("left running: %q, %v", got, err)
		}
		if alive(t, "sleep 9") {
			t.Error("it still runs")
		}
		if used.Wall > all-leftGrace {
			t.Errorf("the wait for what was left counts: %v", used.Wall)
		}
	})
}

func TestRealTimeEndedInItsGrace(t *testing.T) {
	m := fit.Machine(t)
	keepers(t, func(t *testing.T, k *Keeper) {
		var out strings.Builder
		used, err := started(t, k, "(sleep 0.1; echo done) & exit 0", &out).Wait()
		if err != nil || used.Left != nil || out.String() != "done\n" {
			m.Errorf("left %q, wrote %q, %v", used.Left, out.String(), err)
		}
	})
}

func TestKilledLeavesNothing(t *testing.T) {
	keepers(t, func(t *testing.T, k *Keeper) {
		p := started(t, k, "setsid sleep 93 & echo; wait; sleep 94", nil)
		fit.Await(t, "sleep 93", func() bool { return alive(t, "sleep 93") })
		_ = p.Kill()
		if used, _ := p.Wait(); used.Left != nil || alive(t, "sleep 93") {
			t.Errorf("left %q, alive %v", used.Left, alive(t, "sleep 93"))
		}
	})
}

// TestStrays: a process that hides from its marks is ended by its cgroup, while another program runs.
func TestStrays(t *testing.T) {
	slow.Test(t)
	scopes, err := OpenScopes()
	if err != nil {
		t.Skipf("no cgroups can be made here: %v", err)
	}
	defer scopes.Close()
	k := &Keeper{Scopes: scopes}
	t.Run("beside", func(t *testing.T) {
		beside := started(t, k, "sleep 30", nil)
		for name, script := range map[string]string{
			"no environment": "env -i setsid sleep 95 & exit 0",
			"another user":   "setsid setpriv --reuid 65534 --clear-groups env -i sleep 95 & exit 0",
			"own namespaces": "setsid unshare -Upf --mount-proc env -i sleep 95 & exit 0",
			"bwrap":          "setsid bwrap --clearenv --unshare-pid --ro-bind / / --dev /dev --proc /proc sleep 95 & exit 0",
			"sudo":           "setsid sudo -u nobody env -i sleep 95 & sleep 0.3; exit 0",
			"forks":          "env -i setsid sh -c 'while :; do sh -c \"sleep 95 & sleep 95 &\"; sleep 0.01; done' & sleep 0.3; exit 0",
		} {
			t.Run(name, func(t *testing.T) {
				if _, err := exec.LookPath(name); err != nil && (name == "bwrap" || name == "sudo") {
					t.Skip(err)
				}
				used, err := started(t, k, script, nil).Wait()
				if err != nil || len(used.Left) == 0 {
					t.Errorf("left %q, %v", used.Left, err)
				}
				if alive(t, "sleep 95") || alive(t, "sh -c while") {
					t.Error("it still runs")
				}
			})
		}
		select {
		case <-beside.Done():
			t.Error("the program beside it was ended, too")
		default:
		}
		_ = beside.Kill()
	})
}

// TestEndOfAnother: another process ends the cgroup of a dead Tare.
func TestEndOfAnother(t *testing.T) {
	scopes, err := OpenScopes()
	if err != nil {
		t.Skipf("no cgroups can be made here: %v", err)
	}
	defer scopes.Close()
	p := started(t, &Keeper{Scopes: scopes}, "env -i sleep 96", nil)
	fit.Await(t, "sleep 96", func() bool { return alive(t, "sleep 96") })
	left := scopes.Left(func(name string) bool { return name == testName+t.Name() })
	if len(left) != 1 || len(left[0].Processes()) == 0 {
		t.Fatalf("found %v", left)
	}
	if err := left[0].Remove(); err != nil {
		t.Error(err)
	}
	if _, err := p.Wait(); err == nil || alive(t, "sleep 96") {
		t.Errorf("it still runs: %v", err)
	}
}

// TestEndedByTwo checks that a guard and tare clean, which may run at the same time, do not hinder each other.
func TestEndedByTwo(t *testing.T) {
	scopes, err := OpenScopes()
	if err != nil {
		t.Skipf("no cgroups can be made here: %v", err)
	}
	defer scopes.Close()
	for n := range 300 {
		left, err := scopes.Group(nil, fmt.Sprintf("%stwo-%d", testName, n))
		if err != nil {
			t.Fatal(err)
		}
		_ = left.dir.Close()
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() { errs <- (&Group{of: scopes, group: left.group}).Remove() }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Fatalf("the %d. cgroup: %v", n+1, err)
			}
		}
	}
}

func TestWholeTreeIsCounted(t *testing.T) {
	keepers(t, func(t *testing.T, k *Keeper) {
		const loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
		p := started(t, k, "(setsid sh -c '"+loop+"') & wait; sleep 0.2", nil)
		var during time.Duration
		fit.Await(t, "CPU time", func() bool { during, _ = p.CPU(); return during > 0 })
		used, err := p.Wait()
		if after, _ := p.CPU(); err != nil || during <= 0 || used.CPU() < during || after < used.CPU() || used.User < 10*time.Millisecond {
			t.Errorf("CPU time %v while it ran, %v of its usage, %v after, %v", during, used.CPU(), after, err)
		}
	})
}

// Nobody waits for processes that the end of their process id namespace kills. Their CPU time is in no resource
// usage.
func TestKilledWithItsNamespaceIsCounted(t *testing.T) {
	scopes, err := OpenScopes()
	if err != nil {
		t.Skipf("no cgroups can be made here: %v", err)
	}
	defer scopes.Close()
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip(err)
	}
	before := Unreported()
	used := filepath.Join(t.TempDir(), "used")
	const work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	script := fmt.Sprintf("unshare --pid --fork sh -c '(%s; : >%s; sleep 1000) & until [ -e %[2]s ]; do sleep 0.05; done'", work, used)
	usage, err := started(t, &Keeper{Scopes: scopes}, script, nil).Wait()
	if err != nil {
		t.Fatal(err)
	}
	if missed := Unreported() - before; missed < 20*time.Millisecond || usage.CPU() < missed {
		t.Errorf("%v of %v were missed by resource usages", missed, usage.CPU())
	}
}

func TestTooMuchOutput(t *testing.T) {
	keepers(t, func(t *testing.T, k *Keeper) {
		k.OutputLimit = 1 << 20
		var out strings.Builder
		_, err := started(t, k, "sleep 97 & exec cat /dev/zero", &out).Wait()
		if err == nil || !strings.HasSuffix(err.Error(), "it was killed because it wrote more than 1048576 bytes to stdout") || out.Len() > 1<<20 {
			t.Errorf("%d bytes, %v", out.Len(), err)
		}
		if alive(t, "sleep 97") {
			t.Error("what it started still runs")
		}
	})
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatCannotBeKept(t *testing.T) {
	_, err := started(t, &Keeper{}, "echo x; sleep 30", full{}).Wait()
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "its stdout could not be kept") {
		t.Errorf("got %v", err)
	}
}

// TestMemoryThatNobodySaw: if a small program ends before its memory is read, only its CPU time is known.
func TestMemoryThatNobodySaw(t *testing.T) {
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	p := Program{cmd: cmd}
	p.account()
	if u := p.end.Usage; u.MaxRSS != 0 || u.CPU() <= 0 {
		t.Errorf("%+v: want CPU time and no memory", u)
	}
}

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"tare/internal/experiment"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody returns a command that runs this test program without any rights. Root runs a copy of the program as the
// user nobody.
func asNobody(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if finding := probeUserNamespace(context.Background()); finding.Status != testbed.Works {
		t.Skipf("no user namespaces here: %s (%s)", finding.Detail, finding.Hint)
	}
	if os.Geteuid() != 0 {
		return exec.Command("/proc/self/exe", args...)
	}
	dir, err := os.MkdirTemp("", "tare-nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "local.test")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	must(t, errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o755)))
	const nobody = 65534
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func role(cmd *exec.Cmd, name string) *exec.Cmd {
	cmd.Env = append(os.Environ(), roleVariable+"="+name, UserNamespaceVariable+"=")
	return cmd
}

// An ordinary user can use everything in the testbed, too.
func TestWithoutRoot(t *testing.T) {
	slow.Test(t)
	if os.Getenv(UserNamespaceVariable) != "" {
		t.Skip("is what runs this")
	}
	const same = "^(TestTraffic|TestDeliver|TestWatch.*|TestShape|TestMTU|TestRouteVia.*|TestManySites|TestMember.*|TestNothingIsLeftBehind|" +
		"TestDeathOfTareLeavesNothing|TestProbe)$"
	out, err := role(asNobody(t, "-test.v", "-test.run="+same), "enter").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"--- PASS: TestTraffic", "--- PASS: TestShape", "--- PASS: TestDeathOfTareLeavesNothing"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Errorf("tests were skipped:\n%s", out)
	}
}

// startSignals starts a program that enters a user namespace, and prints the signals that it receives there.
func startSignals(t *testing.T) (*exec.Cmd, *bufio.Scanner, int) {
	t.Helper()
	cmd := role(asNobody(t, "role=signals"), "enter")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	printed := bufio.NewScanner(out)
	printed.Scan()
	var pid int
	if _, err := fmt.Sscanf(printed.Text(), "ready %d", &pid); err != nil {
		t.Fatalf("%q: %v", printed.Text(), err)
	}
	return cmd, printed, pid
}

func TestSignalsAndStatusPassThrough(t *testing.T) {
	cmd, printed, _ := startSignals(t)
	for _, s := range []unix.Signal{unix.SIGUSR1, unix.SIGINT, unix.SIGTERM} {
		must(t, cmd.Process.Signal(s))
		if printed.Scan(); printed.Text() != s.String() {
			t.Errorf("%q arrived, want %q", printed.Text(), s)
		}
	}
	err := cmd.Wait()
	if err == nil || err.Error() != "exit status 7" {
		t.Errorf("%v, want exit status 7", err)
	}
}

func TestDeathPassesThrough(t *testing.T) {
	t.Run("inwards", func(t *testing.T) {
		cmd, _, pid := startSignals(t)
		held := hold(t, []int{pid})
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		await(t, "program in the user namespace", []int{pid}, held)
	})
	t.Run("outwards", func(t *testing.T) {
		cmd, _, pid := startSignals(t)
		must(t, unix.Kill(pid, unix.SIGKILL))
		if err := cmd.Wait(); err == nil || err.Error() != "exit status 137" {
			t.Errorf("%v, want exit status 137", err)
		}
	})
}

// TestGuardOfUserNamespace: a process that has lost its environment is found by its user namespace.
func TestGuardOfUserNamespace(t *testing.T) {
	if os.Getenv(UserNamespaceVariable) != "" {
		t.Skip("is what this starts")
	}
	cmd := role(asNobody(t, "role=victim", "guarded"), "enter")
	_, v := victimOf(t, cmd)
	if len(v.Left) != 5*len(v.Commands) {
		t.Fatalf("%d processes stay behind %d commands, want 5 for each", len(v.Left), len(v.Commands))
	}
	all := append(slices.Clone(v.Commands), v.Left...)
	held := hold(t, all)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	await(t, "process", all, held)
}

func TestEnterOnlyOnce(t *testing.T) {
	t.Setenv(UserNamespaceVariable, "1")
	if _, err := EnterUserNamespace(); !errors.Is(err, errNoRights) {
		t.Errorf("%v, want %v", err, errNoRights)
	}
}

func TestProbe(t *testing.T) {
	findings := Probe(context.Background())
	var names []string
	for _, f := range findings {
		names = append(names, f.Name)
		if f.Status != testbed.Works && !NeedsUserNamespace() {
			t.Errorf("%+v", f)
		}
		if f.Status != testbed.Works && f.Detail == "" {
			t.Errorf("no reason given: %+v", f)
		}
	}
	const want = "user namespace, network namespaces, bridge, virtual cables, shaping (tbf), nftables dnat"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("probed %s, want %s", got, want)
	}
}

// Without rights, the probe and the site name the missing rights and a remedy.
func TestRefusalIsExplained(t *testing.T) {
	if !NeedsUserNamespace() {
		cmd := role(asNobody(t, "-test.v", "-test.run=^TestRefusalIsExplained$"), "tests")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	bed, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bed.Close() }()
	_, err = bed.Open(context.Background(), testbed.Request{Name: "s", Needs: experiment.Needs{Network: true}, Level: link(1e9, 1500)})
	const want = "site s: make a network namespace for the wire: operation not permitted: " +
		"this takes root or a user namespace (see tare doctor)"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	findings := Probe(context.Background())
	if f := findings[1]; f.Status != testbed.Refused || f.Hint == "" {
		t.Errorf("%+v", f)
	}
	if f := findings[2]; f.Detail != "not tried without network namespaces" {
		t.Errorf("%+v", f)
	}
}

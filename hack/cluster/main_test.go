package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tare/hack/cluster/cluster"
	"tare/hack/cluster/machine"
)

// asCommand makes the test binary the command itself, so that tests can run it
// as a process of its own, and kill that.
const asCommand = "TARE_CLUSTER_AS_COMMAND"

func TestMain(m *testing.M) {
	machine.RunInit()
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// requireCluster skips the test where a cluster cannot run.
func requireCluster(t *testing.T) {
	t.Helper()
	if err := cluster.Check(); err != nil {
		t.Skipf("this machine cannot run a test cluster:\n%v", err)
	}
}

// testName is a cluster that no one else has.
func testName(suffix string) string { return fmt.Sprintf("t%d-%s", os.Getpid(), suffix) }

// command is this program with arguments, for the cluster of that name.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{"--name", name}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// try runs the command and returns what it wrote.
func try(name string, args ...string) (string, error) {
	var out, stderr bytes.Buffer
	cmd := command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("cluster %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out.String(), nil
}

func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := try(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		nil, {"upp"}, {"down", "now"}, {"exec", "node1"}, {"load"}, {"stop", "node1"}, {"--nam", "x", "up"}, {"up", "--nosuch"},
		{"compile", "now"}, {"compile", "--kwok", "-1"}, {"up", "--dry-run"},
	} {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(string(out), "usage: cluster") {
			t.Errorf("cluster %q: %v, %q; want exit status 2 and the usage", args, err, out)
		}
	}
}

func TestWrongUse(t *testing.T) {
	base := t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--name", "Not_A_Name", "status"}, `cluster name "Not_A_Name": use up to 20 lower-case letters`},
		{[]string{"--name", "../x", "down"}, `cluster name "../x"`},
		{[]string{"--state", base, "kubectl", "version"}, "there is no cluster test below " + base + ": bring it up first"},
		{[]string{"--state", base, "load", "x.tar"}, "there is no cluster test"},
		{[]string{"--state", base, "exec", "node3", "true"}, `no machine "node3": there are control-plane, node1 and node2`},
		{[]string{"--state", base, "exec", "node1", "true"}, "node1 of cluster test does not run"},
		{[]string{"--state", base, "up", "--audit", "All"}, `audit level "All": known are Metadata, Request, RequestResponse`},
		{[]string{"--state", base, "up", "--policy", "opa"}, `policy engine "opa": known are gatekeeper, kyverno`},
		{[]string{"--state", base, "up", "--encryption", "rot13"}, `encryption provider "rot13": known are aescbc, aesgcm, secretbox`},
		{[]string{"--state", base, "stop", "node1", "kubelet"}, "machine node1 does not run"},
	} {
		cmd := exec.Command("/proc/self/exe", test.args...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), test.want) {
			t.Errorf("cluster %q: %v, %q; want exit status 1 and %q", test.args, err, out, test.want)
		}
	}
	if out, err := exec.Command("ls", "-A", base).Output(); err != nil || len(out) > 0 {
		t.Errorf("left in %s: %q, %v", base, out, err)
	}
}

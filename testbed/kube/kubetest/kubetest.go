// Package kubetest gives tests the cluster that `make test` brings up for them.
// Without one they are skipped, and say so.
package kubetest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// The variables by which `make test` names the cluster. Both programs below
// test/cluster and other clusters will do; faults need the former.
const (
	KubeconfigVariable = "TARE_TEST_KUBECONFIG" // path
	NameVariable       = "TARE_TEST_CLUSTER"    // name that bin/cluster knows it by
	ProgramVariable    = "TARE_TEST_CLUSTER_PROGRAM"
)

// Kubeconfig is the path of the cluster's kubeconfig; without a cluster the test
// is skipped.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path := os.Getenv(KubeconfigVariable)
	if path == "" {
		t.Skipf("%s is not set: make test brings a cluster up and sets it", KubeconfigVariable)
	}
	return path
}

// Control runs a command of the test cluster's program, such as "stop node2
// kubelet", and gives its output; without a test cluster the test is skipped.
func Control(t testing.TB, args ...string) string {
	t.Helper()
	program, name := os.Getenv(ProgramVariable), os.Getenv(NameVariable)
	if program == "" || name == "" {
		t.Skipf("%s and %s are not set: this test breaks parts of a cluster, which make test brings up for it", ProgramVariable, NameVariable)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, append([]string{"--name", name}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", program, args, err, out, stderr.Bytes())
	}
	return string(out)
}

// Package kubetest gives tests access to the cluster that `make test` starts for them.
// Without a cluster it skips the test with the reason.
package kubetest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// With these environment variables `make test` names the cluster. The kubeconfig may be that of any cluster.
// Tests that break parts of a cluster need one that a program below hack/cluster has made.
const (
	kubeconfigVariable = "TARE_TEST_KUBECONFIG"      // path of the kubeconfig
	nameVariable       = "TARE_TEST_CLUSTER"         // name of the cluster in that program
	programVariable    = "TARE_TEST_CLUSTER_PROGRAM" // path of the program
)

// Kubeconfig returns the path of the cluster's kubeconfig. If there is no cluster, it skips the test.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path := os.Getenv(kubeconfigVariable)
	if path == "" {
		t.Skipf("%s is not set: make test brings a cluster up and sets it", kubeconfigVariable)
	}
	return path
}

// Control runs a command of the program that made the test cluster, such as "stop node2 kubelet". It returns
// the program's output. If there is no test cluster, it skips the test.
func Control(t testing.TB, args ...string) string {
	t.Helper()
	program, name := os.Getenv(programVariable), os.Getenv(nameVariable)
	if program == "" || name == "" {
		t.Skipf("%s and %s are not set: this test breaks parts of a cluster, which make test brings up for it",
			programVariable, nameVariable)
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

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pod runs the image as Pod Security's restricted wants it, with a read-only
// root file system.
const pod = `apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  RUNTIME
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: tare
    image: tare:latest
    imagePullPolicy: Never
    command: [sh, -c, 'tare --version && iperf3 --version && fio --version && id && ! touch /var/tmp/x']
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

// TestImageOnCluster runs the image that `make test` has loaded, under runc and
// under gVisor, as the user that the image names.
func TestImageOnCluster(t *testing.T) {
	program, name := os.Getenv("TARE_TEST_CLUSTER_PROGRAM"), os.Getenv("TARE_TEST_CLUSTER")
	if program == "" || name == "" {
		t.Skip("TARE_TEST_CLUSTER and TARE_TEST_CLUSTER_PROGRAM are not set: make test brings a cluster up and sets them")
	}
	kubectl := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(program, append([]string{"--name", name, "kubectl", "--namespace", "tare-image-test"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		out, err := kubectl(stdin, args...)
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
		return out
	}
	must("", "create", "namespace", "tare-image-test")
	t.Cleanup(func() { must("", "delete", "namespace", "tare-image-test", "--timeout=60s") })
	must("", "label", "namespace", "tare-image-test", "pod-security.kubernetes.io/enforce=restricted")
	for runtime, field := range map[string]string{"runc": "", "gvisor": "runtimeClassName: gvisor"} {
		must(strings.NewReplacer("NAME", runtime, "RUNTIME", field).Replace(pod), "apply", "-f", "-")
	}
	for _, runtime := range []string{"runc", "gvisor"} {
		if out, err := kubectl("", "wait", "pod/"+runtime, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"); err != nil {
			log, _ := kubectl("", "logs", runtime)
			t.Errorf("%s: %v\n%s%s\n%s", runtime, err, out, must("", "describe", "pod", runtime), log)
			continue
		}
		log := must("", "logs", runtime)
		for _, want := range []string{"tare version ", "iperf 3.", "fio-3.", "uid=65532(tare) gid=65532(tare)", "/var/tmp/x: Read-only file system"} {
			if !strings.Contains(log, want) {
				t.Errorf("%s: no %q in\n%s", runtime, want, log)
			}
		}
	}
}

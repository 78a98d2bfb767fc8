package main

import (
	"fmt"
	"strings"
	"testing"

	"tare/test/cluster/cluster"
)

// TestGatekeeper: a policy denies what it is for, and neither anything else nor in a namespace that is to be left alone. It
// is skipped where Gatekeeper has not been compiled; make test-products does that.
func TestGatekeeper(t *testing.T) {
	requireCluster(t)
	missing, err := cluster.Missing(t.Context(), cluster.Options{Source: source(), Policy: "gatekeeper"})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("not compiled yet, which takes minutes (make test-products does it): %s", strings.Join(missing, ", "))
	}
	before := takeTrace(t)
	name := testName("p")
	t.Cleanup(func() { must(t, name, "down") })
	if out := must(t, name, "up", "--gvisor=false", "--policy", "gatekeeper"); !strings.Contains(out, "It has Gatekeeper v3.23.1.") {
		t.Errorf("up says %s", out)
	}
	must(t, name, "kubectl", "create", "namespace", "tare-alone")
	must(t, name, "kubectl", "label", "namespace", "tare-alone", "admission.gatekeeper.sh/ignore=left-alone")
	for _, file := range []string{"../../examples/kubernetes/gatekeeper/template.yaml", "testdata/gatekeeper.yaml"} {
		eventually(t, file+" to be taken", func() error { // the second is of a kind that the first makes
			_, err := try(name, "kubectl", "apply", "--filename="+file)
			return err
		})
	}
	made := func(namespace, object string) error {
		out, err := try(name, "kubectl", "create", "configmap", object, "--namespace="+namespace, "--dry-run=server")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	eventually(t, "a denial", func() error {
		if err := made("default", "denied-one"); err == nil || !strings.Contains(err.Error(), "names that begin with denied- are denied") {
			return fmt.Errorf("made as if there were no policy: %v", err)
		}
		return nil
	})
	for namespace, object := range map[string]string{"default": "one", "tare-alone": "denied-one"} {
		if err := made(namespace, object); err != nil {
			t.Errorf("%s in %s: %v", object, namespace, err)
		}
	}
	must(t, name, "down")
	before.expectSame(t)
}

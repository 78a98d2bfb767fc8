package main

import (
	"fmt"
	"strings"
	"testing"

	"tare/hack/cluster/cluster"
)

// TestPolicyEngines: a policy denies what it is for, and neither anything else nor in a namespace that is to be left alone.
// Engines that have not been compiled are skipped; make test-products compiles them.
func TestPolicyEngines(t *testing.T) {
	requireCluster(t)
	for _, engine := range []struct {
		name, has string
		files     []string // with the policy, and with the namespace tare-alone
	}{
		{"gatekeeper", "Gatekeeper v3.23.1", []string{"../../examples/kubernetes/gatekeeper/template.yaml", "testdata/gatekeeper.yaml"}},
		{"kyverno", "Kyverno v1.19.1", []string{"testdata/kyverno.yaml"}},
	} {
		t.Run(engine.name, func(t *testing.T) { testPolicyEngine(t, engine.name, engine.has, engine.files) })
	}
}

func testPolicyEngine(t *testing.T, engine, has string, files []string) {
	missing, err := cluster.Missing(t.Context(), cluster.Options{Source: source(), Policy: engine})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("not compiled yet, which takes minutes (make test-products does it): %s", strings.Join(missing, ", "))
	}
	before := takeTrace(t)
	name := testName("p")
	t.Cleanup(func() { must(t, name, "down") })
	if out := must(t, name, "up", "--gvisor=false", "--policy", engine); !strings.Contains(out, "It has "+has+".") {
		t.Errorf("up says %s", out)
	}
	for _, file := range files {
		eventually(t, file+" to be taken", func() error { // it may be of a kind that another one makes
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

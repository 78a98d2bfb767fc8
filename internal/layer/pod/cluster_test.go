package pod

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/sitetest"
)

// opened returns a site whose pods have not been created yet.
func opened(t *testing.T, bed *kube.Testbed, arm string, needs experiment.Needs) *kube.Site {
	t.Helper()
	needs.Network = true
	return sitetest.Open(t, bed, arm, needs, sitetest.Small(experiment.SameNode))
}

// TestOnCluster puts layers around real pods. The checks must pass there, the layer must be shown to be off in the
// pods of a plain arm, and the check for its absence must fail where it is on.
func TestOnCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	plain := opened(t, bed, "plain", experiment.Needs{})
	sitetest.Ready(t, plain)
	for name, c := range map[string]*Config{
		"gvisor":       {RuntimeClass: factor.Of("gvisor")},
		"unconfined":   {Seccomp: factor.Of("Unconfined")},
		"capabilities": {RunAsUser: id(0), Capabilities: &capabilities{Add: []string{"CHOWN"}}},
		"privileged":   {RunAsUser: id(0), Privileged: true},
		"labels":       {Labels: map[string]string{"layer": "on"}, Annotations: map[string]string{"layer": "on"}},
		"patch":        {Patch: "spec: {containers: [{name: tare, securityContext: {readOnlyRootFilesystem: true}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := opened(t, bed, name, c.Declare().Needs)
			up := layertest.Up(t, c, site)
			sitetest.Ready(t, site)
			on := append(layertest.Settle(t, up), layertest.Before(t, up, site)...)
			if len(on) == 0 || len(failing(on)) > 0 {
				t.Errorf("on: %+v", on)
			}
			for _, k := range on {
				t.Logf("%s: %s", k.Name, k.Observed)
			}
			if off := layertest.Off(t, c, plain); len(off) == 0 || len(failing(off)) > 0 {
				t.Errorf("off in a plain arm: %+v", off)
			}
			if off := layertest.Off(t, c, site); len(failing(off)) == 0 {
				t.Errorf("passes for off where it is on: %+v", off)
			}
		})
	}
}

// TestRefusedByCluster checks that the error names the reason if a cluster cannot provide the layer.
func TestRefusedByCluster(t *testing.T) {
	t.Parallel()
	bed := sitetest.Bed(t)
	_, err := (&Config{RuntimeClass: factor.Of("kata")}).Up(t.Context(), new(layer.Run).At(opened(t, bed, "kata", experiment.Needs{})))
	if err == nil || !strings.Contains(err.Error(), "has no RuntimeClass kata: list its classes with kubectl get runtimeclasses") {
		t.Errorf("a RuntimeClass that is not there: %v", err)
	}

	c := &Config{AppArmor: factor.Of("Unconfined")}
	site := opened(t, bed, "apparmor", c.Declare().Needs)
	up := layertest.Up(t, c, site)
	sitetest.Ready(t, site)
	facts, err := site.Facts(t.Context(), testbed.ClientPod)
	if err != nil {
		t.Fatal(err)
	}
	_, err = up.Settle(t.Context())
	if told := fmt.Sprint(err); (facts.AppArmor == "") != strings.Contains(told, "sees no AppArmor") {
		t.Errorf("AppArmor is %q, and the layer says %s", facts.AppArmor, told)
	}
}

package pod

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment/factor"
	"tare/internal/testbed"
)

// TestOffBeside checks that another arm's layer is shown to be off in an arm with its own layer pod, and that the
// check fails if the other layer is on.
func TestOffBeside(t *testing.T) {
	everything := &Config{
		Labels: map[string]string{"a": "1", "b": "2"}, RuntimeClass: factor.Of("gvisor"), NodeSelector: map[string]string{"pool": "x", "zone": "b"},
		Seccomp: factor.Of("Unconfined"), AppArmor: factor.Of("Localhost/mine"), Capabilities: &capabilities{Add: []string{"NET_ADMIN"}},
		RunAsUser: id(0), HostUsers: &no, ServiceAccount: "mine", Sidecars: []string{"x", "y"}, Confidential: "TDX", Patch: "spec: {priority: 7}",
	}
	for _, test := range []struct {
		name       string
		other, own *Config
		want       []string
	}{
		{"nothing alike", everything, &Config{Annotations: map[string]string{"c": "3"}},
			[]string{"labels", "labels of the node", "service account", "patch", "RuntimeClass", "sandbox", "confidential machine", "seccomp", "AppArmor", "capabilities", "user", "user namespace", "sidecar x", "sidecar y"}},
		{"the same class", &Config{RuntimeClass: factor.Of("gvisor"), Labels: map[string]string{"a": "1"}}, &Config{RuntimeClass: factor.Of("gvisor")}, []string{"labels"}},
		{"levels of a factor", &Config{RuntimeClass: factor.Of("gvisor")}, &Config{RuntimeClass: factor.Of("kata")}, nil},
		{"all fields", everything, everything, []string{"patch"}},
		{"some of the labels and sidecars", &Config{Labels: everything.Labels, Sidecars: everything.Sidecars}, &Config{Labels: map[string]string{"a": "9"}, Sidecars: []string{"y"}},
			[]string{"labels", "sidecar x"}},
		{"nodes that differ in one label", &Config{NodeSelector: everything.NodeSelector}, &Config{NodeSelector: map[string]string{"pool": "x"}}, []string{"labels of the node"}},
		{"privileged beside another filter", &Config{Privileged: true}, &Config{Seccomp: factor.Of("Localhost/a.json")}, []string{"privileged"}},
		{"privileged beside plain", &Config{Privileged: true}, &Config{RunAsUser: id(0)}, []string{"seccomp", "capabilities"}},
		{"less than privileged", &Config{Seccomp: factor.Of("Unconfined"), Capabilities: &capabilities{Add: []string{"CHOWN"}}}, &Config{Privileged: true}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			sandbox := ""
			if test.other.RuntimeClass.OrZero() == "gvisor" {
				sandbox = gvisor
			}
			aspects := test.other.offBeside(test.own, sandbox)
			var got []string
			for _, a := range aspects {
				got = append(got, a.name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A baseline with its own layer pod is shown not to be in the sandbox of another arm's layer.
func TestNotSandboxedBesideOwn(t *testing.T) {
	other, own := &Config{RuntimeClass: factor.Of("gvisor")}, &Config{Labels: map[string]string{"a": "1"}}
	s := shaped(t, own, nil)
	if bad := failing(gather(other.offBeside(own, gvisor), s)); len(bad) > 0 {
		t.Errorf("fails where it is not on: %+v", bad)
	}
	class := "gvisor"
	s.facts.Sandbox, s.pod.Spec.RuntimeClassName = gvisor, &class
	if bad := failing(gather(other.offBeside(own, gvisor), s)); len(bad) != 2 {
		t.Errorf("passes where it is on: %+v", bad)
	}
	yes := true
	s.pod.Spec.Containers[0].SecurityContext.Privileged = &yes
	if bad := failing(gather([]aspect{unprivileged()}, s)); len(bad) != 1 {
		t.Errorf("a privileged container passes for none: %+v", bad)
	}
}

// TestSplit checks that pods outside the layer are not checked.
func TestSplit(t *testing.T) {
	client, node := &corev1.Pod{}, &corev1.Pod{}
	got, beside := split(map[testbed.Place]*corev1.Pod{testbed.ClientPod: client, testbed.ClientNode: node, testbed.ServerNode: node})
	if len(got) != 1 || got[testbed.ClientPod] != client || !beside {
		t.Errorf("got %v, and pods on the nodes: %t", got, beside)
	}
	if _, beside = split(map[testbed.Place]*corev1.Pod{testbed.ClientPod: client}); beside {
		t.Error("pods on the nodes where there are none")
	}
}

// TestUnavailable checks evidence that cannot be seen in an arm without the layer.
func TestUnavailable(t *testing.T) {
	appArmor := &Config{AppArmor: factor.Of("Localhost/mine")}
	for _, test := range []struct {
		name             string
		config           *Config
		change           func(*podView)
		ok               bool
		observed, caveat string
	}{
		{"AppArmor", appArmor, func(s *podView) { s.facts.AppArmor = "" }, false, "not reported", ""},
		{"AppArmor, with SELinux", appArmor, func(s *podView) { s.facts.AppArmor, s.facts.SELinux = "", "system_u:system_r:container_t:s0" }, true, "none: SELinux is in force", ""},
		{"AppArmor in gVisor", appArmor, func(s *podView) { s.facts.AppArmor, s.facts.Sandbox = "", gvisor }, true, "RuntimeDefault",
			"the pod's AppArmor profile is reported by gvisor and not by the node's kernel: the only evidence is the specification"},
		{"a confidential machine", &Config{Confidential: "TDX"}, func(*podView) {}, true, "none to be seen from the pod",
			"the pod cannot see whether its machine is confidential: the only evidence is the labels of its node"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := plain()
			test.change(&s)
			k := gather(test.config.aspects(false, ""), s)[0]
			if k.OK != test.ok || k.Observed != test.observed || k.Caveat != test.caveat {
				t.Errorf("got %+v", k)
			}
		})
	}
}

package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
)

// plain returns the evidence about a pod of an arm without the layer, on a node with kernel 6.1.
func plain() podView {
	return podView{
		place: testbed.ClientPod,
		pod: func() *corev1.Pod {
			p := pristine()
			p.Name, p.UID = "client", "1"
			p.Labels = map[string]string{"tare/role": "client"}
			p.Spec.NodeName, p.Spec.ServiceAccountName = "node1", "default"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(container)}
			return p
		}(),
		facts: agent.Facts{
			Kernel: "6.1.0", BootID: "b1", Seccomp: "filter", UID: defaultUser, CapEff: "0000000000000000", CapBnd: "0000000000000000",
			UIDMap: hostUsers, AppArmor: "cri-containerd.apparmor.d (enforce)",
		},
		node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node1", Labels: map[string]string{"pool": "standard", "zone": "a"}},
			Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KernelVersion: "6.1.0", BootID: "b1"}},
		},
	}
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

// shaped returns the evidence about a pod of the layer's arm, with a change to what a plain pod shows.
func shaped(t *testing.T, c *Config, change func(*podView)) podView {
	t.Helper()
	s := plain()
	if err := c.shape(s.pod); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	return s
}

var no = false

func id(n int64) *int64 { return &n }

// proofs are cases of parameters, with the evidence about a pod that has them and the checks that result in an arm
// with the layer.
var proofs = []struct {
	name    string
	config  Config
	sandbox string
	change  func(*podView)
	want    []layer.Check
}{
	{
		name:   "labels and annotations",
		config: Config{Labels: map[string]string{"a": "1", "b": "2"}, Annotations: map[string]string{"inject": "true"}},
		want: []layer.Check{
			{Name: "labels", Expected: `a="1", b="2"`, Observed: `a="1", b="2"`, OK: true},
			{Name: "annotations", Expected: `inject="true"`, Observed: `inject="true"`, OK: true},
		},
	},
	{
		name: "gVisor", config: Config{RuntimeClass: factor.Of("gvisor")}, sandbox: gvisor,
		change: func(s *podView) { s.facts.Sandbox, s.facts.Kernel, s.facts.BootID = gvisor, "4.19.0-gvisor", "" },
		want: []layer.Check{
			{Name: "RuntimeClass", Expected: "gvisor", Observed: "gvisor", OK: true},
			{Name: "sandbox", Expected: "gVisor", Observed: "gvisor, kernel 4.19.0-gvisor on a node with 6.1.0", OK: true},
		},
	},
	{
		name: "Kata", config: Config{RuntimeClass: factor.Of("kata-qemu")}, sandbox: kata,
		change: func(s *podView) { s.facts.Sandbox, s.facts.BootID = kata, "b2" },
		want: []layer.Check{
			{Name: "RuntimeClass", Expected: "kata-qemu", Observed: "kata-qemu", OK: true},
			{Name: "kernel", Expected: "of the sandbox's own", Observed: "another boot than the node's, kernel 6.1.0 on a node with 6.1.0", OK: true},
		},
	},
	{
		name: "nodes", config: Config{NodeSelector: map[string]string{"pool": "confidential"}, Confidential: "SEV-SNP"},
		change: func(s *podView) { s.node.Labels["pool"], s.facts.Confidential = "confidential", "SEV-SNP" },
		want: []layer.Check{
			{Name: "labels of the node", Expected: `pool="confidential"`, Observed: `pool="confidential"`, OK: true},
			{Name: "confidential machine", Expected: "SEV-SNP", Observed: "SEV-SNP", OK: true},
		},
	},
	{
		name: "seccomp Unconfined", config: Config{Seccomp: factor.Of("Unconfined")},
		change: func(s *podView) { s.facts.Seccomp = "disabled" },
		want:   []layer.Check{{Name: "seccomp", Expected: "Unconfined, mode disabled", Observed: "Unconfined, mode disabled", OK: true}},
	},
	{
		name: "seccomp profile", config: Config{Seccomp: factor.Of("Localhost/audit.json")},
		want: []layer.Check{{Name: "seccomp", Expected: "Localhost/audit.json, mode filter", Observed: "Localhost/audit.json, mode filter", OK: true,
			Caveat: "a filter is in force; the only evidence for its profile is the specification"}},
	},
	{
		name: "AppArmor profile", config: Config{AppArmor: factor.Of("Localhost/deny-write")},
		change: func(s *podView) { s.facts.AppArmor = "deny-write (enforce)" },
		want:   []layer.Check{{Name: "AppArmor", Expected: "deny-write", Observed: "deny-write (enforce)", OK: true}},
	},
	{
		name: "AppArmor profile that complains", config: Config{AppArmor: factor.Of("Localhost/deny-write")},
		change: func(s *podView) { s.facts.AppArmor = "deny-write (complain)" },
		want: []layer.Check{{Name: "AppArmor", Expected: "deny-write", Observed: "deny-write (complain)", OK: true,
			Caveat: "the AppArmor profile is in complain mode: it logs violations, but refuses nothing"}},
	},
	{
		name: "AppArmor Unconfined", config: Config{AppArmor: factor.Of("Unconfined")},
		change: func(s *podView) { s.facts.AppArmor = "unconfined" },
		want:   []layer.Check{{Name: "AppArmor", Expected: "unconfined", Observed: "unconfined", OK: true}},
	},
	{
		name:   "capabilities of root",
		config: Config{RunAsUser: id(0), Capabilities: &capabilities{Add: []string{"NET_ADMIN", "CAP_SYS_TIME"}}},
		change: func(s *podView) {
			s.facts.UID, s.facts.CapBnd, s.facts.CapEff = 0, "0000000002001000", "0000000002001000"
		},
		want: []layer.Check{
			{Name: "capabilities", Expected: "NET_ADMIN, SYS_TIME and no other", Observed: "NET_ADMIN, SYS_TIME", OK: true},
			{Name: "user", Expected: "0", Observed: "0", OK: true},
		},
	},
	{
		name: "capabilities of the runtime", config: Config{Capabilities: &capabilities{Drop: []string{"NET_RAW"}}},
		change: func(s *podView) { s.facts.CapBnd = "0000000000000400" },
		want:   []layer.Check{{Name: "capabilities", Expected: "without NET_RAW", Observed: "NET_BIND_SERVICE", OK: true}},
	},
	{
		name: "privileged", config: Config{Privileged: true, Seccomp: factor.Of("Unconfined")},
		change: func(s *podView) { s.facts.CapBnd, s.facts.Seccomp = "000001ffffffffff", "disabled" },
		want: []layer.Check{
			{Name: "seccomp", Expected: "Unconfined, mode disabled", Observed: "Unconfined, mode disabled", OK: true},
			{Name: "privileged", Expected: "SYS_ADMIN within bounds", Observed: "all", OK: true},
		},
	},
	{
		name: "user namespace", config: Config{HostUsers: &no},
		change: func(s *podView) { s.facts.UIDMap = "0 1048576 65536" },
		want:   []layer.Check{{Name: "user namespace", Expected: "of the pod's own", Observed: "user ids mapped as 0 1048576 65536", OK: true}},
	},
	{
		name: "service account", config: Config{ServiceAccount: "mesh"},
		want: []layer.Check{{Name: "service account", Expected: "mesh", Observed: "mesh", OK: true}},
	},
	{
		name: "patch", config: Config{Patch: "spec: {dnsPolicy: None, containers: [{name: tare, env: [{name: A, value: b}]}]}"},
		want: []layer.Check{{Name: "patch", Expected: "every field in the pod", Observed: "every field in the pod", OK: true}},
	},
	{
		name: "sidecar", config: Config{Labels: map[string]string{"inject": "true"}, Sidecars: []string{"istio-proxy"}},
		change: func(s *podView) {
			s.pod.Spec.InitContainers = append(s.pod.Spec.InitContainers, corev1.Container{Name: "istio-proxy"})
			s.pod.Status.InitContainerStatuses = append(s.pod.Status.InitContainerStatuses, running("istio-proxy"))
		},
		want: []layer.Check{
			{Name: "labels", Expected: `inject="true"`, Observed: `inject="true"`, OK: true},
			{Name: "sidecar istio-proxy", Expected: "ready", Observed: "ready", OK: true},
		},
	},
}

// TestProofs checks the proofs of pods with the layer, and that they can fail: a pod without the layer must not pass
// for one with it, or the other way round.
func TestProofs(t *testing.T) {
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			for i := range p.want {
				p.want[i].Layer = name
			}
			with := shaped(t, &p.config, p.change)
			on, off := p.config.aspects(true, p.sandbox), p.config.aspects(false, p.sandbox)
			got := gather(on, with)
			if diff := cmp.Diff(p.want, got); diff != "" {
				t.Errorf("with the layer (-want +got):\n%s", diff)
			}
			without := plain()
			if bad := failing(gather(off, without)); len(bad) > 0 {
				t.Errorf("without the layer, off: %v", bad)
			}
			if len(gather(off, without)) == 0 {
				t.Error("nothing shows that the layer is off")
			}
			if len(failing(gather(on, without))) == 0 {
				t.Error("a pod without the layer passes for one with it")
			}
			if len(failing(gather(off, with))) == 0 {
				t.Error("a pod with the layer passes for one without")
			}
		})
	}
}

func gather(list []aspect, s podView) []layer.Check {
	var out []layer.Check
	for _, a := range list {
		out = append(out, a.check([]podView{s}))
	}
	return out
}

func failing(checks []layer.Check) []layer.Check {
	var bad []layer.Check
	for _, k := range checks {
		if !k.OK {
			bad = append(bad, k)
		}
	}
	return bad
}

// TestNotInForce checks that a specification alone is no proof if the pod can see which setting is in force.
func TestNotInForce(t *testing.T) {
	root := Config{RunAsUser: id(0), Capabilities: &capabilities{Add: []string{"NET_ADMIN"}}}
	for _, test := range []struct {
		name     string
		config   Config
		sandbox  string
		change   func(*podView)
		observed string // by the check that fails
	}{
		{"gVisor that is not there", Config{RuntimeClass: factor.Of("gvisor")}, gvisor, nil, "no sandbox that can be seen, kernel 6.1.0 on a node with 6.1.0"},
		{"Kata that shares the kernel", Config{RuntimeClass: factor.Of("kata")}, kata, func(s *podView) { s.facts.Kernel = "6.1.0-fake" },
			"the node's: the same boot, kernel 6.1.0-fake on a node with 6.1.0"},
		{"a filter that stays", Config{Seccomp: factor.Of("Unconfined")}, "", nil, "Unconfined, mode filter"},
		{"a mode that is not reported", Config{Seccomp: factor.Of("Localhost/a.json")}, "", func(s *podView) { s.facts.Seccomp = "" }, "Localhost/a.json, mode not reported"},
		{"another profile", Config{AppArmor: factor.Of("Localhost/mine")}, "", nil, "cri-containerd.apparmor.d (enforce)"},
		{"no AppArmor", Config{AppArmor: factor.Of("Unconfined")}, "", func(s *podView) { s.facts.AppArmor = "" }, "not reported"},
		{"AppArmor that confines", Config{AppArmor: factor.Of("Unconfined")}, "", nil, "cri-containerd.apparmor.d (enforce)"},
		{"a node of another kind", Config{Confidential: "TDX"}, "", func(s *podView) { s.facts.Confidential = "SEV-SNP" }, "SEV-SNP"},
		{"capabilities that root has and may not use", root, "", func(s *podView) { s.facts.UID, s.facts.CapBnd = 0, "0000000000001000" }, "NET_ADMIN, effective none"},
		{"more capabilities", root, "", func(s *podView) {
			s.facts.UID, s.facts.CapBnd, s.facts.CapEff = 0, "0000000000003000", "0000000000003000"
		}, "NET_ADMIN, NET_RAW"},
		{"capabilities that are no number", Config{Privileged: true}, "", func(s *podView) { s.facts.CapBnd = "-1\x1b[2J" }, "not reported"},
		{"a user namespace that is the node's", Config{HostUsers: &no}, "", nil, "the node's: user ids are mapped to themselves"},
		{"another user", Config{RunAsUser: id(7)}, "", nil, "65532"},
		{"a sidecar that is not there", Config{Sidecars: []string{"istio-proxy"}}, "", nil, "no such container"},
		{"a sidecar that is not ready", Config{Sidecars: []string{"istio-proxy"}}, "", func(s *podView) {
			s.pod.Spec.Containers = append(s.pod.Spec.Containers, corev1.Container{Name: "istio-proxy"})
			s.pod.Status.ContainerStatuses = append(s.pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "istio-proxy"})
		}, "not ready"},
		{"a label that something changed", Config{Labels: map[string]string{"a": "1"}}, "", func(s *podView) { s.pod.Labels["a"] = "secret" }, "a with another value"},
		{"a patch that something undid", Config{Patch: "spec: {priority: 7}"}, "", func(s *podView) { s.pod.Spec.Priority = nil }, "not every field in the pod"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := failing(gather(test.config.aspects(true, test.sandbox), shaped(t, &test.config, test.change)))
			if len(bad) == 0 || bad[0].Observed != test.observed {
				t.Errorf("got %+v, want one that observed %q", bad, test.observed)
			}
		})
	}
}

// TestWeakProofs checks that a weak proof carries a caveat.
func TestWeakProofs(t *testing.T) {
	inGVisor := func(s *podView) {
		s.facts.Sandbox, s.facts.Kernel, s.facts.Seccomp = gvisor, "4.19.0-gvisor", "disabled"
	}
	for _, test := range []struct {
		name    string
		config  Config
		sandbox string
		change  func(*podView)
		caveat  string
	}{
		{"a RuntimeClass like any other", Config{RuntimeClass: factor.Of("crun")}, "", nil,
			"nothing inside the pod shows that it runs in RuntimeClass crun: the only evidence is its specification"},
		{"Kata whose boot is not reported", Config{RuntimeClass: factor.Of("kata")}, kata, func(s *podView) { s.facts.BootID = "" },
			"nothing inside the pod shows that it runs in RuntimeClass kata: the only evidence is its specification"},
		{"seccomp in gVisor", Config{RuntimeClass: factor.Of("gvisor"), Seccomp: factor.Of("Localhost/a.json")}, gvisor, inGVisor,
			"the pod's seccomp mode is reported by gvisor and not by the node's kernel: the only evidence is the specification"},
		{"user namespaces in gVisor", Config{RuntimeClass: factor.Of("gvisor"), HostUsers: &no}, gvisor, inGVisor,
			"the pod's map of user ids is reported by gvisor and not by the node's kernel: the only evidence is the specification"},
		{"a machine that shows nothing", Config{NodeSelector: map[string]string{"pool": "standard"}, Confidential: "TDX"}, "", nil,
			"the pod cannot see that its machine is confidential: the only evidence is the labels of its node"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := gather(test.config.aspects(true, test.sandbox), shaped(t, &test.config, test.change))
			if bad := failing(got); len(bad) > 0 {
				t.Fatalf("not OK: %+v", bad)
			}
			var caveats []string
			for _, k := range got {
				if k.Caveat != "" {
					caveats = append(caveats, k.Caveat)
				}
			}
			if diff := cmp.Diff([]string{test.caveat}, caveats); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOffInGVisor checks that the facts of a sandbox do not count against an arm that is compared with one without
// seccomp.
func TestOffInGVisor(t *testing.T) {
	s := plain()
	s.facts.Sandbox, s.facts.Seccomp = gvisor, "disabled"
	got := gather((&Config{Seccomp: factor.Of("Unconfined")}).aspects(false, ""), s)
	want := []layer.Check{{Layer: name, Name: "seccomp", Expected: "mode filter", Observed: "RuntimeDefault, mode disabled", OK: true,
		Caveat: "the pod's seccomp mode is reported by gvisor and not by the node's kernel: the only evidence is the specification"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSeveralPods checks that a single pod that differs is named, and that the check fails.
func TestSeveralPods(t *testing.T) {
	c := &Config{Seccomp: factor.Of("Unconfined")}
	client, server := shaped(t, c, func(s *podView) { s.facts.Seccomp = "disabled" }), shaped(t, c, nil)
	server.place = testbed.ServerPod
	got := c.aspects(true, "")[0].check([]podView{client, server})
	want := layer.Check{Layer: name, Name: "seccomp", Expected: "Unconfined, mode disabled",
		Observed: "client-pod: Unconfined, mode disabled; server-pod: Unconfined, mode filter"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoAppArmor(t *testing.T) {
	s := plain()
	s.facts.AppArmor = ""
	err := (&Config{AppArmor: factor.Of("Unconfined")}).capable([]podView{s})
	want := "the pod client on node node1 sees no AppArmor: the node's kernel lacks it, or a sandbox hides it, so appArmor: Unconfined changes nothing"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (&Config{Seccomp: factor.Of("Unconfined")}).capable([]podView{s}); err != nil {
		t.Error(err)
	}
}

func TestSandboxOf(t *testing.T) {
	for _, test := range []struct{ class, handler, want string }{
		{"gvisor", "runsc", gvisor}, {"gvisor", "", gvisor}, {"sandboxed", "runsc", gvisor}, {"gvisor", "gvisor", gvisor},
		{"kata", "kata-qemu", kata}, {"kata-vm-isolation", "", kata}, {"kata-mshv-vm-isolation", "kata", kata}, {"secure", "kata-clh", kata},
		{"crun", "crun", ""}, {"nvidia", "nvidia", ""}, {"", "", ""},
	} {
		if got := sandboxOf(test.class, test.handler); got != test.want {
			t.Errorf("class %s with handler %s is %q, want %q", test.class, test.handler, got, test.want)
		}
	}
}

func TestProfileInForce(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"", ""}, "unconfined": {"unconfined", ""}, "a (enforce)": {"a", "enforce"}, "my (odd) name (complain)\n": {"my (odd) name", "complain"},
		"unconfined (unconfined)": {"unconfined", "unconfined"},
	} {
		profile, mode := profileInForce(text)
		if got := [2]string{profile, mode}; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzParseCaps(f *testing.F) {
	f.Add("000001ffffffffff")
	f.Add("")
	f.Fuzz(func(t *testing.T, hex string) {
		set, err := parseCaps(hex)
		if err != nil {
			return
		}
		if set.String() == "" || strings.ContainsAny(set.String(), "\x1b\n") {
			t.Errorf("%q is shown as %q", hex, set)
		}
	})
}

// TestNeeds checks the Pod Security level that a layer needs, over all levels of a factor.
func TestNeeds(t *testing.T) {
	c := &Config{Seccomp: factor.Of("Localhost/a.json", "Unconfined"), RunAsUser: id(0)}
	want := experiment.Needs{Only: "kubernetes", PodSecurity: []experiment.PodSecurity{
		{Level: "baseline", Why: "programs of root (layer pod)"},
		{Level: "privileged", Why: "seccomp profile Unconfined (layer pod)"},
	}}
	if diff := cmp.Diff(want, c.Declare().Needs); diff != "" {
		t.Error(diff)
	}
}

package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
)

func TestShape(t *testing.T) {
	pod := pristine()
	pod.Spec.Containers[0].SecurityContext.SeccompProfile = seccompProfile(runtimeDefault)
	pod.Spec.InitContainers = []corev1.Container{{Name: "install"}}
	c := &Config{
		Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"},
		RuntimeClass: factor.Of("gvisor"), NodeSelector: map[string]string{"pool": "x"},
		Tolerations: []experiment.Toleration{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "e"}},
		Seccomp:     factor.Of("Localhost/p.json"), AppArmor: factor.Of("Localhost/q"),
		Capabilities: &capabilities{Add: []string{"CAP_CHOWN"}, Drop: []string{"none"}}, RunAsUser: id(0), HostUsers: &no, ServiceAccount: "sa",
		Patch: "spec:\n  containers:\n  - name: tare\n    env: [{name: A, value: b}]\n",
	}
	if err := c.shape(pod); err != nil {
		t.Fatal(err)
	}
	class, file, profile, root, yes, f := "gvisor", "p.json", "q", int64(0), true, false
	_ = yes
	add := &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}},
		Spec: corev1.PodSpec{
			RuntimeClassName: &class, NodeSelector: map[string]string{"pool": "x"}, HostUsers: &f, ServiceAccountName: "sa",
			Tolerations: []corev1.Toleration{
				{Key: "k", Operator: "Equal", Value: "v", Effect: "NoSchedule"}, {Key: "e", Operator: "Exists"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: &root, RunAsNonRoot: &f,
				SeccompProfile:  &corev1.SeccompProfile{Type: "Localhost", LocalhostProfile: &file},
				AppArmorProfile: &corev1.AppArmorProfile{Type: "Localhost", LocalhostProfile: &profile},
			},
			InitContainers: []corev1.Container{{Name: "install", SecurityContext: &corev1.SecurityContext{Capabilities: add}}},
			Containers: []corev1.Container{{Name: "tare", Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &f, Capabilities: add}}},
		},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCarries checks that a patch is found in a pod after the API server has rewritten it, and is missed if one field
// differs.
func TestCarries(t *testing.T) {
	patch := `
metadata: {labels: {a: "1"}}
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - name: tare
    resources: {limits: {cpu: 1000m}}
    volumeMounts: [{name: b, mountPath: /b}]
  volumes: [{name: b, emptyDir: {}}]
`
	live := func() *corev1.Pod {
		pod := pristine()
		pod.Spec.Volumes = []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		out, err := patched(pod, strings.Replace(patch, "1000m", `"1"`, 1))
		if err != nil {
			t.Fatal(err)
		}
		out.Spec.Containers = append([]corev1.Container{{Name: "injected"}}, out.Spec.Containers...)
		out.Status.Phase = corev1.PodRunning
		return out
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"as it is":       {func(*corev1.Pod) {}, true},
		"another order":  {func(p *corev1.Pod) { v := p.Spec.Volumes; v[0], v[1] = v[1], v[0] }, true},
		"another label":  {func(p *corev1.Pod) { p.Labels["a"] = "2" }, false},
		"another limit":  {func(p *corev1.Pod) { delete(p.Spec.Containers[1].Resources.Limits, "cpu") }, false},
		"without volume": {func(p *corev1.Pod) { p.Spec.Volumes = p.Spec.Volumes[:0] }, false},
	} {
		pod := live()
		test.change(pod)
		if got, err := carries(pod, patch); err != nil || got != test.want {
			t.Errorf("%s: %v (%v), want %v", name, got, err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	root, long := id(0), strings.Repeat("x", 64)
	yes := true
	bad := func(field, message string) []experiment.FieldError {
		return []experiment.FieldError{{Field: field, Message: message}}
	}
	copyOf := "these are the settings of pods without the layer: seccomp and AppArmor RuntimeDefault, user 65532, no capabilities"
	for name, test := range map[string]struct {
		config Config
		want   []experiment.FieldError
	}{
		"nothing":             {Config{}, bad("", "no parameter is given: the layer would do nothing")},
		"expectation":         {Config{Sidecars: []string{"istio-proxy"}}, nil},
		"gVisor":              {Config{RuntimeClass: factor.Of("gvisor", "kata")}, nil},
		"the default":         {Config{Seccomp: factor.Of("RuntimeDefault")}, bad("", copyOf)},
		"the default, swept":  {Config{Seccomp: factor.Of("Unconfined", "RuntimeDefault")}, bad("", copyOf)},
		"the default user":    {Config{RunAsUser: id(65532), AppArmor: factor.Of("RuntimeDefault")}, bad("", copyOf)},
		"default and another": {Config{Seccomp: factor.Of("RuntimeDefault"), RuntimeClass: factor.Of("gvisor")}, nil},
		"an idle patch":       {Config{Patch: "spec: {securityContext: {runAsUser: 65532}}"}, bad("", copyOf)},
		"hostUsers":           {Config{HostUsers: &yes}, bad("hostUsers", "true is the default of pods without the layer")},
		"a label of Tare's":   {Config{Labels: map[string]string{"tare/owner": "x"}}, bad("labels.tare/owner", "Tare identifies its pods by tare/owner")},
		"a value too long": {Config{Labels: map[string]string{"a": long}},
			bad("labels.a", `"`+long+`" is not a valid value: must be no more than 63 characters`)},
		"a sidecar's name":           {Config{Sidecars: []string{"tare"}}, bad("sidecars[0]", `"tare" is not the name of a container beside Tare's`)},
		"an unknown capability":      {Config{RunAsUser: root, Capabilities: &capabilities{Add: []string{"FLY"}}}, bad("capabilities.add[0]", `"FLY" is not a capability; use names such as NET_ADMIN`)},
		"none to add":                {Config{RunAsUser: root, Capabilities: &capabilities{Add: []string{"none"}}}, bad("capabilities.add[0]", `"none" is not a capability; use names such as NET_ADMIN`)},
		"capabilities of a user":     {Config{Capabilities: &capabilities{Add: []string{"NET_ADMIN"}}}, bad("capabilities.add", "added capabilities have no effect unless the programs run as root: add runAsUser: 0")},
		"privileged with less":       {Config{Privileged: true, Capabilities: &capabilities{Drop: []string{"ALL"}}}, bad("capabilities", "privileged containers have every capability")},
		"a patch that is no YAML":    {Config{Patch: "a: ["}, bad("patch", "the patch is not valid YAML: yaml: line 1: did not find expected node content")},
		"a patch that is no map":     {Config{Patch: "- a"}, bad("patch", "the patch is not a map: write it like a pod, starting with spec: or metadata:")},
		"a field that pods lack":     {Config{Patch: "spec: {containrs: []}"}, bad("patch", `the patched pod is not valid: error unmarshaling JSON: while decoding JSON: json: unknown field "containrs"`)},
		"a patch without Tare":       {Config{Patch: "spec: {containers: [{name: tare, $patch: delete}]}"}, bad("patch", "it removes the container tare, in which programs run")},
		"a patch of Tare's label":    {Config{Patch: "metadata: {labels: {tare/owner: x}}"}, bad("patch", "Tare identifies its pods by the label tare/owner")},
		"a selector that is no pair": {Config{NodeSelector: map[string]string{"a b": "1"}}, bad("nodeSelector.a b", `"a b" is not a valid key: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`)},
	} {
		if diff := cmp.Diff(test.want, test.config.validate()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("spec: {priority: 1}")
	f.Add("{$patch: delete}")
	f.Add("spec: {containers: [{name: tare, $patch: replace}]}")
	f.Add("metadata:\n  labels: {a: b}\n")
	f.Add("spec: {$setElementOrder/containers: [1]}")
	f.Fuzz(func(t *testing.T, text string) {
		c := &Config{Patch: strictyaml.Document(text)}
		if text == "" || len(c.validate()) > 0 {
			return
		}
		pod := pristine()
		if err := c.shape(pod); err != nil {
			t.Fatalf("valid, but: %v", err)
		}
		if _, err := carries(pod, text); err != nil {
			t.Errorf("applied once, but not twice: %v", err)
		}
	})
}

// TestJudge compares judge with the Pod Security Standards.
func TestJudge(t *testing.T) {
	for patch, want := range map[string][]experiment.PodSecurity{
		"metadata: {labels: {a: b}}":                                                                                 nil,
		"spec: {hostUsers: false}":                                                                                   nil,
		"spec: {hostNetwork: true}":                                                                                  {{Level: privileged, Why: "hostNetwork"}},
		"spec: {hostPID: true}":                                                                                      {{Level: privileged, Why: "hostPID"}},
		"spec: {volumes: [{name: v, hostPath: {path: /}}]}":                                                          {{Level: privileged, Why: "volume v of the type hostPath"}},
		"spec: {volumes: [{name: v, nfs: {server: a, path: /}}]}":                                                    {{Level: baseline, Why: "volume v of a type that the level restricted does not list"}},
		"spec: {volumes: [{name: v, emptyDir: {}}]}":                                                                 nil,
		"spec: {securityContext: {seccompProfile: null}}":                                                            {{Level: baseline, Why: "no seccomp profile"}},
		"spec: {securityContext: {seccompProfile: {type: Unconfined}}}":                                              {{Level: privileged, Why: "seccomp profile Unconfined"}},
		"spec: {securityContext: {appArmorProfile: {type: Unconfined}}}":                                             {{Level: privileged, Why: "AppArmor profile Unconfined"}},
		"spec: {securityContext: {runAsNonRoot: null}}":                                                              {{Level: baseline, Why: "programs that may be of root"}},
		"spec: {securityContext: {runAsUser: 0, runAsNonRoot: false}}":                                               {{Level: baseline, Why: "programs of root"}},
		"spec: {securityContext: {seLinuxOptions: {type: spc_t}}}":                                                   {{Level: privileged, Why: "SELinux options"}},
		"spec: {securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]}}":                               {{Level: privileged, Why: "sysctl net.core.somaxconn"}},
		"spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}]}}":                                nil,
		"spec: {containers: [{name: tare, ports: [{containerPort: 1, hostPort: 2}]}]}":                               {{Level: privileged, Why: "host port 2"}},
		"spec: {containers: [{name: tare, securityContext: {privileged: true}}]}":                                    {{Level: privileged, Why: "privileged containers"}},
		"spec: {containers: [{name: tare, securityContext: {procMount: Unmasked}}]}":                                 {{Level: privileged, Why: "procMount Unmasked"}},
		"spec: {containers: [{name: tare, securityContext: {allowPrivilegeEscalation: true}}]}":                      {{Level: baseline, Why: "programs that may gain privileges"}},
		"spec: {containers: [{name: tare, securityContext: {capabilities: {add: [NET_ADMIN], drop: [ALL]}}}]}":       {{Level: privileged, Why: "capability NET_ADMIN"}},
		"spec: {containers: [{name: tare, securityContext: {capabilities: {add: [CHOWN]}}}]}":                        {{Level: baseline, Why: "capability CHOWN"}},
		"spec: {containers: [{name: tare, securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}]}":             nil,
		"spec: {containers: [{name: tare, securityContext: {capabilities: {drop: null}}}]}":                          {{Level: baseline, Why: "capabilities of the container runtime"}},
		"spec: {containers: [{name: tare, securityContext: {runAsUser: 0}}], securityContext: {runAsNonRoot: null}}": {{Level: baseline, Why: "programs of root"}},
	} {
		pod, err := patched(pristine(), patch)
		if err != nil {
			t.Errorf("%s: %v", patch, err)
			continue
		}
		if diff := cmp.Diff(want, judge(pod)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", patch, diff)
		}
	}
}

func TestAllowed(t *testing.T) {
	needs := []experiment.PodSecurity{{Level: baseline, Why: "programs of root (layer pod)"}}
	ns := func(level string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench", Labels: map[string]string{enforce: level}}}
	}
	for _, ok := range []*corev1.Namespace{{}, ns("baseline"), ns("privileged")} {
		if err := allowed(ok, needs); err != nil {
			t.Errorf("%v: %v", ok.Labels, err)
		}
	}
	want := "the namespace bench allows only pods of the Pod Security level restricted, but the level baseline is needed: programs of root (layer pod): " +
		"kubectl label --overwrite namespace bench pod-security.kubernetes.io/enforce=baseline, or let Tare make namespaces"
	if err := allowed(ns("restricted"), needs); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Package pod is the layer of settings in a pod's specification: a sandbox by RuntimeClass, seccomp and
// AppArmor profiles, capabilities, the choice of nodes (such as confidential ones), labels and annotations
// that inject sidecars, or any patch of the pod.
//
//   - pod: {runtimeClass: gvisor}
//   - pod: {seccomp: Unconfined}
//   - pod: {labels: {sidecar.istio.io/inject: "true"}, sidecars: [istio-proxy]}
//
// # Proofs
//
// A field of a specification does not prove that the setting took effect. Before every trial, a process in
// the pod therefore reads the settings in force: the sandbox and the kernel, whether the kernel's boot id is
// also the node's, the seccomp mode, the AppArmor profile, the capabilities, the user, and the map of user
// ids. Some settings cannot be seen from inside (a label, a patch). Their evidence is the specification, read
// from the API server when the pod runs, after all admission plugins.
//
// Some evidence is weaker than it seems. For example, a filter is in force, but the pod cannot see its
// profile, or a sandbox answers for the kernel. Such a check has a Caveat.
//
// Tare's own pods have settings, too. An arm without the layer must show the opposite of each of these
// settings that the layer changes. A setting that Tare's pods have anyway (seccomp RuntimeDefault, no
// capability) shows nothing, and is not checked.
//
// # Pod Security
//
// Tare's pods meet the Pod Security level restricted. The settings of a layer are judged by the Pod Security
// Standards (security.go). The site's namespace gets the strictest level that allows these settings.
package pod

import (
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer"
	"tare/internal/testbed"
)

const name = "pod"

// Config holds the layer's parameters.
type Config struct {
	Labels         map[string]string       `yaml:"labels" doc:"labels of the pods"`
	Annotations    map[string]string       `yaml:"annotations" doc:"annotations of the pods"`
	RuntimeClass   factor.Levels[string]   `yaml:"runtimeClass" also:"runtimeClassName" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a RuntimeClass" doc:"RuntimeClass of the pods, such as gvisor or kata"`
	NodeSelector   map[string]string       `yaml:"nodeSelector" doc:"labels of the nodes that the pods run on"`
	Tolerations    []experiment.Toleration `yaml:"tolerations" doc:"taints of those nodes that the pods tolerate"`
	Confidential   string                  `yaml:"confidential" enum:"SEV-SNP,TDX" doc:"kind of confidential virtual machine that the nodes must prove to be; does not select nodes"`
	Seccomp        factor.Levels[string]   `yaml:"seccomp" pattern:"^(RuntimeDefault|Unconfined|Localhost/.+)$" form:"RuntimeDefault, Unconfined or Localhost/PROFILE" doc:"seccomp profile of the containers"`
	AppArmor       factor.Levels[string]   `yaml:"appArmor" pattern:"^(RuntimeDefault|Unconfined|Localhost/.+)$" form:"RuntimeDefault, Unconfined or Localhost/PROFILE" doc:"AppArmor profile of the containers"`
	Capabilities   *capabilities           `yaml:"capabilities" doc:"capabilities of the containers"`
	RunAsUser      *int64                  `yaml:"runAsUser" min:"0" max:"2147483647" doc:"user id of the programs; 65532 without the layer"`
	Privileged     bool                    `yaml:"privileged" doc:"privileged containers"`
	HostUsers      *bool                   `yaml:"hostUsers" doc:"false puts the pods into user namespaces of their own"`
	ServiceAccount string                  `yaml:"serviceAccount" also:"serviceAccountName" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a service account" doc:"service account of the pods, which must exist in their namespace"`
	Sidecars       []string                `yaml:"sidecars" doc:"containers that something else adds to the pods, such as istio-proxy: Tare only checks that they run"`
	Patch          strictyaml.Document     `yaml:"patch" doc:"strategic merge patch of the pods, as a map or text in YAML; the programs' container has the name tare"`
	// SecurityContext is empty after fill, unless fill failed.
	SecurityContext strictyaml.Document `yaml:"securityContext" doc:"securityContext of the programs' container, in the form of a pod's, in place of seccomp, appArmor, capabilities, runAsUser and privileged"`
}

// capabilities are changes to the capabilities of a container.
type capabilities struct {
	Add  []string `yaml:"add" doc:"capabilities to add, such as NET_ADMIN"`
	Drop []string `yaml:"drop" doc:"capabilities to drop, such as NET_RAW; absent: ALL; none: keep the capabilities of the container runtime"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "settings of the pods: RuntimeClass, nodes, seccomp, AppArmor, labels, a patch",
	Example: "runtimeClass: gvisor",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes; the cluster and its nodes are checked when the pods are created"),
}

// Declare declares that the layer needs a cluster, and which Pod Security level its pods need.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Fill:         func(func(string) bool) { c.fill() },
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes, PodSecurity: c.security()},
		Elsewhere:    "programs are in no container there: put a sandbox around them by layers such as bubblewrap, gvisor and seccomp",
		Rights:       c.rights,
		Shapes:       true,
		ProvesBeside: true,
	}
}

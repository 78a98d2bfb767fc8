// Package pod is the layer that a cluster puts around a container by the pod's
// own specification: a sandbox by RuntimeClass, seccomp and AppArmor profiles,
// capabilities, the choice of nodes (confidential ones, say), labels and
// annotations that have something injected, or any patch of the pod.
//
//   - pod: {runtimeClass: gvisor}
//   - pod: {seccomp: Unconfined}
//   - pod: {labels: {sidecar.istio.io/inject: "true"}, sidecars: [istio-proxy]}
//
// # Proofs
//
// A field of a specification is a wish. What a layer asks for is therefore read
// where it takes effect, by a process in the pod, before every trial: the sandbox
// and the kernel, the boot of that kernel against the node's, the seccomp mode,
// the AppArmor profile, the capabilities, the user, the map of user ids. Only where
// nothing of it can be seen from inside (a label, a patch) does the specification
// serve, as the API server has it once the pod runs, after all admission plugins.
//
// Some evidence says less than it seems to: a filter is in force, but not which
// one; a sandbox answers for the kernel. Such a check carries a Caveat.
//
// An arm without the layer must show the opposite of whatever the layer changes
// with respect to Tare's own pods: what those have anyway (seccomp RuntimeDefault,
// no capability) shows nothing and is not asked about.
//
// # Pod Security
//
// Tare's pods meet the level restricted. What a layer asks beyond that is judged by
// the Pod Security Standards (security.go), and the site's namespace gets the least
// level that allows it.
package pod

import (
	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/strictyaml"
	"tare/layer"
	"tare/testbed"
)

const name = "pod"

// Config is the parameters of the layer.
type Config struct {
	Labels         map[string]string       `yaml:"labels" doc:"labels of the pods"`
	Annotations    map[string]string       `yaml:"annotations" doc:"annotations of the pods"`
	RuntimeClass   factor.Levels[string]   `yaml:"runtimeClass" also:"runtimeClassName" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a RuntimeClass" doc:"RuntimeClass of the pods, such as gvisor or kata"`
	NodeSelector   map[string]string       `yaml:"nodeSelector" doc:"labels of the nodes that the pods run on"`
	Tolerations    []experiment.Toleration `yaml:"tolerations" doc:"taints of those nodes that the pods tolerate"`
	Confidential   string                  `yaml:"confidential" enum:"SEV-SNP,TDX" doc:"kind of confidential virtual machine that the nodes must be seen to be; chooses no nodes"`
	Seccomp        factor.Levels[string]   `yaml:"seccomp" pattern:"^(RuntimeDefault|Unconfined|Localhost/.+)$" form:"RuntimeDefault, Unconfined or Localhost/PROFILE" doc:"seccomp profile of the containers"`
	AppArmor       factor.Levels[string]   `yaml:"appArmor" pattern:"^(RuntimeDefault|Unconfined|Localhost/.+)$" form:"RuntimeDefault, Unconfined or Localhost/PROFILE" doc:"AppArmor profile of the containers"`
	Capabilities   *Capabilities           `yaml:"capabilities" doc:"capabilities of the containers"`
	RunAsUser      *int64                  `yaml:"runAsUser" min:"0" max:"2147483647" doc:"user id of the programs; 65532 without the layer"`
	Privileged     bool                    `yaml:"privileged" doc:"privileged containers"`
	HostUsers      *bool                   `yaml:"hostUsers" doc:"false puts the pods into user namespaces of their own"`
	ServiceAccount string                  `yaml:"serviceAccount" also:"serviceAccountName" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a service account" doc:"service account of the pods, which must exist in their namespace"`
	Sidecars       []string                `yaml:"sidecars" doc:"containers that something else must have put into the pods, such as istio-proxy; adds none itself"`
	Patch          strictyaml.Document     `yaml:"patch" doc:"strategic merge patch of the pods, as a map or text in YAML; the container of the programs is called tare"`
	// SecurityContext is taken apart by Fill: what is left in it could not be.
	SecurityContext strictyaml.Document `yaml:"securityContext" doc:"securityContext of the container of the programs, as a pod has it, in place of seccomp, appArmor, capabilities, runAsUser and privileged"`
}

// Capabilities are what is added to and dropped from a container's capabilities.
type Capabilities struct {
	Add  []string `yaml:"add" doc:"capabilities to add, such as NET_ADMIN"`
	Drop []string `yaml:"drop" doc:"capabilities to drop, such as NET_RAW; ALL if absent, none to keep those of the container runtime"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "what pods ask of the cluster: RuntimeClass, nodes, seccomp, AppArmor, labels, a patch",
	Example: "runtimeClass: gvisor",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes; what the cluster and its nodes have is seen when the pods are made"),
}

// Declare says that the layer needs a cluster, and what Pod Security must allow.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Fill:         func(func(string) bool) { c.fill() },
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes, PodSecurity: c.security()},
		Elsewhere:    "programs are in no container there: put a sandbox around them by the layers bubblewrap, gvisor, seccomp and their like",
		Rights:       c.rights,
		Shapes:       true,
		ProvesBeside: true,
	}
}

// Package pod is the layer of settings in a pod's specification: a sandbox by RuntimeClass, seccomp and AppArmor
// profiles, capabilities, the choice of nodes, labels and annotations that inject sidecars, or any patch of the pod.
//
//   - pod: {runtimeClass: gvisor}
//   - pod: {seccomp: Unconfined}
//   - pod: {labels: {sidecar.istio.io/inject: "true"}, sidecars: [istio-proxy]}
//
// # Proofs
//
// A field of a specification does not prove that the setting took effect. Before every trial, a process in the pod
// therefore reads the settings in force, such as the kernel's boot id, the seccomp mode and the capabilities. Settings
// that cannot be seen from inside (a label, a patch) are read from the API server when the pod runs. If a sandbox
// answers for the kernel, or the pod sees only a part of a setting, the check has a Caveat.
//
// An arm without the layer must show the opposite of each setting that the layer changes. A setting that Tare's pods
// have anyway (seccomp RuntimeDefault, no capability) is not checked there.
//
// # Pod Security
//
// Tare's pods meet the Pod Security level restricted. The site's namespace gets the strictest level that allows the
// settings of the arm's layers (security.go).
package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer"
	"tare/internal/layer/keyvalue"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
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
	// SecurityContext is emptied by fill, which moves its settings to other fields. It stays if fill fails.
	SecurityContext strictyaml.Document `yaml:"securityContext" doc:"securityContext of the programs' container, in the form of a pod's, in place of seccomp, appArmor, capabilities, runAsUser and privileged"`
}

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

// These words may stand in a list of capabilities, instead of a capability's name.
const (
	all  = "ALL"
	none = "none"
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.SecurityContext != "" {
		_, err := c.settled()
		errs.Add("securityContext", "%v", err)
		return errs
	}
	own := func(key string) string {
		if keyvalue.Reserved(key) {
			return "Tare identifies its pods by " + key
		}
		return ""
	}
	keyvalue.Validate(&errs, "labels", c.Labels, true, own)
	keyvalue.Validate(&errs, "annotations", c.Annotations, false, own)
	keyvalue.Validate(&errs, "nodeSelector", c.NodeSelector, true, func(string) string { return "" })
	c.validateCapabilities(&errs)
	c.validatePatch(&errs)
	if c.HostUsers != nil && *c.HostUsers {
		errs.Add("hostUsers", "true is the default of pods without the layer")
	}
	if c.Privileged && c.HostUsers != nil && !*c.HostUsers {
		errs.Add("privileged", "with hostUsers: false no proof can show the privileges of the pod in its user namespace")
	}
	for i, s := range c.Sidecars {
		if s == container || len(validation.IsDNS1123Label(s)) > 0 {
			errs.Add(fmt.Sprintf("sidecars[%d]", i), "%q is not the name of a container beside Tare's", s)
		}
	}
	if len(errs) == 0 {
		c.validateEffect(&errs)
	}
	return errs
}

func (c *Config) validateCapabilities(errs *experiment.FieldErrors) {
	if c.Capabilities == nil {
		return
	}
	for _, list := range []struct {
		field string
		words []string
	}{{"add", c.Capabilities.Add}, {"drop", c.Capabilities.Drop}} {
		for i, w := range list.words {
			at := fmt.Sprintf("capabilities.%s[%d]", list.field, i)
			if launcher.CapabilityBits(w) == 0 && (w != none || list.field != "drop" || len(list.words) != 1) {
				errs.Add(at, "%q is not a capability; use names such as NET_ADMIN", w)
			}
		}
	}
	if len(c.Capabilities.Add) > 0 && (c.RunAsUser == nil || *c.RunAsUser != 0) && c.Patch == "" {
		errs.Add("capabilities.add", "added capabilities have no effect unless the programs run as root: add runAsUser: 0")
	}
	if c.Privileged {
		errs.Add("capabilities", "privileged containers have every capability")
	}
}

func (c *Config) validatePatch(errs *experiment.FieldErrors) {
	if c.Patch == "" {
		return
	}
	pod, err := patched(pristine(), string(c.Patch))
	if err != nil {
		errs.Add("patch", "%v", err)
		return
	}
	for key := range pod.Labels {
		if keyvalue.Reserved(key) {
			errs.Add("patch", "Tare identifies its pods by the label %s", key)
		}
	}
	if !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container }) {
		errs.Add("patch", "it removes the container %s, in which programs run", container)
	}
}

// validateEffect reports a layer that does not change the pods, since an arm with it would equal the arm without it.
func (c *Config) validateEffect(errs *experiment.FieldErrors) {
	if !c.shapes() {
		if len(c.Sidecars) == 0 && c.Confidential == "" {
			errs.Add("", "no parameter is given: the layer would do nothing")
		}
		return
	}
	for _, one := range c.variants() {
		pod := pristine()
		if one.shape(pod) == nil && equality.Semantic.DeepEqual(pod, pristine()) {
			errs.Add("", "these are the settings of pods without the layer: seccomp and AppArmor RuntimeDefault, user %d, no capabilities", defaultUser)
			return
		}
	}
}

package pod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer/keyvalue"
	"tare/internal/lists"
)

const (
	runtimeDefault = "RuntimeDefault"
	unconfined     = "Unconfined"
	localhost      = "Localhost/"
)

const defaultUser = 65532 // the user of Tare's pods without the layer

// shapes reports whether the layer changes pods, and does not only check them.
func (c *Config) shapes() bool {
	rest := *c
	rest.Sidecars, rest.Confidential = nil, ""
	return !equality.Semantic.DeepEqual(rest, Config{})
}

// shape applies the layer's parameters to the pod before the pod is created. The parameter patch is applied last.
func (c *Config) shape(pod *corev1.Pod) error {
	pod.Labels, pod.Annotations = keyvalue.With(pod.Labels, c.Labels), keyvalue.With(pod.Annotations, c.Annotations)
	spec := &pod.Spec
	if class := c.RuntimeClass.OrZero(); class != "" {
		spec.RuntimeClassName = &class
	}
	spec.NodeSelector = keyvalue.With(spec.NodeSelector, c.NodeSelector)
	for _, t := range c.Tolerations {
		operator := corev1.TolerationOpExists
		if t.Value != "" {
			operator = corev1.TolerationOpEqual
		}
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: operator, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	if c.HostUsers != nil {
		spec.HostUsers = new(*c.HostUsers)
	}
	if c.ServiceAccount != "" {
		spec.ServiceAccountName = c.ServiceAccount
	}
	spec.SecurityContext = cmp.Or(spec.SecurityContext, &corev1.PodSecurityContext{})
	c.confine(spec.SecurityContext)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].SecurityContext = cmp.Or(containers[i].SecurityContext, &corev1.SecurityContext{})
			c.contain(containers[i].SecurityContext)
		}
	}
	if c.Patch == "" {
		return nil
	}
	patched, err := patched(pod, string(c.Patch))
	if err != nil {
		return err
	}
	*pod = *patched
	return nil
}

func (c *Config) confine(s *corev1.PodSecurityContext) {
	if profile := c.Seccomp.OrZero(); profile != "" {
		s.SeccompProfile = seccompProfile(profile)
	}
	if profile := c.AppArmor.OrZero(); profile != "" {
		s.AppArmorProfile = appArmorProfile(profile)
	}
	if c.RunAsUser != nil {
		s.RunAsUser, s.RunAsNonRoot = new(*c.RunAsUser), new(*c.RunAsUser != 0)
	}
}

// contain writes the layer's settings into a container's security context. It removes the container's fields that
// would override fields of the pod.
func (c *Config) contain(s *corev1.SecurityContext) {
	if len(c.Seccomp) > 0 {
		s.SeccompProfile = nil
	}
	if len(c.AppArmor) > 0 {
		s.AppArmorProfile = nil
	}
	if c.RunAsUser != nil {
		s.RunAsUser, s.RunAsNonRoot = nil, nil
	}
	if c.Capabilities != nil {
		s.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{all}}
		if len(c.Capabilities.Drop) > 0 {
			s.Capabilities.Drop = named(c.Capabilities.Drop)
		}
		s.Capabilities.Add = named(c.Capabilities.Add)
	}
	if c.Privileged {
		s.Privileged, s.AllowPrivilegeEscalation = new(true), new(true)
	}
}

// named converts the words of a list of capabilities to the API's type. It leaves out the word none.
func named(words []string) []corev1.Capability {
	var out []corev1.Capability
	for _, w := range words {
		if w != none {
			out = append(out, corev1.Capability(strings.TrimPrefix(w, "CAP_")))
		}
	}
	return out
}

// profileOf splits a profile of an experiment file into type and file: Localhost/NAME has type Localhost and file NAME.
// Other types have no file.
func profileOf(word string) (kind string, file *string) {
	if name, ok := strings.CutPrefix(word, localhost); ok {
		return strings.TrimSuffix(localhost, "/"), &name
	}
	return word, nil
}

func seccompProfile(word string) *corev1.SeccompProfile {
	kind, file := profileOf(word)
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileType(kind), LocalhostProfile: file}
}

func appArmorProfile(word string) *corev1.AppArmorProfile {
	kind, file := profileOf(word)
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileType(kind), LocalhostProfile: file}
}

// patched returns the pod with the patch. Unknown fields are an error, since the API server would drop them silently.
func patched(pod *corev1.Pod, text string) (*corev1.Pod, error) {
	patch, err := yaml.ToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the patch is not valid YAML: %w", err)
	}
	if !strings.HasPrefix(string(patch), "{") {
		return nil, fmt.Errorf("the patch is not a map: write it like a pod, starting with spec: or metadata:")
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("write the pod as JSON: %w", err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("apply the patch: %w", err)
	}
	out := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(after, out); err != nil {
		return nil, fmt.Errorf("the patched pod is not valid: %w", err)
	}
	return out, nil
}

// carries reports whether the pod has every field of the patch, so that applying the patch once more would change
// nothing.
func carries(pod *corev1.Pod, text string) (bool, error) {
	again, err := patched(pod, text)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(canonical(pod), canonical(again)), nil
}

// canonical returns the pod with sorted volumes, containers and mounts. A patch may reorder these lists, which does not
// change their meaning.
func canonical(pod *corev1.Pod) *corev1.Pod {
	out := pod.DeepCopy()
	slices.SortStableFunc(out.Spec.Volumes, func(a, b corev1.Volume) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Spec.Containers, func(a, b corev1.Container) int { return strings.Compare(a.Name, b.Name) })
	for i := range out.Spec.Containers {
		slices.SortStableFunc(out.Spec.Containers[i].VolumeMounts, func(a, b corev1.VolumeMount) int { return strings.Compare(a.MountPath, b.MountPath) })
	}
	return out
}

// pristine returns a pod like Tare's own pods without the layer. It has all fields that the layer can change.
func pristine() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsUser: new(int64(defaultUser)), RunAsNonRoot: new(true),
			SeccompProfile:  seccompProfile(runtimeDefault),
			AppArmorProfile: appArmorProfile(runtimeDefault), // as the kubelet sets it where AppArmor is available
		},
		Containers: []corev1.Container{{
			Name: container,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{all}},
			},
		}},
	}}
}

// fill moves the contents of securityContext to the layer's fields with the same meaning. It reports no failure:
// validate does.
func (c *Config) fill() {
	if settled, err := c.settled(); err == nil {
		*c = *settled
	}
}

// settled returns the layer with the settings of its securityContext moved to fields such as runAsUser. Settings
// without a field become a patch.
func (c *Config) settled() (*Config, error) {
	text, out := c.SecurityContext, *c
	if out.SecurityContext = ""; text == "" {
		return &out, nil
	}
	asJSON, err := yaml.ToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	var s corev1.SecurityContext
	if err := yaml.UnmarshalStrict(asJSON, &s); err != nil {
		return nil, fmt.Errorf("not the securityContext of a container: %w", err)
	}
	twice := ""
	set := func(given bool, name string, field any, value any) {
		if !given {
			return
		}
		if at := reflect.ValueOf(field).Elem(); at.IsZero() {
			at.Set(reflect.ValueOf(value))
		} else {
			twice = name
		}
	}
	if caps := s.Capabilities; caps != nil {
		set(true, "capabilities", &out.Capabilities, &capabilities{Add: names(caps.Add), Drop: names(caps.Drop)})
	}
	set(s.RunAsUser != nil, "runAsUser", &out.RunAsUser, s.RunAsUser)
	set(s.Privileged != nil && *s.Privileged, "privileged", &out.Privileged, true)
	wrong := ""
	profile := func(name string, field *factor.Levels[string], kind string, file *string) {
		set(true, name, field, factor.Of(word(kind, file)))
		if !isProfile.MatchString(word(kind, file)) {
			wrong = name
		}
	}
	if p := s.SeccompProfile; p != nil {
		profile("seccomp", &out.Seccomp, string(p.Type), p.LocalhostProfile)
	}
	if p := s.AppArmorProfile; p != nil {
		profile("appArmor", &out.AppArmor, string(p.Type), p.LocalhostProfile)
	}
	if wrong != "" {
		return nil, fmt.Errorf("%s: the type of a profile is RuntimeDefault, Unconfined, or Localhost with a localhostProfile", wrong)
	}
	s.Capabilities, s.RunAsUser, s.Privileged, s.SeccompProfile, s.AppArmorProfile = nil, nil, nil, nil, nil
	if s != (corev1.SecurityContext{}) {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": container, "securityContext": s}}}})
		if err != nil {
			return nil, err
		}
		set(true, "patch", &out.Patch, strictyaml.Document(patch))
	}
	if twice != "" {
		return nil, fmt.Errorf("it sets the same as the layer's field %s: use only one of them", twice)
	}
	return &out, nil
}

func names(list []corev1.Capability) []string {
	return lists.Map(list, func(c corev1.Capability) string { return string(c) })
}

var isProfile = regexp.MustCompile(`^(RuntimeDefault|Unconfined|Localhost/.+)$`)

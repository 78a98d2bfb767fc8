package pod

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
)

// fill moves the fields of the securityContext to those fields of the layer that mean the same and have
// proofs. If it fails, the securityContext stays, and validate reports the problem.
func (c *Config) fill() {
	if settled, err := c.settled(); err == nil {
		*c = *settled
	}
}

// settled returns the layer without a securityContext. Settings of the securityContext for which the layer
// has no field become a patch.
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

func names(capabilities []corev1.Capability) (names []string) {
	for _, c := range capabilities {
		names = append(names, string(c))
	}
	return names
}

// isProfile is the form that the layer's fields for profiles must have.
var isProfile = regexp.MustCompile(`^(RuntimeDefault|Unconfined|Localhost/.+)$`)

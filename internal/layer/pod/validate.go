package pod

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/experiment"
	"tare/internal/layer/keyvalue"
	"tare/internal/testbed/launcher"
)

// These are words that may stand in the lists of capabilities in place of a capability.
const (
	all  = "ALL"
	none = "none"
)

// validate checks the rules that struct tags cannot express.
func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.SecurityContext != "" {
		_, err := c.settled()
		errs.Add("securityContext", "%v", err)
		return errs
	}
	c.validatePairs(&errs)
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

func (c *Config) validatePairs(errs *experiment.FieldErrors) {
	own := func(key string) string {
		if keyvalue.Reserved(key) {
			return "Tare identifies its pods by " + key
		}
		return ""
	}
	keyvalue.Validate(errs, "labels", c.Labels, true, own)
	keyvalue.Validate(errs, "annotations", c.Annotations, false, own)
	keyvalue.Validate(errs, "nodeSelector", c.NodeSelector, true, func(string) string { return "" })
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
	if len(pod.Spec.Containers) == 0 || !slices.ContainsFunc(pod.Spec.Containers, isTare) {
		errs.Add("patch", "it removes the container %s, in which programs run", container)
	}
}

// validateEffect reports that the layer would not change the pods. Its arm would then be a copy of an arm
// without the layer.
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

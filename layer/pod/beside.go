package pod

import (
	"maps"
	"slices"

	"tare/layer"
)

// offBeside lists what shows that the layer is not on in an arm that has a layer
// pod of its own: off, without what that one asks for itself. Those fields are for
// its own proof, which shows their values.
func (c *Config) offBeside(own *Config, sandbox string) []aspect {
	rest := *c
	rest.Labels, rest.Annotations = lacking(c.Labels, own.Labels), lacking(c.Annotations, own.Annotations)
	if len(lacking(c.NodeSelector, own.NodeSelector)) == 0 { // else only a node with all of them would be the layer's
		rest.NodeSelector = nil
	}
	rest.Sidecars = slices.DeleteFunc(slices.Clone(c.Sidecars), func(s string) bool { return slices.Contains(own.Sidecars, s) })
	drop(len(own.RuntimeClass) > 0, &rest.RuntimeClass)
	drop(own.Confidential != "", &rest.Confidential)
	drop(own.ServiceAccount != "", &rest.ServiceAccount)
	drop(own.RunAsUser != nil, &rest.RunAsUser)
	drop(own.HostUsers != nil, &rest.HostUsers)
	drop(len(own.AppArmor) > 0 || own.Privileged, &rest.AppArmor)
	drop(len(own.Seccomp) > 0 || own.Privileged, &rest.Seccomp)
	drop(own.Capabilities != nil || own.Privileged, &rest.Capabilities)
	drop(own.Privileged, &rest.Privileged)
	if !rest.Privileged || len(own.Seccomp) == 0 && own.Capabilities == nil {
		return rest.off(sandbox)
	}
	// Privileged containers have no filter and all capabilities; this arm's may lack
	// the one or have some of the others by their own layer.
	rest.Privileged = false
	return append(rest.off(sandbox), unprivileged())
}

func drop[T any](given bool, field *T) {
	if given {
		var none T
		*field = none
	}
}

// lacking are the pairs of want whose keys the other map has not.
func lacking(want, other map[string]string) map[string]string {
	left := maps.Clone(want)
	maps.DeleteFunc(left, func(k, _ string) bool { _, has := other[k]; return has })
	return left
}

// unprivileged shows that Tare's container is no privileged one.
func unprivileged() aspect {
	return aspect{name: "privileged", expected: "false", spec: true, show: func(s sight) shown {
		for _, c := range s.pod.Spec.Containers {
			if isTare(c) && c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged {
				return shown{observed: "true"}
			}
		}
		return shown{observed: "false", ok: true}
	}}
}

// unlooked is the check in an arm whose own patch may ask for what another arm's
// layer does.
func unlooked() layer.Check {
	return layer.Check{Layer: name, Name: "the layer of another arm", Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: "this arm's layer " + name + " has a patch, which may ask for anything: that nothing of another arm's layer " + name + " is on here is not shown"}
}

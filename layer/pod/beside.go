package pod

import (
	"slices"

	"tare/layer"
	"tare/layer/pairs"
)

// offBeside lists what shows that the layer is not on in an arm that has a layer pod of
// its own. It is what off lists, but for the fields that the arm's own layer sets: their
// values are shown by the proof of that one.
func (c *Config) offBeside(own *Config, sandbox string) []aspect {
	rest := *c
	rest.Labels, rest.Annotations = pairs.Without(c.Labels, own.Labels), pairs.Without(c.Annotations, own.Annotations)
	if len(pairs.Without(c.NodeSelector, own.NodeSelector)) == 0 { // else only a node with all of them would be the layer's
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
	// A privileged container has no filter and all capabilities. This arm's own layer
	// may take the filter away or add capabilities, so that neither is evidence.
	rest.Privileged = false
	return append(rest.off(sandbox), unprivileged())
}

func drop[T any](given bool, field *T) {
	if given {
		var none T
		*field = none
	}
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

// notLookedFor is the check in an arm whose own layer has a patch: the patch may ask for
// the same as the layer of another arm.
func notLookedFor() layer.Check {
	return layer.Check{Layer: name, Name: "the layer of another arm", Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: "this arm's layer " + name + " has a patch, which may ask for anything: that nothing of another arm's layer " + name + " is on here is not shown"}
}

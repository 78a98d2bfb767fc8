package pod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/layer/pairs"
)

// off lists what shows that the layer is not on in an arm that has no layer pod:
// the opposite of whatever the layer changes. What pods have without it too, such
// as seccomp RuntimeDefault, is not asked about.
func (c *Config) off(sandbox string) []aspect {
	var list []aspect
	add := func(given bool, a aspect) {
		if given {
			list = append(list, a)
		}
	}
	add(len(c.Labels) > 0, noPairs("labels", c.Labels, 1, func(s sight) map[string]string { return s.pod.Labels }))
	add(len(c.Annotations) > 0, noPairs("annotations", c.Annotations, 1, func(s sight) map[string]string { return s.pod.Annotations }))
	// A node has many labels; only one that has them all is one that the layer would choose.
	add(len(c.NodeSelector) > 0, noPairs("labels of the node", c.NodeSelector, len(c.NodeSelector), func(s sight) map[string]string { return s.node.Labels }))
	add(c.ServiceAccount != "", aspect{name: "service account", expected: "not " + c.ServiceAccount, spec: true, show: func(s sight) shown {
		return shown{observed: s.pod.Spec.ServiceAccountName, ok: s.pod.Spec.ServiceAccountName != c.ServiceAccount}
	}})
	add(c.Patch != "", aspect{name: "patch", expected: "not every field in the pod", spec: true, show: c.lacksPatch})
	if class := one(c.RuntimeClass); class != "" {
		add(true, aspect{name: "RuntimeClass", expected: "not " + class, spec: true, show: func(s sight) shown {
			return shown{observed: classOf(s.pod), ok: classOf(s.pod) != class}
		}})
		add(sandbox != "", unsandboxed(sandbox))
	}
	add(c.Confidential != "", aspect{name: "confidential machine", expected: "not " + c.Confidential, show: func(s sight) shown {
		got := shown{observed: s.facts.Confidential, ok: s.facts.Confidential != c.Confidential}
		if got.observed == "" {
			got.observed, got.caveat = none+" to be seen from the pod", "the pod cannot see whether its machine is confidential: only the labels of its node say so"
		}
		return got
	}})
	add(one(c.Seccomp) == unconfined || c.Privileged, confined())
	add(strings.HasPrefix(one(c.Seccomp), localhost), aspect{name: "seccomp", expected: "not " + one(c.Seccomp), spec: true, show: func(s sight) shown {
		return shown{observed: seccompWord(s.pod), ok: seccompWord(s.pod) != one(c.Seccomp)}
	}})
	add(len(c.AppArmor) > 0 && one(c.AppArmor) != runtimeDefault, noAppArmor(one(c.AppArmor)))
	add(c.Capabilities != nil && (len(c.Capabilities.Add) > 0 || len(c.Capabilities.Drop) > 0) || c.Privileged, c.noCapabilities())
	if c.RunAsUser != nil && *c.RunAsUser != defaultUser {
		add(true, aspect{name: "user", expected: fmt.Sprintf("not %d", *c.RunAsUser), show: func(s sight) shown {
			return shown{observed: fmt.Sprint(s.facts.UID), ok: int64(s.facts.UID) != *c.RunAsUser}
		}})
	}
	add(c.HostUsers != nil, aspect{name: "user namespace", expected: "the node's", show: nodeUsers})
	for _, name := range c.Sidecars {
		add(true, aspect{name: "sidecar " + name, expected: "no such container", show: func(s sight) shown {
			state := sidecar(s.pod, name)
			return shown{observed: state, ok: state == "no such container"}
		}})
	}
	return list
}

// noPairs shows that fewer pairs than so many are in a map.
func noPairs(name string, want map[string]string, fewer int, of func(sight) map[string]string) aspect {
	return aspect{name: name, expected: "not " + pairs.Written(want, want), spec: true, show: func(s sight) shown {
		has := of(s)
		return shown{observed: pairs.Written(want, has), ok: pairs.Among(want, has) < fewer}
	}}
}

func (c *Config) lacksPatch(s sight) shown {
	got := c.hasPatch(s)
	got.ok = got.observed == "not every field in the pod"
	return got
}

// unsandboxed shows that the programs are in no sandbox of a kind.
func unsandboxed(sandbox string) aspect {
	if sandbox == gvisor {
		return aspect{name: "sandbox", expected: "not gVisor", show: func(s sight) shown {
			text := s.facts.Sandbox
			if text == "" {
				text = none + " that shows itself"
			}
			return shown{observed: text + ", " + kernels(s), ok: s.facts.Sandbox != gvisor}
		}}
	}
	return aspect{name: "kernel", expected: "the node's", show: func(s sight) shown {
		mine, nodes := s.facts.BootID, s.node.Status.NodeInfo.BootID
		switch {
		case mine == "" || nodes == "":
			return shown{observed: kernels(s), ok: s.facts.Kernel == s.node.Status.NodeInfo.KernelVersion}
		case mine != nodes:
			return shown{observed: "another boot than the node's, " + kernels(s)}
		}
		return shown{observed: "the same boot, " + kernels(s), ok: true}
	}}
}

// confined shows that a seccomp filter is in force.
func confined() aspect {
	return aspect{name: "seccomp", expected: "mode " + seccompFilter, show: func(s sight) shown {
		has := seccompWord(s.pod)
		got := shown{observed: fmt.Sprintf("%s, mode %s", has, orUnknown(s.facts.Seccomp)), ok: s.facts.Seccomp == seccompFilter}
		if s.facts.Sandbox != "" {
			got.ok, got.caveat = has != unconfined && has != none, answers(s, "seccomp mode")
		}
		return got
	}}
}

// noAppArmor shows that another profile is in force, or none. What is not told
// shows nothing, unless another module confines, or a sandbox answers.
func noAppArmor(profile string) aspect {
	named, local := strings.CutPrefix(profile, localhost)
	if !local {
		named = unconfinedAppArmor
	}
	return aspect{name: "AppArmor", expected: "not " + named, show: func(s sight) shown {
		has, _ := profileInForce(s.facts.AppArmor)
		got := shown{observed: orUnknown(s.facts.AppArmor), ok: has != "" && has != named}
		switch {
		case has != "":
		case s.facts.Sandbox != "":
			asked := appArmorWord(s.pod)
			got = shown{observed: orUnknown(asked), ok: asked != profile, caveat: answers(s, "AppArmor profile")}
		case s.facts.SELinux != "":
			got.observed, got.ok = "none: SELinux is in force", true
		}
		return got
	}}
}

// appArmorWord is the profile that the specification gives the programs, in the
// words of the experiment file.
func appArmorWord(pod *corev1.Pod) string {
	var profile *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		profile = pod.Spec.SecurityContext.AppArmorProfile
	}
	for _, c := range pod.Spec.Containers {
		if isTare(c) && c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			profile = c.SecurityContext.AppArmorProfile
		}
	}
	switch {
	case profile == nil:
		return ""
	case profile.LocalhostProfile != nil:
		return localhost + *profile.LocalhostProfile
	}
	return string(profile.Type)
}

// noCapabilities shows that the programs could not get the capabilities that the
// layer adds, or keeps.
func (c *Config) noCapabilities() aspect {
	var added capSet
	if c.Capabilities != nil {
		added = capsOf(named(c.Capabilities.Add))
	}
	if c.Privileged || added == 0 {
		added = everything
	}
	return aspect{name: "capabilities", expected: "without " + added.String(), show: func(s sight) shown {
		set, text := bounding(s)
		return shown{observed: text, ok: text != "not told" && set&added == 0}
	}}
}

// nodeUsers shows that the pod is in the node's user namespace.
func nodeUsers(s sight) shown {
	got := ownUsers(s)
	if s.facts.UIDMap != "" && s.facts.Sandbox == "" {
		got.ok = s.facts.UIDMap == hostUsers
		return got
	}
	asked := s.pod.Spec.HostUsers != nil && !*s.pod.Spec.HostUsers
	return shown{observed: fmt.Sprintf("hostUsers: %t", !asked), ok: !asked, caveat: got.caveat}
}

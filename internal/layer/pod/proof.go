package pod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/layer/keyvalue"
)

// aspects lists the layer's settings with checks that they are on or, with on = false, off in an arm without a pod
// layer. With on = false, settings that all pods have get no check. sandbox is the sandbox of the RuntimeClass.
func (c *Config) aspects(on bool, sandbox string) []aspect {
	var list []aspect
	add := func(given bool, a aspect) {
		if given {
			list = append(list, a)
		}
	}
	whole := len(c.NodeSelector) // labels count as one aspect: the layer chooses only nodes that have all of them
	class := c.RuntimeClass.OrZero()
	labels := func(s podView) map[string]string { return s.pod.Labels }
	annotations := func(s podView) map[string]string { return s.pod.Annotations }
	nodeLabels := func(s podView) map[string]string { return s.node.Labels }
	account := func(s podView) string { return s.pod.Spec.ServiceAccountName }
	add(len(c.Labels) > 0, aspect{name: "labels"}.pairs(on, c.Labels, 1, labels))
	add(len(c.Annotations) > 0, aspect{name: "annotations"}.pairs(on, c.Annotations, 1, annotations))
	add(whole > 0, aspect{name: "labels of the node"}.pairs(on, c.NodeSelector, whole, nodeLabels))
	add(c.ServiceAccount != "", aspect{name: "service account", spec: true}.value(on, c.ServiceAccount, account))
	add(c.Patch != "", c.patchIn(on))
	add(class != "", aspect{name: "RuntimeClass", spec: true}.value(on, class, func(s podView) string { return *cmp.Or(s.pod.Spec.RuntimeClassName, new(none)) }))
	if on {
		add(class != "", sandboxed(class, sandbox))
		add(c.Confidential != "", confidential(c.Confidential))
		add(len(c.Seccomp) > 0, c.seccomp())
		add(len(c.AppArmor) > 0, appArmor(c.AppArmor.OrZero()))
		add(c.Capabilities != nil, c.capabilities())
		add(c.Privileged, aspect{name: "privileged", expected: "SYS_ADMIN within bounds", show: func(s podView) shown {
			set, text := bounding(s)
			return shown{observed: text, ok: set&sysAdmin != 0}
		}})
	} else {
		c.absent(add, sandbox)
	}
	if c.RunAsUser != nil && (on || *c.RunAsUser != defaultUser) {
		add(true, aspect{name: "user"}.value(on, fmt.Sprint(*c.RunAsUser), func(s podView) string { return fmt.Sprint(s.facts.UID) }))
	}
	users := aspect{name: "user namespace", expected: "of the pod's own", show: ownUsers}
	if !on {
		users.expected, users.show = "the node's", nodeUsers
	}
	add(c.HostUsers != nil, users)
	for _, name := range c.Sidecars {
		expected := map[bool]string{true: ready, false: noContainer}[on]
		add(true, aspect{name: "sidecar " + name, expected: expected, show: func(s podView) shown {
			state := sidecar(s.pod, name)
			return shown{observed: state, ok: state == expected}
		}})
	}
	return list
}

// value completes the check of a setting with one value. With on = true, the value must equal want; with on = false,
// it must differ.
func (a aspect) value(on bool, want string, of func(podView) string) aspect {
	a.expected = map[bool]string{true: want, false: "not " + want}[on]
	a.show = func(s podView) shown { return shown{observed: of(s), ok: (of(s) == want) == on} }
	return a
}

// pairs completes the check of a map such as labels. The pod's map must have all keys of want with their values or,
// with on = false, fewer than limit.
func (a aspect) pairs(on bool, want map[string]string, limit int, of func(podView) map[string]string) aspect {
	a = a.value(on, keyvalue.Written(want, want), func(s podView) string { return keyvalue.Written(want, of(s)) })
	a.spec = true
	if !on {
		a.show = func(s podView) shown {
			return shown{observed: keyvalue.Written(want, of(s)), ok: keyvalue.Among(want, of(s)) < limit}
		}
	}
	return a
}

// patchIn checks the fields of the patch in a pod. With on = true, the pod must have every field; with on = false,
// it must lack at least one.
func (c *Config) patchIn(on bool) aspect {
	say := map[bool]string{true: "every field in the pod", false: "not every field in the pod"}
	return aspect{name: "patch", expected: say[on], spec: true, show: func(s podView) shown {
		has, err := carries(s.pod, string(c.Patch))
		if err != nil {
			return shown{observed: err.Error()}
		}
		return shown{observed: say[has], ok: has == on}
	}}
}

func sandboxed(class, sandbox string) aspect {
	a := aspect{name: "kernel", expected: "of the sandbox's own", show: func(s podView) shown { return ownKernel(s, class) }}
	switch sandbox {
	case gvisor:
		a.name, a.expected, a.show = "sandbox", "gVisor", func(s podView) shown {
			text := cmp.Or(s.facts.Sandbox, "no sandbox that can be seen")
			return shown{observed: text + ", " + kernels(s), ok: s.facts.Sandbox == gvisor && s.facts.Kernel != s.node.Status.NodeInfo.KernelVersion}
		}
	case "":
		a.expected = "that of RuntimeClass " + class
		a.show = func(s podView) shown {
			got := ownKernel(s, class)
			if !got.ok { // some runtimes, such as crun, use the node's kernel, and so cannot be seen from inside
				got.ok, got.caveat = true, weak(class)
			}
			return got
		}
	}
	return a
}

func weak(class string) string {
	return "nothing inside the pod shows that it runs in RuntimeClass " + class + ": the only evidence is its specification"
}

// ownKernel shows by boot ids that a pod's kernel is not its node's. Without boot ids, it compares releases: equal ones
// pass with a caveat.
func ownKernel(s podView, class string) shown {
	mine, nodes := s.facts.BootID, s.node.Status.NodeInfo.BootID
	switch {
	case mine != "" && nodes != "" && mine == nodes:
		return shown{observed: "the node's: the same boot, " + kernels(s)}
	case mine != "" && nodes != "":
		return shown{observed: "another boot than the node's, " + kernels(s), ok: true}
	case s.facts.Kernel != s.node.Status.NodeInfo.KernelVersion:
		return shown{observed: kernels(s), ok: true}
	}
	return shown{observed: kernels(s), ok: true, caveat: weak(class)}
}

func kernels(s podView) string {
	return fmt.Sprintf("kernel %s on a node with %s", s.facts.Kernel, s.node.Status.NodeInfo.KernelVersion)
}

func confidential(kind string) aspect {
	return aspect{name: "confidential machine", expected: kind, show: func(s podView) shown {
		if s.facts.Confidential == "" {
			return shown{observed: "not to be seen from the pod", ok: true,
				caveat: "the pod cannot see that its machine is confidential: the only evidence is the labels of its node"}
		}
		return shown{observed: s.facts.Confidential, ok: s.facts.Confidential == kind}
	}}
}

func ownUsers(s podView) shown {
	asked := s.pod.Spec.HostUsers != nil && !*s.pod.Spec.HostUsers
	switch {
	case s.facts.Sandbox != "":
		return shown{observed: fmt.Sprintf("hostUsers: %t", !asked), ok: asked, caveat: answers(s, "map of user ids")}
	case s.facts.UIDMap == "":
		return shown{observed: "the map of user ids cannot be read"}
	case s.facts.UIDMap == hostUsers:
		return shown{observed: "the node's: user ids are mapped to themselves"}
	}
	return shown{observed: "user ids mapped as " + s.facts.UIDMap, ok: asked}
}

const hostUsers = "0 0 4294967295" // the map of user ids outside of any user namespace

// answers returns a caveat about a fact, such as the seccomp mode: a sandbox reports the fact, and not the node's
// kernel.
func answers(s podView, fact string) string {
	return fmt.Sprintf("the pod's %s is reported by %s and not by the node's kernel: the only evidence is the specification", fact, s.facts.Sandbox)
}

const (
	ready       = "ready"
	noContainer = "no such container"
)

// sidecar states whether the pod has the named container, and whether it is ready. Init containers count: native
// sidecars are init containers that keep running.
func sidecar(pod *corev1.Pod, name string) string {
	named := func(c corev1.Container) bool { return c.Name == name }
	runs := func(s corev1.ContainerStatus) bool { return s.Name == name && s.State.Running != nil && s.Ready }
	switch {
	case !slices.ContainsFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), named):
		return noContainer
	case slices.ContainsFunc(slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses), runs):
		return ready
	}
	return "not ready"
}

func (c *Config) absent(add func(given bool, a aspect), sandbox string) {
	seccomp, profile := c.Seccomp.OrZero(), c.AppArmor.OrZero()
	add(len(c.RuntimeClass) > 0 && sandbox != "", unsandboxed(sandbox))
	add(c.Confidential != "", aspect{name: "confidential machine", expected: "not " + c.Confidential, show: func(s podView) shown {
		got := shown{observed: s.facts.Confidential, ok: s.facts.Confidential != c.Confidential}
		if got.observed == "" {
			got.observed, got.caveat = none+" to be seen from the pod", "the pod cannot see whether its machine is confidential: the only evidence is the labels of its node"
		}
		return got
	}})
	add(seccomp == unconfined || c.Privileged, confined())
	word := func(s podView) string { return seccompWord(s.pod) }
	add(strings.HasPrefix(seccomp, localhost), aspect{name: "seccomp", spec: true}.value(false, seccomp, word))
	add(profile != "" && profile != runtimeDefault, noAppArmor(profile))
	add(c.Capabilities != nil && (len(c.Capabilities.Add) > 0 || len(c.Capabilities.Drop) > 0) || c.Privileged, c.noCapabilities())
}

func unsandboxed(sandbox string) aspect {
	if sandbox == gvisor {
		return aspect{name: "sandbox", expected: "not gVisor", show: func(s podView) shown {
			text := cmp.Or(s.facts.Sandbox, none+" that can be seen")
			return shown{observed: text + ", " + kernels(s), ok: s.facts.Sandbox != gvisor}
		}}
	}
	return aspect{name: "kernel", expected: "the node's", show: func(s podView) shown {
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

// noAppArmor shows that a profile is not in force in a pod. An unreported profile fails, unless SELinux confines the
// programs or a sandbox answers.
func noAppArmor(profile string) aspect {
	named, local := strings.CutPrefix(profile, localhost)
	if !local {
		named = unconfinedAppArmor
	}
	return aspect{name: "AppArmor", expected: "not " + named, show: func(s podView) shown {
		has, _ := profileInForce(s.facts.AppArmor)
		got := shown{observed: cmp.Or(s.facts.AppArmor, unreported), ok: has != "" && has != named}
		switch {
		case has != "":
		case s.facts.Sandbox != "":
			asked := ""
			if p := cmp.Or(security(s.pod).AppArmorProfile, podSecurity(s.pod).AppArmorProfile); p != nil {
				asked = word(string(p.Type), p.LocalhostProfile)
			}
			got = shown{observed: cmp.Or(asked, unreported), ok: asked != profile, caveat: answers(s, "AppArmor profile")}
		case s.facts.SELinux != "":
			got.observed, got.ok = "none: SELinux is in force", true
		}
		return got
	}}
}

// noCapabilities shows that the programs of a pod cannot get the capabilities that the layer adds or keeps.
func (c *Config) noCapabilities() aspect {
	var added capSet
	if c.Capabilities != nil {
		added = capsOf(c.Capabilities.Add...)
	}
	if c.Privileged || added == 0 {
		added = everything
	}
	return aspect{name: "capabilities", expected: "without " + added.String(), show: func(s podView) shown {
		set, text := bounding(s)
		return shown{observed: text, ok: text != unreported && set&added == 0}
	}}
}

func nodeUsers(s podView) shown {
	got := ownUsers(s)
	if s.facts.UIDMap != "" && s.facts.Sandbox == "" {
		got.ok = s.facts.UIDMap == hostUsers
		return got
	}
	asked := s.pod.Spec.HostUsers != nil && !*s.pod.Spec.HostUsers
	return shown{observed: fmt.Sprintf("hostUsers: %t", !asked), ok: !asked, caveat: got.caveat}
}

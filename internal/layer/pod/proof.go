package pod

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/layer/keyvalue"
)

// aspects lists the aspects that show that the layer is on, or off in an arm without a pod layer. Settings that pods
// have anyway, such as seccomp RuntimeDefault, do not show that the layer is off. The argument sandbox is the sandbox
// of the layer's RuntimeClass.
func (c *Config) aspects(on bool, sandbox string) []aspect {
	var list []aspect
	add := func(given bool, a aspect) {
		if given {
			list = append(list, a)
		}
	}
	whole := len(c.NodeSelector) // the layer chooses only nodes with all these labels
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

// value completes an aspect of one value. If on is set, the value must be the wanted one, and otherwise any other
// one.
func (a aspect) value(on bool, want string, of func(podView) string) aspect {
	a.expected = map[bool]string{true: want, false: "not " + want}[on]
	a.show = func(s podView) shown { return shown{observed: of(s), ok: (of(s) == want) == on} }
	return a
}

// pairs completes an aspect of a map. If on is set, the map must contain all wanted pairs, and otherwise fewer of
// them than the given number.
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

// patchIn shows that a pod has every field of the patch if on is set, and otherwise that it lacks one.
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
			if !got.ok { // crun and similar runtimes share the kernel, and look like any other runtime
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

// ownKernel shows that a pod has another kernel than its node, by the boot id or else by the kernel's
// release.
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

// answers returns the caveat for a fact that a sandbox reports, and not the kernel.
func answers(s podView, fact string) string {
	return fmt.Sprintf("the pod's %s is reported by %s and not by the node's kernel: the only evidence is the specification", fact, s.facts.Sandbox)
}

const (
	ready       = "ready"
	noContainer = "no such container"
)

// sidecar returns the state of a container. A native sidecar is an init container that keeps running.
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

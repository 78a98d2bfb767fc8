package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"tare/layer/pairs"
)

// on lists what shows that the layer is on, given the sandbox that its
// RuntimeClass stands for.
func (c *Config) on(sandbox string) []aspect {
	var list []aspect
	add := func(given bool, a aspect) {
		if given {
			list = append(list, a)
		}
	}
	class := one(c.RuntimeClass)
	add(len(c.Labels) > 0, hasPairs("labels", c.Labels, func(s sight) map[string]string { return s.pod.Labels }))
	add(len(c.Annotations) > 0, hasPairs("annotations", c.Annotations, func(s sight) map[string]string { return s.pod.Annotations }))
	add(len(c.NodeSelector) > 0, hasPairs("labels of the node", c.NodeSelector, func(s sight) map[string]string { return s.node.Labels }))
	add(c.ServiceAccount != "", aspect{name: "service account", expected: c.ServiceAccount, spec: true, show: func(s sight) shown {
		return shown{observed: s.pod.Spec.ServiceAccountName, ok: s.pod.Spec.ServiceAccountName == c.ServiceAccount}
	}})
	add(c.Patch != "", aspect{name: "patch", expected: "every field in the pod", spec: true, show: c.hasPatch})
	add(class != "", aspect{name: "RuntimeClass", expected: class, spec: true, show: func(s sight) shown {
		return shown{observed: classOf(s.pod), ok: classOf(s.pod) == class}
	}})
	add(class != "", sandboxed(class, sandbox))
	add(c.Confidential != "", confidential(c.Confidential))
	add(len(c.Seccomp) > 0, c.seccomp())
	add(len(c.AppArmor) > 0, appArmor(one(c.AppArmor)))
	add(c.Capabilities != nil, c.capabilities())
	add(c.Privileged, aspect{name: "privileged", expected: "SYS_ADMIN within bounds", show: func(s sight) shown {
		set, text := bounding(s)
		return shown{observed: text, ok: set&sysAdmin != 0}
	}})
	if c.RunAsUser != nil {
		add(true, aspect{name: "user", expected: fmt.Sprint(*c.RunAsUser), show: func(s sight) shown {
			return shown{observed: fmt.Sprint(s.facts.UID), ok: int64(s.facts.UID) == *c.RunAsUser}
		}})
	}
	add(c.HostUsers != nil, aspect{name: "user namespace", expected: "of the pod's own", show: ownUsers})
	for _, name := range c.Sidecars {
		add(true, aspect{name: "sidecar " + name, expected: "ready", show: func(s sight) shown {
			state := sidecar(s.pod, name)
			return shown{observed: state, ok: state == ready}
		}})
	}
	return list
}

// hasPairs shows that a map holds pairs.
func hasPairs(name string, want map[string]string, of func(sight) map[string]string) aspect {
	return aspect{name: name, expected: pairs.Written(want, want), spec: true, show: func(s sight) shown {
		has := of(s)
		return shown{observed: pairs.Written(want, has), ok: pairs.Among(want, has) == len(want)}
	}}
}

func classOf(pod *corev1.Pod) string {
	if pod.Spec.RuntimeClassName == nil {
		return none
	}
	return *pod.Spec.RuntimeClassName
}

func (c *Config) hasPatch(s sight) shown {
	has, err := carries(s.pod, c.Patch)
	switch {
	case err != nil:
		return shown{observed: err.Error()}
	case !has:
		return shown{observed: "not every field in the pod"}
	}
	return shown{observed: "every field in the pod", ok: true}
}

// sandboxed shows that the programs are in the sandbox of a RuntimeClass.
func sandboxed(class, sandbox string) aspect {
	a := aspect{name: "kernel", expected: "of the sandbox's own", show: func(s sight) shown { return ownKernel(s, class) }}
	switch sandbox {
	case gvisor:
		a.name, a.expected, a.show = "sandbox", "gVisor", func(s sight) shown {
			text := "no sandbox that shows itself"
			if s.facts.Sandbox != "" {
				text = s.facts.Sandbox
			}
			return shown{observed: text + ", " + kernels(s), ok: s.facts.Sandbox == gvisor && s.facts.Kernel != s.node.Status.NodeInfo.KernelVersion}
		}
	case "":
		a.expected = "that of RuntimeClass " + class
		a.show = func(s sight) shown {
			got := ownKernel(s, class)
			if !got.ok { // crun and its like share the kernel, and look like any other runtime
				got.ok, got.caveat = true, weak(class)
			}
			return got
		}
	}
	return a
}

func weak(class string) string {
	return "nothing inside the pod shows that it runs by RuntimeClass " + class + ": only its specification says so"
}

// ownKernel shows that the programs have a kernel of their own. The id of its boot
// tells; where it cannot be read, the release does if it is another one.
func ownKernel(s sight, class string) shown {
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

func kernels(s sight) string {
	return fmt.Sprintf("kernel %s on a node with %s", s.facts.Kernel, s.node.Status.NodeInfo.KernelVersion)
}

// confidential shows that the machine is a confidential one.
func confidential(kind string) aspect {
	return aspect{name: "confidential machine", expected: kind, show: func(s sight) shown {
		if s.facts.Confidential == "" {
			return shown{observed: "not to be seen from the pod", ok: true,
				caveat: "the pod cannot see that its machine is confidential: only the labels of its node say so"}
		}
		return shown{observed: s.facts.Confidential, ok: s.facts.Confidential == kind}
	}}
}

// ownUsers shows that the pod is in a user namespace of its own.
func ownUsers(s sight) shown {
	asked := s.pod.Spec.HostUsers != nil && !*s.pod.Spec.HostUsers
	switch {
	case s.facts.Sandbox != "":
		return shown{observed: fmt.Sprintf("hostUsers: %t", !asked), ok: asked, caveat: answers(s, "user ids")}
	case s.facts.UIDMap == "":
		return shown{observed: "the map of user ids cannot be read"}
	case s.facts.UIDMap == hostUsers:
		return shown{observed: "the node's: user ids are mapped to themselves"}
	}
	return shown{observed: "user ids mapped as " + s.facts.UIDMap, ok: asked}
}

// hostUsers is the map of user ids without a user namespace.
const hostUsers = "0 0 4294967295"

// answers is the caveat where a sandbox answers in the kernel's place.
func answers(s sight, what string) string {
	return fmt.Sprintf("what the pod sees of its %s is the answer of %s and not of the node's kernel: only the specification says it", what, s.facts.Sandbox)
}

// ready is the state of a sidecar that is on.
const ready = "ready"

// sidecar says in which state a container beside Tare's is. Native sidecars are
// init containers that stay.
func sidecar(pod *corev1.Pod, name string) string {
	there := false
	for _, c := range append(append([]corev1.Container(nil), pod.Spec.Containers...), pod.Spec.InitContainers...) {
		there = there || c.Name == name
	}
	if !there {
		return "no such container"
	}
	for _, s := range append(append([]corev1.ContainerStatus(nil), pod.Status.ContainerStatuses...), pod.Status.InitContainerStatuses...) {
		if s.Name == name && s.State.Running != nil && s.Ready {
			return ready
		}
	}
	return "not ready"
}

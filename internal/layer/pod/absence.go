package pod

import (
	"cmp"
	"fmt"
	"strings"
)

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

// noAppArmor shows that an AppArmor profile is not in force in a pod. A pod that does not report its profile
// fails the check, unless SELinux confines the programs, or a sandbox answers for the kernel.
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
			asked := appArmorWord(s.pod)
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

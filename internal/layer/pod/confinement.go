package pod

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/testbed/launcher"
)

// seccompWord returns the seccomp profile in the pod's specification, as an experiment file would write the profile.
func seccompWord(pod *corev1.Pod) string {
	if p := cmp.Or(security(pod).SeccompProfile, podSecurity(pod).SeccompProfile); p != nil {
		return word(string(p.Type), p.LocalhostProfile)
	}
	return none
}

func podSecurity(pod *corev1.Pod) *corev1.PodSecurityContext {
	return cmp.Or(pod.Spec.SecurityContext, &corev1.PodSecurityContext{})
}

func word(kind string, file *string) string {
	if file != nil {
		return localhost + *file
	}
	return kind
}

func security(pod *corev1.Pod) *corev1.SecurityContext {
	for _, c := range pod.Spec.Containers {
		if c.Name == container && c.SecurityContext != nil {
			return c.SecurityContext
		}
	}
	return &corev1.SecurityContext{}
}

const unreported = "not reported" // text in place of a value that the pod does not report

// These are the words with which the agent reports the mode of seccomp.
const (
	seccompOff    = "disabled"
	seccompFilter = "filter"
)

func (c *Config) seccomp() aspect {
	want, mode := c.Seccomp.OrZero(), seccompFilter
	if want == unconfined || c.Privileged { // off if unconfined, and in privileged containers, which container runtimes give no filter
		mode = seccompOff
	}
	return aspect{name: "seccomp", expected: fmt.Sprintf("%s, mode %s", want, mode), show: func(s podView) shown {
		has, got := seccompOf(s)
		got.ok = has == want && (s.facts.Sandbox != "" || s.facts.Seccomp == mode)
		if s.facts.Sandbox == "" && s.facts.Seccomp == mode && strings.HasPrefix(want, localhost) {
			got.caveat = "a filter is in force; the only evidence for its profile is the specification"
		}
		return got
	}}
}

func confined() aspect {
	return aspect{name: "seccomp", expected: "mode " + seccompFilter, show: func(s podView) shown {
		has, got := seccompOf(s)
		got.ok = s.facts.Seccomp == seccompFilter
		if s.facts.Sandbox != "" {
			got.ok = has != unconfined && has != none
		}
		return got
	}}
}

func seccompOf(s podView) (profile string, got shown) {
	profile = seccompWord(s.pod)
	got.observed = fmt.Sprintf("%s, mode %s", profile, cmp.Or(s.facts.Seccomp, unreported))
	if s.facts.Sandbox != "" {
		got.caveat = answers(s, "seccomp mode")
	}
	return profile, got
}

// profileInForce splits the kernel's description of a process's AppArmor profile: "NAME (MODE)".
func profileInForce(s string) (profile, mode string) {
	s = strings.TrimSpace(s)
	if i := strings.LastIndex(s, " ("); i >= 0 {
		return s[:i], strings.TrimSuffix(s[i+2:], ")")
	}
	return s, ""
}

const unconfinedAppArmor = "unconfined" // the kernel's report if no AppArmor profile is in force

func appArmor(want string) aspect {
	named, local := strings.CutPrefix(want, localhost)
	expected := map[bool]string{true: named}[local]
	switch want {
	case unconfined:
		expected = unconfinedAppArmor
	case runtimeDefault:
		expected = "any profile of the container runtime"
	}
	return aspect{name: "AppArmor", expected: expected, show: func(s podView) shown {
		profile, mode := profileInForce(s.facts.AppArmor)
		got := shown{observed: cmp.Or(s.facts.AppArmor, unreported)}
		switch {
		case profile == "":
		case want == unconfined:
			got.ok = profile == unconfinedAppArmor
		case want == runtimeDefault:
			got.ok = profile != unconfinedAppArmor
		default:
			got.ok = profile == named
		}
		if got.ok && mode == "complain" {
			got.caveat = "the AppArmor profile is in complain mode: it logs violations, but refuses nothing"
		}
		return got
	}}
}

// capable returns an error if the layer sets an AppArmor profile, but a pod's node does not support AppArmor.
func (c *Config) capable(views []podView) error {
	for _, s := range views {
		if len(c.AppArmor) > 0 && s.facts.AppArmor == "" {
			return fmt.Errorf("the pod %s on node %s sees no AppArmor: the node's kernel lacks it, or a sandbox hides it, so appArmor: %s changes nothing",
				s.pod.Name, s.pod.Spec.NodeName, c.AppArmor.OrZero())
		}
	}
	return nil
}

var everything, sysAdmin = capsOf(all), capsOf("SYS_ADMIN")

// bounding returns the capabilities that the pod's programs have or can gain (the bounding set), as a set and as a
// text.
func bounding(s podView) (capSet, string) {
	set, err := parseCaps(s.facts.CapBnd)
	if err != nil {
		return 0, unreported
	}
	return set, set.String()
}

// capabilities returns the check that the bounding set of the pod's programs is as expected. For programs that run as
// root, the effective set must equal the bounding set.
func (c *Config) capabilities() aspect {
	if c.Capabilities == nil {
		return aspect{}
	}
	added, dropped := capsOf(c.Capabilities.Add...), capsOf(c.Capabilities.Drop...)
	if len(c.Capabilities.Drop) == 0 {
		dropped = everything
	}
	lost := dropped &^ added
	return aspect{name: "capabilities", expected: boundaries(added, lost), show: func(s podView) shown {
		set, text := bounding(s)
		if text == unreported {
			return shown{observed: text}
		}
		if s.facts.UID == 0 {
			effective, err := parseCaps(s.facts.CapEff)
			if err != nil || effective != set {
				return shown{observed: fmt.Sprintf("%s, effective %s", text, effective)}
			}
		}
		// ALL adds every capability that the container runtime can give. Of these, the check looks only for SYS_ADMIN.
		missing := added &^ set
		if added == everything {
			missing = sysAdmin &^ set
		}
		return shown{observed: text, ok: missing == 0 && set&lost == 0 && (dropped == everything || set != 0)}
	}}
}

// boundaries describes the expected capabilities. A program must have all capabilities of the set with, and none of the
// set without.
func boundaries(with, without capSet) string {
	switch {
	case with|without == 0:
		return "those of the container runtime"
	case with|without == everything && with != 0:
		return with.String() + " and no other"
	case without == everything:
		return none
	case with == 0:
		return "without " + without.String()
	case without == 0:
		return "with " + with.String()
	}
	return fmt.Sprintf("with %s, without %s", with, without)
}

type capSet uint64 // a set of capabilities; bit n stands for capability number n

// parseCaps parses a set of capabilities in the hexadecimal form of /proc/PID/status.
func parseCaps(hex string) (capSet, error) {
	set, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no set of capabilities", hex)
	}
	return capSet(set), nil
}

func capsOf(names ...string) capSet { return capSet(launcher.CapabilityBits(names...)) }

func (s capSet) String() string {
	var names []string
	for bit := range 64 {
		if s&(1<<bit) == 0 {
			continue
		}
		if bit < len(launcher.Capabilities) {
			names = append(names, launcher.Capabilities[bit])
		} else {
			names = append(names, fmt.Sprintf("number %d", bit))
		}
	}
	switch {
	case len(names) == 0:
		return "none"
	case s&everything == everything:
		return "all"
	}
	return strings.Join(names, ", ")
}

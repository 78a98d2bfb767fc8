package pod

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/testbed/launcher"
)

// capSet is a set of capabilities: bit n is set if it contains the capability with number n.
type capSet uint64

// parseCaps parses a set of capabilities in the hexadecimal form of /proc/PID/status.
func parseCaps(hex string) (capSet, error) {
	set, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no set of capabilities", hex)
	}
	return capSet(set), nil
}

// capsOf returns the set of the named capabilities.
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

func isTare(c corev1.Container) bool { return c.Name == container }

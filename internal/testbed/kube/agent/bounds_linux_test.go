package agent

import (
	"testing"
	"testing/fstest"
)

// TestBounds checks the facts about the limits of a process: its bounding set of capabilities, and its user
// namespace.
func TestBounds(t *testing.T) {
	for name, test := range map[string]struct{ status, uidMap, capBnd, shown string }{
		"none":      {"CapBnd:\t0000000000000000\n", "         0          0 4294967295\n", "0000000000000000", "0 0 4294967295"},
		"namespace": {"CapBnd:\t00000000a80425fb\n", "         0    1048576      65536\n", "00000000a80425fb", "0 1048576 65536"},
		"two":       {"", "0 5 1\n1 9 2\n", "", "0 5 1 1 9 2"},
		"hostile":   {"CapBnd:\t\x1b[2J\n", "0\x1b[31m 1\n", "", "0 1"},
		"missing":   {"", "", "", ""},
	} {
		v := view{files: fstest.MapFS{
			"proc/self/status":  {Data: []byte(test.status)},
			"proc/self/uid_map": {Data: []byte(test.uidMap)},
		}}
		if f := v.facts(); f.CapBnd != test.capBnd || f.UIDMap != test.shown {
			t.Errorf("%s: %q and %q, want %q and %q", name, f.CapBnd, f.UIDMap, test.capBnd, test.shown)
		}
	}
}

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/machine"
)

func TestArmsApart(t *testing.T) {
	var arms []machine.ArmNodes
	arms = AddNodes(arms, "runc", []string{"a", "b"})
	arms = AddNodes(arms, "control", []string{"a", "b"})
	arms = AddNodes(arms, "gvisor", []string{"c", "d"})
	arms = AddNodes(arms, "runc", []string{"a"}) // placement: same-node
	arms = AddNodes(arms, "control", []string{"a"})
	want := []string{"arm gvisor ran on nodes c, d, and runc on a, b: a difference between these nodes counts as one between the arms"}
	if diff := cmp.Diff(want, OtherNodes(arms)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if notes := OtherNodes(nil); notes != nil {
		t.Errorf("notes of no arm: %v", notes)
	}
}

func TestMoved(t *testing.T) {
	first := []machine.Cluster{{Arms: []machine.ArmNodes{{Arm: "runc", Nodes: []string{"a", "b"}}, {Arm: "gvisor", Nodes: []string{"a", "b"}}}}}
	now := []machine.Cluster{{Arms: []machine.ArmNodes{{Arm: "runc", Nodes: []string{"a", "b"}}, {Arm: "gvisor", Nodes: []string{"a", "c"}}, {Arm: "new", Nodes: []string{"z"}}}}}
	want := []string{"arm gvisor is on nodes a, c now, and was on a, b"}
	if diff := cmp.Diff(want, Moved(first, now)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestOtherUplinks compares the interfaces of arms on two clusters.
func TestOtherUplinks(t *testing.T) {
	uplink := func(mtu int, tso bool) []machine.Uplink {
		return []machine.Uplink{{Name: "eth0", MTU: mtu, Offloads: map[string]bool{"TSO": tso}}}
	}
	first := machine.Cluster{Arms: []machine.ArmNodes{{Arm: "gke", Uplinks: uplink(1450, true)}, {Arm: "control", Uplinks: uplink(1450, true)}, {Arm: "unknown"}}}
	tests := []struct {
		name string
		arm  []machine.Uplink
		want []string
	}{
		{"equal", uplink(1450, true), nil},
		{"unknown", nil, nil},
		{"other MTU", uplink(8896, true), []string{
			"the pods' network interfaces have MTU 8896 in arm constellation and 1450 in arm gke: this difference counts as one between the arms"}},
		{"several", append(uplink(8896, false), uplink(1450, true)...), []string{
			"the pods' network interfaces have MTU 1450 or 8896 in arm constellation and 1450 in arm gke: this difference counts as one between the arms",
			"the pods' network interfaces have TSO off or on in arm constellation and on in arm gke: this difference counts as one between the arms"}},
		{"more is known", []machine.Uplink{{MTU: 1450, GSO: 65536, Offloads: map[string]bool{"TSO": true}}}, nil},
	}
	for _, test := range tests {
		other := machine.Cluster{Arms: []machine.ArmNodes{{Arm: "constellation", Uplinks: test.arm}}}
		if diff := cmp.Diff(test.want, OtherUplinks([]machine.Cluster{first, other})); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if notes := OtherUplinks(nil); notes != nil {
		t.Errorf("no cluster: %q", notes)
	}
	if notes := OtherUplinks([]machine.Cluster{{}}); notes != nil {
		t.Errorf("no arm: %q", notes)
	}
}

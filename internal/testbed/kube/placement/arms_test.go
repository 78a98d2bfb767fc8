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

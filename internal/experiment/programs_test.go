package experiment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
)

// starter is a layer or a workload that starts programs.
type starter struct {
	programs []experiment.Program
	needs    experiment.Needs
}

func (s starter) Declare() experiment.Declaration {
	return experiment.Declaration{Programs: s.programs, Needs: s.needs}
}

func (starter) Measures() experiment.Measures { return experiment.Measures{} }

// A program is looked up where it is started: a program that runs in pods need not be on this machine.
func TestProgramsHere(t *testing.T) {
	pods := experiment.Needs{Network: true}
	one := func(name string, where experiment.Where) []experiment.Program {
		return []experiment.Program{{Name: name, Where: where}}
	}
	sandbox := starter{programs: one("runsc", experiment.WrapperPlace)}
	control := starter{programs: append(one("cilium", experiment.OnMachine), one("cilium", experiment.OnMachine)...)}
	inPods, onMachine := starter{one("bench", experiment.AtSite), pods}, starter{programs: one("bench", experiment.OnMachine)}
	local, cluster := experiment.Testbed{}, experiment.Testbed{Kubernetes: &experiment.Kubernetes{}}
	for _, test := range []struct {
		name string
		bed  experiment.Testbed
		arms [][]starter
		load starter
		want []string
	}{
		{"on this machine", local, [][]starter{nil, {sandbox, control}}, inPods, []string{"runsc", "cilium", "bench"}},
		{"in pods", cluster, [][]starter{nil, {sandbox}}, inPods, nil},
		{"on this machine beside a cluster", cluster, [][]starter{nil, {sandbox, control}}, onMachine, []string{"runsc", "cilium", "bench"}},
		{"a switch beside pods", cluster, [][]starter{nil, {control}}, inPods, []string{"cilium"}},
		{"never without a command in front", local, [][]starter{{sandbox}}, onMachine, []string{"runsc"}},
	} {
		x := &experiment.Experiment{Testbed: test.bed, Workloads: []experiment.WorkloadItem{{Config: test.load}}}
		for _, layers := range test.arms {
			var arm experiment.Arm
			for _, l := range layers {
				arm.Layers = append(arm.Layers, experiment.LayerItem{Config: l})
			}
			x.Arms = append(x.Arms, arm)
		}
		var got []string
		for _, p := range x.ProgramsHere() {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

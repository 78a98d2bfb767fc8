package experiment

import "slices"

// Program is a program that a layer or a workload starts, as the file names it.
type Program struct {
	Name  string
	Dir   string // that a relative name starts from; "": the working directory
	Where Where
	// Front is the program with its arguments where it stands in front of others, if that can be
	// tried: with another program behind them it starts that one.
	Front []string
}

// Where says where a program must exist.
type Where int

// The places of programs. On the testbed local all of them are this machine.
const (
	OnMachine Where = iota // the machine that Tare runs on, whatever the testbed
	AtSite                 // the site's pods and nodes
	InFront                // in front of the workloads' programs, wherever those run
)

// ProgramsHere lists the programs that must be on the machine that Tare runs on. A
// workload's is among them only if some arm starts it as it is: behind a command in
// front it may be one that only a container has.
func (x *Experiment) ProgramsHere() []Program {
	var here []Program
	add := func(p Program, there bool) {
		same := func(o Program) bool { return o.Name == p.Name && slices.Equal(o.Front, p.Front) }
		if there && p.Name != "" && !slices.ContainsFunc(here, same) {
			here = append(here, p)
		}
	}
	local := x.Testbed.Kubernetes == nil
	loads := local || slices.ContainsFunc(x.Workloads, func(w WorkloadItem) bool { return !w.Config.Declare().Needs.PodsOnClusters() })
	bare := false
	for _, a := range x.Arms {
		hidden := false
		for _, l := range a.Layers {
			for _, p := range l.Config.Declare().Programs {
				hidden = hidden || p.Where == InFront
				add(p, p.Where == OnMachine || local || p.Where == InFront && loads)
			}
		}
		bare = bare || !hidden
	}
	for _, w := range x.Workloads {
		for _, p := range w.Config.Declare().Programs {
			add(p, bare && (local || p.Where == OnMachine))
		}
	}
	return here
}

package experiment

import "slices"

// Program is a program that a layer or a workload starts, with its name in the file.
type Program struct {
	Name  string
	Dir   string // the directory that a relative name starts from; "": the working directory
	Where Where
	// Front is set for a wrapper that can be tried. It holds the wrapper and its arguments. If another
	// program stands after these arguments, the wrapper starts that program.
	Front []string
}

// Where is the place where a program must exist.
type Where int

// The places of programs. On the local testbed, all of them are this machine.
const (
	OnMachine    Where = iota // the machine that Tare runs on, for any testbed
	AtSite                    // the site's pods and nodes
	WrapperPlace              // the place where the workloads' programs run, which this program wraps
)

// ProgramsHere lists the programs that must be on the machine that Tare runs on. A workload's program is in
// the list only if some arm starts it without a wrapper, since a wrapped program may exist only in a
// container.
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
				hidden = hidden || p.Where == WrapperPlace
				add(p, p.Where == OnMachine || local || p.Where == WrapperPlace && loads)
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

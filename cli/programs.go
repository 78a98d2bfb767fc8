package cli

import (
	"os/exec"
	"path/filepath"
	"slices"

	"tare/experiment"
	"tare/testbed"
)

// programmed is a layer or a workload whose file names a program to start, and
// the directory that a relative path of it starts from.
type programmed interface {
	Program() (program, dir string)
}

// programming is a layer that starts several programs beside the workload, on the
// machine of Tare.
type programming interface {
	Programs() []string
}

// programs looks for the programs that the experiment names. A workload's is
// looked for when an arm starts it as it is: behind a command in front it may be
// one that only a container has.
func programs(x *experiment.Experiment) []part {
	var parts []part
	find := func(program, dir string) {
		if program == "" || slices.ContainsFunc(parts, func(p part) bool { return p.Name == program }) {
			return
		}
		parts = append(parts, part{"program", program, []testbed.Finding{findProgram(program, dir)}})
	}
	look := func(config any) {
		if named, ok := config.(programmed); ok {
			find(named.Program())
		}
		if several, ok := config.(programming); ok {
			for _, program := range several.Programs() {
				find(program, "")
			}
		}
	}
	bare := false
	for _, a := range x.Arms {
		inFront := false
		for _, l := range a.Layers {
			look(l.Config)
			_, wraps := l.Config.(programmed)
			inFront = inFront || wraps
		}
		bare = bare || !inFront
	}
	if bare {
		for _, w := range x.Workloads {
			if x.Testbed.Name() == experiment.TestbedLocal || !w.Config.Needs().Pods() {
				look(w.Config)
			}
		}
	}
	return parts
}

func findProgram(program, dir string) testbed.Finding {
	f := testbed.Finding{Name: "program", Status: testbed.Works}
	where := program
	if filepath.Base(program) != program && !filepath.IsAbs(program) && dir != "" {
		where = filepath.Join(dir, program)
	}
	path, err := exec.LookPath(where)
	if err != nil {
		f.Status, f.Detail = testbed.Missing, err.Error()
		f.Hint = "install it, or correct its name in the experiment file"
		return f
	}
	f.Detail = path
	return f
}

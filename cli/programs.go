package cli

import (
	"os/exec"
	"path/filepath"

	"tare/experiment"
	"tare/testbed"
)

// programs looks for the programs that the experiment needs on this machine.
func programs(x *experiment.Experiment) []part {
	var parts []part
	for _, p := range x.ProgramsHere() {
		parts = append(parts, part{"program", p.Name, []testbed.Finding{findProgram(p)}})
	}
	return parts
}

func findProgram(p experiment.Program) testbed.Finding {
	f := testbed.Finding{Name: "program", Status: testbed.Works}
	where := p.Name
	if filepath.Base(where) != where && !filepath.IsAbs(where) && p.Dir != "" {
		where = filepath.Join(p.Dir, where)
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

package compare

import (
	"tare/analysis"
	"tare/experiment"
)

// Examination is what runs tell of themselves besides their trials.
type Examination struct {
	Runs []Run
	// Differences and Same are the properties that the runs tell, the important
	// ones first. Unknown is what cannot be compared.
	Differences []Property
	Same        []Property
	Unknown     []analysis.Finding
	Apart       []Apart // arms, cells and metrics that not every run has in the same form
}

// Examine says in what runs differ, for those who ask something else of them than
// Runs does. It is an error if two of them hold the same trials, or have no cell in
// common.
func Examine(in []Input) (*Examination, error) {
	if err := distinct(in); err != nil {
		return nil, err
	}
	c := &comparison{in: in, reference: Reference{Run: 1}, result: &Result{}}
	if len(in) > 0 {
		c.reference.Arm = in[0].Run.Plan.ArmWith(experiment.Baseline)
	}
	for i := range in {
		c.result.Runs = append(c.result.Runs, c.describe(i))
	}
	if _, err := c.align(); err != nil {
		return nil, err
	}
	c.differences()
	r := c.result
	return &Examination{Runs: r.Runs, Differences: r.Differences, Same: r.Same, Unknown: r.Unknown, Apart: r.Apart}, nil
}

// Asked says whether a property is one of what a run asks: of its layers, workloads
// and testbed with their parameters (experiment.Aside says which are none), and of the rules by which it is judged. Two runs
// that differ in none of them ask the same question, on whatever machine and with
// however many rounds.
func (p Property) Asked() bool {
	switch p.Group {
	case Layers, Testbed, Workloads:
		return !p.Minor
	case Design:
		return p.Path == designConfidence || p.Path == designMargin
	case Imported:
		return p.Path == importFormat
	}
	return false
}

// Conduct says whether a property, which is none of the question, may matter to the answer: into what trials are cut, and,
// where some fail, how long they may take.
func (p Property) Conduct(failed bool) bool {
	return p.Group == Design && p.Path == designSlices || p.Limit && failed
}

// Paths of properties that Asked and Conduct look for.
const (
	designConfidence = "confidence"
	designMargin     = "equivalence margin"
	designSlices     = "slices"
	importFormat     = "format"
)

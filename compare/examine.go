package compare

// Examine says in what runs differ, for those who ask something else of them than
// Runs does: the result has its Runs, Differences, Same, Unknown and Apart only. It is an
// error if two of them hold the same trials, or have no cell in common.
func Examine(in []Input) (*Result, error) {
	c, _, err := begin(in, Options{})
	if err != nil {
		return nil, err
	}
	return c.result, nil
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

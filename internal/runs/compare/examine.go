package compare

// Properties compares the properties of runs for callers that make their own comparisons. Its result
// has only Runs, Differences, Same, Unknown and Apart. It returns an error if two runs hold the
// same trials, or the runs have no cell in common.
func Properties(in []Input) (*Result, error) {
	c, _, err := begin(in, Options{})
	if err != nil {
		return nil, err
	}
	return c.result, nil
}

// InQuestion reports whether a property is part of a run's question: the layers, workloads and testbed with
// their parameters (except those that experiment.OutsideQuestion names), and the rules for its verdicts.
// Two runs that agree on all of these ask the same question, on whatever machine and with whatever number
// of rounds.
func (p Property) InQuestion() bool {
	switch p.Group {
	case layers, testbed, workloads:
		return !p.Minor
	case design:
		return p.Path == designConfidence || p.Path == designMargin
	case imported:
		return p.Path == importFormat
	}
	return false
}

// AffectsResult reports whether a property that is not part of the question may affect the result: the
// slicing of trials and, if some trials failed, their time limits.
func (p Property) AffectsResult(failed bool) bool {
	return p.Group == design && p.Path == designSlices || p.Limit && failed
}

// Paths of properties that Asked and Conduct compare with.
const (
	designConfidence = "confidence"
	designMargin     = "equivalence margin"
	designSlices     = "slices"
	importFormat     = "format"
)

package analysis

import "slices"

// severity lists the kinds of findings by how much they change the meaning of a number. First come findings
// after which the number measures something else, then findings that make the number less certain, then
// mere information.
var severity = []string{
	// The number measures something else.
	Bound{}.Kind(),
	// The program may not have done its work.
	OtherBehaviour{}.Kind(),
	// The layer may not be the cause of the difference.
	StandIn{}.Kind(), Unexercised{}.Kind(), StartUp{}.Kind(), OverCap{}.Kind(), UnlimitedLink{}.Kind(), ControlDiffers{}.Kind(), Uncontrolled{}.Kind(), OneSetUp{}.Kind(),
	// The verdict may be wrong.
	Busy{}.Kind(), Unfinished{}.Kind(), MeanDiffers{}.Kind(), Stalling{}.Kind(), MoreRepeats{}.Kind(), Disagreement{}.Kind(), FewRounds{}.Kind(), FewValues{}.Kind(),
	Extended{}.Kind(), Omission{}.Kind(), OddSeries{}.Kind(), UnequalSpread{}.Kind(), Interrupted{}.Kind(), LevelChanges{}.Kind(),
	// The size or the interval may be wrong.
	WeakClaim{}.Kind(), NormalPairs{}.Kind(), NormalSamples{}.Kind(), Autocorrelation{}.Kind(), OrderEffect{}.Kind(),
	UnusableValues{}.Kind(), Switching{}.Kind(), Sliced{}.Kind(), Remark{}.Kind(),
}

// Severity returns the rank of a finding in the order of importance to a reader, from 0.
func Severity(f Finding) int {
	if i := slices.Index(severity, f.Kind()); i >= 0 {
		return i
	}
	return len(severity)
}

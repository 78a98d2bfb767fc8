package analysis

import "slices"

// severity is the kinds of findings by how much they change what a number says: first what makes a
// claim one of something else, then what makes it less sure than it looks, then what is good to know.
var severity = []string{
	// The number is that of something else.
	Bound{}.Kind(),
	// The program may not have done its work.
	OtherBehaviour{}.Kind(),
	// The difference may not be the layer's.
	StandIn{}.Kind(), Unexercised{}.Kind(), StartUp{}.Kind(), OverCap{}.Kind(), UnlimitedLink{}.Kind(), ControlDiffers{}.Kind(), Uncontrolled{}.Kind(), OneSetUp{}.Kind(),
	// The verdict may be another one.
	Busy{}.Kind(), Unfinished{}.Kind(), MeanDiffers{}.Kind(), Stalling{}.Kind(), MoreRepeats{}.Kind(), Disagreement{}.Kind(), FewRounds{}.Kind(), FewValues{}.Kind(),
	Extended{}.Kind(), Omission{}.Kind(), OddSeries{}.Kind(), UnequalSpread{}.Kind(), Interrupted{}.Kind(), LevelChanges{}.Kind(),
	// The size, or the interval, may be.
	WeakClaim{}.Kind(), NormalPairs{}.Kind(), NormalSamples{}.Kind(), Autocorrelation{}.Kind(), OrderEffect{}.Kind(),
	UnusableValues{}.Kind(), Switching{}.Kind(), Sliced{}.Kind(), Remark{}.Kind(),
}

// Severity is the rank of a finding in the order in which a reader must know of it, from 0.
func Severity(f Finding) int {
	if i := slices.Index(severity, f.Kind()); i >= 0 {
		return i
	}
	return len(severity)
}

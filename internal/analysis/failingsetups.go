package analysis

import (
	"maps"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/stats"
)

// against compares an arm with its references: the baseline, and the control if both are pooled. The
// interval of the difference is made from the intervals of both shares (Zou and Donner 2008, "Construction
// of confidence limits about effect measures", Statistics in Medicine 27). If rounds share set-ups, all
// executions of a set-up may fail together. The interval is then multiplied by the root of the executions
// per set-up, the largest possible design effect (Rao and Scott 1992, Biometrics 48).
func (f *failureTest) against(arm failureCount, references []failureCount, r contrast.Rules) {
	of := sum(references)
	reference, wider := frequency(of.failed, of.executions, r.AtLook()), 1.0
	f.Reference, f.P, f.Method = &reference, r.TwoSided(arm.differs(references)), methodFisher
	if n := len(arm.setUps); n > 0 {
		f.Method, wider = MethodSetUps, math.Sqrt(float64(arm.executions)/float64(n))
	}
	x, y := f.Failed.Share, reference.Share
	d := x.Point - y.Point
	f.Difference = Interval{Point: d, Lo: max(-1, d-wider*math.Hypot(x.Point-x.Lo, y.Hi-y.Point)), Hi: min(1, d+wider*math.Hypot(x.Hi-x.Point, y.Point-y.Lo))}
}

// differs returns the p-value of "no difference in failures between an arm and its references". Executions
// are compared by Fisher's exact test. If rounds share set-ups, a permutation test exchanges the numbers of
// failures of each set-up between the arm and its references. A reference that has fewer or more executions
// in a set-up than the arm is left out of that set-up.
func (n failureCount) differs(references []failureCount) float64 {
	if n.setUps == nil {
		return fisher(n.executed, sum(references).executed)
	}
	var blocks [][]int
	for _, setUp := range slices.Sorted(maps.Keys(n.setUps)) {
		block := []int{n.setUps[setUp].failed}
		for _, other := range references {
			if other := other.setUps[setUp]; other.executions == n.setUps[setUp].executions {
				block = append(block, other.failed)
			}
		}
		blocks = append(blocks, block)
	}
	return stats.PermutedCounts(blocks)
}

// testable reports whether the failures in all arms of the cell could be significant for this arm, if
// chance had assigned them to other arms.
func (n failureCount) testable(references, arms []failureCount, alpha float64) bool {
	all := sum(arms)
	if n.setUps == nil {
		return testable(all.failed, n.executions, sum(references).executions, alpha)
	}
	failing := 0
	for _, s := range all.setUps {
		failing += min(s.failed, 1)
	}
	return math.Pow(float64(1+len(references)), -float64(failing)) <= alpha
}

// sum adds up the executions of several arms.
func sum(list []failureCount) (all failureCount) {
	all.setUps = map[int]executed{}
	for _, n := range list {
		all.executed = all.plus(n.executed)
		for setUp, s := range n.setUps {
			all.setUps[setUp] = all.setUps[setUp].plus(s)
		}
	}
	return all
}

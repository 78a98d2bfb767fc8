package analysis

import (
	"maps"
	"math"
	"slices"

	"tare/stats"
)

// differs is the p that an arm fails as its references do, of which there is one or two.
func (n tally) differs(references []tally) float64 {
	if n.setUps == nil {
		return fisher(n, sum(references))
	}
	var blocks [][]int
	for _, setUp := range slices.Sorted(maps.Keys(n.setUps)) {
		block := []int{n.setUps[setUp].failed}
		for _, other := range references {
			if s, there := other.setUps[setUp]; there {
				block = append(block, s.failed)
			}
		}
		blocks = append(blocks, block)
	}
	return stats.DealtCounts(blocks)
}

// able says whether what failed in all arms of the cell could be a finding on this one, however it were dealt out.
func (n tally) able(references, arms []tally, alpha float64) bool {
	if n.setUps == nil {
		return able(sum(arms).failed, n.executions, sum(references).executions, alpha)
	}
	failing := map[int]bool{}
	for _, arm := range arms {
		for setUp, s := range arm.setUps {
			failing[setUp] = failing[setUp] || s.failed > 0
		}
	}
	least := 1.0
	for _, any := range failing {
		if any {
			least /= float64(1 + len(references))
		}
	}
	return least <= alpha
}

// sum is all executions of some arms together.
func sum(list []tally) (all tally) {
	for _, n := range list {
		all.executions, all.failed = all.executions+n.executions, all.failed+n.failed
	}
	return all
}

// designEffect is by how many times the variance of a share is that of independent executions, since those
// of a set-up fail together: the mean square between the set-ups of the arms over the binomial variance (Rao
// and Scott 1992). It is at least 1, and at most the executions of a set-up, which it is where nothing tells.
func designEffect(arms []tally) float64 {
	var seen, binomial, free float64
	executions, setUps := 0, 0
	for _, n := range arms {
		share := float64(n.failed) / float64(max(n.executions, 1))
		for _, s := range n.setUps {
			off := float64(s.failed) - share*float64(s.executions)
			seen += off * off
		}
		k := float64(len(n.setUps))
		binomial += float64(n.executions) * share * (1 - share)
		free += k - 1
		executions, setUps = executions+n.executions, setUps+len(n.setUps)
	}
	most := float64(executions) / float64(max(setUps, 1))
	if !(binomial > 0 && free > 0) {
		return math.Max(1, most)
	}
	return min(max(1, seen/binomial*float64(setUps)/free), most)
}

package analysis

import (
	"maps"
	"math"
	"slices"

	"tare/internal/analysis/contrast"
	"tare/internal/run/journal"
	"tare/internal/stats"
)

// SetUps counts the set-ups of a run's arms. Rounds of one set-up are not independent: they share random properties,
// such as memory layout.
type SetUps struct {
	Count    int `json:"count"`    // number of set-ups
	Rounds   int `json:"rounds"`   // number of rounds that the set-ups served
	Sessions int `json:"sessions"` // number of sessions; each has at least one set-up of its own
}

// setUpsOf counts the set-ups of a run; zero if the trials do not record their set-ups.
func setUpsOf(trials []journal.Trial) SetUps {
	counts, rounds, sessions := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for i := range trials {
		t := &trials[i]
		if t.SetUp == 0 {
			return SetUps{}
		}
		counts[t.SetUp], rounds[t.Round], sessions[t.Session] = true, true, true
	}
	return SetUps{Count: len(counts), Rounds: len(rounds), Sessions: len(sessions)}
}

// Known reports whether the trials record the set-up in which they ran.
func (s SetUps) Known() bool { return s.Count > 0 }

// Once reports whether each session had only one set-up. The results may then hold for these set-ups alone.
func (s SetUps) Once() bool { return s.Known() && s.Count <= s.Sessions }

// Shared reports whether a session had several set-ups, some with several rounds. The set-up is then the unit of
// analysis (Kalibera and Jones 2013, section 6).
func (s SetUps) Shared() bool { return s.Known() && !s.Once() && s.Count < s.Rounds }

// BetweenSetUps tells how much an overhead varies between set-ups, beyond its variation between rounds: the variance
// component of a one-way layout (Searle, Casella and McCulloch 1992, section 3.6).
type BetweenSetUps struct {
	SetUps int `json:"setUps"` // number of set-ups that the values come from
	Rounds int `json:"rounds"` // number of rounds that the set-ups served
	// SD is the standard deviation between set-ups, on the scale of the overhead; 0: set-ups differ no more than rounds
	// of one set-up do.
	SD float64 `json:"sd"`
	// Most is an upper bound of SD, at the design's confidence; -1: no bound can be computed.
	Most float64 `json:"most"`
	F    float64 `json:"f"` // mean square between set-ups, divided by the mean square within set-ups; 0 if the latter is 0
	P    float64 `json:"p"` // p-value of "no difference between set-ups"
}

// spreadBetween estimates the variation between set-ups; nil if no two rounds share a set-up.
func spreadBetween(d *contrast.Data, confidence float64) *BetweenSetUps {
	bySetUp := map[int][]float64{}
	for i, s := range d.SetUps {
		bySetUp[s] = append(bySetUp[s], d.Contrasts[i])
	}
	groups := slices.SortedFunc(maps.Values(bySetUp), slices.Compare) // sorted, since rounding makes a sum depend on the order of its terms
	n, k := float64(len(d.SetUps)), float64(len(groups))
	if k < 2 || n <= k {
		return nil
	}
	grand := stats.Mean(d.Contrasts)
	var among, within, squares float64
	for _, g := range groups {
		size, mean := float64(len(g)), stats.Mean(g)
		for _, c := range g {
			within += (c - mean) * (c - mean)
		}
		among += size * (mean - grand) * (mean - grand)
		squares += size * size
	}
	among, within = among/(k-1), within/(n-k)
	each := (n - squares/n) / (k - 1) // rounds per set-up: an effective number, since set-ups may differ
	b := &BetweenSetUps{SetUps: len(groups), Rounds: len(d.SetUps), P: 1, Most: -1}
	if within == 0 {
		return b
	}
	ratio := among / within
	b.F, b.P = ratio, stats.FTail(ratio, k-1, n-k)
	size := func(variance float64) float64 {
		return math.Abs(contrast.Magnitude(math.Sqrt(max(0, variance)), d.Metric))
	}
	b.SD = size((among - within) / each)
	// The bound is that of Williams (1962): the ratio of the variances is below (F ÷ F's lower quantile − 1) ÷ n. F
	// counts as at least 1, since alike set-ups can be chance.
	b.Most = size(within * (max(ratio, 1)/stats.FQuantile(1-confidence, k-1, n-k) - 1) / each)
	return b
}

// BlockOverhead is the overhead within one block (deployment) of an import. The interval leaves out differences between
// deployments, so a block gets no verdict.
type BlockOverhead struct {
	Block     string   `json:"block"`  // name of the block
	Rounds    int      `json:"rounds"` // number of complete pairs in the block
	Overhead  Interval `json:"overhead"`
	PointOnly bool     `json:"pointOnly,omitempty"` // set if Overhead has no interval, since the block has too few values
}

// blocks maps each round to the number of its block in an import; nil if the import has no blocks.
func (t *table) blocks() map[int]int {
	if t.plan.Import == nil || t.plan.Import.Blocks == nil {
		return nil
	}
	of := map[int]int{}
	for _, cell := range t.slots {
		for _, arm := range cell {
			for v := range valid(arm) {
				of[v.Round] = v.SetUp
			}
		}
	}
	return of
}

// onlyBlock returns the name of the block if an import has exactly one; "": the run has no blocks.
func (t *table) onlyBlock() string {
	if t.blockOf == nil {
		return ""
	}
	for _, b := range t.blockOf {
		if b >= 1 && b <= len(t.plan.Import.Blocks) {
			return t.plan.Import.Blocks[b-1]
		}
	}
	return ""
}

func (x explainer) inBlocks(h *hypothesis) (list []BlockOverhead) {
	if x.table == nil || x.table.blockOf == nil {
		return nil
	}
	byBlock := map[int][]float64{}
	for i, round := range h.Rounds {
		b := x.table.blockOf[round]
		byBlock[b] = append(byBlock[b], h.Contrasts[i])
	}
	for i, name := range x.plan.Import.Blocks {
		contrasts := byBlock[i+1]
		if contrasts == nil {
			continue
		}
		d := contrast.Data{Metric: h.Metric, Paired: true, Means: h.Means, Contrasts: contrasts, Moved: make([]int, len(contrasts))}
		b := hypothesis{Question: Question{Data: d}, Estimate: x.Estimate(&d)}
		list = append(list, BlockOverhead{Block: name, Rounds: len(contrasts), PointOnly: !b.Main.OK,
			Overhead: Interval(contrast.Overheads(b.shown(b.Main), h.Metric))})
	}
	return list
}

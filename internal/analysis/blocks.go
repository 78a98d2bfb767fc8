package analysis

import (
	"tare/internal/analysis/contrast"
)

// BlockOverhead is the overhead within one block of an import: the block's arm against the block's
// baseline. The interval comes from the repeats within the block. The interval does not cover differences
// between deployments, so a block gets no verdict.
type BlockOverhead struct {
	Block     string   `json:"block"`  // name of the block
	Rounds    int      `json:"rounds"` // complete pairs in the block
	Overhead  Interval `json:"overhead"`
	PointOnly bool     `json:"pointOnly,omitempty"` // Overhead is a point without an interval, since the values allow none
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

// onlyBlock returns the name of the block of an import that has exactly one; "" for a run without blocks.
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

// inBlocks returns the overhead of each block that has a pair, in the order of the plan.
func (x explainer) inBlocks(h *hypothesis) (list []BlockOverhead) {
	if x.table == nil || x.table.blockOf == nil {
		return nil
	}
	by := map[int][]float64{}
	for i, round := range h.Rounds {
		b := x.table.blockOf[round]
		by[b] = append(by[b], h.Contrasts[i])
	}
	for i, name := range x.plan.Import.Blocks {
		contrasts := by[i+1]
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

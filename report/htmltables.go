package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/wording"
)

// pageBlock is a cell of a table.
type pageBlock struct {
	ID, Levels string
	Loop       string // of a closed loop
	Groups     []pageGroup
}

// pageGroup is a metric of a table.
type pageGroup struct {
	Metric, Better, Baseline, BaselineName, Changes, Methods, Restates string
	Rows                                                               []pageRow
}

// pageRow is an arm of a table.
type pageRow struct {
	Arm     string
	Control bool
	Verdict pageVerdict
	// Results.
	Point, Interval, Median, MDE, Floor, Rounds string
	Aside                                       string // what it would be with failed trials
	// Diagnostics.
	T, P, Holm, Equiv, Needed, Lag1, OrderP string
}

// pageTable is a table of results.
type pageTable struct {
	Blocks     []pageBlock
	HasControl bool
	SizeHead   string
}

// Table makes the table of results of some blocks; the template asks for it.
func (p *page) Table(blocks []pageBlock) pageTable {
	return pageTable{blocks, p.HasControl, p.SizeHead}
}

// tables fills the tables of results and diagnostics.
func (p *page) tables(s *sheet) {
	p.Headline, p.Exploratory = s.pageBlocks(true), s.pageBlocks(false)
	p.ExploratoryCount = wording.Count(len(s.groups(false)), "metric", "metrics")
	p.Diagnostics = append(p.Diagnostics, p.Headline...)
	for _, b := range p.Exploratory {
		b.ID += ", exploratory"
		p.Diagnostics = append(p.Diagnostics, b)
	}
	if s.run.Family > 0 {
		p.FamilyNote = fmt.Sprintf("%s tested together and corrected by Holm's method.",
			wording.Count(s.run.Family, "comparison of a headline metric is", "comparisons of headline metrics are"))
	}
}

// pageBlocks are the cells with their headline or exploratory metrics.
func (s *sheet) pageBlocks(headline bool) []pageBlock {
	var list []pageBlock
	for _, b := range s.blocks {
		block := pageBlock{ID: plain(b.id), Levels: b.levels}
		if headline || len(b.only(true)) == 0 {
			block.Loop = tie(s.loop(b.id))
		}
		for _, g := range b.only(headline) {
			if len(g.lines()) == 0 {
				continue
			}
			pg := pageGroup{Metric: plain(g.metric.Name), Better: plain(string(g.metric.Better)), Changes: g.changes(), Restates: g.restates()}
			if v, ok := g.baselineMedian(); ok {
				pg.Baseline, pg.BaselineName = wording.Value(v, g.metric.Unit), s.baseline
			}
			for _, c := range g.lines() {
				pg.Rows = append(pg.Rows, s.pageRow(c))
			}
			pg.Methods = g.methods()
			block.Groups = append(block.Groups, pg)
		}
		if block.Groups != nil {
			list = append(list, block)
		}
	}
	return list
}

// pageRow writes a comparison's numbers.
func (s *sheet) pageRow(c analysis.Comparison) pageRow {
	row := pageRow{Arm: plain(c.Arm), Control: s.role(c.Arm) == experiment.Control, Verdict: badge(c.Verdict, s.observes(c.Verdict)),
		Rounds: valueCount(c), Aside: s.aside(c)}
	row.Point, row.Interval = wording.Overhead(c)
	if !wording.Judged(c) {
		return row
	}
	if c.Treated.N > 0 {
		row.Median = wording.Value(c.Treated.Median, c.Metric.Unit)
	}
	if c.MDE > 0 {
		row.MDE = wording.Size(c.Metric, c.MDE)
	}
	if !row.Control && len(s.run.Controls) > 0 {
		row.Floor = wording.Size(c.Metric, c.Floor)
	}
	if p, i := wording.Written(c, c.T, wording.Signed); i != "" && c.T.Lo < c.T.Hi {
		row.T = p + " " + i
		if !c.EstimatorsAgree {
			row.T = "≠ " + row.T
		}
	}
	row.P = wording.Probability(c.P)
	if c.Paired {
		row.Lag1, row.OrderP = wording.Fixed(c.Lag1, 2), wording.Probability(c.OrderP)
	}
	if c.Metric.Headline && !row.Control {
		row.Holm = wording.Probability(c.PAdjusted)
	}
	if wording.IsRatio(c.Metric) {
		row.Equiv = wording.Probability(c.PEquivAdjusted)
	}
	if c.Needed > 0 {
		row.Needed = wording.Number(float64(c.Needed), 9)
	}
	return row
}

// methods names where the headline intervals of a group come from.
func (g group) methods() string {
	var list []string
	for _, c := range g.lines() {
		if m := plain(c.Method); wording.Judged(c) && m != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return strings.Join(list, " and ")
}

// changes says at which rounds the baseline's level changed.
func (g group) changes() string {
	if g.series == nil || len(g.series.Changes) == 0 {
		return ""
	}
	var rounds []string
	for _, r := range g.series.Changes {
		rounds = append(rounds, fmt.Sprint(r))
	}
	return "the baseline's level changes at round " + strings.Join(rounds, ", ")
}

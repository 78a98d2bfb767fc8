package analysis

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/experiment"
)

// ArmSummary summarises the verdicts of one arm. It covers each headline metric in all cells that have that metric.
type ArmSummary struct {
	Arm string `json:"arm"` // name of the arm
	// Verdict is Costs after any cost or more failures, Gains after any gain or fewer failures, and "" if an arm has
	// results of both kinds. Without results of either kind, Verdict is the common verdict of all points, or
	// NotResolved.
	Verdict  Verdict    `json:"verdict"`
	Cells    []string   `json:"cells"`  // cells in which the arm is compared on headline metrics
	Points   []Point    `json:"points"` // comparisons, joined by metric and verdict: costs first, then gains, then other verdicts
	Failures []Failures `json:"-"`      // cells in which the program fails more often, or less often, than in the baseline
}

// Point joins the comparisons of one arm on one metric that have the same verdict, over all cells.
type Point struct {
	Metric  experiment.Metric `json:"metric"`
	Verdict Verdict           `json:"verdict"`
	Grade   Grade             `json:"grade,omitempty"`  // Normal if at least one of the joined comparisons has the grade Normal
	Reason  Reason            `json:"-"`                // reason of the first of the joined comparisons
	Margin  float64           `json:"margin,omitempty"` // margin of equivalence, as in Comparison
	Cells   []string          `json:"cells"`            // cells of the comparisons
	Of      int               `json:"of"`               // number of cells in which the metric is compared, whatever the verdict
	// The four overheads below are on the scale of Comparison.Overhead.
	Least float64 `json:"least"` // smallest overhead
	Most  float64 `json:"most"`  // largest overhead
	Lo    float64 `json:"lo"`    // lowest bound of the intervals
	Hi    float64 `json:"hi"`    // highest bound of the intervals
	// Where names the cell whose overhead is farthest from zero.
	Where     string `json:"where"`
	PointOnly bool   `json:"pointOnly,omitempty"` // at least one comparison has no interval

	furthest float64
}

// ArmSummaries summarises each treatment that has a headline metric. Treatments with a cost or a gain come first.
func ArmSummaries(r *Run) (list []ArmSummary) {
	of := func(arm string) *ArmSummary {
		i := slices.IndexFunc(list, func(a ArmSummary) bool { return a.Arm == arm })
		if i < 0 {
			i, list = len(list), append(list, ArmSummary{Arm: arm})
		}
		return &list[i]
	}
	if r.Plan != nil {
		for _, a := range r.Plan.Arms {
			if a.Role == experiment.Treatment {
				of(a.Name)
			}
		}
	}
	for _, f := range r.Failures {
		if f.Verdict == Fails || f.Verdict == Gains {
			a := of(f.Arm)
			a.Failures = append(a.Failures, f)
		}
	}
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; c.Metric.Headline && c.Verdict != Restated {
			of(c.Arm).add(c)
		}
	}
	list = slices.DeleteFunc(list, func(a ArmSummary) bool { return a.Points == nil && a.Failures == nil })
	for i := range list {
		list[i].settle()
	}
	slices.SortStableFunc(list, func(a, b ArmSummary) int { return cmp.Compare(a.claims(), b.claims()) })
	return list
}

// claims returns a key for sorting arms: 0 if the arm has a cost, a gain or a different number of failures, otherwise
// 1.
func (a *ArmSummary) claims() int {
	if a.Failures != nil || slices.ContainsFunc(a.Points, func(p Point) bool { return p.Verdict == Costs || p.Verdict == Gains }) {
		return 0
	}
	return 1
}

var verdictOrder = []Verdict{Costs, Gains, Equivalent, NotResolved, Interim, Invalid}

func (a *ArmSummary) add(c *Comparison) {
	if !slices.Contains(a.Cells, c.Cell) {
		a.Cells = append(a.Cells, c.Cell)
	}
	i := slices.IndexFunc(a.Points, func(p Point) bool { return p.Metric.Name == c.Metric.Name && p.Verdict == c.Verdict })
	o := c.Overhead
	if i < 0 {
		i = len(a.Points)
		a.Points = append(a.Points, Point{Metric: c.Metric, Verdict: c.Verdict, Reason: c.Reason, Margin: c.Margin,
			Least: o.Point, Most: o.Point, Lo: o.Lo, Hi: o.Hi, Where: c.Cell, furthest: math.Abs(o.Point)})
	}
	p := &a.Points[i]
	p.Cells, p.Grade, p.PointOnly = append(p.Cells, c.Cell), cmp.Or(p.Grade, c.Grade), p.PointOnly || c.PointOnly
	p.Least, p.Most, p.Lo, p.Hi = min(p.Least, o.Point), max(p.Most, o.Point), min(p.Lo, o.Lo), max(p.Hi, o.Hi)
	if far := math.Abs(o.Point); far > p.furthest {
		p.furthest, p.Where = far, c.Cell
	}
}

func (a *ArmSummary) settle() {
	cells, has := map[string]int{}, map[Verdict]bool{}
	for _, p := range a.Points {
		cells[p.Metric.Name] += len(p.Cells)
		has[p.Verdict] = true
	}
	for _, f := range a.Failures {
		has[cmp.Or(map[Verdict]Verdict{Fails: Costs}[f.Verdict], f.Verdict)] = true
	}
	for i := range a.Points {
		a.Points[i].Of = cells[a.Points[i].Metric.Name]
	}
	slices.SortStableFunc(a.Points, func(x, y Point) int {
		return slices.Index(verdictOrder, x.Verdict) - slices.Index(verdictOrder, y.Verdict)
	})
	switch {
	case has[Costs] && has[Gains]:
	case has[Costs]:
		a.Verdict = Costs
	case has[Gains]:
		a.Verdict = Gains
	case len(has) == 1:
		a.Verdict = a.Points[0].Verdict
	default:
		a.Verdict = NotResolved
	}
}

// Overview summarises a run of many arms on one headline metric.
type Overview struct {
	Metric experiment.Metric
	// Costs counts the arms with a cost in some cell, Gains those with a gain and no cost, and Equivalent those
	// equivalent in every cell. Open counts all other arms.
	Costs, Gains, Equivalent, Open int
	Furthest                       *Comparison // the cost or gain whose overhead is farthest from zero; nil if no arm costs or gains
}

// Overviews returns one Overview per headline metric, in the order of the comparisons.
func Overviews(r *Run) (list []Overview) {
	var verdicts []map[string]map[Verdict]bool // the verdicts that occur, by metric and arm
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if !c.Metric.Headline || c.Verdict == Restated {
			continue
		}
		k := slices.IndexFunc(list, func(o Overview) bool { return o.Metric.Name == c.Metric.Name })
		if k < 0 {
			k, list, verdicts = len(list), append(list, Overview{Metric: c.Metric}), append(verdicts, map[string]map[Verdict]bool{})
		}
		if verdicts[k][c.Arm] == nil {
			verdicts[k][c.Arm] = map[Verdict]bool{}
		}
		verdicts[k][c.Arm][c.Verdict] = true
		if f := list[k].Furthest; (c.Verdict == Costs || c.Verdict == Gains) && (f == nil || math.Abs(c.Overhead.Point) > math.Abs(f.Overhead.Point)) {
			list[k].Furthest = c
		}
	}
	for k := range list {
		for _, has := range verdicts[k] {
			switch o := &list[k]; {
			case has[Costs]:
				o.Costs++
			case has[Gains]:
				o.Gains++
			case has[Equivalent] && len(has) == 1:
				o.Equivalent++
			default:
				o.Open++
			}
		}
	}
	return list
}

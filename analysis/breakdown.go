package analysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tare/analysis/contrast"
	"tare/experiment"
	"tare/experiment/factor"
	"tare/stats"
)

// Where a layer has a factor that counts something, such as rules, each level is an arm. What
// the arms cost is then made of three parts:
//
//	cost(N) = installed + any, if N > 0 + each × N
//
// Installed is what the layer costs with none, any what the first brings whatever their number
// (a hook that now has work to do), each the slope.
//
// The parts are found within rounds, as slopes are: in each round the costs of the levels, which
// are their differences to the baseline of that round, give a line by least squares, and
// with it one value of each part. Of ratio metrics each is divided by the same baseline. The values of
// rounds are estimated as pairs are, with set-ups as units where rounds share them. Any and each
// are sums of the arms' values with weights that add up to nothing, where there is a level 0:
// what a round has in common, the baseline included, cancels.

// Breakdown says of what the cost of an arm is made, for one metric in one cell.
type Breakdown struct {
	Cell    string            `json:"cell"`           // its ID
	Arm     string            `json:"arm"`            // as the file has it: "seccomp" for seccomp[rules=8] and its like
	Factor  string            `json:"factor"`         // "rules"
	Held    []factor.Level    `json:"held,omitempty"` // the other factors
	Metric  experiment.Metric `json:"metric"`
	Arms    []string          `json:"arms"`              // by level, in ascending order
	X       []float64         `json:"x"`                 // the levels
	LeftOut []string          `json:"leftOut,omitempty"` // levels that are no numbers
	Rounds  []int             `json:"rounds"`            // those with a value of the baseline and of every level
	Family  int               `json:"family"`            // parts on headline metrics of the run, which Holm's correction takes together
	Parts   []Part            `json:"parts"`
	// Line is the line's height at each level above zero, on the scale of the overheads.
	Line []Interval `json:"line"`
	Miss *Miss      `json:"miss,omitempty"` // nil: too few levels to doubt that it is a line
}

// Part is one part of a cost, in the form of a comparison: its overhead is a share of the
// baseline, or for a Difference metric in the metric's unit.
type Part struct {
	Comparison
	Part PartName `json:"part"`
	// Amount is the same in the metric's unit, a plus is a cost; nil where the overhead is that.
	Amount *Interval `json:"amount,omitempty"`
}

// PartName names a part of a cost.
type PartName string

// The parts.
const (
	Installed PartName = "installed" // level 0 against the baseline: that comparison itself
	AnyPart   PartName = "any"       // from none to any, whatever the number; without a level 0 from the baseline
	EachPart  PartName = "each"      // one more
)

// Miss says how far the cost at one level lies from the line through the other levels: at
// that one where it is the least likely by chance.
type Miss struct {
	X    float64  `json:"x"`              // that level
	By   Interval `json:"by"`             // on the scale of the overheads; a plus: it costs more than the line says
	Off  float64  `json:"off"`            // as a share of what the costs rise by over the levels above zero
	P    float64  `json:"p"`              // that the costs lie on a line; t tests of what is left at each level, corrected for their number
	Poor bool     `json:"poor"`           // by more than chance and by more than a little
	Bend string   `json:"bend,omitempty"` // which way costs leave the line, where they do: "steeper" or "flatter" towards higher levels
}

// mostFirst is the largest count at which levels above zero may begin: the line is
// followed from there down to none.
const mostFirst = 10

// counts says whether the levels count something.
func (l *ladder) counts() bool {
	if l.unit != "" || l.x[0] < 0 {
		return false
	}
	for _, x := range l.x {
		if x != math.Trunc(x) {
			return false
		}
	}
	return l.x[l.first()] <= mostFirst
}

// first is the index of the first level above zero.
func (l *ladder) first() int {
	if l.x[0] == 0 {
		return 1
	}
	return 0
}

// breakdowns are those of all arms whose layers have a factor that counts something.
func (x explainer) breakdowns(run *Run, j *judgement) (list []Breakdown) {
	t, base := x.table, role(x.plan, experiment.Baseline)
	if base < 0 || !x.plan.Paired() {
		return nil
	}
	var all []*rise
	var asked []*hypothesis
	for _, l := range armLadders(x.plan) {
		if !l.counts() {
			continue
		}
		for c, cell := range x.plan.Cells {
			for _, m := range cell.Metrics {
				if r := t.rises(c, l, base, m); len(r.rounds) > 0 {
					r.parts = []*hypothesis{r.ask(t, j, AnyPart), r.ask(t, j, EachPart)}
					all, asked = append(all, r), append(asked, r.parts...)
				}
			}
		}
	}
	decide(asked, nil, j.Rules)
	family, unfinished := claims(asked), t.unfinished()
	for _, r := range all {
		b := x.breakdown(r, run, unfinished)
		b.Family = family
		list = append(list, b)
	}
	return list
}

// breakdown puts what was judged into the form of the result, and explains it.
func (x explainer) breakdown(r *rise, run *Run, unfinished map[[2]string]Reason) Breakdown {
	b := Breakdown{Cell: r.cell, Arm: r.ladder.of, Factor: r.ladder.factor, Held: r.ladder.held, Metric: r.metric, X: r.x, LeftOut: r.leftOut, Rounds: r.rounds}
	for _, a := range r.steps {
		b.Arms = append(b.Arms, x.plan.Arms[a].Name)
	}
	add := func(name PartName, c Comparison, values []float64) {
		p := Part{Comparison: c, Part: name}
		if r.ratio() {
			at := r.located(x.plan, values).Interval
			p.Amount = &at
		}
		b.Parts = append(b.Parts, p)
	}
	if r.first() == 1 {
		if c := run.Comparison(r.cell, b.Arms[0], r.metric.Name); c != nil {
			add(Installed, *c, r.each(func(i int) float64 { return r.costs[i][0] }))
		}
	}
	for k, name := range []PartName{AnyPart, EachPart} {
		c := x.together(r.parts[k], run, r.steps, unfinished, func(c *Comparison) { c.Floor /= r.per(name) })
		add(name, c, r.amounts(name))
	}
	for _, level := range r.x[r.first():] {
		b.Line = append(b.Line, r.located(x.plan, r.scaled(r.each(func(i int) float64 { return r.lines[i].At(level) }))).Interval)
	}
	b.Miss = r.miss(x.Confidence)
	return b
}

// rise is what the arms of a ladder cost above the baseline, in the rounds that have a value
// of each.
type rise struct {
	ladder
	wholeRounds
	cell    string
	at      int // the cell's place in the plan
	metric  experiment.Metric
	pilot   int          // rounds of the pilot
	failed  [][]bool     // of rounds that lack a value since a program failed: at which levels, and last whether in the baseline
	base    []float64    // the baseline's value, by round
	costs   [][]float64  // by round and level, in the metric's unit; positive is a cost
	lines   []stats.Line // through the levels above zero, by round
	parts   []*hypothesis
	baseArm int
}

// rises collects the costs of the arms of a ladder in a cell. What a trial's place within the
// round does is taken away, as it is from pairs.
func (t *table) rises(c int, l ladder, base int, m experiment.Metric) *rise {
	r := &rise{ladder: l, cell: t.plan.Cells[c].ID, at: c, metric: m, baseArm: base}
	places := t.places(c, m)
	for i, round := range t.at[c] {
		var failed []bool
		read := func(arm int) (float64, bool) {
			s := &t.slots[c][arm][i]
			failed = append(failed, s.broke())
			v, ok := value(s.valid, m)
			return v * math.Exp(-places.of(s.valid)), ok
		}
		b, whole := read(base)
		costs := make([]float64, len(l.steps))
		for k, arm := range l.steps {
			v, ok := read(arm)
			whole = whole && ok
			if costs[k] = v - b; m.Better == experiment.Higher {
				costs[k] = b - v
			}
		}
		line, err := stats.FitLine(l.x[l.first():], costs[l.first():])
		switch {
		case whole && err == nil && moderate(line.Slope) && moderate(line.Intercept):
			r.rounds, r.base, r.costs, r.lines = append(r.rounds, round), append(r.base, b), append(r.costs, costs), append(r.lines, line)
			r.setUps = append(r.setUps, t.slots[c][base][i].valid.SetUp)
			if round <= t.plan.Rounds {
				r.pilot++
			}
		case slices.Contains(failed, true):
			r.failed = append(r.failed, append(failed[1:], failed[0]))
		}
	}
	r.setUps = t.sharedSetUps(r.setUps)
	return r
}

// ratio says whether costs are told as shares of the baseline.
func (r *rise) ratio() bool { return r.metric.Scale != experiment.Difference }

// amounts are a part's values by round, in the metric's unit.
func (r *rise) amounts(p PartName) []float64 {
	return r.each(func(i int) float64 { return r.amount(p, r.costs[i], r.lines[i]) })
}

func (r *rise) amount(p PartName, costs []float64, line stats.Line) float64 {
	switch {
	case p == EachPart:
		return line.Slope
	case r.first() == 1:
		return line.Intercept - costs[0]
	}
	return line.Intercept
}

// missing counts the rounds in which programs failed by what that does to a part: more cost at
// one level makes it larger, at another one smaller.
func (r *rise) missing(p PartName) (n contrast.Missing) {
	weights, all := make([]float64, len(r.x)+1), 0.0
	for k := range r.x {
		costs := make([]float64, len(r.x))
		costs[k] = 1
		line, _ := stats.FitLine(r.x[r.first():], costs[r.first():]) // as it did with the values
		weights[k] = r.amount(p, costs, line)
		all += weights[k]
	}
	weights[len(r.x)] = -all
	for _, failed := range r.failed {
		more, less := false, false
		for k, broke := range failed {
			more, less = more || broke && weights[k] > negligible, less || broke && weights[k] < -negligible
		}
		n.Add(less || !more, more || !less) // the slope is the same whatever the baseline is
	}
	return n
}

// negligible is a weight of no value, but for rounding.
const negligible = 1e-9

// scaled gives costs on the scale of overheads: of a ratio metric, as shares of the round's baseline.
func (r *rise) scaled(amounts []float64) []float64 {
	if !r.ratio() {
		return amounts
	}
	return r.each(func(i int) float64 { return contrast.Finite(amounts[i] / r.base[i]) })
}

// per is by what a bound on the cost of all is divided to be one on a part's: so many as there
// are at most add to each other.
func (r *rise) per(p PartName) float64 {
	if p == EachPart {
		return r.x[len(r.x)-1]
	}
	return 1
}

// largestShare bounds what a part may be of the baseline, where less than nothing is left of it.
const largestShare = 1 - 1e-6

// ask makes the hypothesis on a part. Of each, all together are to lie within the margin of equivalence.
func (r *rise) ask(t *table, j *judgement, p PartName) *hypothesis {
	m, last := r.metric, r.steps[len(r.steps)-1]
	d := contrast.Data{Metric: m, Paired: true, Uneven: true, Means: !r.ratio(), Rounds: r.rounds, SetUps: r.setUps, Pilot: r.pilot, Moved: make([]int, len(r.rounds))}
	d.Missing = r.missing(p)
	d.Contrasts = r.scaled(r.amounts(p))
	d.Margin = t.margin(r.at, m)
	if r.ratio() {
		for i, share := range d.Contrasts {
			bounded := max(share, -largestShare)
			if m.Better == experiment.Higher {
				bounded = min(share, largestShare)
			}
			d.Contrasts[i] = contrast.FromOverhead(bounded, m)
		}
		d.Margin = math.Log1p(math.Expm1(j.MarginOf(&d)) / r.per(p))
	} else {
		d.Margin /= r.per(p)
	}
	h := j.askTogether(t, r.at, last, r.baseArm, r.of, d)
	h.unplanned = true
	h.bias /= r.per(p)
	return h
}

// miss looks at how far each level lies from the line through the others; nil where
// these are too few to make a line that could miss it. What a line leaves at a level, over one less the weight
// of that level's value in its own place on the line, is the distance from the line through the other
// levels (Cook and Weisberg 1982, section 2.2): one test serves both.
func (r *rise) miss(confidence float64) *Miss {
	x := r.x[r.first():]
	if len(x) < leastLevels || len(r.rounds) < 2 {
		return nil
	}
	found := &Miss{X: x[len(x)-1], P: 1}
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	least, left := math.Inf(1), make([]float64, len(x))
	low, high := math.Inf(1), math.Inf(-1)
	for k := len(x) - 1; k >= 0; k-- { // of levels that say the same, the highest
		weight := 1/float64(len(x)) + (x[k]-mean)*(x[k]-mean)/squares
		by := unitsOf(r.scaled(r.each(func(i int) float64 {
			return (r.costs[i][r.first()+k] - r.lines[i].At(x[k])) / (1 - weight)
		})), r.setUps)
		cost := stat.Mean(r.scaled(r.each(func(i int) float64 { return r.costs[i][r.first()+k] })), nil)
		low, high = min(low, cost), max(high, cost)
		left[k] = stat.Mean(by, nil) * (1 - weight)
		p := missed(by)
		if p >= least*(1-1e-6) {
			continue
		}
		least = p
		found.X, found.P = x[k], min(1, p*float64(independent(len(x))))
		found.By = meanOf(by, confidence)
	}
	if high > low {
		found.Off = contrast.Finite(math.Abs(found.By.Point) / (high - low))
	}
	found.Poor = found.P <= fitLevel && found.Off >= fitMiss
	if found.Poor {
		found.Bend = bend(x, left)
	}
	return found
}

// meanOf is a mean with its t interval, and the mean alone where values do not vary.
func meanOf(values []float64, confidence float64) Interval {
	e, err := stats.PairedT(values, confidence)
	if err != nil {
		mean := contrast.Finite(stat.Mean(values, nil))
		return Interval{mean, mean, mean}
	}
	return Interval{contrast.Finite(e.Point), contrast.Finite(e.Lo), contrast.Finite(e.Hi)}
}

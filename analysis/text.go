package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/analysis/contrast"
	"tare/experiment"
)

// wording is what a verdict's sentence needs besides the comparison.
type wording struct {
	contrast.Rules
	plan          *experiment.Plan
	table         *table
	unit          unitEffects
	observational bool
	cells         []CellSummary // of the run; nil: of no single run
	versus        string        // of a comparison of two overheads: what the other one is
}

// sentence says the verdict with its numbers.
func (w wording) sentence(c *Comparison, h *hypothesis, valid bool) string {
	text := w.verdict(c, h)
	if !valid {
		text = c.Withheld("the run is invalid")
	}
	if c.Restates != "" {
		text = "restates " + c.Restates + ": " + text
	}
	if !c.Metric.Headline {
		text = "exploratory: " + text
	}
	if w.observational {
		text = "observational: " + text
	}
	return text
}

func (w wording) verdict(c *Comparison, h *hypothesis) string {
	control := w.plan.Arms[h.arm].Role == experiment.Control
	switch h.verdict {
	case Costs, Gains:
		if control {
			return "differs from the baseline by " + signed(c)
		}
		return w.directed(c)
	case Equivalent:
		text := w.directed(c)
		if c.Inner != nil {
			inner := *c.Inner
			if s := scaleFor(c.Overhead, c.Metric); c.Overhead.Point < 0 && !s.vanishes(c.Overhead.Point) {
				inner = turned(inner)
			}
			text += fmt.Sprintf("; the %s interval %s lies within", w.innerConfidence(), scaleFor(inner, c.Metric).within(inner))
		}
		return fmt.Sprintf("equivalent within ±%s (%s)", w.margin(), text)
	}
	return "not resolved: " + w.unresolved(c, h)
}

// unresolved says why neither a difference nor equivalence is claimed.
func (w wording) unresolved(c *Comparison, h *hypothesis) string {
	switch h.reason {
	case noPairs:
		return w.missing(h)
	case noSpread:
		if !h.Paired {
			return fmt.Sprintf("no value of either arm varies, which allows no interval of %s", values(h))
		}
		return fmt.Sprintf("all %d pairs have the same %s, which allows no interval under %d pairs", len(h.Contrasts), contrastName(c.Metric), least(w.Alpha))
	case noControl:
		return fmt.Sprintf("%s, but the control has no estimate on this metric to stand against", signed(c))
	case thinControl:
		return fmt.Sprintf("%s, but the control has only %d %s on this metric to stand against %d", signed(c), h.control.Size(), noun(h), h.Size())
	case notByHolm:
		return fmt.Sprintf("%s excludes 0 by itself, but not as one of %d claims (Holm %s; %s)", signed(c), h.family, probability(c.PAdjusted), w.unseen(c, h))
	case underBias:
		return fmt.Sprintf("%s, but the control differs by up to %s itself", signed(c), bound(w.overheadOf(h.bias, c.Metric), c.Metric))
	case straddling:
		return fmt.Sprintf("%s, %s: so many values are the same that the interval cannot exclude 0", signed(c), probability(c.PAdjusted))
	}
	if h.reason == reaching {
		text := "the tests of equivalence pass, but the interval reaches beyond twice"
		if c.Inner != nil {
			text = fmt.Sprintf("the %s interval %s lies within ±%s, but this one reaches beyond twice", w.innerConfidence(),
				scaleFor(*c.Inner, c.Metric).within(*c.Inner), w.margin())
		}
		return fmt.Sprintf("%s (%s that margin: a few %s decide)", signed(c), text, noun(h))
	}
	return signed(c) + " (" + w.unseen(c, h) + ")"
}

// innerConfidence is that of the interval that equivalence rests on: "90 %".
func (w wording) innerConfidence() string { return percent(w.Inner().Confidence) }

// noun names what a comparison rests on.
func noun(h *hypothesis) string {
	if h.Paired {
		return "pairs"
	}
	return "values"
}

// Withheld is the text of a comparison that gets no verdict, with the reason.
func (c *Comparison) Withheld(why string) string {
	text := "no verdict, " + why
	if !c.PointOnly {
		text += ": " + signed(c)
	}
	return text
}

// unseen says what could have been seen and what it would take.
func (w wording) unseen(c *Comparison, h *hypothesis) string {
	switch {
	case w.hopeless(h) && !h.Paired:
		return fmt.Sprintf("%s too few to claim anything of %s: at least %d of each arm are needed", agreed(values(h)), counted(h.family, "comparison"), leastValues(w.Alpha/float64(h.family)))
	case c.MDE == 0 && !h.Paired:
		return "the values do not vary, so that nothing says what could be seen"
	case c.Needed > 0 && !h.Paired:
		return fmt.Sprintf("differences under %s cannot be seen here; about %d values per arm would", bound(c.MDE, c.Metric), c.Needed)
	case w.hopeless(h):
		return fmt.Sprintf("%s too few to claim anything of %s: at least %d are needed", agreed(counted(len(h.Contrasts), "round")), counted(h.family, "comparison"), w.fewest(h))
	case c.MDE == 0:
		return "the pairs do not vary, so that nothing says what could be seen"
	case c.Needed > 0:
		return fmt.Sprintf("differences under %s cannot be seen here; about %d rounds would", bound(c.MDE, c.Metric), c.Needed)
	}
	return fmt.Sprintf("differences under %s cannot be seen here", bound(c.MDE, c.Metric))
}

// values counts those of two independent samples: "6 values per arm".
func values(h *hypothesis) string {
	if n := len(h.Baseline); n == len(h.Treated) {
		return counted(n, "value") + " per arm"
	}
	return fmt.Sprintf("%s of the baseline and %d of the arm", counted(len(h.Baseline), "value"), len(h.Treated))
}

// counted writes a number of things: "1 comparison", "2 comparisons".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// agreed puts a verb behind what was counted: "1 round is", "6 rounds are".
func agreed(count string) string {
	if strings.HasPrefix(strings.TrimPrefix(count, "at most "), "1 ") {
		return count + " is"
	}
	return count + " are"
}

// fewest is the number of rounds that any claim on a hypothesis needs.
func (w wording) fewest(h *hypothesis) int { return least(w.Alpha / float64(h.family)) }

// hopeless says whether so few rounds can support no claim.
func (w wording) hopeless(h *hypothesis) bool { return h.tooFew(w.Rules) }

// missing says why a comparison has fewer than two pairs, or values of an arm.
func (w wording) missing(h *hypothesis) string {
	head := "no valid pairs"
	switch {
	case !h.Paired:
		head = "too few valid values, " + values(h)
	case len(h.Contrasts) == 1:
		head = "only one valid pair"
	}
	if w.table == nil { // of no single run
		return head
	}
	if why := w.table.loss(h.cell, h.arm, h.Metric); why != "" {
		return head + ": " + why
	}
	if why := w.table.loss(h.cell, role(w.plan, experiment.Baseline), h.Metric); why != "" {
		return head + ": of the baseline, " + why
	}
	return head
}

// loss says what most trials of an arm are lost to, if most are.
func (t *table) loss(c, a int, m experiment.Metric) string {
	count, without, broken := 0, 0, map[string]int{}
	for _, s := range t.slots[c][a] {
		if s.attempts == 0 {
			continue
		}
		count++
		if s.valid == nil {
			broken[s.rule]++
		} else if _, ok := value(s.valid, m); !ok {
			without++
		}
	}
	if without*2 > count {
		return fmt.Sprintf("%d of %d trials have no usable value of %s", without, count, m.Name)
	}
	names, lost := slices.Sorted(maps.Keys(broken)), 0
	for _, n := range broken {
		lost += n
	}
	if lost*2 <= count {
		return ""
	}
	if len(names) == 1 {
		return fmt.Sprintf("%d of %d trials broke rule %s", lost, count, names[0])
	}
	return fmt.Sprintf("%d of %d trials broke rules %s", lost, count, strings.Join(names, ", "))
}

// directed writes an overhead by its direction: "costs 7.1 % [6.2, 8.0]", or of
// two overheads "costs 7.1 % [6.2, 8.0] more than in run 1". What would be written
// as zero has none.
func (w wording) directed(c *Comparison) string {
	word, more, o := "costs ", " more than ", c.Overhead
	if o.Point < 0 {
		o = turned(o)
		if word, more = "gains ", " less than "; w.versus != "" {
			word = "costs "
		}
	}
	s := scaleFor(o, c.Metric)
	for c.Verdict != Equivalent && s.vanishes(o.Point) && s.decimals < mostDecimals {
		s.decimals++
	}
	switch {
	case s.vanishes(o.Point) && w.versus != "":
		return "costs the same as " + w.versus + ": " + signed(c)
	case s.vanishes(o.Point):
		return "differs by " + signed(c)
	case w.versus != "":
		return word + s.estimate(o) + more + w.versus
	}
	return word + s.estimate(o)
}

// turned is an interval of gains as one of costs, and the other way round.
func turned(i Interval) Interval { return Interval{Point: -i.Point, Lo: -i.Hi, Hi: -i.Lo} }

// signed writes an overhead with its sign: "−0.4 % [−3.1, 2.2]", without an
// interval where there is none.
func signed(c *Comparison) string {
	s := scaleFor(c.Overhead, c.Metric)
	if c.PointOnly {
		return s.number(c.Overhead.Point) + s.unit
	}
	return s.estimate(c.Overhead)
}

// margin is the plan's equivalence margin as written: "2 %".
func (w wording) margin() string { return percent(float64(w.plan.Equivalence)) }

// percent writes a share with two significant digits.
func percent(share float64) string { return bound(share, experiment.Metric{Scale: experiment.Ratio}) }

// overheadOf is the size of a contrast as an overhead.
func (w wording) overheadOf(size float64, m experiment.Metric) float64 {
	if m.Better == experiment.Higher && m.Scale != experiment.Difference {
		size = -size
	}
	return contrast.Overhead(size, m)
}

func contrastName(m experiment.Metric) string {
	if m.Scale == experiment.Difference {
		return "difference"
	}
	return "ratio"
}

// failure says by how much a control misses.
func (j *judgement) failure(plan *experiment.Plan, h *hypothesis) string {
	c := &Comparison{Metric: h.Metric, Overhead: Interval(contrast.Overheads(h.Main.At, h.Metric))}
	return fmt.Sprintf("the control, a second copy of the baseline, differs on %s in %s: %s, Holm %s, and is not shown to be within ±%s",
		h.Metric.Name, plan.Cells[h.cell].ID, signed(c), probability(h.adjusted), percent(float64(plan.Equivalence)))
}

package wording

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
)

// Answer states an arm's cost in one sentence: "wireguard: 4.0 % [3.1, 4.8] less bandwidth, 14 times [13, 15] the cpu;
// the same verdicts in pod-to-pod and pod-to-service".
func Answer(a *analysis.ArmSummary, baseline string) string {
	names := CellNames(a.Cells)
	named := func(cells []string) string {
		short := lists.Map(cells, func(cell string) string { return names[slices.Index(a.Cells, cell)] })
		if len(short) > mostNamed {
			return fmt.Sprintf("%d cells", len(short))
		}
		return List(short)
	}
	var claims, others []string
	for _, f := range a.Failures {
		claims = append(claims, Failed(&f, baseline)+" "+In(f.Cell))
	}
	same, silent, of := len(a.Cells) > 1, "", a.Arm
	one := len(a.Points) > 1 && !slices.ContainsFunc(a.Points, func(p analysis.Point) bool {
		return p.Metric.Name != a.Points[0].Metric.Name || p.Metric.Objective != ""
	})
	if one {
		of += ", " + a.Points[0].Metric.Name
	}
	for _, p := range a.Points {
		same = same && p.Of == len(a.Cells) && len(p.Cells) == p.Of
		if one {
			p.Metric.Name = "" // the sentence begins with the metric's name, so the point omits the name
		}
		text := strings.TrimSpace(pointText(&p))
		if p.Verdict == analysis.Invalid {
			if silent != "" {
				continue // the answer gives only one reason, and has one already
			}
			silent = text
		}
		if len(p.Cells) < p.Of {
			text += " " + In(named(p.Cells))
		} else if least, most := math.Abs(p.Least), math.Abs(p.Most); p.Verdict != analysis.Equivalent && p.Verdict.Claims() && max(least, most) > minUneven*min(least, most) {
			text += ", most " + In(named([]string{p.Where}))
		}
		if p.Verdict == analysis.Costs || p.Verdict == analysis.Gains {
			claims = append(claims, text)
		} else {
			others = append(others, text)
		}
	}
	if extra := len(claims) + len(others) - mostPoints; extra > 0 {
		claims = claims[:min(len(claims), mostPoints)]
		others = append(others[:mostPoints-len(claims)], fmt.Sprintf("%d more below", extra))
	}
	parts := others
	if claims != nil {
		parts = slices.Insert(slices.Clone(others), 0, strings.Join(claims, ", "))
	}
	if same && silent == "" {
		parts = append(parts, "the same "+plural(len(a.Points), "verdict", "verdicts")+" "+In(named(a.Cells)))
	}
	return of + ": " + strings.Join(parts, "; ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func pointText(p *analysis.Point) string {
	m := p.Metric
	switch p.Verdict {
	case analysis.Costs, analysis.Gains:
		return moreOrLess(p) + ifNormal(p.Grade)
	case analysis.Equivalent:
		return fmt.Sprintf("%s equivalent within ±%s%s (%s)", m.Name, Size(m, p.Margin), ifNormal(p.Grade), estimate(points(p)))
	case analysis.NotResolved, analysis.Interim:
		if p.PointOnly || p.Lo == 0 && p.Hi == 0 || tooWide(m, analysis.Interval{Lo: p.Lo, Hi: p.Hi}) {
			return m.Name + " " + string(p.Verdict)
		}
		point, interval := points(p)
		point += When(strings.HasSuffix(point, " times"), " the")
		return fmt.Sprintf("%s %s, %s", strings.TrimSpace(point+" "+m.Name), interval, p.Verdict)
	}
	text := "no verdict"
	return text + When(p.Reason != nil, ", "+Reason(p.Reason))
}

// moreOrLess writes a claim as an amount of the metric: "4.0 % [3.1, 4.8] less bandwidth".
func moreOrLess(p *analysis.Point) string {
	m, of := p.Metric, p.Metric.Name
	word := "more"
	if less := m.Better == experiment.Higher; less == (p.Verdict == analysis.Costs) {
		word = "less"
	}
	if m.Objective != "" {
		of = "load at " + m.Objective
	}
	if tooWide(m, analysis.Interval{Lo: p.Lo, Hi: p.Hi}) {
		return strings.TrimSpace(word+" "+of) + ", by an amount that is " + unmeasured
	}
	multiple := " the " + of
	if of == "" {
		multiple = " as much"
	}
	if doubled := m.Better != experiment.Higher && p.Least >= 1 || m.Better == experiment.Higher && p.Most <= -1; IsRatio(m) && doubled {
		a, b := factors(m, analysis.Interval{Point: p.Least, Lo: p.Lo, Hi: p.Hi}), factors(m, analysis.Interval{Point: p.Most, Lo: p.Lo, Hi: p.Hi})
		write := func(f analysis.Interval) (point, interval string) { return factorText(f, p.PointOnly) }
		return estimate(extent(min(a.Point, b.Point), max(a.Point, b.Point), a, write)) + multiple
	}
	o := analysis.Interval{Lo: p.Lo, Hi: p.Hi}
	if p.Verdict == analysis.Gains {
		o = negated(o)
	}
	return estimate(plain.extent(m, math.Abs(p.Least), math.Abs(p.Most), o, p.PointOnly)) + " " + word + " " + of
}

// points writes the overheads that p sums up as a range from the least to the most. It also writes one interval that
// covers all their intervals.
func points(p *analysis.Point) (point, interval string) {
	return OverheadWords(p.Metric).extent(p.Metric, p.Least, p.Most, analysis.Interval{Lo: p.Lo, Hi: p.Hi}, p.PointOnly)
}

// extent writes a range of overheads, such as "7.0 to 7.1 % less", and an interval. reach covers the intervals of all
// overheads in the range.
func (w signWords) extent(m experiment.Metric, least, most float64, reach analysis.Interval, pointOnly bool) (point, interval string) {
	if math.Abs(least) > math.Abs(most) && least*most >= 0 {
		least, most = most, least
	}
	return extent(least, most, reach, func(o analysis.Interval) (string, string) { return w.interval(m, o, pointOnly) })
}

// extent writes the range of estimates, such as "7.0 to 7.1 % less", and the interval reach, such as "[5.0, 9.2]".
// Equal texts are written once.
func extent(least, most float64, reach analysis.Interval, write func(analysis.Interval) (point, interval string)) (point, interval string) {
	reach.Point = least
	a, _ := write(reach)
	reach.Point = most
	b, interval := write(reach)
	number, unit, _ := strings.Cut(a, " ")
	switch {
	case a == b:
		return b, interval
	case strings.HasSuffix(b, unit):
		return number + " to " + b, interval
	}
	return a + " to " + b, interval
}

// Overview counts in one sentence the verdicts of many arms on a metric.
func Overview(o *analysis.Overview) string {
	var parts []string
	say := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, Count(n, one, many))
		}
	}
	say(o.Costs, "arm costs", "arms cost")
	if o.Costs > 0 {
		say(o.Gains, "gains", "gain")
		say(o.Equivalent, "is equivalent throughout", "are equivalent throughout")
		say(o.Open, "is not resolved", "are not resolved")
	} else {
		say(o.Gains, "arm gains", "arms gain")
		say(o.Equivalent, "arm is equivalent throughout", "arms are equivalent throughout")
		say(o.Open, "arm has no resolved difference", "arms have no resolved difference")
	}
	text := o.Metric.Name + ": " + strings.Join(parts, ", ")
	if c := o.Furthest; c != nil {
		text += "; the furthest is " + c.Arm + ", which " + Effect(c) + " " + In(c.Cell)
	}
	return text
}

// In names the cell of a result: "in pod to pod", "at 50 requests/s".
func In(cell string) string {
	if cell != "" && cell[0] >= '0' && cell[0] <= '9' && !strings.HasSuffix(cell, " cells") {
		return "at " + cell
	}
	return "in " + cell
}

// CellNames shortens the IDs or labels of cells by their common beginning: network.tcp.pod-to-pod and
// network.tcp.pod-to-service lose network.tcp.
func CellNames(ids []string) []string {
	names := slices.Clone(ids)
	if len(ids) < 2 {
		return names
	}
	prefix := ids[0]
	for _, id := range ids[1:] {
		for !strings.HasPrefix(id, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	end := 0
	for i := range len(prefix) {
		// a point after a digit may be a decimal point, so it ends no part of a name
		if prefix[i] == '.' && (i == 0 || prefix[i-1] < '0' || prefix[i-1] > '9') {
			end = i + 1
		} else if strings.HasSuffix(prefix[:i], ", ") {
			end = i
		}
	}
	for i, id := range ids {
		if id == ids[0][:end] || len(id) == end {
			return names
		}
		names[i] = id[end:]
	}
	return names
}

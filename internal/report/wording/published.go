package wording

import (
	"cmp"
	"math"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/text/safetext"
)

// PublishedNumber writes the number of a document with the digits and the unit of the document: "58 % less", "about 10 %
// less", "2 to 8 % less", "1.632200 s [1.623, 1.641]".
func PublishedNumber(p *analysis.Published) string {
	row := &p.Row
	numbers := row.Numbers()
	if len(numbers) == 0 {
		return Missing
	}
	first, last := numbers[0], numbers[len(numbers)-1]
	text := printed(row, first)
	if len(numbers) > 1 {
		text = ranged(row, first, last)
	}
	text = When(row.About, "about ") + When(row.AtMost, "at most ") + text
	switch {
	case len(row.Interval) == 2:
		lo, hi := row.Interval[0], row.Interval[1]
		if first.Number < 0 && lo.Number < hi.Number {
			lo, hi = hi, lo // a number that is "less" has its smaller size first
		}
		text += " [" + unlike(row, lo, first) + ", " + unlike(row, hi, first) + "]"
	case len(numbers) == 1 && !p.Published.Rounded && p.Published.Lo != nil && p.Published.Hi != nil:
		sc := ScaleOf(p.Metric.Unit, *p.Published.Hi)
		text += " [" + sc.Bare(*p.Published.Lo) + ", " + cmp.Or(When(sc.Label == first.Unit, sc.Bare(*p.Published.Hi)), sc.With(*p.Published.Hi)) + "]"
	}
	return text
}

// ranged writes the ends of a range, the smaller size first: "2 to 8 % less", "1 % less to 2 % more".
func ranged(row *experiment.PublishedRow, a, b quantity.Amount) string {
	if math.Abs(a.Number) > math.Abs(b.Number) {
		a, b = b, a
	}
	return unlike(row, a, b) + " to " + printed(row, b)
}

// unlike writes an amount, without the unit and the word if they are those of another amount beside it.
func unlike(row *experiment.PublishedRow, a, other quantity.Amount) string {
	if a.Unit == other.Unit && (a.Number < 0) == (other.Number < 0) {
		return digitsOf(a)
	}
	return printed(row, a)
}

// printed writes an amount as the document prints it. A difference gets the word "more" or "less" in place of its sign.
func printed(row *experiment.PublishedRow, a quantity.Amount) string {
	if len(row.Value) > 0 {
		return When(a.Number < 0, MinusSign) + digitsOf(a) + When(a.Unit != "", " "+safetext.Line(a.Unit))
	}
	word := ""
	if a.Number < 0 {
		word = " less"
	} else if a.Number > 0 {
		word = " more"
	}
	return digitsOf(a) + " %" + word
}

func digitsOf(a quantity.Amount) string { return Fixed(math.Abs(a.Number), a.Decimals) }

// PublishedHere writes the run's number beside a published one, with its interval: "4.4 % less [4.3, 4.4]", "1.627 s
// [1.619, 1.641] (mean)".
func PublishedHere(p *analysis.Published) string {
	m := p.Measured
	switch {
	case m == nil:
		return Missing
	case p.Against == "":
		sc := ScaleOf(p.Metric.Unit, m.Point)
		return sc.With(m.Point) + When(!p.PointOnly, " ["+sc.Bare(m.Lo)+", "+sc.Bare(m.Hi)+"]") + When(p.Row.OfMeans(), " (mean)")
	case !p.PointOnly && tooWide(p.Metric, *m):
		return unmeasured
	}
	return estimate(OverheadWords(p.Metric).interval(p.Metric, *m, p.PointOnly)) + When(p.Row.OfMeans(), " (of means)")
}

// PublishedRatio writes the measured value divided by the published one: "1.20 [1.18, 1.22]"; "" if there is no ratio.
func PublishedRatio(p *analysis.Published) string {
	if p.Ratio == nil {
		return ""
	}
	return Number(p.Ratio.Point, 3) + When(!p.PointOnly, " ["+Number(p.Ratio.Lo, 3)+", "+Number(p.Ratio.Hi, 3)+"]")
}

// PublishedReading states the relation of the run's interval to the published number, or why there is none.
func PublishedReading(p *analysis.Published) string {
	text := string(p.Reading)
	if p.Reading == "" {
		text = "no reading: " + unread(p)
	}
	return text + When(p.WithinNoise, "; published within the noise of this run")
}

// PublishedText is a published number with the run's number and the reading in one line: "published 58 % less; here 4.4 %
// less [4.3, 4.4]: outside".
func PublishedText(p *analysis.Published) string {
	return "published " + PublishedNumber(p) + "; here " + strings.TrimSpace(PublishedHere(p)) + ": " + PublishedReading(p)
}

// unread states why there is no reading.
func unread(p *analysis.Published) string {
	switch r := p.Reason.(type) {
	case analysis.TooFewValues:
		noun := noun(p.Against != "")
		if p.Trials == 0 {
			return "no valid " + noun + lossText(r.Loss)
		}
		return Count(p.Trials, strings.TrimSuffix(noun, "s"), noun) + ", too few for an interval" + lossText(r.Loss)
	case analysis.NoSpread:
		return Why(&analysis.Comparison{Reason: r, Metric: p.Metric, Paired: true, Rounds: p.Trials})
	}
	return Reason(p.Reason)
}

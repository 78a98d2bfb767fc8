package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tare/analysis"
	"tare/published"
	"tare/wording"
)

func publishedTitle(t *published.Table) string {
	return cmp.Or(plain(t.Experiment), "run") + ": mean (population variance) over trials"
}

func publishedTrials(t *published.Table) string {
	text, invalid := "", 0
	for _, c := range t.Cells {
		one, lost := countedTrials(c.Trials)
		invalid += lost
		switch {
		case text == "":
			text = one
		case text != one:
			text = "see the numbers beside the means"
		}
	}
	if len(t.Cells) > 1 {
		text += " in each cell"
	}
	text = "Trials: " + text + ". "
	switch {
	case invalid == 0:
		return text + "All are valid and in the table."
	case t.WithInvalid:
		return text + "The invalid ones are in the table as far as they have values, as in tables that check no errors; the verdicts rest on valid trials only."
	}
	return text + "Only valid ones are in the table; --with-invalid takes in the others, as tables do that check no errors."
}

func countedTrials(arms []published.Arm) (text string, invalid int) {
	var parts []string
	for _, a := range arms {
		invalid += a.Invalid
		parts = append(parts, plain(a.Name)+" "+number(a.Trials)+when(a.Invalid > 0, " ("+number(a.Invalid)+" invalid)"))
	}
	return strings.Join(parts, ", "), invalid
}

// survivors counts what the intervals make of the differences.
func survivors(t *published.Table) string {
	total, byVerdict := 0, map[analysis.Verdict]int{}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			for _, d := range m.Differences {
				if d.Said != nil && m.Metric.Headline {
					total++
					byVerdict[d.Said.Verdict]++
				}
			}
		}
	}
	if total == 0 || !t.Valid {
		return ""
	}
	same, open := byVerdict[analysis.Equivalent], byVerdict[analysis.NotResolved]
	return fmt.Sprintf("Of %s of headline metrics, the intervals show %d to be there%s%s.", wording.Count(total, "difference", "differences"),
		byVerdict[analysis.Costs]+byVerdict[analysis.Gains], when(same > 0, fmt.Sprintf(", show %d to be smaller than %s", same, wording.Share(t.Margin))),
		when(open > 0, fmt.Sprintf(", and leave %d open", open)))
}

// pairName writes a difference as it is taken: "c11n − aks".
func pairName(d published.Difference) string { return plain(d.B) + " − " + plain(d.A) }

// relative names both percentages as what they are.
func relative(d published.Difference) (toA, toB string) {
	return sixPercent(d.RelativeToA) + " of " + plain(d.A), sixPercent(d.RelativeToB) + " of " + plain(d.B)
}

// said is what the intervals say of b against a.
func said(d published.Difference) string {
	if d.Said == nil {
		return "not judged"
	}
	other := ""
	if a := d.Said.WithInvalid; a != nil {
		other = brief(wording.AlternativeText(a))
	}
	return plain(d.B) + ": " + join("; ", brief(wording.Told(d.Said)), other)
}

// Between these bounds of the largest mean, values are written in the metric's own
// unit, as tables print them; beyond, six decimals need another.
const smallMean, largeMean = 1e-3, 1e4

// publishedScale is the unit in which a metric's moments are written.
func publishedScale(m published.Metric) wording.Scale {
	largest := 0.0
	for _, a := range m.Arms {
		largest = max(largest, math.Abs(a.Mean))
	}
	if largest >= smallMean && largest < largeMean {
		return wording.Scale{Div: 1, Label: plain(m.Metric.Unit)}
	}
	return wording.ScaleOf(m.Metric.Unit, largest)
}

func moments(s wording.Scale, m published.Moments) string {
	if m.N == 0 {
		return wording.Missing
	}
	variance := wording.Missing // of a single trial, which says nothing of it
	if m.N > 1 {
		variance = six(m.Variance / s.Div / s.Div)
	}
	return six(m.Mean/s.Div) + " (" + variance + ")"
}

// six writes six decimals, and values too small for them as a power of ten.
func six(v float64) string {
	if a := math.Abs(v); wording.Finite(v) && (a == 0 || a >= 1e-4 && a < 1e12) {
		return wording.Fixed(v, 6)
	}
	return wording.Number(v, 6)
}

// sixPercent writes a share in percent with six decimals and its sign.
func sixPercent(v *float64) string {
	if v == nil {
		return wording.Missing
	}
	return wording.Minus(fmt.Sprintf("%+.6f", *v*100)) + " %"
}

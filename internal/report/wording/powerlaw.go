package wording

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// ExpectedLaw writes the law that is expected of a metric: "queries = proxies × hosts ÷ ttl".
func ExpectedLaw(l *analysis.PowerLaw) string {
	var over, under, free string
	for _, f := range l.Factors {
		switch power := toThe(math.Abs(f.Expected)); {
		case f.Expected > 0:
			over += " × " + f.Factor + power
		case f.Expected < 0:
			under += " ÷ " + f.Factor + power
		default:
			free += ", whatever " + f.Factor
		}
	}
	over = strings.TrimPrefix(over, " × ")
	if over == "" {
		over = "constant"
	}
	return l.Metric.Name + " = " + over + under + free
}

// toThe writes an exponent; "" for an exponent of 1.
func toThe(exponent float64) string {
	if exponent == 1 {
		return ""
	}
	return "^" + Number(exponent, 3)
}

// Exponent writes the fitted exponent of a factor: "1.002 [0.997, 1.008]", "0.90 [0.88, 0.92], not 1".
func Exponent(f *analysis.PowerLawFactor, e *analysis.Exponent) string {
	text := amountText(plain, e.Interval, e.PointOnly, experiment.Metric{})
	if e.Unexpected {
		text += ", not " + Number(f.Expected, 3)
	}
	return text
}

// ValueAtOne writes the value of a law where all factors are 1: "1.01/s [0.98, 1.03]".
func ValueAtOne(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	return amountText(plain, a.Unity, a.PointOnly, l.Metric)
}

// Misfit describes the cell that a law misses most; "" if the law fits.
func Misfit(m *analysis.Misfit) string {
	if !m.Poor {
		return ""
	}
	side := "above"
	if m.Off < 0 {
		side = "below"
	}
	return fmt.Sprintf("not this law: %s lies %s %s it", m.Cell, Share(math.Abs(m.Off)), side)
}

// law writes the fitted law of an arm: "queries = 1.01/s [0.98, 1.03] × hosts^1.002 [0.997, 1.008] ×
// ttl^−0.99 [−1.01, −0.98]".
func law(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := l.Metric.Name + " = " + ValueAtOne(l, a)
	for j, e := range a.Exponents {
		if j < len(l.Factors) {
			text += " × " + l.Factors[j].Factor + "^" + Exponent(&l.Factors[j], &e)
		}
	}
	return text
}

// LawAnswer states in one sentence the fitted and the expected law of an arm.
func LawAnswer(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := fmt.Sprintf("%s in %s: %s; expected is %s", a.Arm, l.Workload, law(l, a), ExpectedLaw(l))
	if miss := Misfit(&a.Misfit); miss != "" {
		text += "; " + miss
	}
	return text
}

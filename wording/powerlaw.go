package wording

import (
	"fmt"
	"math"
	"strings"

	"tare/analysis"
	"tare/experiment"
)

// ExpectedLaw says what is expected of a metric: "queries = proxies × hosts ÷ ttl".
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

// toThe writes an exponent, but not that of a plain factor.
func toThe(exponent float64) string {
	if exponent == 1 {
		return ""
	}
	return "^" + Number(exponent, 3)
}

// Exponent writes the power of a factor: "1.002 [0.997, 1.008]", "0.90 [0.88, 0.92], not 1".
func Exponent(f *analysis.PowerLawFactor, e *analysis.Exponent) string {
	text := amountText(Plain, e.Interval, e.PointOnly, experiment.Metric{})
	if e.Unexpected {
		text += ", not " + Number(f.Expected, 3)
	}
	return text
}

// Unity writes what a law gives where each of its factors is 1: "1.01 1/s [0.98, 1.03]".
func Unity(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	return amountText(Plain, a.Unity, a.PointOnly, l.Metric)
}

// Misfit says where a law does not hold; "" where it does.
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

// Law says what the values of an arm are: "queries = 1.01 1/s [0.98, 1.03] × hosts^1.002 [0.997, 1.008] × ttl^−0.99 [−1.01, −0.98]".
func Law(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := l.Metric.Name + " = " + Unity(l, a)
	for j, e := range a.Exponents {
		if j < len(l.Factors) {
			text += " × " + l.Factors[j].Factor + "^" + Exponent(&l.Factors[j], &e)
		}
	}
	return text
}

// LawAnswer says in a sentence what was found of an arm, and what was expected.
func LawAnswer(l *analysis.PowerLaw, a *analysis.PowerLawArm) string {
	text := fmt.Sprintf("%s in %s: %s; expected is %s", a.Arm, l.Workload, Law(l, a), ExpectedLaw(l))
	if miss := Misfit(&a.Misfit); miss != "" {
		text += "; " + miss
	}
	return text
}

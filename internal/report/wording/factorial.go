package wording

import (
	"strings"

	"tare/internal/analysis"
)

// EffectName names a main effect or an interaction: "wireguard", "wireguard × mtls".
func EffectName(e *analysis.Effect) string { return strings.Join(e.Of, " × ") }

// EffectSentence is EffectVerdict, marked as exploratory if the metric is no headline: "exploratory:
// costs 7.1 % [6.2, 8.0] on average over mtls".
func EffectSentence(e *analysis.Effect) string {
	if e.Metric.Headline {
		return EffectVerdict(e)
	}
	return "exploratory: " + EffectVerdict(e)
}

// EffectVerdict states the verdict on an effect with its numbers. Verdicts on interactions read "together
// costs 3.1 % [1.0, 5.2] less than the sum", "adds up within ±2 % (…)" or "no interaction shown: …".
func EffectVerdict(e *analysis.Effect) string {
	text := Verdict(&e.Comparison)
	if e.Interaction() {
		text = interaction(e)
	}
	if e.Verdict == analysis.Invalid || e.Reason != nil && !HasNumbers(e.Comparison) {
		return text
	}
	if len(e.Over) > 0 {
		text += ", on average over " + List(e.Over)
	}
	return text
}

func interaction(e *analysis.Effect) string {
	c := againstSum(e)
	switch e.Verdict {
	case analysis.MoreTogether, analysis.LessTogether:
		return beyondSum(e) + ifNormal(e.Grade) + withstands(c)
	case analysis.AddsUp:
		text := beyondSum(e)
		if c.Inner != nil {
			text += "; " + innerText(c) + " lies within"
		}
		return "adds up within ±" + Size(c.Metric, c.Margin) + ifNormal(e.Grade) + " (" + text + ")"
	case analysis.NotResolved:
		if !HasNumbers(*c) {
			return "no interaction shown: " + Why(c)
		}
		return "no interaction shown: " + beyondSum(e) + " (" + Why(c) + ")"
	}
	return Verdict(c)
}

// EffectOverhead writes the overhead of an effect. The overhead of an interaction is relative to the sum
// of its parts.
func EffectOverhead(e *analysis.Effect) (point, interval string) {
	return Overhead(*againstSum(e))
}

// againstSum returns an effect as a comparison. An interaction becomes a comparison with the sum of its
// parts.
func againstSum(e *analysis.Effect) *analysis.Comparison {
	c := e.Comparison
	if e.Interaction() {
		c.Versus = &analysis.Versus{}
	}
	return &c
}

// beyondSum writes an interaction with its direction: "together costs 3.1 % [1.0, 5.2] less than the
// sum". An interaction that rounds to zero has no direction.
func beyondSum(e *analysis.Effect) string { return "together " + effect(againstSum(e), sum(e)) }

// sum names the sum that an interaction is compared with.
func sum(e *analysis.Effect) string {
	switch len(e.Of) {
	case 2:
		return "the sum"
	case 3:
		return "singles and pairs add up to"
	}
	return "fewer of them add up to"
}

// List joins names: "a", "a and b", "a, b and c".
func List(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

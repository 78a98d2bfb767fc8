package gate

import (
	"tare/stats"
)

// decide gives every case that is still open its outcome, all as one family.
// A case that already has a reason keeps it, and counts as a member.
func decide(cases []Case, level float64) {
	p := make([]float64, len(cases))
	for i := range cases {
		p[i] = cases[i].P
	}
	for i, adjusted := range stats.Holm(p) {
		c := &cases[i]
		c.PAdjusted = adjusted
		switch c.Reason {
		case "":
			c.Outcome, c.Reason = c.decide(level)
		case NoVerdicts:
			c.Outcome = Invalid
		default:
			c.Outcome = Unresolved
		}
	}
}

// decide is the rule. A control that differs from the baseline by more than
// chance, though within the margin, shows that this much arises without any
// layer: an outcome must then be clear of the limit by more than that.
func (c *Case) decide(level float64) (Outcome, Reason) {
	lo, hi, limit := c.Overhead.Lo, c.Overhead.Hi, c.Limit.Value
	over := lo > limit && c.P <= level
	switch {
	case hi+c.Bias <= limit:
		return Pass, Within
	case hi <= limit, over && lo-c.Bias <= limit:
		return Unresolved, UnderBias
	case over && c.PAdjusted <= level:
		return Fail, Exceeds
	case over:
		return Unresolved, NotByHolm
	}
	return Unresolved, Straddles
}

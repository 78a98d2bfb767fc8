package wording

import (
	"fmt"

	"tare/analysis"
)

// SetUps states how often all arms of a run were set up: "anew for every round", "6, each for about 2
// rounds"; "" if unknown.
func SetUps(s analysis.SetUps) string {
	switch {
	case !s.Known():
		return ""
	case s.Shared():
		return fmt.Sprintf("%d, each for about %s rounds", s.Count, Number(float64(s.Rounds)/float64(s.Count), 2))
	case s.Once() && s.Count == 1:
		return "one, for all rounds"
	case s.Once():
		return "one in each session"
	}
	return "anew for every round"
}

// BetweenSetUps states how much the overhead varies between set-ups: "between set-ups ±0.8 % (at most 2.1
// %, 6 set-ups in 12 rounds, p = 0.2)"; "" if no rounds share a set-up.
func BetweenSetUps(c *analysis.Comparison) string {
	b := c.SetUps
	if b == nil {
		return ""
	}
	most, what := "", "set-ups"
	if c.Blocks != nil {
		what = "blocks"
	}
	if b.Most >= 0 {
		most = "at most " + Size(c.Metric, b.Most) + ", "
	}
	return fmt.Sprintf("between %s ±%s (%s%d %s in %d rounds, %s)", what, Size(c.Metric, b.SD), most, b.SetUps, what, b.Rounds, pValue(b.P))
}

package report

import (
	"fmt"

	"tare/analysis"
	"tare/experiment"
	"tare/wording"
)

// An import of a single arm, such as the week's benchmark of one platform, has
// nothing to compare: it shows how large its values are, and waits for tare
// history or tare compare to set it beside others.

// alone says whether the run has no second arm.
func (s *sheet) alone() bool { return len(s.plan.Arms) == 1 }

// level writes how large the values of an arm are: "median 1.627 s [1.619,
// 1.641] over 100 trials".
func level(a analysis.ArmSeries, m experiment.Metric) string {
	v := a.Summary
	if v.N == 0 {
		return "no valid trial"
	}
	sc := wording.ScaleOf(m.Unit, v.Median)
	text := "median " + sc.With(v.Median)
	if v.MedianLo != 0 || v.MedianHi != 0 {
		text += fmt.Sprintf(" [%s, %s]", sc.Bare(v.MedianLo), sc.Bare(v.MedianHi))
	}
	return text + " over " + wording.Count(v.N, "trial", "trials")
}

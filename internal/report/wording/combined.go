package wording

import (
	"fmt"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/runs/combine"
)

// Spread writes the standard deviation of the overhead between occasions: "1.3 % [0.4, 4.0]".
func Spread(c *combine.Comparison) string {
	if !pooled(c) {
		return Missing
	}
	m := c.Metric
	m.Better = experiment.Lower // a spread has no direction
	return plain.Interval(m, c.Spread)
}

// Prediction writes the range in which another run would find the overhead: "1.2 to 9.8 % more", "0.5 %
// less to 9.8 % more".
func Prediction(c *combine.Comparison) string {
	if !pooled(c) {
		return Missing
	}
	point, _ := OverheadWords(c.Metric).extent(c.Metric, c.Prediction.Lo, c.Prediction.Hi, c.Prediction, false)
	return point
}

func pooled(c *combine.Comparison) bool { return !c.PointOnly && c.Rounds > 1 }

// Combined states the result of a comparison over several occasions: "costs 7.1 % [5.2, 9.0], over 4
// occasions that differ by 1.1 % [0.5, 4.0]; another run would find 2.7 to 11.7 % more".
func Combined(c *combine.Comparison) string {
	text := Qualified(&c.Comparison)
	if !pooled(c) || c.Verdict == analysis.Invalid {
		return text
	}
	return text + fmt.Sprintf(", over %s that differ by %s; another run would find %s", Count(c.Rounds, "occasion", "occasions"),
		Spread(c), Prediction(c))
}

// combinedWhy is Why for a comparison over several occasions; "" if Why has the same text.
func combinedWhy(c *analysis.Comparison) string {
	switch r := c.Reason.(type) {
	case analysis.MissingTrials:
		return missingTrials(r, "trials", c.Verdict.Claims())
	case analysis.TooFewValues:
		if c.Rounds == 0 {
			return "no run that can be combined has an interval"
		}
		return "only one run can be combined; at least two are needed"
	case analysis.ThinControl:
		return fmt.Sprintf("the control has only %s on this metric, the arm has %d", Count(r.Values, "run", "runs"), c.Rounds)
	case analysis.FarReaching:
		return "the tests of equivalence pass, but the interval reaches beyond twice that margin: so few runs leave much open"
	case analysis.NotInFamily, analysis.WithinBias, analysis.NoControl:
		return ""
	}
	return detectable(c)
}

// combinedReason words the reason why a run, or its overhead, is left out of a combination.
func combinedReason(r analysis.Reason) string {
	switch r := r.(type) {
	case combine.NotFinished:
		return fmt.Sprintf("it is not finished: %d of %d planned trials are done", r.Done, r.Planned)
	case combine.NoInterval:
		return "it has no interval on this metric"
	}
	return r.Kind()
}

// combinedFinding words a finding about a combination of runs; "" for any other finding.
func combinedFinding(f analysis.Finding) string {
	switch f := f.(type) {
	case combine.LeftOut:
		return fmt.Sprintf("run %d is left out: %s", f.Run, Reason(f.Why))
	case combine.FewOccasions:
		return fmt.Sprintf("%s hardly show how much occasions differ: see the bounds of the spread, and the prediction for another run", Count(f.Runs, "run", "runs"))
	case combine.ProgramFails:
		return fmt.Sprintf("the program of %s fails in %s of trials of %s over the runs, in the baseline in %s; shown in %s", f.Arm,
			frequency(f.Failed), f.Cell, frequency(f.Baseline), Count(len(f.Shown), "run", "runs"))
	case combine.OtherConduct:
		if f.Limit {
			return f.ValuesByRun() + ": a trial that failed in one run may have a value in another"
		}
		return f.ValuesByRun() + ": carry-over between arms and warm-up within trials differ between the runs"
	case combine.ControlDiffers:
		return "nothing has a verdict: " + Reason(f.ControlFails)
	}
	return ""
}

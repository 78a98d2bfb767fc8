package wording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/runs/combine"
	"tare/internal/runs/compare"
)

// Observation states the reason why a run is no experiment: "arms ran one after the other"; "" for an experiment.
func Observation(o *analysis.Observation) string {
	if o == nil {
		return ""
	}
	text := schedule(o)
	if names := slices.Clone(o.Differs); len(names) > 0 {
		if more := len(names) - maxFacts; more > 1 {
			names = append(names[:maxFacts], fmt.Sprintf("%d more", more))
		}
		text += ", on systems or with settings that differ in " + strings.Join(names, ", ")
	}
	return text
}

// schedule describes when the other arms ran, compared with the baseline. If the arms differ in this, each group of
// arms gets its own description.
func schedule(o *analysis.Observation) string {
	if o.Baseline == "" {
		return allTimes[analysis.TimesUnknown]
	}
	if len(o.Arms) == 0 {
		return "one arm alone, with no baseline beside it"
	}
	names := map[analysis.Times][]string{}
	for _, a := range o.Arms {
		names[a.Times] = append(names[a.Times], a.Arm)
	}
	if len(names) == 1 {
		return allTimes[o.Arms[0].Times]
	}
	var parts []string
	for _, t := range []analysis.Times{analysis.TimesUnknown, analysis.TimesApart, analysis.TimesOverlap, analysis.TimesBlocks, analysis.TimesInterleaved} {
		arms := strings.Join(names[t], ", ")
		switch {
		case arms == "":
		case t == analysis.TimesUnknown:
			parts = append(parts, "when "+arms+" ran is unknown")
		default:
			parts = append(parts, fmt.Sprintf(someTimes[t], arms, o.Baseline))
		}
	}
	return strings.Join(parts, "; ")
}

// allTimes has the words for the times of all arms. someTimes has the words if only some arms ran at such times.
var (
	allTimes = map[analysis.Times]string{
		analysis.TimesUnknown:     "when the arms ran is unknown",
		analysis.TimesApart:       "arms ran one after the other",
		analysis.TimesOverlap:     "arms overlapped in time only in part",
		analysis.TimesBlocks:      "arms took turns in long blocks",
		analysis.TimesInterleaved: "arms interleaved in time, in an order that was not drawn at random",
	}
	someTimes = map[analysis.Times]string{
		analysis.TimesApart:       "%s ran before or after %s",
		analysis.TimesOverlap:     "%s overlapped with %s in time only in part",
		analysis.TimesBlocks:      "%s took turns with %s in long blocks",
		analysis.TimesInterleaved: "%s interleaved in time with %s, in an order that was not drawn at random",
	}
)

// ObservationAcross states why the compared runs are no experiment; "" for an experiment.
func ObservationAcross(r *compare.Result) string {
	o := r.Observation
	if o == nil {
		if len(r.Runs) == 1 {
			return Observation(r.Runs[0].Observation)
		}
		return ""
	}
	text := "the runs were made " + starts(o.Starts) + ", " + machines(o)
	for _, w := range o.Within {
		text += "; within " + runs(w.Runs) + ", " + Observation(w.Observation)
	}
	return text
}

// starts lists the start times of runs. Each time has as many digits as are needed to tell the times apart.
func starts(times []time.Time) string {
	var at []string
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime} {
		at = nil
		for _, t := range times {
			if t.IsZero() {
				return "at times that are partly unknown"
			}
			at = append(at, t.UTC().Format(layout))
		}
		if len(slices.Compact(slices.Sorted(slices.Values(at)))) == len(at) {
			break
		}
	}
	return "at different times (" + List(at) + ")"
}

func machines(o *compare.Observation) string {
	switch o.Machines {
	case compare.MachinesDiffer:
		names := slices.Clone(o.Differing)
		if extra := len(names) - mostDiffering; extra > 0 {
			names = append(names[:mostDiffering], fmt.Sprintf("%d more", extra))
		}
		return "on machines that differ (" + strings.Join(names, ", ") + ")"
	case compare.MachinesUnknown:
		return "on machines that are not all on record"
	}
	return "on machines whose records are the same"
}

// NotShared states that a metric differs between runs in unit, direction or scale, so that it cannot be
// compared; "" if some runs lack the metric.
func NotShared(a compare.NotShared) string {
	return When(a.Other != nil, "unit, direction or scale differ in "+runs(a.Other))
}

// PropertyValues lists a machine property, a value for each run. If processor flags differ, the value of the first run
// is its number of flags, and the values of other runs are the flags that they add or lack.
func PropertyValues(p compare.Property) []string {
	list := slices.Clone(p.Values)
	first := slices.IndexFunc(list, func(v string) bool { return v != "" })
	if p.Path != machine.FlagsProperty || first < 0 || !slices.ContainsFunc(list, func(v string) bool { return v != list[first] }) {
		return list
	}
	for i, v := range p.Values {
		switch {
		case v == "":
		case i == first:
			list[i] = fmt.Sprintf("%d flags", len(strings.Fields(v)))
		default:
			list[i] = flagChange(p.Values[first], v)
		}
	}
	return list
}

// flagChange lists the words that were removed and the words that were added, such as flags of a CPU: "−avx512f +vaes".
func flagChange(was, is string) string {
	old, recent := strings.Fields(was), strings.Fields(is)
	var list []string
	for _, w := range old {
		if !slices.Contains(recent, w) {
			list = append(list, MinusSign+w)
		}
	}
	for _, w := range recent {
		if !slices.Contains(old, w) {
			list = append(list, "+"+w)
		}
	}
	if list == nil {
		return "the same"
	}
	return strings.Join(list, " ")
}

// Spread writes the standard deviation of the overhead between occasions: "1.3 % [0.4, 4.0]".
func Spread(c *combine.Comparison) string {
	if !pooled(c) {
		return Missing
	}
	m := c.Metric
	m.Better = experiment.Lower // a spread is neither a cost nor a gain; with lower as better, the sign stays, and no word such as "less"
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

// Combined states a comparison's result over several occasions: "costs 7.1 % [5.2, 9.0], over 4 occasions that differ
// by 1.1 % [0.5, 4.0]; another run would find …".
func Combined(c *combine.Comparison) string {
	text := Qualified(&c.Comparison)
	if !pooled(c) || c.Verdict == analysis.Invalid {
		return text
	}
	return text + fmt.Sprintf(", over %s that differ by %s; another run would find %s", Count(c.Rounds, "occasion", "occasions"),
		Spread(c), Prediction(c))
}

// combinedWhy explains the verdict of a comparison over several occasions. It returns "" if the explanation by the
// function Why is right.
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

package wording

import (
	"cmp"

	"tare/analysis"
	"tare/experiment"
	"tare/history"
	"tare/machine"
)

// Differences say what is not the same in two runs, a phrase for each: "kernel is
// 6.8, was 6.1".
func Differences(list []history.Difference) []string {
	return each(list, Difference)
}

// Difference says one of them.
func Difference(d history.Difference) string {
	if d.Machine && d.What == machine.FlagsProperty {
		return "processor flags changed"
	}
	missing := "unset"
	if d.Machine {
		missing = "unknown"
	}
	return d.What + " is " + cmp.Or(d.Is, missing) + ", was " + cmp.Or(d.Was, missing)
}

// Imported says why a run of a history is no experiment; "" for one that is.
func Imported(r *history.Run) string {
	if r.Imported == "" {
		return ""
	}
	return "imported from " + r.Imported + ": its trials did not run in rounds of random order"
}

// PastValue writes an estimate of a series with its interval, where it has one.
func PastValue(s *history.Series, i analysis.Interval) string {
	m, way := s.Metric, Signs
	if s.Of == history.OfLevel {
		m.Scale, way = experiment.Difference, NoSigns
	}
	switch {
	case i.Lo < i.Hi:
		return way.Interval(m, i)
	case s.Of == history.OfLevel:
		return Value(i.Point, m.Unit)
	}
	return way.Amount(m, i.Point, i)
}

// ShiftSize writes how much a change is, without its direction.
func ShiftSize(s *history.Series, c history.Shift) string {
	switch c.Direction {
	case history.Better, history.Fell:
		return NoSigns.Interval(s.Metric, turned(c.Size))
	case history.Spread:
		return Signs.Interval(s.Metric, c.Size)
	}
	return NoSigns.Interval(s.Metric, c.Size)
}

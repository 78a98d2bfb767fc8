package gobench

import (
	"strings"

	"golang.org/x/perf/benchfmt"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/importer"
)

var perOp = importer.Ratio("time", "s", experiment.Lower, true)

// known are the metrics of the testing package, by the units that they have once
// converted. An operation may allocate nothing: hence the scale.
var known = map[string]experiment.Metric{
	"sec/op":    perOp,
	"B/s":       importer.Ratio("throughput", "B/s", experiment.Higher, false),
	"B/op":      {Name: "allocated", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
	"allocs/op": importer.Difference("allocations"),
}

// metric describes the values in a unit; false where nothing says which direction
// is better. A unit of the benchmark's own is also the metric's name.
func metric(unit string, units benchfmt.UnitMetadataMap) (experiment.Metric, bool) {
	if m, ok := known[unit]; ok {
		return m, true
	}
	m := experiment.Metric{Name: unit, Unit: unit, Scale: experiment.Ratio, Optional: true}
	switch units.GetBetter(unit) {
	case 1:
		m.Better = experiment.Higher
	case -1:
		m.Better = experiment.Lower
	default:
		return m, false
	}
	for _, k := range known {
		if k.Name == unit {
			m.Name = "own-" + unit
		}
	}
	switch {
	case strings.HasSuffix(unit, "-sec"):
		m.Unit = "s"
	case strings.HasSuffix(unit, "-bytes"), strings.HasSuffix(unit, "-B"):
		m.Unit = "B"
	}
	return m, true
}

// levels are the parts of the name that have the form key=value, and the number of
// processors.
func levels(name benchfmt.Name) []factor.Level {
	var all []factor.Level
	_, parts := name.Parts()
	for _, part := range parts {
		text := string(part)
		if procs, ok := strings.CutPrefix(text, "-"); ok {
			all = append(all, factor.Level{Factor: "gomaxprocs", Value: procs})
		} else if key, value, ok := strings.Cut(strings.TrimPrefix(text, "/"), "="); ok && key != "" {
			all = append(all, factor.Level{Factor: key, Value: value})
		}
	}
	return all
}

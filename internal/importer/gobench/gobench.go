// Package gobench reads the Go benchmark format, as "go test -bench" writes it and benchstat reads it.
//
// Each result line is a trial. The cell is the package and the benchmark, with the number of CPUs after the dash. Parts
// of the name like "size=1024" are levels. Option -count repeats the line of a benchmark; its lines are numbered as
// rounds. These rounds pair nothing: lines with equal numbers ran at different times.
//
// Values are converted to base units as benchstat does (ns to s, MB to B). The time per operation is the headline. A
// benchmark's own unit needs a line like "Unit frames/s better=higher". A unit without a direction is not read, and is
// named in the facts. Other text is ignored.
package gobench

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/perf/benchfmt"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// Format reads the Go benchmark format.
var Format = importer.Format{
	Name:       "gobench",
	Doc:        "the Go benchmark format, as go test -bench prints it and benchstat reads it; each line is a trial",
	Extensions: []string{".txt", ".bench", ".out", ".log"},
	Serial:     true,
	Read:       importer.Whole(read),
}

func read(f importer.File, data []byte) ([]importer.Trial, error) {
	var results []*benchfmt.Result
	var strange int  // the number of lines that begin like a result, but hold no result
	var first string // error about the first strange line; "": there is no such line
	last := 0        // the number of the last line read
	r := benchfmt.NewReader(bytes.NewReader(data), f.Name)
	for r.Scan() {
		switch record := r.Result().(type) {
		case *benchfmt.Result:
			results = append(results, record.Clone())
			if err := importer.CheckCount(len(results)); err != nil {
				return nil, err
			}
		case *benchfmt.SyntaxError:
			if strange++; strange == 1 {
				first = fmt.Sprintf("line %d: %s", record.Line, record.Msg)
			}
			last = record.Line
		}
	}
	lines := bytes.Count(data, []byte("\n")) + 1
	switch err := r.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("a line is longer than %d bytes, the most that is read", bufio.MaxScanTokenSize)
	case err != nil:
		return nil, err
	case last == lines:
		return nil, fmt.Errorf("line %d, the last, is not complete: the file is truncated", last)
	case len(results) > 0:
	case strange > 0:
		return nil, fmt.Errorf("the file has no result; %s", first)
	case bytes.Contains(data, []byte(`"Action":"`)):
		return nil, errors.New("the file has no result; it looks like go test -json: use the output without -json")
	default:
		return nil, errors.New("the file has no line that begins with Benchmark and holds a result")
	}
	trials := make([]importer.Trial, len(results))
	rounds := map[string]int{}
	for i, result := range results {
		t := trial(result, r.Units()) // after the last line, since units may be described behind the results
		rounds[t.Cell]++
		t.Round = rounds[t.Cell]
		if strange > 0 {
			t.Facts["lines not understood"] = fmt.Sprintf("%d, the first: %s", strange, first)
		}
		trials[i] = t
	}
	return trials, nil
}

func trial(r *benchfmt.Result, units benchfmt.UnitMetadataMap) importer.Trial {
	t := importer.Trial{Kind: "command", Facts: map[string]string{}, Cell: string(r.Name.Full())}
	for _, c := range r.Config {
		if c.Key != "pkg" {
			t.Facts[c.Key] = string(c.Value)
		} else if len(c.Value) > 0 {
			t.Cell = string(c.Value) + "." + t.Cell
		}
	}
	t.Cell = cmp.Or(t.Cell, "Benchmark")
	t.Levels = levels(r.Name)
	var aimless []string       // the units without a direction
	given := map[string]bool{} // the metrics that the trial has
	for _, v := range r.Values {
		m, ok := metric(v.Unit, units)
		switch {
		case !ok:
			aimless = append(aimless, v.Unit)
			continue
		case given[m.Name], math.IsNaN(v.Value) || math.IsInf(v.Value, 0), m.Optional && m.Scale == experiment.Ratio && v.Value <= 0:
			continue
		}
		given[m.Name] = true
		t.Add(m, v.Value)
		if m == perOp {
			t.Wall = importer.Seconds(v.Value * float64(r.Iters))
		}
	}
	if len(aimless) > 0 {
		t.Facts["units without a direction"] = strings.Join(aimless, ", ")
	}
	if len(t.Values) == 0 {
		t.Broken = "no value is a finite number in a unit that says which direction is better"
	}
	return t
}

var perOp = importer.Ratio("time", "s", experiment.Lower, true)

// known holds the testing package's metrics, by their converted units. Allocations have the scale Difference, since an
// operation may allocate nothing.
var known = map[string]experiment.Metric{
	"sec/op":    perOp,
	"B/s":       importer.Ratio("throughput", "B/s", experiment.Higher, false),
	"B/op":      {Name: "allocated", Unit: "B", Better: experiment.Lower, Scale: experiment.Difference, Optional: true},
	"allocs/op": importer.Difference("allocations"),
}

// metric describes the values of a unit; false: no better direction is known. A benchmark's own unit is also the
// metric's name, with own- before it if a known metric has that name.
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

// levels returns the levels in a benchmark's name: the parts KEY=VALUE, and the number of CPUs.
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

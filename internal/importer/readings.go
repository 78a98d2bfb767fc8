package importer

import (
	"cmp"
	"maps"
	"strconv"

	"tare/internal/stats"
)

// factReadings is the fact with the number of readings that were merged into a trial.
const factReadings = "readings"

// readings merges all readings of a cell and arm in a file of a serial tool into one trial. If files are
// paired, only whole files are pairs: runs that a tool made one after the other have no partner in another
// file. A value is the median over the readings that did not fail, so that a time and its rate agree.
func readings(trials []Trial) (merged []Trial, most int) {
	var list ordered[[2]string, []Trial]
	for _, t := range trials {
		of := list.get([2]string{t.Arm, t.Cell}, func() *[]Trial { return new([]Trial) })
		*of = append(*of, t)
	}
	for _, of := range list.list {
		merged = append(merged, reading(*of))
		most = max(most, len(*of))
	}
	return merged, most
}

// reading merges several trials into one.
func reading(trials []Trial) Trial {
	one := trials[0]
	if len(trials) == 1 {
		return one
	}
	var metrics ordered[string, Value]
	values := map[string][]float64{}
	one.Wall, one.Errors = 0, ErrorRate{}
	for _, t := range trials {
		one.Wall += t.Wall
		one.Broken = cmp.Or(one.Broken, t.Broken)
		one.Errors.Known = one.Errors.Known || t.Errors.Known
		one.Errors.Share += t.Errors.Share / float64(len(trials))
	}
	for _, t := range trials {
		if t.Errors.Share > 0 && one.Errors.Share < 1 {
			continue
		}
		for _, v := range t.Values {
			metrics.get(v.Metric.Name, func() *Value { return &v })
			values[v.Metric.Name] = append(values[v.Metric.Name], v.Value)
		}
	}
	one.Values = nil
	for _, v := range metrics.list {
		one.Add(v.Metric, stats.Median(values[v.Metric.Name]))
	}
	one.Facts = maps.Clone(one.Facts)
	if one.Facts == nil {
		one.Facts = map[string]string{}
	}
	one.Facts[factReadings] = strconv.Itoa(len(trials))
	return one
}

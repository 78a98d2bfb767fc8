// Package longcsv reads the plain table that a spreadsheet or any script can
// write: one value a row.
//
//	arm,round,metric,unit,better,value
//	plain,1,latency,ms,lower,12.3
//	mtls,1,latency,ms,lower,14.1
//
// The header names the columns, in any order and in either case. Only metric,
// better and value must be there. A trial is what stands in rows with the same
// arm, cell and round, wherever they are in the file; without rounds, the n-th
// values of all metrics of an arm and cell are its n-th trial. Where a round has
// several attempts, as tare export writes them, the last one is the trial.
//
// Where the column paired says false, as tare export has it for independent
// samples, rounds only number the trials, and nothing can be paired by them. Its
// column observational is passed over: every import is.
//
// A row that cannot be understood ends the file with an error that names line
// and column: what follows it cannot be trusted either. So does a malformed number: mostly
// the large values have thousands separators, and to drop just these would make the rest
// look good. A value that is missing, "NaN" or "-" only breaks its trial.
package longcsv

import (
	"fmt"
	"slices"
	"strings"

	"tare/experiment/factor"
	"tare/experiment/strictyaml"
	"tare/importer"
	"tare/importer/delimited"
)

// Format reads the long CSV.
var Format = importer.Format{
	Name:       "csv",
	Doc:        "a table with a header and one value a row: arm, round, metric, unit, better, value",
	Extensions: []string{".csv", ".tsv"},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	in, err := delimited.Text(f)
	if err != nil {
		return nil, err
	}
	isMetric := func(title string) bool { return strings.ToLower(title) == "metric" }
	table, err := delimited.Open(in, isMetric, `one of them metric, as in "arm,round,metric,unit,better,value"`)
	if err != nil {
		return nil, err
	}
	row := row{Table: table, place: map[string]int{}}
	if err := row.columns(); err != nil {
		return nil, fmt.Errorf("line %d: %w", row.line(), err)
	}
	t := trials{latest: map[position]*trial{}, metrics: map[[2]string]*described{}, levels: map[string][]factor.Level{}}
	err = table.Each(func(fields []string) error {
		row.fields = fields
		t.add(&row)
		return row.err
	})
	if err != nil {
		return nil, err
	}
	return t.all()
}

// names are those of the columns that are read. Others are passed over.
var names = []string{
	"arm", "round", "attempt", "cell", "workload", "metric", "unit", "better", "scale", "headline", "value", "start", "errors", "valid", "paired",
}

// required are the columns without which no row can be understood. Which way is
// better is among them: guessed wrong, it turns every verdict around.
var required = []string{"metric", "better", "value"}

// Columns that tell levels: those of one factor, as "factor:qps", and all of them as tare export writes them.
const (
	factorPrefix = "factor:"
	levelsColumn = "levels"
)

// columns finds the places of the columns by their names, whatever their case.
func (r *row) columns() error {
	for i, title := range r.Titles {
		name := strings.ToLower(title)
		if strings.HasPrefix(name, factorPrefix) {
			named := strings.TrimSpace(title[len(factorPrefix):]) // as written
			if named == "" {
				return fmt.Errorf("the column %s names no factor: it is as in factor:qps", name)
			}
			name = factorPrefix + named
			r.factors = append(r.factors, named)
		} else if name != levelsColumn && !slices.Contains(names, name) {
			// A column of the user's own is welcome, a misspelt one is not.
			if near := strictyaml.Nearest(name, names); near != "" && !slices.ContainsFunc(r.Titles, func(t string) bool { return strings.ToLower(t) == near }) {
				return fmt.Errorf("unknown column %q: did you mean %s?", name, near)
			}
			continue
		}
		if r.has(name) {
			return fmt.Errorf("the column %s is there twice", name)
		}
		r.place[name] = i
	}
	for _, name := range required {
		if !r.has(name) {
			return fmt.Errorf("the column %s is missing", name)
		}
	}
	return nil
}

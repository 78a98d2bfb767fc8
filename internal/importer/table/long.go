package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
	"tare/internal/importer/delimited"
)

// ReadLong reads a table with one value a row, whose columns describe the value. Package longcsv documents the
// columns.
func ReadLong(f importer.File) ([]importer.Trial, error) {
	in, err := delimited.Text(f)
	if err != nil {
		return nil, err
	}
	isMetric := func(title string) bool { return strings.ToLower(title) == "metric" }
	table, err := delimited.Open(in, isMetric, `one of them metric, as in "arm,round,metric,unit,better,value"`)
	if err != nil {
		return nil, err
	}
	m := mapping{
		Round: "round", Start: "start", Workload: "csv", workload: "workload", attempt: "attempt",
		errors: "errors", valid: "valid", paired: "paired", exported: "levels", describe: describe,
	}
	r, err := NewRow(table, func(title string) (string, error) { return m.column(title, table.Titles) })
	if err != nil {
		return nil, err
	}
	for _, name := range required {
		if !r.Has(name) {
			return nil, fmt.Errorf("line %d: the column %s is missing", r.line, name)
		}
	}
	if r.Has("arm") {
		m.Arm = "arm"
	}
	trials := newAssembler(&m)
	if err := r.Each(trials.add); err != nil {
		return nil, err
	}
	if trials.rows == 0 {
		return nil, errors.New("the file has a header and no rows")
	}
	return trials.all()
}

// columns are the names of the columns that are read. Others are ignored.
var columns = []string{
	"arm", "round", "attempt", "cell", "workload", "metric", "unit", "better", "scale", "headline", "value", "start", "errors", "valid", "paired",
}

// required are the columns without which no row can be read. The better direction is one of them, since a wrong
// guess would invert every verdict.
var required = []string{"metric", "better", "value"}

// factorPrefix begins the name of a column with the levels of a factor.
const factorPrefix = "factor:"

// column returns the known name of a column, in lower case, or "" for a column that is not read.
func (m *mapping) column(title string, titles []string) (string, error) {
	name := strings.ToLower(title)
	switch {
	case strings.HasPrefix(name, factorPrefix):
		named := strings.TrimSpace(title[len(factorPrefix):]) // a factor's name keeps its case
		if named == "" {
			return "", fmt.Errorf("the column %s names no factor: it is as in factor:qps", name)
		}
		m.levels = append(m.levels, levelOf(named, factorPrefix+named))
		return factorPrefix + named, nil
	case name == "levels" || slices.Contains(columns, name):
		return name, nil
	}
	// The user's own columns are allowed, misspelt names are not.
	if near := strictyaml.Nearest(name, columns); near != "" && !slices.ContainsFunc(titles, func(t string) bool { return strings.ToLower(t) == near }) {
		return "", fmt.Errorf("unknown column %q: did you mean %s?", name, near)
	}
	return "", nil
}

// describe returns the metric that a row describes.
func describe(r *Row) fieldMetric {
	m := experiment.Metric{Name: r.needed("metric", "name of a metric"), Unit: r.Field("unit"), Scale: experiment.Ratio}
	m.Better = experiment.Better(r.either("better", string(experiment.Higher), string(experiment.Lower)))
	if r.Field("scale") != "" {
		m.Scale = experiment.Scale(r.either("scale", string(experiment.Ratio), string(experiment.Difference)))
	}
	m.Headline = r.Yes("headline", !r.Has("headline") && m.Scale == experiment.Ratio)
	if m.Headline && m.Scale == experiment.Difference {
		r.Fail("headline", "a metric on the scale difference cannot be a headline")
	}
	return fieldMetric{Metric: m, field: "value", named: "metric", cell: cmp.Or(r.Field("cell"), r.Field("workload")), times: 1}
}

// exported returns the levels in a column that tare export wrote, of the cell or of the arm:
// "mtu=1500;rules=8". It leaves out levels that have their own columns. A column of that name with other text
// is ignored.
func exported(r *Row, field string, own []factor.Level) (list []factor.Level) {
	for part := range strings.SplitSeq(r.Field(field), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil
		}
		if !slices.ContainsFunc(own, func(l factor.Level) bool { return l.Factor == name }) {
			list = append(list, factor.Level{Factor: intern(name), Value: intern(value)})
		}
	}
	return list
}

// keep adds the levels that tare export gave to a row. Levels that some rows of the cell lack belong to the
// arm.
func (r *assembler) keep(cell string, exported []factor.Level) {
	known, ok := r.shared[cell]
	if !ok {
		known = exported
	}
	r.shared[intern(cell)] = slices.DeleteFunc(known, func(l factor.Level) bool { return !slices.Contains(exported, l) })
}

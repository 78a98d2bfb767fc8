// Package table reads files that no other format reads: tables with a column for each metric, lines KEY=VALUE and JSON
// documents. A mapping file describes them (docs/import.md). The package also reads the long table of package longcsv.
//
// In all these files, results are rows of named fields. In a table, each line is a row and the columns are its fields.
// Lines KEY=VALUE are one row. In a JSON document, each element of a list is a row. Its fields are the values in it,
// with their paths as names ("knb.pod2pod.tcp_bw_mbit"). The content shows which kind of file it is.
//
// A row is a trial in each cell that has one of its metrics. A headline without a value (empty, null, NaN, a dash)
// makes the trial invalid. A text in place of a number is an error for the complete file, since such a mistake affects
// every row.
package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
)

// Format reads files that a mapping file describes.
var Format = importer.Format{
	Name:   name,
	Doc:    doc,
	Mapped: mapped,
}

const (
	name = "table"
	doc  = "tables with a column for each metric, KEY=VALUE lines and JSON documents, as a mapping file says (--map)"
)

// mapped reads a mapping file, and returns the format that it describes. The file's name is used only in messages.
func mapped(file string, text []byte) (importer.Format, error) {
	f := strictyaml.Read(file, text)
	m := mapping{parse: map[string]*regexp.Regexp{}}
	if f.Root != nil {
		f.Decode(f.Root, "", &m)
		m.compile(f)
	}
	if problems := f.Problems(); len(problems) > 0 {
		return importer.Format{}, &problems
	}
	extensions := []string{".csv", ".tsv", ".json", ".jsonl", ".env", ".results", ".txt", ".out"}
	return importer.Format{Name: name, Doc: doc, Extensions: extensions, Read: m.read}, nil
}

func (m *mapping) read(f importer.File) ([]importer.Trial, error) {
	in, err := text(f)
	if err != nil {
		return nil, err
	}
	r := newAssembler(m)
	switch err := eachRow(in, m.Rows, r.add); {
	case err != nil:
		return nil, err
	case r.rows == 0:
		return nil, errors.New("the file has no rows")
	case len(r.list) == 0:
		return nil, fmt.Errorf("no field is one of the metrics: there are %s", r.first)
	}
	return r.all()
}

// mapping is the content of a mapping file, which describes rows by their fields: a column's title, a key, a path in
// JSON or a named group of Parse.
type mapping struct {
	APIVersion string            `yaml:"apiVersion" required:"true" enum:"tare/v1alpha1" doc:"version of this format: tare/v1alpha1"`
	Kind       string            `yaml:"kind" required:"true" enum:"Table" doc:"kind of document: Table"`
	Rows       string            `yaml:"rows" doc:"path of the list in a JSON document whose elements are the rows"`
	Parse      map[string]string `yaml:"parse" doc:"by field, an expression whose named groups are additional fields, with parts of its text"`
	Arm        string            `yaml:"arm" doc:"field with the arm"`
	Cell       []string          `yaml:"cell" doc:"fields that together name the cell"`
	Workload   string            `yaml:"workload" doc:"kind of workload, such as network"`
	Round      string            `yaml:"round" doc:"field with the round"`
	Start      string            `yaml:"start" doc:"field with the start of the trial, as 2026-01-02T15:04:05Z or in seconds since 1970"`
	Levels     map[string]string `yaml:"levels" doc:"by factor, the field with its level"`
	Facts      map[string]string `yaml:"facts" doc:"by name, the field with a fact about the system"`
	Metrics    []mappedMetric    `yaml:"metrics" required:"true" doc:"fields that are measured values"`

	parse  map[string]*regexp.Regexp
	levels []levelField

	// These fields are for the long table, with one value per row. Each text names a field of a row; describe returns a
	// row's metric.
	workload, attempt, errors, valid, paired, exported string
	describe                                           func(*Row) fieldMetric
}

type levelField struct{ factor, field, what string }

func levelOf(factor, field string) levelField { return levelField{factor, field, "level of " + factor} }

// mappedMetric describes the field of a metric. Its name may be a pattern for several fields, each in a cell of its
// own.
type mappedMetric struct {
	Field    string            `yaml:"field" required:"true" doc:"name of the field, or an expression that matches the whole name; a group (?P<cell>...) matches the cell"`
	Where    map[string]string `yaml:"where" doc:"texts that other fields of the row must have"`
	Name     string            `yaml:"name" required:"true" doc:"name of the metric"`
	Unit     string            `yaml:"unit" doc:"base unit, such as s, bit/s or B; none for a count"`
	Times    multiplier        `yaml:"times" doc:"factor that converts the number to the unit"`
	Better   string            `yaml:"better" required:"true" enum:"higher,lower" doc:"better direction"`
	Scale    string            `yaml:"scale" enum:"ratio,difference" doc:"ratio, or difference for a metric that may be zero"`
	Headline *bool             `yaml:"headline" doc:"true: the metric gets a verdict; the default is true on the scale ratio"`

	field *regexp.Regexp
}

// multiplier is a positive number in a mapping, such as 0.001 or 1e6.
type multiplier float64

// UnmarshalText reads a multiplier, which is more than 0.
func (m *multiplier) UnmarshalText(text []byte) error {
	v, err := importer.Number(string(text))
	if err == nil && v <= 0 {
		err = fmt.Errorf("%.40q is not more than 0", text)
	}
	*m = multiplier(v)
	return err
}

// compile compiles the mapping's expressions, and checks conditions that struct tags cannot express.
func (m *mapping) compile(f *strictyaml.File) {
	for _, field := range slices.Sorted(maps.Keys(m.Parse)) {
		at := strictyaml.Join("parse", field)
		re, err := regexp.Compile(m.Parse[field])
		switch {
		case err != nil:
			f.ReportAt(at, err.Error(), "an expression as of Go and RE2")
		case len(groups(re)) == 0:
			f.ReportAt(at, "the expression has no named group", "as in '_(?P<arm>[a-z]+)$'")
		}
		m.parse[field] = re
	}
	for _, name := range slices.Sorted(maps.Keys(m.Levels)) {
		m.levels = append(m.levels, levelOf(name, m.Levels[name]))
	}
	if _, ok := m.Levels[""]; ok {
		f.ReportAt("levels", "a factor has no name", "as in {qps: ActualQPS}")
	}
	for i := range m.Metrics {
		c := &m.Metrics[i]
		at := strictyaml.Index("metrics", i)
		if f.Has(strictyaml.Join(at, "name")) && c.Name == "" {
			f.ReportAt(strictyaml.Join(at, "name"), "the metric has no name", "as in latency")
		}
		re, err := regexp.Compile("^(?:" + c.Field + ")$")
		if err != nil {
			f.ReportAt(strictyaml.Join(at, "field"), err.Error(), `an expression as of Go and RE2: put a backslash before ( ) [ ] * + ? that stand for themselves`)
		} else if g := groups(re); len(g) > 1 || len(g) == 1 && g[0] != cellGroup {
			f.ReportAt(strictyaml.Join(at, "field"), fmt.Sprintf("the expression has the group %q", g[0]), "the group of a metric's field is (?P<cell>...)")
		}
		c.field = re
		c.Scale = cmp.Or(c.Scale, string(experiment.Ratio))
		if c.Scale == string(experiment.Difference) && c.Headline != nil && *c.Headline {
			f.ReportAt(strictyaml.Join(at, "headline"), "a metric on the scale difference cannot be a headline", "leave it out")
		}
		c.Times = cmp.Or(c.Times, 1)
	}
	m.Workload = cmp.Or(m.Workload, name)
}

const cellGroup = "cell"

func groups(re *regexp.Regexp) []string {
	return slices.DeleteFunc(slices.Clone(re.SubexpNames()), func(name string) bool { return name == "" })
}

func (c *mappedMetric) described() experiment.Metric {
	headline := c.Scale == string(experiment.Ratio) && (c.Headline == nil || *c.Headline)
	return experiment.Metric{
		Name: c.Name, Unit: c.Unit, Better: experiment.Better(c.Better), Scale: experiment.Scale(c.Scale),
		Headline: headline, Optional: !headline,
	}
}

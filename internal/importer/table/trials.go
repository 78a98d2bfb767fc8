package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
	"tare/internal/lists"
)

// assembler makes trials from rows. Rows of the same trial need not be neighbours.
type assembler struct {
	*mapping
	rows      int
	first     string                    // field names of the first row, which messages show
	metricsOf map[string][]fieldMetric  // by a field's name: the metrics that the mapping file reads from this field
	list      []*assembled              // the trials, in the order in which they first appeared
	latest    map[trialKey]*assembled   // latest attempt at each trial, by arm, cell and round
	metrics   map[[2]string]*described  // metrics by cell and name, as the first row with the metric describes them
	with      int                       // line of the first row that names a round; 0: no row so far
	without   int                       // line of the first row that has no round; 0: none so far
	decimal   bool                      // set if some number shows that its point or comma is the decimal point
	grouped   []*described              // metrics with a value such as "1.021", whose point may separate thousands
	shared    map[string][]factor.Level // by cell: levels in tare export's column, if all rows of the cell have the same ones
}

func newAssembler(m *mapping) *assembler {
	return &assembler{mapping: m, metricsOf: map[string][]fieldMetric{}, latest: map[trialKey]*assembled{}, metrics: map[[2]string]*described{}, shared: map[string][]factor.Level{}}
}

type fieldMetric struct {
	experiment.Metric
	field string // name of the field with the value
	named string // for messages: name of the field that holds the metric's name
	cell  string
	times float64           // the factor by which the number is multiplied
	where map[string]string // texts that other fields of a row must have for its value to count, by field
}

type trialKey struct {
	arm, cell string
	round     int
}

type assembled struct {
	importer.Trial
	attempt int
	undone  bool   // set if a later attempt at the trial replaces this attempt
	seen    []seen // metrics with a value so far, even an unusable value, and the lines of these values
}

type seen struct {
	*described
	line int
}

// described is a cell's metric, as its first row describes it. In tables with semicolons, the point of "1.021" is
// decimal or separates thousands.
type described struct {
	experiment.Metric
	line    int
	counts  map[string]int // number of values of the metric so far, by arm; only for tables without rounds
	whole   bool           // true if some value is a whole number, without a point or comma
	grouped error          // the error if a value such as "1.021" stands beside whole numbers; nil: there is no such value
}

func (r *assembler) add(in *Row) error {
	r.split(in)
	if r.rows++; r.rows == 1 {
		r.first = importer.Few(12, in.Names)
	}
	about := importer.Trial{Arm: intern(in.needed(r.Arm, "name of an arm")), Kind: intern(cmp.Or(in.Field(r.workload), r.Workload))}
	for _, l := range r.mapping.levels {
		about.Levels = append(about.Levels, factor.Level{Factor: l.factor, Value: intern(in.needed(l.field, l.what))})
	}
	if r.describe != nil {
		r.take(in, r.describe(in), about)
		return in.Err
	}
	in.needed(r.Round, "number of the round")
	in.needed(r.Start, "time of the start")
	before := len(r.list)
	for i, name := range in.Names {
		for _, f := range r.of(name) {
			fits := in.Err == nil && in.index[name] == i
			for field, text := range f.where {
				fits = fits && in.Field(field) == text
			}
			if fits {
				r.take(in, f, about)
			}
		}
	}
	for _, t := range r.list[before:] {
		if len(t.Values) == 0 && t.Broken == "" {
			t.Broken = "no field tells a value"
		}
	}
	return cmp.Or(in.Err, importer.CheckCount(len(r.list)))
}

func (r *assembler) take(in *Row, f fieldMetric, about importer.Trial) {
	cell := r.cell(in, f.cell, about.Levels)
	m := r.described(in, cell, f)
	t := r.trial(in, trialKey{about.Arm, cell, r.round(in, about.Arm, m)}, about)
	if t == nil {
		return
	}
	if i := slices.IndexFunc(t.seen, func(s seen) bool { return s.described == m }); i >= 0 {
		in.Fail(f.named, "%s has a value for this arm, cell and round in %s %d already", m.Name, in.unit, t.seen[i].line)
	}
	t.seen = append(t.seen, seen{m, in.line})
	text := in.Field(f.field)
	value, err := r.number(in, f.field, m)
	value *= f.times
	switch {
	case err == nil && math.IsInf(value, 0):
		in.Fail(f.field, "%.40q times %g is no finite number", text, f.times)
	case err == nil && (m.Headline || r.describe != nil):
		t.Add(m.Metric, value)
	case err == nil:
		t.AddFit(m.Metric, value)
	case r.describe != nil && (!numeric.MatchString(text) || errors.Is(err, strconv.ErrRange)):
		t.Broken = cmp.Or(t.Broken, in.wrong(f.field, "%s: %s", m.Name, err).Error())
	case r.describe != nil || !slices.Contains(missing, strings.ToLower(text)):
		in.Fail(f.field, "%s: %s", m.Name, err)
	case f.Headline:
		t.Broken = cmp.Or(t.Broken, "there is no value of "+m.Name)
	}
}

// numeric matches a text that begins like a number. Texts such as "-", "n/a" and "#DIV/0!" do not: they mean that there
// is no value.
var numeric = regexp.MustCompile(`^[-+]?[.,]?[0-9]`)

var missing = []string{"", "-", "null", "nan", "n/a", "none"}

func (r *assembler) described(in *Row, cell string, f fieldMetric) *described {
	m := f.Metric
	at := [2]string{cell, m.Name}
	known, ok := r.metrics[at]
	if !ok {
		m.Name, m.Unit = intern(m.Name), intern(m.Unit)
		known = &described{Metric: m, line: in.line, counts: map[string]int{}}
		r.metrics[at] = known
	}
	if m != known.Metric {
		in.Fail(f.named, "%s is described otherwise in %s %d (unit, better, scale or headline)", m.Name, in.unit, known.line)
	}
	return known
}

// round returns the number that tells an arm's trials in a cell apart: the row's round or line. A long table without
// rounds counts the metric's values.
func (r *assembler) round(in *Row, arm string, m *described) int {
	n := in.Count(r.Round, "a round", 1)
	switch {
	case n == 0 && r.with > 0:
		in.Fail("", "round is empty, but not in line %d: give it in all rows or in none", r.with)
	case n > 0 && r.without > 0:
		in.Fail("", "round is %d, but empty in line %d: give it in all rows or in none", n, r.without)
	case n > 0:
		r.with = cmp.Or(r.with, in.line)
	case r.describe == nil:
		n = in.line
	default:
		r.without = cmp.Or(r.without, in.line)
		m.counts[arm]++
		n = m.counts[arm]
	}
	return n
}

// trial returns the trial to which a row adds its value. It returns nil if a row before it in the file belongs to a
// later attempt.
func (r *assembler) trial(in *Row, at trialKey, about importer.Trial) *assembled {
	attempt := 1
	if r.with > 0 {
		attempt = max(1, in.Count(r.attempt, "an attempt", 1))
	}
	t := r.latest[at]
	switch {
	case t != nil && attempt < t.attempt:
		return nil
	case t == nil || attempt > t.attempt:
		if t != nil {
			t.undone = true
		}
		at.arm, at.cell = intern(at.arm), intern(at.cell)
		t = &assembled{attempt: attempt, Trial: about}
		t.Cell, t.Facts = at.cell, make(map[string]string, len(r.Facts))
		for name, field := range r.Facts {
			t.Facts[name] = intern(in.Field(field))
		}
		if r.with > 0 {
			t.Round = at.round
		}
		r.latest[at] = t
		r.list = append(r.list, t)
	}
	// Start, errors and validity belong to the trial, and may stand in any of its rows.
	if text := in.Field(r.Start); t.Start.IsZero() && text != "" {
		var err error
		if t.Start, err = importer.Time(text); err != nil {
			in.Fail(r.Start, "%s", err)
		}
	}
	if e := in.share(r.errors); e.Known && (!t.Errors.Known || e.Share > t.Errors.Share) {
		t.Errors = e
	}
	t.Unpaired = !in.Yes(r.paired, true) || t.Unpaired
	if t.Broken == "" && !in.Yes(r.valid, true) {
		t.Broken = fmt.Sprintf("line %d: marked invalid in the file", in.line)
	}
	if r.exported != "" { // the cell has the levels that all its rows have; any other level belongs to an arm
		levels := exported(in, r.exported, about.Levels)
		shared, known := r.shared[at.cell]
		if !known {
			shared = levels
		}
		r.shared[intern(at.cell)] = slices.DeleteFunc(shared, func(l factor.Level) bool { return !slices.Contains(levels, l) })
	}
	return t
}

func (r *assembler) all() ([]importer.Trial, error) {
	// The point in 1.021 may be decimal or separate thousands. If all values of a metric have it, or none, ratios are
	// right. A mixture is an error.
	for _, m := range r.grouped {
		if m.whole && !r.decimal {
			return nil, m.grouped
		}
	}
	list := make([]importer.Trial, 0, len(r.list))
	for _, t := range r.list {
		if !t.undone {
			t.Levels = append(t.Levels, r.shared[t.Cell]...)
			list = append(list, t.Trial)
		}
	}
	return list, nil
}

var (
	// grouped matches a number that may have a thousands separator, such as 1.021 or 20,500.
	grouped = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}[.,][0-9]{3}$`)
	whole   = regexp.MustCompile(`^[-+]?[0-9]+$`)
)

// number reads a metric's value from a field. It also records whether the text is ambiguous: "1.021" may stand for
// 1021.
func (r *assembler) number(in *Row, field string, m *described) (float64, error) {
	text := in.Field(field)
	value, err := in.Number(text)
	switch {
	case err != nil || !in.semicolons() || r.decimal:
	case whole.MatchString(text):
		m.whole = true
	case !grouped.MatchString(text):
		r.decimal = true // no thousands separators fit this number, so its point or comma is a decimal one
	case m.grouped == nil:
		m.grouped = in.wrong(field, "%q may be a thousand times as much, beside whole numbers of the same metric: write all values with decimals, or without thousands separators", text)
		r.grouped = append(r.grouped, m)
	}
	return value, err
}

func (r *assembler) split(in *Row) {
	for _, field := range slices.Sorted(maps.Keys(r.parse)) {
		text, re := in.Field(field), r.parse[field]
		parts := re.FindStringSubmatch(text)
		switch {
		case !in.Has(field):
			in.Fail("", "there is no field %s: there are %s", field, importer.Few(12, in.Names))
			return
		case parts == nil:
			in.Fail(field, "%.60q does not match the expression under parse", text)
			return
		}
		for i, name := range re.SubexpNames() {
			if name != "" {
				in.set(name, parts[i])
			}
		}
	}
}

func (r *assembler) of(name string) []fieldMetric {
	list, ok := r.metricsOf[name]
	if ok {
		return list
	}
	for i := range r.Metrics {
		c := &r.Metrics[i]
		if at := c.field.FindStringSubmatchIndex(name); at != nil {
			cell := c.field.ExpandString(nil, "${"+cellGroup+"}", name, at)
			list = append(list, fieldMetric{c.described(), name, name, string(cell), float64(c.Times), c.Where})
		}
	}
	r.metricsOf[name] = list
	return list
}

// cell joins the fields that Cell lists, own (from the measured field's name) and the levels to a cell's name.
// "results" stands for empty fields and own.
func (r *assembler) cell(in *Row, own string, levels []factor.Level) string {
	parts := lists.Map(r.Cell, in.Field)
	parts = slices.DeleteFunc(append(parts, own), func(part string) bool { return part == "" })
	name := cmp.Or(strings.Join(parts, "."), "results")
	for _, l := range levels {
		name += "." + l.String()
	}
	return name
}

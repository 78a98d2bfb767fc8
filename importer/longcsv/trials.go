package longcsv

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/importer"
)

// cellName and kind stand for what the table does not tell.
const (
	cellName = "results"
	kind     = "csv"
)

// trials assembles trials from rows in any order.
type trials struct {
	list    []*trial                  // in the order in which they first appeared
	latest  map[position]*trial       // the last attempt so far
	metrics map[[2]string]*described  // by cell and name
	with    int                       // line of the first row with a round; 0: none had one
	without int                       // line of the first row without
	decimal bool                      // some number can only have a decimal point
	grouped []*described              // that have a value as "1.021"
	levels  map[string][]factor.Level // by cell: what tare export says of all its rows
}

type position struct {
	arm, cell string
	round     int
}

type trial struct {
	importer.Trial
	attempt int
	undone  bool // a later attempt took its place
}

// described is a metric as it was first described in its cell. In a table with semicolons,
// a point or comma in its values may be either a decimal point or a thousands separator.
type described struct {
	experiment.Metric
	line    int
	seen    map[*trial]int // line of its value
	counts  map[string]int // by arm, values so far without a round
	whole   bool           // some value has neither point nor comma
	grouped error          // what is wrong with its first value as "1.021" beside whole ones; nil: there is none
}

func (t *trials) all() (list []importer.Trial, err error) {
	if len(t.list) == 0 {
		return nil, errors.New("the file has a header and no rows")
	}
	// Where all values of a metric are written alike, no ratio of them depends on what the point is.
	for _, m := range t.grouped {
		if m.whole && !t.decimal {
			return nil, m.grouped
		}
	}
	for _, trial := range t.list {
		if !trial.undone {
			trial.Levels = append(trial.Levels, t.levels[trial.Cell]...)
			list = append(list, trial.Trial)
		}
	}
	return list, nil
}

func (t *trials) add(r *row) {
	arm := r.field("arm")
	if r.has("arm") && arm == "" {
		r.fail("arm", "the name of an arm is missing")
	}
	levels := r.levels()
	cell := cmp.Or(r.field("cell"), r.field("workload"), cellName)
	for _, l := range levels {
		cell += "." + l.String()
	}
	m := t.metric(r, cell)
	trial := t.attempt(r, position{arm, cell, t.round(r, arm, m)})
	if trial == nil {
		return
	}
	trial.Levels = levels
	t.keep(cell, r.exported())
	if before, ok := m.seen[trial]; ok {
		r.fail("metric", "%s has a value for this arm, cell and round in line %d already", m.Name, before)
	}
	m.seen[trial] = r.line()
	trial.about(r)
	text := r.field("value")
	value, err := r.number(text)
	switch {
	case err != nil && numeric.MatchString(text) && !errors.Is(err, strconv.ErrRange):
		r.fail("value", "%s: %s", m.Name, err)
	case err != nil:
		trial.Broken = cmp.Or(trial.Broken, r.wrong("value", "%s: %s", m.Name, err).Error())
	default:
		t.written(r, m, text)
		trial.Add(m.Metric, value)
	}
}

// keep takes up the levels that tare export gave a row. Those that not all rows of the cell
// have are of the arm.
func (t *trials) keep(cell string, exported []factor.Level) {
	known, ok := t.levels[cell]
	if !ok {
		known = exported
	}
	t.levels[cell] = slices.DeleteFunc(known, func(l factor.Level) bool { return !slices.Contains(exported, l) })
}

// metric gives the row's metric as it was first described in this cell.
func (t *trials) metric(r *row, cell string) *described {
	m := r.metric()
	at := [2]string{cell, m.Name}
	known, ok := t.metrics[at]
	if !ok {
		m.Name, m.Unit = strings.Clone(m.Name), strings.Clone(m.Unit)
		known = &described{Metric: m, line: r.line(), seen: map[*trial]int{}, counts: map[string]int{}}
		t.metrics[at] = known
	}
	if m != known.Metric {
		r.fail("metric", "%s is described otherwise in line %d (unit, better, scale or headline)", m.Name, known.line)
	}
	return known
}

// round gives the number of the trial: the round, or how many values this metric
// has had in this arm and cell.
func (t *trials) round(r *row, arm string, m *described) int {
	n, line := r.count("round", "a round"), r.line()
	switch {
	case n == 0 && t.with > 0:
		r.err = cmp.Or(r.err, fmt.Errorf("line %d: round is empty, but not in line %d: give it in all rows or in none", line, t.with))
	case n > 0 && t.without > 0:
		r.err = cmp.Or(r.err, fmt.Errorf("line %d: round is %d, but empty in line %d: give it in all rows or in none", line, n, t.without))
	case n > 0:
		t.with = cmp.Or(t.with, line)
	default:
		t.without = cmp.Or(t.without, line)
		m.counts[arm]++
		n = m.counts[arm]
	}
	return n
}

// attempt gives the trial that a row belongs to; nil: none, since a later attempt at
// it stands in the file already.
func (t *trials) attempt(r *row, at position) *trial {
	attempt := 1
	if t.with > 0 {
		attempt = max(1, r.count("attempt", "an attempt"))
	}
	last := t.latest[at]
	switch {
	case last != nil && attempt < last.attempt:
		return nil
	case last != nil && attempt == last.attempt:
		return last
	case last != nil:
		last.undone = true
	}
	at.arm, at.cell = intern(at.arm), intern(at.cell)
	n := &trial{attempt: attempt}
	n.Arm, n.Cell, n.Kind = at.arm, at.cell, intern(cmp.Or(r.field("workload"), kind))
	if t.with > 0 {
		n.Round = at.round
	}
	t.latest[at] = n
	t.list = append(t.list, n)
	return n
}

// about takes up what a row says of its trial rather than of its metric. It may
// stand in any of the trial's rows.
func (t *trial) about(r *row) {
	if text := r.field("start"); text != "" && t.Start.IsZero() {
		var err error
		if t.Start, err = importer.Time(text); err != nil {
			r.fail("start", "%s", err)
		}
	}
	if e := r.errors(); e.Known && (!t.Errors.Known || e.Share > t.Errors.Share) {
		t.Errors = e
	}
	t.Unpaired = !r.yes("paired", true) || t.Unpaired
	if t.Broken == "" && !r.yes("valid", true) {
		t.Broken = fmt.Sprintf("line %d: marked invalid in the file", r.line())
	}
}

var (
	// numeric begins what was meant for a number, unlike "-", "n/a" and "#DIV/0!".
	numeric = regexp.MustCompile(`^[-+]?[.,]?[0-9]`)
	// grouped is a number that may be thousands.
	grouped = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}[.,][0-9]{3}$`)
	whole   = regexp.MustCompile(`^[-+]?[0-9]+$`)
)

// written notes how a value is written. One as "1.021" may be a thousand times larger than it looks.
func (t *trials) written(r *row, m *described, text string) {
	switch {
	case r.Comma != ';' || t.decimal:
	case whole.MatchString(text):
		m.whole = true
	case !grouped.MatchString(text):
		t.decimal = true // no thousands look like this
	case m.grouped == nil:
		m.grouped = r.wrong("value", "%q may be a thousand times as much, beside whole numbers of the same metric: write all values with decimals, or without thousands separators", text)
		t.grouped = append(t.grouped, m)
	}
}

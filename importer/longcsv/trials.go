package longcsv

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unique"

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
	list    []*trial            // in the order in which they first appeared
	latest  map[position]*trial // the last attempt so far
	metrics map[series]*described
	seen    map[seat]int            // line of a value
	counts  map[counter]int         // values so far without a round
	with    int                     // line of the first row with a round; 0: none had one
	without int                     // line of the first row without
	decimal bool                    // some number can only have a decimal point
	levels  map[name][]factor.Level // by cell: what tare export says of all its rows
}

// name is one of an arm, cell or metric; its text keeps no row alive.
type name = unique.Handle[string]

type (
	position struct {
		arm, cell name
		round     int
	}
	series struct{ cell, metric name }
	seat   struct {
		trial  *trial
		metric name
	}
	counter struct{ arm, cell, metric name }
)

type trial struct {
	importer.Trial
	attempt int
	undone  bool // a later attempt took its place
}

// described is a metric as it was first described in its cell.
type described struct {
	experiment.Metric
	line    int
	written written
}

func newTrials() *trials {
	return &trials{
		latest: map[position]*trial{}, metrics: map[series]*described{}, seen: map[seat]int{}, counts: map[counter]int{},
	}
}

func (t *trials) all() ([]importer.Trial, error) {
	if len(t.list) == 0 {
		return nil, errors.New("the file has a header and no rows")
	}
	if err := t.ambiguous(); err != nil {
		return nil, err
	}
	var list []importer.Trial
	for _, trial := range t.list {
		if !trial.undone {
			list = append(list, trial.Trial)
		}
	}
	for i := range list {
		list[i].Levels = append(list[i].Levels, t.levels[unique.Make(list[i].Cell)]...)
	}
	return list, nil
}

// keep takes up the levels that tare export gave a row. Those that not all rows of the cell
// have are of the arm.
func (t *trials) keep(cell name, r *row) {
	if !r.has(levelsColumn) {
		return
	}
	if t.levels == nil {
		t.levels = map[name][]factor.Level{}
	}
	known, ok := t.levels[cell]
	if ok && len(known) == 0 {
		return
	}
	told := r.exported()
	if ok {
		t.levels[cell] = slices.DeleteFunc(known, func(l factor.Level) bool { return !slices.Contains(told, l) })
		return
	}
	list := []factor.Level{}
	for _, l := range told {
		if !slices.ContainsFunc(r.factors, func(f factorColumn) bool { return f.name == l.Factor }) {
			list = append(list, factor.Level{Factor: unique.Make(l.Factor).Value(), Value: unique.Make(l.Value).Value()})
		}
	}
	t.levels[cell] = list
}

func (t *trials) add(r *row) {
	arm := unique.Make(r.field("arm"))
	if r.has("arm") && arm.Value() == "" {
		r.fail("arm", "the name of an arm is missing")
	}
	levels := r.levels()
	where := cmp.Or(r.field("cell"), r.field("workload"), cellName)
	for _, l := range levels {
		where += "." + l.String()
	}
	cell := unique.Make(where)
	m := t.metric(r, cell)
	metric := unique.Make(m.Name)
	round := t.round(r, counter{arm, cell, metric})
	if r.err != nil {
		return
	}
	trial := t.attempt(r, position{arm, cell, round})
	if trial == nil || r.err != nil {
		return
	}
	trial.Levels = levels
	t.keep(cell, r)
	if before, ok := t.seen[seat{trial, metric}]; ok {
		r.fail("metric", "%s has a value for this arm, cell and round in line %d already", m.Name, before)
	}
	t.seen[seat{trial, metric}] = r.line()
	trial.about(r)
	text := r.field("value")
	value, err := r.number(text)
	switch {
	case err != nil && numeric.MatchString(text) && !errors.Is(err, strconv.ErrRange):
		r.fail("value", "%s: %s", m.Name, err)
	case err != nil:
		trial.Broken = cmp.Or(trial.Broken, r.wrong("value", "%s: %s", m.Name, err).Error())
	default:
		t.write(r, m, text)
		trial.Values = append(trial.Values, importer.Value{Metric: m.Metric, Value: value})
	}
}

// metric gives the row's metric as it was first described in this cell.
func (t *trials) metric(r *row, cell name) *described {
	m := r.metric()
	at := series{cell, unique.Make(m.Name)}
	known, ok := t.metrics[at]
	if !ok {
		m.Name, m.Unit = at.metric.Value(), unique.Make(m.Unit).Value()
		known = &described{Metric: m, line: r.line()}
		t.metrics[at] = known
	}
	if m != known.Metric {
		r.fail("metric", "%s is described otherwise in line %d (unit, better, scale or headline)", m.Name, known.line)
	}
	return known
}

// round gives the number of the trial: the round, or how many values this metric
// has had in this arm and cell.
func (t *trials) round(r *row, of counter) int {
	n, line := r.count("round", "a round"), r.line()
	switch {
	case n == 0 && t.with > 0 && r.err == nil:
		r.err = fmt.Errorf("line %d: round is empty, but not in line %d: give it in all rows or in none", line, t.with)
	case n > 0 && t.without > 0 && r.err == nil:
		r.err = fmt.Errorf("line %d: round is %d, but empty in line %d: give it in all rows or in none", line, n, t.without)
	case n > 0:
		t.with = cmp.Or(t.with, line)
	default:
		t.without = cmp.Or(t.without, line)
		t.counts[of]++
		n = t.counts[of]
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
	n := &trial{attempt: attempt}
	n.Arm, n.Cell, n.Kind = at.arm.Value(), at.cell.Value(), unique.Make(cmp.Or(r.field("workload"), kind)).Value()
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
	if t.Start.IsZero() {
		t.Start = r.start()
	}
	if e := r.errors(); e.Known && (!t.Errors.Known || e.Share > t.Errors.Share) {
		t.Errors = e
	}
	t.Unpaired = !r.yes("paired", true) || t.Unpaired
	if t.Broken == "" && !r.yes("valid", true) {
		t.Broken = fmt.Sprintf("line %d: marked invalid in the file", r.line())
	}
}

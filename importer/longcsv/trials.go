package longcsv

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tare/experiment"
	"tare/importer"
)

// cellName and kind stand for what the table does not tell.
const (
	cellName = "results"
	kind     = "csv"
)

// trials assembles trials from rows in any order.
type trials struct {
	*header
	list     []*importer.Trial // in the order in which they first appeared
	ids      map[string]int    // numbers for the names of arms, cells and metrics
	metrics  map[pair]described
	attempts []int            // numbers of the attempts, in parallel
	index    map[triple]int   // into list, by arm, cell and round
	undone   map[int]bool     // by index into list: a later attempt took its place
	seen     map[pair]int     // line of a value, by index into list and metric
	counts   map[triple]int   // values so far without a round, by arm, cell and metric
	with     int              // line of the first row with a round; 0: none had one
	without  int              // line of the first row without
	written  map[pair]written // by cell and metric
	decimal  bool             // some number can only have a decimal point
}

type (
	pair   struct{ a, b int }
	triple struct{ a, b, c int }
)

// described is a metric with the line that described it first.
type described struct {
	experiment.Metric
	line int
}

func newTrials(h *header) *trials {
	return &trials{
		header: h, ids: map[string]int{}, metrics: map[pair]described{}, index: map[triple]int{}, undone: map[int]bool{},
		seen: map[pair]int{}, counts: map[triple]int{}, written: map[pair]written{},
	}
}

// id gives a name its number.
func (t *trials) id(name string) int {
	id, ok := t.ids[name]
	if !ok {
		id = len(t.ids)
		t.ids[strings.Clone(name)] = id // a field keeps its whole row alive
	}
	return id
}

// add takes up one row.
func (t *trials) add(r *row) error {
	arm, cell := r.field(colArm), t.cell(r)
	if t.has(colArm) && arm == "" {
		return r.wrong(colArm, "the name of an arm is missing")
	}
	line := r.at(0).line
	key := triple{t.id(arm), t.id(cell), 0}
	m, metric, err := t.metric(r, key.b, line)
	if err != nil {
		return err
	}
	if key.c, err = t.round(r, key, metric, line); err != nil {
		return err
	}
	at, err := t.place(r, arm, cell, key)
	if err != nil || at < 0 {
		return err
	}
	trial := t.list[at]
	if before, ok := t.seen[pair{at, metric}]; ok {
		return r.wrong(colMetric, "%s has a value for this arm, cell and round in line %d already", m.Name, before)
	}
	t.seen[pair{at, metric}] = line
	if err := t.about(trial, r); err != nil {
		return err
	}
	text := r.field(colValue)
	value, err := r.number(text)
	if err != nil && numeric.MatchString(text) && !errors.Is(err, strconv.ErrRange) {
		return r.wrong(colValue, "%s: %s", m.Name, err)
	}
	if err != nil {
		if trial.Broken == "" {
			trial.Broken = r.wrong(colValue, "%s: %s", m.Name, err).Error()
		}
		return nil
	}
	t.write(r, pair{key.b, metric}, text)
	trial.Values = append(trial.Values, importer.Value{Metric: m, Value: value})
	return nil
}

// place gives the index into list of the trial that a row belongs to; -1: none,
// since a later attempt at it stands in the file already.
func (t *trials) place(r *row, arm, cell string, key triple) (int, error) {
	at, known := t.index[key]
	attempt := 1
	if t.with > 0 && t.has(colAttempt) {
		var err error
		if attempt, err = r.attempt(); err != nil {
			return 0, err
		}
	}
	switch {
	case known && attempt < t.attempts[at]:
		return -1, nil
	case known && attempt == t.attempts[at]:
		return at, nil
	case known:
		t.undone[at] = true
	}
	t.index[key] = len(t.list)
	t.list = append(t.list, t.trial(r, arm, cell, key.c))
	t.attempts = append(t.attempts, attempt)
	return len(t.list) - 1, nil
}

// cell names what the row measured.
func (t *trials) cell(r *row) string {
	for _, column := range []int{colCell, colWorkload} {
		if name := r.field(column); name != "" {
			return name
		}
	}
	return cellName
}

// metric gives the row's metric as it was first described in this cell, and its
// number.
func (t *trials) metric(r *row, cell, line int) (experiment.Metric, int, error) {
	m, err := r.metric()
	if err != nil {
		return m, 0, err
	}
	id := t.id(m.Name)
	known, ok := t.metrics[pair{cell, id}]
	if !ok {
		m.Name, m.Unit = strings.Clone(m.Name), strings.Clone(m.Unit)
		t.metrics[pair{cell, id}] = described{m, line}
		return m, id, nil
	}
	if m != known.Metric {
		return m, 0, r.wrong(colMetric, "%s is described otherwise in line %d (unit, better, scale or headline)", m.Name, known.line)
	}
	return known.Metric, id, nil
}

// round gives the number of the trial: the round, or how many values this metric
// has had in this arm and cell.
func (t *trials) round(r *row, key triple, metric, line int) (int, error) {
	n, err := r.round()
	if err != nil {
		return 0, err
	}
	if n > 0 && t.with == 0 {
		t.with = line
	}
	if n == 0 && t.without == 0 {
		t.without = line
	}
	switch {
	case n == 0 && t.with > 0:
		return 0, fmt.Errorf("line %d: round is empty, but not in line %d: give it in all rows or in none", line, t.with)
	case n > 0 && t.without > 0:
		return 0, fmt.Errorf("line %d: round is %d, but empty in line %d: give it in all rows or in none", line, n, t.without)
	}
	if n == 0 {
		key.c = metric
		t.counts[key]++
		n = t.counts[key]
	}
	return n, nil
}

// trial begins a trial with its first row.
func (t *trials) trial(r *row, arm, cell string, round int) *importer.Trial {
	n := &importer.Trial{Arm: strings.Clone(arm), Cell: strings.Clone(cell), Kind: kind}
	if t.with > 0 {
		n.Round = round
	}
	if workload := r.field(colWorkload); workload != "" {
		n.Kind = strings.Clone(workload)
	}
	return n
}

// about takes up what a row says of its trial rather than of its metric. It may
// stand in any of the trial's rows.
func (t *trials) about(trial *importer.Trial, r *row) error {
	if t.has(colStart) && trial.Start.IsZero() {
		at, err := r.start()
		if err != nil {
			return err
		}
		trial.Start = at
	}
	if t.has(colErrors) {
		e, err := r.errors()
		if err != nil {
			return err
		}
		if e.Known && (!trial.Errors.Known || e.Share > trial.Errors.Share) {
			trial.Errors = e
		}
	}
	if t.has(colPaired) {
		paired, err := r.yes(colPaired, true)
		if err != nil {
			return err
		}
		trial.Unpaired = trial.Unpaired || !paired
	}
	if t.has(colValid) && trial.Broken == "" {
		valid, err := r.yes(colValid, true)
		if err != nil {
			return err
		}
		if !valid {
			trial.Broken = fmt.Sprintf("line %d: marked invalid in the file", r.at(0).line)
		}
	}
	return nil
}

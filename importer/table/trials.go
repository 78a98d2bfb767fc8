package table

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/experiment/factor"
	"tare/importer"
)

// reading makes trials of rows.
type reading struct {
	*mapping
	hits   map[string][]hit // by the name of a field, what it measures
	taken  map[place]int    // index of the last trial
	trials []importer.Trial
}

// hit is a metric that a field is, and the cell that the field's name tells.
type hit struct {
	*metric
	cell string
}

// results is the cell where nothing tells it.
const results = "results"

// add makes the trials of one row: one for each cell.
func (r *reading) add(in *row) error {
	if err := r.split(in); err != nil {
		return err
	}
	about, err := r.about(in)
	if err != nil {
		return err
	}
	first := len(r.trials)
	for _, name := range in.names {
		for _, h := range r.of(name) {
			if !in.has(h.Where) {
				continue
			}
			t, err := r.trial(first, r.cell(in, h.cell, about.Levels), about)
			if err == nil {
				err = take(t, h.metric, in.text[name])
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for i := range r.trials[first:] {
		if t := &r.trials[first+i]; len(t.Values) == 0 && t.Broken == "" {
			t.Broken = "no field tells a value"
		}
	}
	return nil
}

// trial is that of a cell among those of the row, which begin at first.
func (r *reading) trial(first int, cell string, about importer.Trial) (*importer.Trial, error) {
	at := place{about.Arm, cell, about.Round}
	i, taken := r.taken[at]
	switch {
	case taken && i >= first:
		return &r.trials[i], nil
	case taken && at.round > 0:
		return nil, fmt.Errorf("there is a round %d of this arm in %s already", at.round, cell)
	}
	r.taken[at] = len(r.trials)
	about.Cell, about.Facts = cell, maps.Clone(about.Facts)
	r.trials = append(r.trials, about)
	return &r.trials[len(r.trials)-1], importer.Room(len(r.trials))
}

// place is where a trial stands.
type place struct {
	arm, cell string
	round     int
}

// take adds the value of a metric to a trial. Without that of a headline the trial is none.
func take(t *importer.Trial, c *metric, text string) error {
	m := c.described()
	if slices.ContainsFunc(t.Values, func(v importer.Value) bool { return v.Metric.Name == m.Name }) {
		return fmt.Errorf("another field is %s in %s, too: a group (?P<cell>...) can tell them apart", m.Name, t.Cell)
	}
	switch strings.ToLower(text) {
	case "", "-", "null", "nan", "n/a", "none":
		if m.Headline {
			t.Broken = cmp.Or(t.Broken, "there is no value of "+m.Name)
		}
		return nil
	}
	value, err := importer.Number(text)
	if err != nil {
		return err
	}
	if value *= float64(c.Times); math.IsInf(value, 0) {
		return fmt.Errorf("%.40q times %g is no finite number", text, c.Times)
	}
	if m.Headline {
		t.Add(m, value)
	} else {
		t.AddFit(m, value)
	}
	return nil
}

// split makes fields of the parts of others.
func (r *reading) split(in *row) error {
	for _, field := range slices.Sorted(maps.Keys(r.parse)) {
		text, ok := in.text[field]
		if !ok {
			return fmt.Errorf("there is no field %s: there are %s", field, few(in.names))
		}
		re := r.parse[field]
		parts := re.FindStringSubmatch(text)
		if parts == nil {
			return fmt.Errorf("%s is %.60q, which the expression under parse does not match", field, text)
		}
		for i, name := range re.SubexpNames() {
			if name != "" {
				in.set(name, parts[i])
			}
		}
	}
	return nil
}

// about is what all trials of a row have in common.
func (r *reading) about(in *row) (t importer.Trial, err error) {
	t.Kind = cmp.Or(r.Workload, anything)
	told := func(what, field string) string {
		text := in.text[field]
		if field != "" && text == "" && err == nil {
			err = fmt.Errorf("the field %s, which is to tell the %s, is missing or empty: there are %s", field, what, few(in.names))
		}
		return text
	}
	t.Arm = told("arm", r.Arm)
	if text := told("round", r.Round); text != "" {
		var bad error
		if t.Round, bad = strconv.Atoi(text); bad != nil || t.Round < 1 || t.Round > math.MaxInt32 {
			return t, fmt.Errorf("%s is %.40q, not a number of a round, which are whole and begin at 1", r.Round, text)
		}
	}
	if text := told("start", r.Start); text != "" {
		var bad error
		if t.Start, bad = importer.Time(text); bad != nil {
			return t, fmt.Errorf("%s: %w", r.Start, bad)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Levels)) {
		t.Levels = append(t.Levels, factor.Level{Factor: name, Value: told("level of "+name, r.Levels[name])})
	}
	t.Facts = map[string]string{}
	for name, field := range r.Facts {
		t.Facts[name] = in.text[field]
	}
	return t, err
}

// of gives what a field measures.
func (r *reading) of(name string) []hit {
	list, ok := r.hits[name]
	if ok {
		return list
	}
	for i := range r.Metrics {
		c := &r.Metrics[i]
		if at := c.field.FindStringSubmatchIndex(name); at != nil {
			cell := c.field.ExpandString(nil, "${"+cellGroup+"}", name, at)
			list = append(list, hit{c, string(cell)})
		}
	}
	r.hits[name] = list
	return list
}

// has says whether fields are what they have to be.
func (r *row) has(where map[string]string) bool {
	for field, text := range where {
		if r.text[field] != text {
			return false
		}
	}
	return true
}

// cell names a cell by what the fields for it say, what the name of the measured field says, and the levels.
func (r *reading) cell(in *row, own string, levels []factor.Level) string {
	var parts []string
	for _, field := range r.Cell {
		parts = append(parts, in.text[field])
	}
	parts = slices.DeleteFunc(append(parts, own), func(part string) bool { return part == "" })
	name := cmp.Or(strings.Join(parts, "."), results)
	for _, l := range levels {
		name += "." + l.String()
	}
	return name
}

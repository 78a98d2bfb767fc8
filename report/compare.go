package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	comparing "tare/compare"
	"tare/experiment"
	"tare/wording"
)

// comparedMetric is a metric in a cell with what several runs say of it: changes
// of overheads, or levels. Each row has an entry for each run.
type comparedMetric struct {
	Cell, Metric string
	metric       experiment.Metric
	Rows         []comparedRow
}

type comparedRow struct {
	Name    string
	Floor   bool // of the control
	Entries []comparedEntry
	Notes   []string // what the verdicts say, in sentences
}

// comparedEntry is what one run says of a row: a value, and what it is against
// the run or arm that it is compared with.
type comparedEntry struct {
	Value, Against string
	Verdict        pageVerdict
	verdict        analysis.Verdict
	Reference      bool // the others are compared with this
}

// judge sets what a comparison says; without a verdict if it is of a control.
func (e *comparedEntry) judge(c analysis.Comparison, verdict bool) {
	if wording.Judged(c) {
		e.Against = wording.Estimate(c)
	}
	if verdict {
		e.Verdict, e.verdict = badge(c.Verdict, observed(c)), c.Verdict
	}
}

// signed is what an entry is against what it is compared with, with its verdict's
// sign: "▲ +9.1 % [+9.0, +9.3]".
func (e comparedEntry) signed(ascii bool) string {
	if e.verdict == "" {
		return e.Against
	}
	return strings.TrimSpace(mark(e.verdict, ascii) + " " + e.Against)
}

// kind is "(obs.)" behind what is claimed without an experiment.
func (e comparedEntry) kind() string {
	if e.Verdict.Observed {
		return observedMark
	}
	return ""
}

// rowKey tells rows apart.
type rowKey struct{ cell, metric, name string }

// comparedRows collects rows by metric and cell in the order they come.
type comparedRows struct {
	runs    int
	metrics []*comparedMetric
	at      map[rowKey][2]int
}

func newComparedRows(runs int) *comparedRows {
	return &comparedRows{runs: runs, at: map[rowKey][2]int{}}
}

// row finds or makes a row.
func (c *comparedRows) row(cell string, m experiment.Metric, name string) *comparedRow {
	k := rowKey{cell, m.Name, name}
	if at, ok := c.at[k]; ok {
		return &c.metrics[at[0]].Rows[at[1]]
	}
	i, ok := c.at[rowKey{cell, m.Name, ""}]
	if !ok {
		i = [2]int{len(c.metrics), 0}
		c.at[rowKey{cell, m.Name, ""}] = i
		c.metrics = append(c.metrics, &comparedMetric{Cell: plain(cell), Metric: comparedTitle(m), metric: m})
	}
	of := c.metrics[i[0]]
	c.at[k] = [2]int{i[0], len(of.Rows)}
	of.Rows = append(of.Rows, comparedRow{Name: plain(name), Entries: make([]comparedEntry, c.runs)})
	return &of.Rows[len(of.Rows)-1]
}

func comparedTitle(m experiment.Metric) string {
	title := plain(m.Name)
	if m.Better != "" {
		title += ", " + plain(string(m.Better)) + " is better"
	}
	return title + exploratoryMark(m)
}

// changeRows are the changes of overheads, those of the control last.
func changeRows(r *comparing.Result, headline bool) []*comparedMetric {
	rows := newComparedRows(len(r.Runs))
	add := func(c comparing.Change, floor bool) {
		if c.Metric.Headline != headline {
			return
		}
		row := rows.row(c.Cell, c.Metric, changeName(c))
		row.Floor = floor
		if !c.Direct {
			from := &row.Entries[c.From.Run-1]
			from.Value, from.Reference = ownOverhead(c.From, c.Metric), true
		}
		to := &row.Entries[c.To.Run-1]
		to.Value = ownOverhead(c.To, c.Metric)
		to.judge(c.Comparison, !floor)
		if !floor {
			row.Notes = append(row.Notes, changeNote(c))
		}
	}
	for _, c := range r.Changes {
		add(c, false)
	}
	for _, c := range r.Floors {
		add(c, true)
	}
	return rows.metrics
}

// changeName is the arm, or both where they differ.
func changeName(c comparing.Change) string {
	switch {
	case c.Direct:
		return c.To.Arm + " against " + c.From.Arm
	case c.From.Arm == c.To.Arm:
		return c.To.Arm
	}
	return c.From.Arm + " → " + c.To.Arm
}

// changeNote says a change in a sentence.
func changeNote(c comparing.Change) string {
	return fmt.Sprintf("Run %d: %s.", c.To.Run, told(c.Comparison))
}

// ownOverhead writes the overhead of an arm as its run gives it.
func ownOverhead(o comparing.Overhead, m experiment.Metric) string {
	if !o.Known {
		return wording.Missing
	}
	return wording.Estimate(analysis.Comparison{Metric: m, Overhead: o.Overhead, PointOnly: o.PointOnly, Rounds: 1})
}

// levelRows are the levels of all arms.
func levelRows(r *comparing.Result, headline bool) []*comparedMetric {
	rows := newComparedRows(len(r.Runs))
	for _, l := range r.Levels {
		if l.Metric.Headline != headline {
			continue
		}
		row := rows.row(l.Cell, l.Metric, l.Arm)
		e := &row.Entries[l.Run-1]
		if e.Value = wording.Missing; l.Values.N > 0 {
			e.Value = wording.Value(l.Values.Median, l.Metric.Unit)
		}
		if l.Against == nil {
			e.Reference = true
			continue
		}
		e.judge(*l.Against, true)
		if !claims(l.Against.Verdict) && plain(l.Against.Text) != "" {
			row.Notes = append(row.Notes, fmt.Sprintf("Run %d: %s.", l.Run, told(*l.Against)))
		}
	}
	return rows.metrics
}

// comparedRun is a run in a line: "wireguard, 2 January 2026, 12 rounds".
func comparedRun(r comparing.Run) string {
	parts := []string{plain(r.Experiment)}
	if !r.Start.IsZero() {
		parts = append(parts, r.Start.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if r.Paired {
		parts = append(parts, wording.Count(r.Rounds, "round", "rounds"))
	}
	parts = append(parts, wording.Count(r.Trials, "valid trial", "valid trials"))
	if !r.Finished {
		parts = append(parts, "NOT FINISHED")
	}
	if !r.Valid {
		parts = append(parts, "INVALID")
	}
	return strings.Join(parts, ", ")
}

// comparedReference names the reference.
func comparedReference(r *comparing.Result) string {
	return fmt.Sprintf("%s of run %d", plain(r.Reference.Arm), r.Reference.Run)
}

// apartText says which runs have what others have not.
func apartText(a comparing.Apart) string {
	numbers := make([]string, len(a.Runs))
	for i, n := range a.Runs {
		numbers[i] = fmt.Sprint(n)
	}
	text := fmt.Sprintf("%s %s: only in run %s", plain(a.What), plain(a.Name), strings.Join(numbers, ", "))
	if a.Why != "" {
		text += " (" + plain(a.Why) + ")"
	}
	return text
}

// mostSame is how many things are named of a group in which nothing differs,
// where there is little room.
const mostSame = 12

// sameByGroup names what is the same, group by group: the first most of each; 0
// for all.
func sameByGroup(r *comparing.Result, most int) []entry {
	names := map[comparing.Group][]string{}
	var order []comparing.Group
	for _, p := range r.Same {
		if names[p.Group] == nil {
			order = append(order, p.Group)
		}
		names[p.Group] = append(names[p.Group], plain(p.Path))
	}
	var list []entry
	for _, g := range order {
		shown, more := names[g], ""
		if extra := len(shown) - most; most > 0 && extra > 1 {
			shown, more = shown[:most], fmt.Sprintf(" and %d more", extra)
		}
		list = append(list, entry{plain(string(g)), strings.Join(shown, ", ") + more})
	}
	return list
}

// comparedValues are a property's values by run, a dash where there is none. Of
// the processor's flags, which are many, those that came and went.
func comparedValues(p comparing.Property) []string {
	list := p.Shown()
	for i, v := range list {
		if list[i] = plain(v); list[i] == "" {
			list[i] = wording.Missing
		}
	}
	return list
}

// familyNote says what was corrected for.
func familyNote(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("Corrected by Holm's method as a family of %s.", wording.Count(n, "claim", "claims"))
}

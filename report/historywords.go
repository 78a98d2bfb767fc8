package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/history"
	"tare/wording"
)

// past is one experiment's history arranged for reading.
type past struct {
	*history.Experiment
	h *history.History
}

// pasts are the experiments of a history.
func pasts(h *history.History) []past {
	list := make([]past, len(h.Experiments))
	for i, e := range h.Experiments {
		list[i] = past{e, h}
	}
	return list
}

// chosen are the series to show: those of headline metrics, or all.
func (p past) chosen(all bool) []*history.Series {
	var list []*history.Series
	for i := range p.Series {
		if all || p.Series[i].Metric.Headline {
			list = append(list, &p.Series[i])
		}
	}
	return list
}

// pastCell is the series of one cell, in the order of the plan.
type pastCell struct {
	id     string
	series []*history.Series
}

// byCell groups series: first the cells in the order in which they appear.
func byCell(list []*history.Series) []pastCell {
	var cells []pastCell
	for _, s := range list {
		i := slices.IndexFunc(cells, func(c pastCell) bool { return c.id == s.Cell })
		if i < 0 {
			i = len(cells)
			cells = append(cells, pastCell{id: s.Cell})
		}
		cells[i].series = append(cells[i].series, s)
	}
	return cells
}

// seriesName says what a series is of, within its cell.
func seriesName(s *history.Series) string {
	name := plain(s.Metric.Name) + ", " + plain(s.Arm)
	if s.Machine {
		name += ", level of the baseline"
	} else if s.Of == history.OfLevel {
		name += ", level"
	}
	return name
}

// seriesNote says how the values of a series are to be read.
func seriesNote(s *history.Series) string {
	var parts []string
	if s.Of == history.OfOverhead {
		parts = append(parts, "overhead, plus is a cost")
	} else if s.Metric.Better != "" {
		parts = append(parts, plain(string(s.Metric.Better))+" is better")
	}
	if s.Machine {
		parts = append(parts, "tells of the machine, not of a layer")
	}
	if !s.Metric.Headline {
		parts = append(parts, "exploratory")
	}
	if s.Observational {
		parts = append(parts, observedOnly)
	}
	return strings.Join(parts, "; ")
}

// observedOnly labels a series without any experiment.
const observedOnly = "observational: no trials in rounds of random order"

// shiftWord says a change in few words: "worse by 5.1 % [4.0, 6.2]".
func shiftWord(s *history.Series, c history.Shift) string {
	if c.Direction == history.Spread {
		return "another spread, level " + wording.ShiftSize(s, c)
	}
	return c.Direction + " by " + wording.ShiftSize(s, c)
}

// shiftMark is the sign of a change.
func shiftMark(c history.Shift) string {
	switch c.Direction {
	case history.Worse, history.Rose:
		return "▲"
	case history.Better, history.Fell:
		return "▼"
	}
	return "≈"
}

// runTitle names a run with its time.
func (p past) runTitle(i int) string {
	r := p.Runs[i]
	if r.Start.IsZero() {
		return plain(r.Directory)
	}
	return plain(r.Directory) + " (" + moment(r) + ")"
}

func moment(r *history.Run) string { return r.Start.UTC().Format("2006-01-02 15:04") }

// shiftPlace says at which run a change is, and how sure that is.
func (p past) shiftPlace(c history.Shift) string {
	r := p.Runs[c.Run]
	text := "since " + plain(r.Directory)
	var about []string
	if !r.Start.IsZero() {
		about = append(about, moment(r))
	}
	if v := plain(r.TareVersion); v != "" {
		about = append(about, "Tare "+v)
	}
	if about != nil {
		text += " (" + strings.Join(about, ", ") + ")"
	}
	sure := wording.Share(p.h.Confidence)
	if c.Earliest == c.Latest {
		return text + "; hardly in another run (" + sure + ")"
	}
	return text + fmt.Sprintf("; it began in one of the runs %s to %s (%s)", plain(p.Runs[c.Earliest].Directory), plain(p.Runs[c.Latest].Directory), sure)
}

// mostEvents is how many events are written out in a sentence.
const mostEvents = 3

// shiftCause says what else changed, which may be why.
func (p past) shiftCause(c history.Shift) []string {
	var list []string
	if len(c.With) > 0 {
		list = append(list, "together with: "+eventList(c.With))
	}
	if len(c.Near) > 0 {
		list = append(list, "within these runs: "+eventList(c.Near))
	}
	return list
}

func eventList(events []history.Event) string {
	var parts []string
	for _, e := range events[:min(len(events), mostEvents)] {
		parts = append(parts, brief(wording.Difference(e.Difference)))
	}
	text := strings.Join(parts, "; ")
	if n := len(events) - mostEvents; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// others says at which runs the parameters of series change, and how: each
// difference once for a run, with the cells or arms that it is about where it is
// not about all.
func (p past) others(list []*history.Series) []string {
	type place struct{ cell, arm string }
	all := map[place]bool{}
	about := map[int]map[string]map[place]bool{} // by run and difference
	for _, s := range list {
		at := place{s.Cell, s.Arm}
		all[at] = true
		for _, st := range s.Stretches[min(1, len(s.Stretches)):] {
			if about[st.First] == nil {
				about[st.First] = map[string]map[place]bool{}
			}
			for _, d := range wording.Differences(st.Differs) {
				if about[st.First][d] == nil {
					about[st.First][d] = map[place]bool{}
				}
				about[st.First][d][at] = true
			}
		}
	}
	var lines []string
	for _, run := range slices.Sorted(maps.Keys(about)) {
		var parts []string
		for _, d := range slices.Sorted(maps.Keys(about[run])) {
			text, where := brief(d), about[run][d]
			if len(where) < len(all) {
				var names []string
				for at := range where {
					names = append(names, plain(at.arm)+" in "+plain(at.cell))
				}
				slices.Sort(names)
				if more := len(names) - mostEvents; more > 0 {
					names = append(names[:mostEvents], fmt.Sprintf("%d more", more))
				}
				text += " (" + strings.Join(names, ", ") + ")"
			}
			parts = append(parts, text)
		}
		lines = append(lines, "first with "+p.runTitle(run)+": "+strings.Join(parts, "; "))
	}
	return lines
}

// now is the level since the last change.
func now(s *history.Series) (history.Segment, bool) {
	if len(s.Points) == 0 || len(s.Segments) == 0 {
		return history.Segment{}, false
	}
	best := s.Segments[0]
	for _, seg := range s.Segments {
		if seg.To >= best.To {
			best = seg
		}
	}
	return best, true
}

// nowText says the level since the last change.
func nowText(s *history.Series) string {
	seg, ok := now(s)
	if !ok {
		return "no run can be used"
	}
	return wording.PastValue(s, seg.Level) + " over " + wording.Count(seg.Runs, "run", "runs")
}

// heading counts the runs of an experiment.
func (p past) heading() string {
	text := wording.Count(len(p.Runs), "run", "runs")
	first, last := p.Runs[0].Start, p.Runs[len(p.Runs)-1].Start
	if !first.IsZero() {
		text += " from " + first.UTC().Format("2006-01-02")
		if to := last.UTC().Format("2006-01-02"); to != first.UTC().Format("2006-01-02") {
			text += " to " + to
		}
	}
	if n := len(p.leftOut()); n > 0 {
		text += fmt.Sprintf(", %d of them left out", n)
	}
	return text
}

// leftOut are the runs of which nothing is part of the statistics.
func (p past) leftOut() []*history.Run {
	var list []*history.Run
	for _, r := range p.Runs {
		if r.LeftOut != nil {
			list = append(list, r)
		}
	}
	return list
}

// finding is a change with its series.
type finding struct {
	*history.Series
	history.Shift
}

// findings are the changes of the series, in the order in which they happened.
func findings(list []*history.Series) []finding {
	var all []finding
	for _, s := range list {
		for _, c := range s.Shifts {
			all = append(all, finding{s, c})
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return a.Run - b.Run })
	return all
}

// outcome counts the changes.
func (p past) outcome(list []*history.Series) string {
	n := len(findings(list))
	if n == 0 {
		return "No change in " + wording.Count(len(list), "series", "series") + "."
	}
	return wording.Count(n, "change", "changes") + " in " + wording.Count(len(list), "series", "series") + "."
}

// terms says how a history was judged.
func terms(h *history.History) string {
	return fmt.Sprintf("Changes are looked for at a level at which at most %s of histories without any would show one, at least %d runs apart. "+
		"Each point is one run; levels are Hodges–Lehmann estimates over the runs between changes, intervals have %s confidence.",
		wording.Share(h.Alpha), h.Segment, wording.Share(h.Confidence))
}

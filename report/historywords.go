package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/history"
	"tare/wording"
)

// past is one experiment's history arranged for reading.
type past struct {
	*history.Experiment
	h *history.History
}

func pasts(h *history.History) []past {
	list := make([]past, len(h.Experiments))
	for i, e := range h.Experiments {
		list[i] = past{e, h}
	}
	return list
}

// series are those of headline metrics, or of exploratory ones.
func (p past) series(headline bool) []*history.Series {
	return slices.DeleteFunc(pointers(p.Series), func(s *history.Series) bool { return s.Metric.Headline != headline })
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
	read := better(s.Metric)
	if s.Of == history.OfOverhead {
		read = "overhead"
	}
	return join("; ", read, when(s.Machine, "tells of the machine, not of a layer"),
		when(!s.Metric.Headline, "exploratory"), when(s.Observational, observedOnly))
}

// observedOnly labels a series without any experiment.
const observedOnly = "observational: no trials in rounds of random order"

// shiftWord says a change in few words: "5.1 % worse [4.0, 6.2]".
func shiftWord(s *history.Series, c history.Shift) string {
	if c.Direction == history.Spread {
		return "another spread, level " + wording.ShiftSize(s, c)
	}
	return wording.ShiftSize(s, c)
}

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
	at := join(", ", moment(p.Runs[i]), wording.Labels(p.Runs[i].Labels))
	return plain(p.Runs[i].Directory) + when(at != "", " ("+at+")")
}

// moment is when a run began; "" if that is not known.
func moment(r *history.Run) string {
	return when(!r.Start.IsZero(), r.Start.UTC().Format("2006-01-02 15:04"))
}

// shiftPlace says at which run a change is, and how sure that is.
func (p past) shiftPlace(c history.Shift) string {
	r, sure := p.Runs[c.Run], wording.Confidence(p.h.Confidence)
	about := join(", ", moment(r), wording.Labels(r.Labels), when(r.TareVersion != "", "Tare "+plain(r.TareVersion)))
	text := "since " + plain(r.Directory) + when(about != "", " ("+about+")")
	if c.Earliest == c.Latest {
		return text + "; hardly in another run (" + sure + ")"
	}
	return text + fmt.Sprintf("; it began in one of the runs %s to %s (%s)", plain(p.Runs[c.Earliest].Directory), plain(p.Runs[c.Latest].Directory), sure)
}

const mostEvents = 3

// shiftCause says what else changed, which may be why.
func (p past) shiftCause(c history.Shift) []string {
	return nonEmpty(when(len(c.With) > 0, "together with: "+eventList(c.With)),
		when(len(c.Near) > 0, "within these runs: "+eventList(c.Near)))
}

func eventList(events []history.Event) string {
	var parts []string
	for _, e := range events {
		parts = append(parts, brief(wording.Difference(e.Difference)))
	}
	return firstFew(parts, mostEvents, "; ", "; and ")
}

// others says at which runs the parameters of series change, and how: each
// difference once for a run, with the cells or arms that it is about where it is
// not about all.
func (p past) others(list []*history.Series) []string {
	type place struct{ cell, arm string }
	all := map[place]bool{}
	about := map[int]map[string]map[place]bool{} // by run and difference
	for _, s := range list {
		all[place{s.Cell, s.Arm}] = true
		for _, st := range s.Stretches[min(1, len(s.Stretches)):] {
			for _, d := range wording.Differences(st.Differs) {
				if about[st.First] == nil {
					about[st.First] = map[string]map[place]bool{}
				}
				if about[st.First][d] == nil {
					about[st.First][d] = map[place]bool{}
				}
				about[st.First][d][place{s.Cell, s.Arm}] = true
			}
		}
	}
	var lines []string
	for _, run := range slices.Sorted(maps.Keys(about)) {
		var parts []string
		for _, d := range slices.Sorted(maps.Keys(about[run])) {
			var names []string
			for at := range about[run][d] {
				names = append(names, plain(at.arm)+" in "+plain(at.cell))
			}
			slices.Sort(names)
			parts = append(parts, brief(d)+when(len(names) < len(all), " ("+firstFew(names, mostEvents, ", ", ", ")+")"))
		}
		lines = append(lines, "first with "+p.runTitle(run)+": "+strings.Join(parts, "; "))
	}
	return lines
}

// nowText says the level since the last change.
func nowText(s *history.Series) string {
	if len(s.Points) == 0 || len(s.Segments) == 0 {
		return "no run can be used"
	}
	now := s.Segments[0]
	for _, seg := range s.Segments {
		if seg.To >= now.To {
			now = seg
		}
	}
	return wording.PastValue(s, now.Level) + " over " + wording.Count(now.Runs, "run", "runs")
}

func (p past) heading() string {
	first, last := p.Runs[0].Start, p.Runs[len(p.Runs)-1].Start
	from, to, left := first.UTC().Format(time.DateOnly), last.UTC().Format(time.DateOnly), len(p.leftOut())
	return wording.Count(len(p.Runs), "run", "runs") + when(!first.IsZero(), " from "+from+when(to != from, " to "+to)) +
		when(left > 0, fmt.Sprintf(", %d of them left out", left))
}

// leftOut are the runs of which nothing is part of the statistics.
func (p past) leftOut() []*history.Run {
	return slices.DeleteFunc(slices.Clone(p.Runs), func(r *history.Run) bool { return r.LeftOut == nil })
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

// terms says how a history was judged.
func terms(h *history.History) string {
	return fmt.Sprintf("Changes are looked for at a level at which at most %s of histories without any would show one, at least %d runs apart. "+
		"Each point is one run; levels are Hodges–Lehmann estimates over the runs between changes, intervals have %s confidence.",
		wording.Share(h.Alpha), h.Segment, wording.Confidence(h.Confidence))
}

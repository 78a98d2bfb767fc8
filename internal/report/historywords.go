package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/lists"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
)

// experimentHistory is the history of one experiment, arranged for reading.
type experimentHistory struct {
	*history.Experiment
	confidence float64
}

func (p experimentHistory) series(headline bool) []*history.Series {
	return slices.DeleteFunc(pointers(p.Series), func(s *history.Series) bool { return s.Metric.Headline != headline })
}

func seriesName(s *history.Series) string {
	name := plain(s.Metric.Name) + ", " + plain(s.Arm)
	if s.Machine {
		name += ", level of the baseline"
	} else if s.Of == history.OfLevel {
		name += ", level"
	}
	return name
}

func seriesNote(s *history.Series) string {
	read := better(s.Metric)
	if s.Of == history.OfOverhead {
		read = "overhead"
	}
	return join("; ", read, when(s.Machine, "shows the machine, not a layer"),
		when(!s.Metric.Headline, "exploratory"), when(s.Observational, observedOnly))
}

// observedOnly labels a series whose runs are all observational.
const observedOnly = "observational: no trials in rounds of random order"

// shiftWord writes the size of a change: "5.1 % worse [4.0, 6.2]".
func shiftWord(s *history.Series, c history.Change) string {
	if c.Direction == history.Spread {
		return "another spread, level " + wording.ShiftSize(s, c)
	}
	return wording.ShiftSize(s, c)
}

func shiftMark(c history.Change) string {
	switch c.Direction {
	case history.Worse, history.Rose:
		return "▲"
	case history.Better, history.Fell:
		return "▼"
	}
	return "≈"
}

func (p experimentHistory) runTitle(i int) string {
	at := join(", ", moment(p.Runs[i]), wording.Labels(p.Runs[i].Labels))
	return plain(p.Runs[i].Directory) + when(at != "", " ("+at+")")
}

func moment(r *history.Run) string {
	return when(!r.Start.IsZero(), r.Start.UTC().Format("2006-01-02 15:04"))
}

func (p experimentHistory) shiftRun(c history.Change) string {
	r, sure := p.Runs[c.Run], wording.Confidence(p.confidence)
	about := join(", ", moment(r), wording.Labels(r.Labels), when(r.TareVersion != "", "Tare "+plain(r.TareVersion)))
	text := "since " + plain(r.Directory) + when(about != "", " ("+about+")")
	if c.Earliest == c.Latest {
		return text + "; hardly in another run (" + sure + ")"
	}
	return text + fmt.Sprintf("; it began in one of the runs %s to %s (%s)", plain(p.Runs[c.Earliest].Directory), plain(p.Runs[c.Latest].Directory), sure)
}

// shiftCause lists what else changed near a change of a metric, such as a new kernel. Each such difference between runs
// may be the cause.
func (p experimentHistory) shiftCause(c history.Change) []string {
	return nonEmpty(when(len(c.With) > 0, "together with: "+eventList(c.With)),
		when(len(c.Near) > 0, "within these runs: "+eventList(c.Near)))
}

func eventList(events []history.Event) string {
	return firstFew(lists.Map(events, func(e history.Event) string { return brief(wording.Difference(e.Difference)) }), maxEvents, "; ", "; and ")
}

// parameterChanges returns a line for each run whose parameters differ from those of the run before. A difference of
// only some arms or cells is followed by their names.
func (p experimentHistory) parameterChanges(list []*history.Series) []string {
	// all: names of every arm and cell. about[run][difference]: names of the arms and cells with this difference from
	// the run before
	all, about := map[string]bool{}, map[int]map[string][]string{}
	for _, s := range list {
		name := plain(s.Arm) + " " + wording.In(plain(s.Cell))
		all[name] = true
		for _, st := range s.Stretches[min(1, len(s.Stretches)):] {
			for _, d := range wording.Differences(st.Differs) {
				if about[st.First] == nil {
					about[st.First] = map[string][]string{}
				}
				about[st.First][d] = append(about[st.First][d], name)
			}
		}
	}
	var lines []string
	for _, run := range slices.Sorted(maps.Keys(about)) {
		var parts []string
		for _, d := range slices.Sorted(maps.Keys(about[run])) {
			names := slices.Compact(slices.Sorted(slices.Values(about[run][d])))
			parts = append(parts, brief(d)+when(len(names) < len(all), " ("+firstFew(names, maxEvents, ", ", ", ")+")"))
		}
		lines = append(lines, "first with "+p.runTitle(run)+": "+strings.Join(parts, "; "))
	}
	return lines
}

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

func (p experimentHistory) heading() string {
	first, last := p.Runs[0].Start, p.Runs[len(p.Runs)-1].Start
	from, to, left := first.UTC().Format(time.DateOnly), last.UTC().Format(time.DateOnly), len(p.leftOut())
	return wording.Count(len(p.Runs), "run", "runs") + when(!first.IsZero(), " from "+from+when(to != from, " to "+to)) +
		when(left > 0, fmt.Sprintf(", %d of them left out", left))
}

func (p experimentHistory) leftOut() []*history.Run {
	return slices.DeleteFunc(slices.Clone(p.Runs), func(r *history.Run) bool { return r.LeftOut == nil })
}

type finding struct {
	*history.Series
	history.Change
}

func findings(list []*history.Series) []finding {
	var all []finding
	for _, s := range list {
		all = append(all, lists.Map(s.Shifts, func(c history.Change) finding { return finding{s, c} })...)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return a.Run - b.Run })
	return all
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
	"tare/internal/runs/history"
)

// Figure draws the run's headline overheads as a picture for a file of its own.
func Figure(r *analysis.Run) string {
	s := arrange(r)
	name := plain(s.plan.Name)
	return s.forest().File(name, cmp.Or(plain(s.plan.Description), name, "Overheads"), figureNote(s))
}

func figureNote(s *sheet) string {
	text := fmt.Sprintf("Overhead relative to %s: %s in random order, %s intervals",
		s.baseline, wording.Count(s.run.Rounds, "round", "rounds"), s.confidence())
	if s.imported() {
		text = fmt.Sprintf("Observational: overhead relative to %s, %s intervals; %s", s.baseline, s.confidence(),
			brief(wording.Observation(s.run.Observation)))
	}
	return text + when(!s.run.Valid, "; invalid run, no verdicts")
}

// forest returns the plot of the headline overheads that are shares, since these fit on one axis.
func (s *sheet) forest() figure.Forest {
	f := figure.Forest{Baseline: s.baseline, Margin: s.margin()}
	for _, g := range s.groups(true) {
		if !wording.IsRatio(g.metric) || !slices.ContainsFunc(g.lines(), wording.HasNumbers) {
			continue
		}
		of := figure.Group{Metric: g.metric.Name, Cell: g.cell}
		for _, c := range g.lines() {
			verdict := string(c.Verdict) + when(ifNormal(&c), " ("+ifNormalMark+")") + when(s.claimsObservational(c.Verdict) || claimsObservational(c), " "+observedMark)
			of.Rows = append(of.Rows, forestRow(c, s.look(c.Arm), s.role(c.Arm) == experiment.Control, verdict))
		}
		f.Groups = append(f.Groups, of)
	}
	return f
}

func forestRow(c analysis.Comparison, look figure.Look, control bool, verdict string) figure.Row {
	r := figure.Row{Arm: c.Arm, Label: plain(c.Arm), Look: look, Control: control,
		Numbers: wording.Estimate(c), Drawn: wording.HasNumbers(c), At: c.Overhead, Point: c.PointOnly}
	if control {
		r.Label += " (noise floor)"
	} else if verdict != "" {
		r.Verdict = verdictStyle(c.Verdict).Sign() + " " + verdict
	}
	return r
}

// look returns the look of an arm, a different one for each arm.
func (s *sheet) look(arm string) figure.Look {
	switch s.role(arm) {
	case experiment.Baseline:
		return figure.Baseline
	case experiment.Control:
		return figure.Control
	}
	if s.many() {
		return figure.Any // more arms than colours; all arms have labels
	}
	i := s.armIndex(arm)
	for _, a := range s.plan.Arms[:i] {
		if a.Role != experiment.Treatment {
			i--
		}
	}
	return figure.Treatment(i)
}

func (s *sheet) trials(a analysis.ArmSeries) figure.Arm {
	return figure.Arm{Name: a.Arm, Look: s.look(a.Arm), Values: a.Values, Summary: a.Summary}
}

func (s *sheet) boxes(g group) figure.Boxes {
	b := figure.Boxes{Metric: g.metric.Name, Cell: g.cell, Unit: g.metric.Unit}
	for _, a := range g.series.Arms {
		b.Arms = append(b.Arms, s.trials(a))
	}
	return b
}

// runChart returns the run chart of a group. Imported trials are shown in the order measured, since their
// start times cannot be compared.
func (s *sheet) runChart(g group) figure.RunChart {
	r := figure.RunChart{Metric: g.metric.Name, Cell: g.cell, Unit: g.metric.Unit, Ratio: wording.IsRatio(g.metric),
		Ordered: s.imported()}
	if !r.Ordered {
		r.Sessions = s.run.Sessions
	}
	for _, a := range g.series.Arms {
		l := figure.Lane{Arm: s.trials(a)}
		if a.Diagnostics != nil {
			for _, position := range a.Diagnostics.Changes {
				l.Changes = append(l.Changes, position-1)
			}
		}
		if s.role(a.Arm) == experiment.Baseline {
			for _, round := range g.series.Changes {
				if i := slices.Index(a.Rounds, round); i >= 0 {
					l.Changes = append(l.Changes, i)
				}
			}
		}
		if !r.Ordered {
			l.Seconds = a.Seconds
			for _, t := range s.invalids[[2]string{g.cell, a.Arm}] {
				l.Invalid = append(l.Invalid, t.Start.Sub(s.run.Start).Seconds())
			}
		}
		r.Lanes = append(r.Lanes, l)
	}
	return r
}

// seriesGroup returns the group of a metric in a cell; nil if the run has no values of it.
func (s *sheet) seriesGroup(cell, metric string) *group {
	for _, b := range s.cells {
		if b.id != cell {
			continue
		}
		for i, g := range b.groups {
			if g.metric.Name == metric && g.series != nil {
				return &b.groups[i]
			}
		}
	}
	return nil
}

// chart returns the chart of a series over the runs of its experiment.
func (p experimentHistory) chart(s *history.Series, o HistoryOptions) figure.History {
	return figure.History{Name: seriesName(s), Series: s, Runs: p.Runs,
		Point:  func(at history.Point) (title, link string) { return p.pointTitle(s, at), o.link(p.Runs[at.Run]) },
		Label:  func(run int) string { return wording.Label(p.Runs[run].Labels) },
		Events: func(run int) string { return p.runTitle(run) + ":\n" + strings.Join(runEvents(p.Runs[run]), "\n") },
		Shift: func(c history.Change) (title, label string) {
			return shiftWord(s, c) + " " + p.shiftRun(c), shiftMark(c) + " " + wording.Changed(s.Metric, c.Size.Point)
		}}
}

// pointTitle returns the tooltip of a run's mark in a chart.
func (p experimentHistory) pointTitle(s *history.Series, at history.Point) string {
	version, value := p.Runs[at.Run].TareVersion, "no value"
	if at.Value != nil {
		value = wording.PastValue(s, *at.Value)
	}
	if at.LeftOut != nil {
		value += "; left out: " + brief(wording.Reason(at.LeftOut))
	}
	return p.runTitle(at.Run) + when(version != "", ", Tare "+plain(version)) + "\n" + value
}

package report

import (
	"fmt"
	"strings"

	"tare/analysis"
	"tare/wording"
)

// pageSeries is a metric with what the series of each arm says of itself.
type pageSeries struct {
	Metric, Cell string
	Arms         []pageSeriesArm
}

type pageSeriesArm struct{ Arm, N, Lag1, Trend, TrendP, Changes, DipP string }

// mostSeries is how many metrics the table of series shows.
const mostSeries = 60

// series fills the diagnostics of independent samples on headline metrics.
func (p *page) series(s *sheet) {
	for _, g := range s.groups(true) {
		if g.series == nil || !hasDiagnostics(g.series) {
			continue
		}
		if len(p.Series) == mostSeries {
			p.MoreSeries = fmt.Sprintf("Only the first %d metrics are shown; tare show -o json has all.", mostSeries)
			return
		}
		ps := pageSeries{Metric: plain(g.metric.Name), Cell: plain(g.cell)}
		for _, a := range g.series.Arms {
			if d := a.Diagnostics; d != nil {
				ps.Arms = append(ps.Arms, pageSeriesArm{plain(a.Arm), wording.Number(float64(len(a.Values)), 9), wording.Fixed(d.Lag1, 2),
					signedShare(d.Trend), wording.Probability(d.TrendP), places(d.Changes), wording.Probability(d.DipP)})
			}
		}
		p.Series = append(p.Series, ps)
	}
}

func hasDiagnostics(m *analysis.MetricSeries) bool {
	for _, a := range m.Arms {
		if a.Diagnostics != nil {
			return true
		}
	}
	return false
}

// signedShare writes a share with its sign: "+3.1 %".
func signedShare(v float64) string {
	if v > 0 {
		return "+" + wording.Share(v)
	}
	return wording.Share(v)
}

func places(at []int) string {
	var list []string
	for _, i := range at {
		list = append(list, fmt.Sprint(i))
	}
	return strings.Join(list, ", ")
}

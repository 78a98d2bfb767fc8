package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// openMetrics writes the analysis in the OpenMetrics text format 1.0.
//
// All metrics are gauges. A comparison has a series for each possible verdict: 1 for its own verdict, 0 for the others.
// The types stateset and info would fit better. But node_exporter's textfile collector and the Pushgateway read an
// older text format without these types.
//
// Series have no timestamps, so their time is the time of the scrape. The start of the run is a series of its own.
func openMetrics(w io.Writer, r Run) error {
	out := bufio.NewWriter(w)
	for _, f := range families(r) {
		f.write(out)
	}
	fmt.Fprintln(out, "# EOF")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write openmetrics: %w", err)
	}
	return nil
}

type family struct {
	name string
	unit string // unit that the metric's name ends in; "": none, or a label has the unit
	help string
	list []series
}

type series struct {
	labels []label
	value  float64
}

type label struct{ name, value string }

func (f *family) add(value float64, labels ...label) {
	f.list = append(f.list, series{labels, value})
}

func (f *family) write(w io.Writer) {
	if len(f.list) == 0 {
		return
	}
	fmt.Fprintf(w, "# TYPE %s gauge\n", f.name)
	if f.unit != "" {
		fmt.Fprintf(w, "# UNIT %s %s\n", f.name, f.unit)
	}
	fmt.Fprintf(w, "# HELP %s %s\n", f.name, f.help)
	for _, s := range f.list {
		labels := lists.Map(s.labels, func(l label) string { return l.name + `="` + escapeLabel.Replace(safetext.Line(l.value)) + `"` })
		fmt.Fprintf(w, "%s{%s} %s\n", f.name, strings.Join(labels, ","), number(s.value))
	}
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func families(r Run) []*family {
	return slices.Concat(runFamilies(r), comparisonFamilies(r), valueFamilies(r))
}

func runFamilies(r Run) []*family {
	a, plan := r.Analysis, r.Record.Plan
	one := func(name, unit, help string, value float64, more ...label) *family {
		return &family{name, unit, help, []series{{append([]label{{"run", plan.Name}}, more...), value}}}
	}
	start := one("tare_run_start_timestamp_seconds", "seconds", "When the first trial started, since 1970.",
		float64(a.Start.UnixMilli())/1000)
	if a.Start.IsZero() {
		start.list = nil
	}
	trials := one("tare_trials", "", "Trials, each attempt counted, by whether they are valid.", float64(a.Trials.Valid),
		label{"valid", "true"})
	trials.add(float64(len(a.Invalids)), label{"run", plan.Name}, label{"valid", "false"})
	return []*family{
		one("tare_run_info", "", "The run that the other series are about; always 1.", 1,
			label{"directory", directory(r.Record.Dir)},
			label{"testbed", plan.Testbed}, label{"version", plan.Version}, label{"observational", observational(r)},
			label{"observational_reason", wording.Observation(a.Observation)}),
		one("tare_run_valid", "", "Whether the run gives verdicts (1) or not (0).", truth(a.Valid)),
		one("tare_run_finished", "", "Whether the run is complete (1) or can be resumed (0).", truth(a.Finished)),
		start, trials}
}

var verdicts = []analysis.Verdict{analysis.Costs, analysis.Gains, analysis.Equivalent, analysis.Fails, analysis.NotResolved, analysis.Interim, analysis.Restated, analysis.Invalid}

// comparisonFamilies returns the metrics that compare an arm or the control with the baseline. Units differ by scale,
// so each scale has its own families.
func comparisonFamilies(r Run) []*family {
	verdict := &family{name: "tare_verdict", help: "The verdict on an arm and a metric: 1 for the one given, 0 for the others."}
	rounds := &family{name: "tare_comparison_rounds", help: "Complete pairs behind a comparison; for independent samples, values of the smaller one."}
	all := []*family{verdict, rounds}
	byScale := map[experiment.Scale][]*family{}
	for _, scale := range []experiment.Scale{experiment.Ratio, experiment.Difference} {
		unit := wording.When(scale == experiment.Ratio, "ratio")
		for _, e := range []struct{ name, help string }{
			{"overhead", "Overhead of an arm relative to the baseline, positive for a cost."},
			{"overhead_low", "Lower end of the interval of the overhead, positive for a cost."},
			{"overhead_high", "Upper end of the interval of the overhead, positive for a cost."},
			{"mean_overhead", "Overhead of the mean, positive for a cost; the other overheads are of the typical round."},
			{"noise_floor", "Difference of the control from the baseline, without its sign."},
			{"detectable_effect", "Smallest overhead that this comparison would find."},
		} {
			byScale[scale] = append(byScale[scale], &family{name: "tare_" + e.name + "_" + string(scale), unit: unit, help: e.help})
		}
		all = append(all, byScale[scale]...)
	}
	for _, c := range slices.Concat(r.Analysis.Comparisons, r.Analysis.Controls) {
		// no spare capacity: each append below copies the labels instead of changing them
		labels := slices.Clip(metricLabels(r, c.Cell, c.Arm, c.Metric))
		for _, v := range verdicts {
			verdict.add(truth(v == c.Verdict), append(labels, label{"verdict", string(v)}, label{"grade", string(c.Grade)})...)
		}
		rounds.add(float64(c.Rounds), labels...)
		if !wording.HasNumbers(c) {
			continue
		}
		of := byScale[c.Metric.Scale]
		for i, v := range []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi} {
			of[i].add(v, labels...)
		}
		if c.Mean != nil {
			of[3].add(c.Mean.Point, labels...)
		}
		of[4].add(c.Floor, labels...)
		if c.MDE > 0 {
			of[5].add(c.MDE, labels...)
		}
	}
	executions := &family{name: "tare_executions", help: "Executions of the program in an arm that the machine's condition did not spoil."}
	failed := &family{name: "tare_failures", help: "Executions in which the program failed, in cells with any failure."}
	for _, f := range r.Analysis.Failures {
		labels := slices.Clip(metricLabels(r, f.Cell, f.Arm, experiment.FailuresMetric))
		executions.add(float64(f.Failed.Of), labels...)
		failed.add(float64(f.Failed.Count), labels...)
		for _, v := range verdicts {
			if f.Verdict != "" {
				verdict.add(truth(v == f.Verdict), append(labels, label{"verdict", string(v)}, label{"grade", ""})...)
			}
		}
	}
	return append(all, executions, failed)
}

func valueFamilies(r Run) []*family {
	median := &family{name: "tare_value_median", help: "Median of the valid trials, in the unit of the label."}
	count := &family{name: "tare_value_trials", help: "Valid trials behind the median."}
	for _, c := range r.Analysis.Cells {
		for _, m := range c.Metrics {
			for _, a := range m.Arms {
				if a.Summary.N == 0 || math.IsNaN(a.Summary.Median) {
					continue
				}
				labels := metricLabels(r, c.ID, a.Arm, m.Metric)
				median.add(a.Summary.Median, labels...)
				count.add(float64(a.Summary.N), labels...)
			}
		}
	}
	return []*family{median, count}
}

func metricLabels(r Run, cell, arm string, m experiment.Metric) []label {
	role := ""
	if a := r.Record.Plan.Arm(arm); a != nil {
		role = string(a.Role)
	}
	return []label{
		{"run", r.Record.Plan.Name}, {"cell", cell}, {"arm", arm}, {"role", role},
		{"metric", m.Name}, {"unit", m.Unit}, {"better", string(m.Better)}, {"headline", strconv.FormatBool(m.Headline)},
		{"observational", observational(r)},
	}
}

// observational returns the label "observational" of every series: "true" if the run is no experiment. An alert sees
// only the labels of its own series.
func observational(r Run) string { return strconv.FormatBool(r.Analysis.Observation != nil) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

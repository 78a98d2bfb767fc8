package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tare/analysis"
	"tare/experiment"
	"tare/safetext"
	"tare/wording"
)

// OpenMetrics writes what the analysis says in the OpenMetrics text format 1.0.
//
// All of it is gauges, the verdict too: one series for each verdict that there
// is, 1 for the one that was given, as a state set has it. What would be a state
// set or an info by its type is none, so that the file is also right in the older
// text format, which knows neither and which node_exporter's textfile collector
// and the Pushgateway read.
//
// Series have no timestamps: when they are scraped is when they hold. When the run
// began is a series of its own.
func OpenMetrics(w io.Writer, r Run) error {
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

// family is a metric of Prometheus with its series.
type family struct {
	name string
	unit string // that the name ends in; "": none, or told by a label
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

// write writes a family that has series.
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
		labels := make([]string, len(s.labels))
		for i, l := range s.labels {
			labels[i] = l.name + `="` + escapeLabel.Replace(safetext.Line(l.value)) + `"`
		}
		fmt.Fprintf(w, "%s{%s} %s\n", f.name, strings.Join(labels, ","), number(s.value))
	}
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func families(r Run) []*family {
	return append(runFamilies(r), append(comparisonFamilies(r), valueFamilies(r)...)...)
}

// runFamilies tell of the run as a whole.
func runFamilies(r Run) []*family {
	a, plan := r.Analysis, r.Record.Plan
	run := label{"run", plan.Name}
	info := &family{name: "tare_run_info", help: "The run that the other series are about; always 1."}
	info.add(1, run, label{"directory", directory(r.Record.Dir)}, label{"testbed", plan.Testbed},
		label{"version", plan.Version}, label{"observational", observational(r)},
		label{"observational_reason", wording.Observation(a.Observation)})
	valid := &family{name: "tare_run_valid", help: "Whether the run gives verdicts (1) or not (0)."}
	valid.add(truth(a.Valid), run)
	finished := &family{name: "tare_run_finished", help: "Whether the run is complete (1) or can be resumed (0)."}
	finished.add(truth(a.Finished), run)
	start := &family{name: "tare_run_start_timestamp_seconds", unit: "seconds", help: "When the first trial started, since 1970."}
	if !a.Start.IsZero() {
		start.add(float64(a.Start.UnixMilli())/1000, run)
	}
	trials := &family{name: "tare_trials", help: "Trials, each attempt counted, by whether they are valid."}
	trials.add(float64(a.Trials.Valid), run, label{"valid", "true"})
	trials.add(float64(len(a.Invalids)), run, label{"valid", "false"})
	return []*family{info, valid, finished, start, trials}
}

// verdicts are all verdicts, in the order in which they are told.
var verdicts = []analysis.Verdict{analysis.Costs, analysis.Gains, analysis.Equivalent, analysis.NotResolved, analysis.Invalid}

// comparisonFamilies tell of each arm, the control included, against the baseline.
// Overheads on the scale "ratio" and on "difference" are different families, since
// they have different units. A comparison without a verdict has no numbers.
func comparisonFamilies(r Run) []*family {
	verdict := &family{name: "tare_verdict", help: "The verdict on an arm and a metric: 1 for the one given, 0 for the others."}
	rounds := &family{name: "tare_comparison_rounds", help: "Complete pairs behind a comparison; for independent samples, values of the smaller one."}
	all := []*family{verdict, rounds}
	estimates := func(scale, unit string) []*family {
		made := []*family{
			{name: "tare_overhead_" + scale, unit: unit, help: "Overhead of an arm relative to the baseline, positive for a cost."},
			{name: "tare_overhead_low_" + scale, unit: unit, help: "Lower end of the interval of the overhead."},
			{name: "tare_overhead_high_" + scale, unit: unit, help: "Upper end of the interval of the overhead."},
			{name: "tare_noise_floor_" + scale, unit: unit, help: "What the control differs from the baseline by, without regard to sign."},
			{name: "tare_detectable_effect_" + scale, unit: unit, help: "Smallest overhead that this comparison would find."},
		}
		all = append(all, made...)
		return made
	}
	byScale := map[experiment.Scale][]*family{
		experiment.Ratio:      estimates("ratio", "ratio"),
		experiment.Difference: estimates("difference", ""),
	}
	for _, list := range [][]analysis.Comparison{r.Analysis.Comparisons, r.Analysis.Controls} {
		for _, c := range list {
			labels := comparisonLabels(r, c)
			for _, v := range verdicts {
				verdict.add(truth(v == c.Verdict), append(labels, label{"verdict", string(v)})...)
			}
			rounds.add(float64(c.Rounds), labels...)
			if !wording.Judged(c) {
				continue
			}
			of := byScale[c.Metric.Scale]
			for i, v := range []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi, c.Floor} {
				of[i].add(v, labels...)
			}
			if c.MDE > 0 {
				of[4].add(c.MDE, labels...)
			}
		}
	}
	return all
}

func comparisonLabels(r Run, c analysis.Comparison) []label {
	labels := metricLabels(r, c.Cell, c.Arm, c.Metric)
	return labels[:len(labels):len(labels)] // each verdict appends its own
}

// valueFamilies tell of the values themselves, the baseline's too.
func valueFamilies(r Run) []*family {
	median := &family{name: "tare_value_median", help: "Median of the valid trials, in the unit that the label says."}
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

// metricLabels say what a series is about.
func metricLabels(r Run, cell, arm string, m experiment.Metric) []label {
	role := ""
	for _, a := range r.Record.Plan.Arms {
		if a.Name == arm {
			role = string(a.Role)
		}
	}
	return []label{
		{"run", r.Record.Plan.Name}, {"cell", cell}, {"arm", arm}, {"role", role},
		{"metric", m.Name}, {"unit", m.Unit}, {"better", string(m.Better)}, {"headline", strconv.FormatBool(m.Headline)},
		{"observational", observational(r)},
	}
}

// observational labels what is no result of an experiment, series by series: an
// alert sees no more than the labels of its own.
func observational(r Run) string { return strconv.FormatBool(r.Analysis.Observation != nil) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
)

// measure reads the results of a row's runs.
func (l *ledger) measure(r *row) error {
	for _, name := range r.Runs {
		run, err := l.run(name)
		if err == nil {
			err = l.ofFile(r, run.Plan)
		}
		if err == nil {
			numbers := l.numbers(r)
			if r.Derived != "" {
				numbers = nil
			}
			err = r.measure(run, numbers)
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	return nil
}

// run opens a kept run. Its record must be whole, and the run must give verdicts.
func (l *ledger) run(name string) (*analysis.Run, error) {
	if run := l.runs[name]; run != nil {
		return run, nil
	}
	dir, remove, err := journal.Unpack(filepath.Join(l.root, runsDir, name+".tar.gz"))
	if err != nil {
		return nil, err
	}
	record, _, err := journal.Verify(dir)
	if err = errors.Join(err, remove()); err != nil {
		return nil, err
	}
	run := analysis.OfRun(record)
	if !run.Valid || !run.Finished {
		return nil, fmt.Errorf("it gives no verdicts (valid: %t, finished: %t)", run.Valid, run.Finished)
	}
	l.runs[name] = run
	return run, nil
}

// numbers lists the numbers of the row's figures.
func (l *ledger) numbers(r *row) (all []string) {
	for name, ids := range r.Figures {
		for _, id := range ids {
			if d := l.document(name); d != nil && d.figure(id) != nil {
				all = append(all, d.figure(id).Numbers...)
			}
		}
	}
	return all
}

func (r *row) measure(run *analysis.Run, numbers []string) error {
	for _, id := range r.Rows {
		texts, err := published(run, id, numbers)
		if err != nil {
			return err
		}
		r.measured = append(r.measured, texts...)
	}
	for _, one := range r.Results {
		texts, err := one.of(run)
		if err != nil {
			return err
		}
		r.measured = append(r.measured, texts...)
	}
	return nil
}

// ofFile checks that a run is of the row's experiment. An imported run has none.
func (l *ledger) ofFile(r *row, plan *experiment.Plan) error {
	if plan.Import != nil || !strings.HasSuffix(r.File, ".yaml") {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(l.root, r.File))
	if err != nil {
		return err
	}
	var file struct {
		Name string `yaml:"name"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return err
	}
	if file.Name != plan.Name {
		return fmt.Errorf("it is a run of %s, and not of %s", plan.Name, file.Name)
	}
	return nil
}

// of describes the results that r names, one text for each cell.
func (r result) of(run *analysis.Run) (texts []string, err error) {
	for _, c := range run.Cells {
		for _, m := range c.Metrics {
			if experiment.Nearness(r.Metric, m.Metric.Name, c.ID) == 0 {
				continue
			}
			var arms []string
			for _, arm := range r.Arms {
				if at := slices.IndexFunc(m.Arms, func(a analysis.ArmSeries) bool { return a.Arm == arm }); at >= 0 && m.Arms[at].Summary.N > 0 {
					arms = append(arms, arm+" "+r.text(run, c.ID, m.Metric, &m.Arms[at]))
				}
			}
			if len(arms) == len(r.Arms) {
				texts = append(texts, m.Metric.Name+wording.When(len(run.Cells) > 1, " "+wording.In(c.ID))+": "+strings.Join(arms, ", "))
			}
		}
	}
	if texts == nil {
		err = fmt.Errorf("no result on %s of all arms %s", r.Metric, strings.Join(r.Arms, ", "))
	}
	return texts, err
}

func (r result) text(run *analysis.Run, cell string, m experiment.Metric, a *analysis.ArmSeries) string {
	scale := wording.ScaleOf(m.Unit, a.Summary.Median)
	switch other := run.Comparison(cell, a.Arm, m.Name); {
	case r.Mean:
		mean, variance := moments(a.Values)
		return fmt.Sprintf("%.6f %s (%.6f)", mean, m.Unit, variance)
	case other != nil && wording.HasNumbers(*other):
		return wording.Estimate(*other) + " (" + string(other.Verdict) + ")"
	}
	return scale.With(a.Summary.Median) + " [" + scale.Bare(a.Summary.MedianLo) + ", " + scale.Bare(a.Summary.MedianHi) + "]"
}

// moments returns the mean and the population variance of values.
func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, variance
}

// published describes the run's results beside a published row of its experiment, one text for each cell. The row must
// have numbers of the document, unless numbers is nil.
func published(run *analysis.Run, id string, numbers []string) (texts []string, err error) {
	for _, source := range run.Published {
		for i := range source.Rows {
			p := &source.Rows[i]
			if p.Row.ID != id {
				continue
			}
			if p.Measured == nil {
				return nil, fmt.Errorf("the published row %s has no result: %s", id, wording.PublishedReading(p))
			}
			for _, a := range p.Row.Numbers() {
				of := func(n string) bool { return size(n) == math.Abs(a.Number) || size(n) == 1000*math.Abs(a.Number) } // 200m is 0.2
				if numbers != nil && !slices.ContainsFunc(numbers, of) {
					return nil, fmt.Errorf("the published row %s has the number %s, and no figure of this row has it", id, a)
				}
			}
			texts = append(texts, p.Metric.Name+wording.When(len(run.Cells) > 1, " "+wording.In(p.Cell))+", "+p.Arm+": "+wording.PublishedText(p))
		}
	}
	if texts == nil {
		err = fmt.Errorf("its experiment has no published row %s", id)
	}
	return texts, err
}

// size returns the number that a document prints, without sign and unit.
func size(number string) float64 {
	v, _ := strconv.ParseFloat(strings.NewReplacer(",", "", "%", "", "+", "", "-", "").Replace(number), 64)
	return v
}

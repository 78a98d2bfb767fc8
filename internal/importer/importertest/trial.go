package importertest

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/importer"
	"tare/internal/text/safetext"
)

// Print writes trials as text.
func Print(w io.Writer, trials []importer.Trial) {
	for _, t := range trials {
		print(w, t)
	}
}

// print writes a trial as text, one fact a line, with hostile strings quoted.
func print(w io.Writer, t importer.Trial) {
	fmt.Fprintf(w, "trial %q kind %q", t.Cell, t.Kind)
	for _, l := range t.Levels {
		fmt.Fprintf(w, " [%s=%s]", safetext.Name(l.Factor), safetext.Name(l.Value))
	}
	fmt.Fprintln(w)
	line := func(known bool, format string, args ...any) {
		if known {
			fmt.Fprintf(w, "  "+format+"\n", args...)
		}
	}
	line(t.Arm != "", "arm %q", t.Arm)
	line(t.Round != 0, "round %d", t.Round)
	line(!t.Start.IsZero(), "start %s", t.Start.UTC().Format(time.RFC3339Nano))
	line(t.Wall != 0, "wall %v", t.Wall)
	line(t.Broken != "", "broken: %s", safetext.Name(t.Broken))
	line(t.Errors.Known, "errors %.6g", t.Errors.Share)
	if t.Loop != nil {
		line(true, "loop %s × %s = %g workers", t.Loop.Latency, t.Loop.Throughput, t.Loop.Workers)
	}
	for _, v := range t.Values {
		m := v.Metric
		words := []string{safetext.Name(m.Name), "=", fmt.Sprintf("%.10g", v.Value), safetext.Name(m.Unit), string(m.Better)}
		if m.Scale != experiment.Ratio {
			words = append(words, string(m.Scale))
		}
		if m.Headline {
			words = append(words, "headline")
		}
		if m.Optional {
			words = append(words, "optional")
		}
		words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
		line(true, "%s", strings.Join(words, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		line(t.Facts[name] != "", "fact %s: %s", safetext.Name(name), safetext.Name(t.Facts[name]))
	}
	for _, s := range t.Series {
		fmt.Fprintf(w, "  series %s %s: %g at %g\n", safetext.Name(s.Name), safetext.Name(s.Unit), s.Values, s.Seconds)
	}
	for _, h := range t.Histograms {
		fmt.Fprintf(w, "  histogram %s %s:", safetext.Name(h.Name), safetext.Name(h.Unit))
		for i := range h.Count {
			fmt.Fprintf(w, " %d in [%g, %g]", h.Count[i], h.Lower[i], h.Upper[i])
		}
		fmt.Fprintln(w)
	}
}

// Check fails if trials of one file break the rules of importer.Trial.
func Check(t *testing.T, trials []importer.Trial) {
	type place struct {
		arm, cell string
		round     int
	}
	seen := map[place]bool{}
	for _, trial := range trials {
		at := place{trial.Arm, trial.Cell, trial.Round}
		switch {
		case trial.Cell == "" || trial.Kind == "":
			t.Errorf("a trial has no cell or no kind: %+v", trial)
		case trial.Round < 0 || trial.Wall < 0:
			t.Errorf("%v: the round %d or the wall time %v is negative", at, trial.Round, trial.Wall)
		case at.round > 0 && seen[at]:
			t.Errorf("%v comes twice", at)
		case !(trial.Errors.Share >= 0 && trial.Errors.Share <= 1):
			t.Errorf("%v: %g is no share", at, trial.Errors.Share)
		case trial.Broken == "" && len(trial.Values) == 0:
			t.Errorf("%v has no value and does not say why", at)
		}
		seen[at] = true
		names := map[string]bool{} // the names of the trial's metrics
		for _, v := range trial.Values {
			checkValue(t, at.cell, v)
			if names[v.Metric.Name] {
				t.Errorf("%v: the metric %q comes twice", at, v.Metric.Name)
			}
			names[v.Metric.Name] = true
		}
		checkWithin(t, trial)
	}
}

// consistent fails if a metric of a cell has two descriptions, since an import would reject the file.
func consistent(t *testing.T, trials []importer.Trial) {
	type column struct{ cell, metric string }
	described := map[column]experiment.Metric{}
	for _, trial := range trials {
		for _, v := range trial.Values {
			at := column{trial.Cell, v.Metric.Name}
			if known, ok := described[at]; ok && known != v.Metric {
				t.Errorf("%v: %+v was described as %+v", at, v.Metric, known)
			}
			described[at] = v.Metric
		}
	}
}

func checkValue(t *testing.T, cell string, v importer.Value) {
	m := v.Metric
	switch {
	case m.Name == "":
		t.Errorf("%s: a metric has no name: %+v", cell, v)
	case m.Better != experiment.Lower && m.Better != experiment.Higher:
		t.Errorf("%s: %s has no direction", cell, m.Name)
	case m.Scale != experiment.Ratio && m.Scale != experiment.Difference:
		t.Errorf("%s: %s has no scale", cell, m.Name)
	case m.Headline && m.Scale != experiment.Ratio:
		t.Errorf("%s: %s is headline on a scale of differences", cell, m.Name)
	case m.Headline && m.Optional:
		t.Errorf("%s: %s is headline and optional", cell, m.Name)
	case m.Optional && m.Scale == experiment.Ratio && v.Value <= 0:
		t.Errorf("%s: %s may be missing and is %g, which spoils the trial", cell, m.Name, v.Value)
	case math.IsNaN(v.Value) || math.IsInf(v.Value, 0):
		t.Errorf("%s: %s is %g", cell, m.Name, v.Value)
	}
}

func checkWithin(t *testing.T, trial importer.Trial) {
	for _, l := range trial.Levels {
		if l.Factor == "" {
			t.Errorf("%s: a level %q of no factor", trial.Cell, l.Value)
		}
	}
	if err := trial.CheckWithin(); err != nil {
		t.Errorf("%s: %v", trial.Cell, err)
		return
	}
	for _, s := range trial.Series {
		if len(s.Values) == 0 {
			t.Errorf("%s: the series %s is empty", trial.Cell, s.Name)
		}
	}
	for _, h := range trial.Histograms {
		if len(h.Count) == 0 {
			t.Errorf("%s: the histogram %s is empty", trial.Cell, h.Name)
		}
		for i := range h.Count {
			if !(h.Lower[i] <= h.Upper[i]) || h.Count[i] < 0 {
				t.Errorf("%s: the histogram %s counts %d in [%g, %g]", trial.Cell, h.Name, h.Count[i], h.Lower[i], h.Upper[i])
			}
		}
	}
	if l := trial.Loop; l != nil && (l.Latency == "" || l.Throughput == "" || l.Workers < 0) {
		t.Errorf("%s: the loop is %+v", trial.Cell, *l)
	}
}

package importertest

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"tare/experiment"
	"tare/importer"
	"tare/safetext"
)

// print writes a trial as text, one fact a line, hostile strings quoted.
func print(w io.Writer, t importer.Trial) {
	fmt.Fprintf(w, "trial %q kind %q", t.Cell, t.Kind)
	for _, l := range t.Levels {
		fmt.Fprintf(w, " [%s=%s]", safetext.Name(l.Factor), safetext.Name(l.Value))
	}
	fmt.Fprintln(w)
	if t.Arm != "" {
		fmt.Fprintf(w, "  arm %q\n", t.Arm)
	}
	if t.Round != 0 {
		fmt.Fprintf(w, "  round %d\n", t.Round)
	}
	if !t.Start.IsZero() {
		fmt.Fprintf(w, "  start %s\n", t.Start.UTC().Format(time.RFC3339Nano))
	}
	if t.Wall != 0 {
		fmt.Fprintf(w, "  wall %v\n", t.Wall)
	}
	if t.Broken != "" {
		fmt.Fprintf(w, "  broken: %s\n", safetext.Name(t.Broken))
	}
	if t.Errors.Known {
		fmt.Fprintf(w, "  errors %.6g\n", t.Errors.Share)
	}
	if t.Loop != nil {
		fmt.Fprintf(w, "  loop %s × %s = %g workers\n", t.Loop.Latency, t.Loop.Throughput, t.Loop.Workers)
	}
	for _, v := range t.Values {
		m := v.Metric
		fmt.Fprintf(w, "  %s = %.10g", safetext.Name(m.Name), v.Value)
		for _, word := range []string{safetext.Name(m.Unit), string(m.Better)} {
			if word != "" {
				fmt.Fprintf(w, " %s", word)
			}
		}
		if m.Scale != experiment.Ratio {
			fmt.Fprintf(w, " %s", m.Scale)
		}
		if m.Headline {
			fmt.Fprint(w, " headline")
		}
		if m.Optional {
			fmt.Fprint(w, " optional")
		}
		fmt.Fprintln(w)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		if fact := t.Facts[name]; fact != "" {
			fmt.Fprintf(w, "  fact %s: %s\n", safetext.Name(name), safetext.Name(fact))
		}
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

// check fails where trials of one file break the rules of importer.Trial.
func check(t *testing.T, trials []importer.Trial) {
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
		names := map[string]bool{} // of metrics
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

// consistent fails where a metric of a cell is described in two ways, which the
// import refuses: good files are not to be refused.
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
	for _, s := range trial.Series {
		if len(s.Seconds) != len(s.Values) || len(s.Values) == 0 {
			t.Errorf("%s: the series %s has %d times and %d values", trial.Cell, s.Name, len(s.Seconds), len(s.Values))
		}
	}
	for _, h := range trial.Histograms {
		if len(h.Lower) != len(h.Count) || len(h.Upper) != len(h.Count) || len(h.Count) == 0 {
			t.Errorf("%s: the histogram %s has %d, %d and %d entries", trial.Cell, h.Name, len(h.Lower), len(h.Upper), len(h.Count))
			continue
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

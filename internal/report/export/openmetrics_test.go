package export

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/test/golden"
)

func TestOpenMetrics(t *testing.T) {
	golden.Check(t, "testdata/run.openmetrics", written(t, "openmetrics", fixture()))
}

// TestOpenMetricsParses has the reference implementation of the format, which is
// strict, read it back: every series with its labels and its value.
func TestOpenMetricsParses(t *testing.T) {
	for name, r := range map[string]Run{"experiment": fixture(), "samples": samples()} {
		t.Run(name, func(t *testing.T) { checkParses(t, r) })
	}
}

func checkParses(t *testing.T, r Run) {
	t.Helper()
	text := python(t, `
import json, sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
families = list(text_fd_to_metric_families(sys.stdin))
json.dump([dict(name=f.name, type=f.type, unit=f.unit, help=f.documentation,
                samples=[dict(name=s.name, labels=s.labels, value=s.value) for s in f.samples]) for f in families], sys.stdout)
`, written(t, "openmetrics", r))
	var got []struct {
		Name, Type, Unit, Help string
		Samples                []struct {
			Name   string
			Labels map[string]string
			Value  float64
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, want := range families(r) {
		if len(want.list) == 0 {
			continue
		}
		if i == len(got) {
			t.Fatalf("%s is not read", want.name)
		}
		f := got[i]
		i++
		if f.Name != want.name || f.Unit != want.unit || f.Help != want.help || f.Type != "gauge" || len(f.Samples) != len(want.list) {
			t.Errorf("%s is read as %+v", want.name, f)
			continue
		}
		for k, s := range want.list {
			labels := map[string]string{}
			for _, l := range s.labels {
				labels[l.name] = l.value
			}
			if sample := f.Samples[k]; sample.Value != s.value || !maps.Equal(sample.Labels, labels) || sample.Name != want.name {
				t.Errorf("%s, series %d is read as %v, want %v %v", want.name, k, sample, labels, s.value)
			}
		}
	}
	if i != len(got) {
		t.Errorf("%d families are read, want %d", len(got), i)
	}
}

// TestOpenMetricsObservational checks that every series which an alert may be on
// tells by itself whether it is of an experiment.
func TestOpenMetricsObservational(t *testing.T) {
	for want, r := range map[string]Run{"false": fixture(), "true": samples()} {
		checked := map[string]bool{}
		for _, f := range append(comparisonFamilies(r), valueFamilies(r)...) {
			for _, s := range f.list {
				checked[f.name] = true
				if !slices.Contains(s.labels, label{"observational", want}) {
					t.Errorf("%s has the labels %v, want observational=%q", f.name, s.labels, want)
				}
			}
		}
		for _, name := range []string{"tare_verdict", "tare_overhead_ratio", "tare_overhead_high_ratio", "tare_value_median"} {
			if !checked[name] {
				t.Errorf("observational=%q: %s has no series", want, name)
			}
		}
	}
}

// TestOpenMetricsAsText has promtool read the same file in the older text format.
// It comes with Debian's prometheus, a service that no test installs.
func TestOpenMetricsAsText(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip(err)
	}
	output(t, exec.Command("promtool", "check", "metrics"), written(t, "openmetrics", fixture()))
}

// A name cannot break out of its label or its line.
func TestOpenMetricsEscapes(t *testing.T) {
	r := fixture()
	r.Record.Plan.Name = "a\"} 1\nevil{x=\"\\"
	text := written(t, "openmetrics", r)
	if want := `tare_run_valid{run="a\"} 1 evil{x=\"\\"} 1` + "\n"; !strings.Contains(text, want) || strings.Contains(text, "\nevil") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

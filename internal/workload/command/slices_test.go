package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// runSlices runs a trial of n slices.
func runSlices(ctx context.Context, c *Config, site testbed.Site, raw workload.Raw, n int) (workload.Result, error) {
	sliced, err := c.PrepareSlices(ctx, &workload.Trial{Site: site, Raw: raw}, n)
	if err != nil {
		return workload.Result{}, err
	}
	for i := range n {
		if err := sliced.Run(ctx, i); err != nil {
			return workload.Result{}, err
		}
	}
	return sliced.Finish(ctx)
}

// counting prints 1 in the first run, and one more in each further run.
func counting(t *testing.T) string {
	return fmt.Sprintf(`cd %q; n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; echo "took $n ms"`, t.TempDir())
}

// A trial runs the program once in each slice. Warm-up runs do not count.
func TestSlicesAreMeans(t *testing.T) {
	c := config(counting(t), metric{Name: "took", Regex: "took ([0-9]+) ms"}, metric{Name: "faults", Regex: "took ([0-9]+) ms", Scale: experiment.Difference})
	c.Warmup = 1
	raw := new(workloadtest.Raw)
	got, err := runSlices(t.Context(), c, localtest.Host(t), raw, 4)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"took": 3.5, "faults": 3.5}, got.Values); diff != "" {
		t.Error(diff) // mean of 2, 3, 4 and 5
	}
	if got := raw.Texts(); got["slice-4-stdout.txt"] != "took 5 ms\n" || got["warmup-1-stdout.txt"] == "" || len(got) != 10 {
		t.Errorf("raw output: %v", got)
	}
}

// Times are averages over the runs, and memory is the maximum.
func TestUsageOfSlices(t *testing.T) {
	x := totals{runner: runner{config: config("")}, runs: 4, used: testbed.Usage{User: 3 * time.Second, System: time.Second, Wall: 8 * time.Second, MaxRSS: 9000}}
	got, err := x.Finish(t.Context())
	if diff := cmp.Diff(map[string]float64{"wall-clock": 2, "cpu": 1, "peak-memory": 9000}, got.Values); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if used := got.Used["command"]; used.User != 3*time.Second {
		t.Errorf("used %+v, want what all runs used together", used)
	}
	x.used.Unavailable = true
	got, _ = x.Finish(t.Context())
	if diff := cmp.Diff([]string{"cpu", "peak-memory"}, got.Unavailable); diff != "" || got.Values["wall-clock"] != 2 {
		t.Error(diff, got.Values)
	}
	r, err := runSlices(t.Context(), config("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"), localtest.Host(t), new(workloadtest.Raw), 2)
	if err != nil {
		t.Fatal(err)
	}
	if used := r.Used["command"]; r.Values["wall-clock"] != used.Wall.Seconds()/2 || r.Values["cpu"] != used.CPU().Seconds()/2 || used.MaxRSS == 0 {
		t.Errorf("values %v, used %+v", r.Values, used)
	}
}

// An error has the number of the slice that failed.
func TestFailingSlice(t *testing.T) {
	for _, c := range []struct{ shell, rule, detail string }{
		{counting(t) + `; test $n -lt 3`, workload.RuleExit, "slice 3: /bin/sh -c "},
		{counting(t) + `; test $n -lt 2 || sleep 100`, workload.RuleTimeout, "slice 2: not done after "},
	} {
		k := config(c.shell)
		if c.rule == workload.RuleTimeout {
			k.Timeout = quantity.Duration(2 * time.Second)
		}
		_, err := runSlices(t.Context(), k, localtest.Host(t), new(workloadtest.Raw), 4)
		var invalid *workload.Invalid
		if !errors.As(err, &invalid) || invalid.Rule != c.rule || !strings.HasPrefix(invalid.Detail, c.detail) {
			t.Errorf("%v, want the rule %s: %s…", err, c.rule, c.detail)
		}
	}
}

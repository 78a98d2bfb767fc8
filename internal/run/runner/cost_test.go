package runner

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// besideSampler reports the usage of programs beside the programs under test.
type besideSampler struct {
	fakeSampler
	sample testbed.Sample
}

func (s *besideSampler) Stop(context.Context, time.Duration) (testbed.Sample, error) {
	return s.sample, nil
}

// The usage of sidecars is the layer's cost. If it is unknown, the metrics that need it are missing, and this breaks
// no rule.
func TestCostOfSidecars(t *testing.T) {
	proxy := map[string]testbed.Usage{"proxy": {User: 2 * time.Second, MaxRSS: 7}}
	for _, c := range []struct {
		name   string
		sample testbed.Sample
		values map[string]float64
		used   []string
	}{
		{"told", testbed.Sample{Sidecars: proxy}, map[string]float64{"fake-cpu": 3, "fake-cpu-layer": 2, "fake-cpu-program": 1, "fake-memory-program": 5}, []string{"layer", "program", "sidecar:proxy"}},
		{"not told", testbed.Sample{SidecarsUnavailable: true}, map[string]float64{"fake-cpu-program": 1, "fake-memory-program": 5}, []string{"program"}},
	} {
		w := &fakeWorkload{cost: &experiment.Cost{Prefix: "fake", Unit: "op", Parts: []string{"program"}}, run: func(int) (workload.Result, error) {
			r := good()
			r.Work, r.Used = 1, map[string]testbed.Usage{"program": {User: time.Second, MaxRSS: 5}}
			return r, nil
		}}
		x := expand(w)
		x.Plan.Rounds = 1
		c.sample.Conditions.Busy = 4 * time.Second
		j := finished(t, x, func(o *Options) { o.Sampler = &besideSampler{sample: c.sample} })
		maps.Copy(c.values, good().Values)
		c.values["fake-cpu-machine"] = 4
		for _, trial := range j.Trials() {
			if !trial.Valid() {
				t.Errorf("%s: %v", c.name, trial.Invalid)
			}
			if d := cmp.Diff(c.values, trial.Values); d != "" {
				t.Errorf("%s: values (-want +got):\n%s", c.name, d)
			}
			if used := slices.Sorted(maps.Keys(trial.Used)); !slices.Equal(used, c.used) {
				t.Errorf("%s: used %v, want %v", c.name, used, c.used)
			}
		}
	}
}

// A layer's own processes are listed by part, and their sum is the layer's cost.
func TestCostOfParts(t *testing.T) {
	l := &fakeLayer{log: new([]string), name: "mesh", costs: []layer.Cost{
		{Part: "client proxy", CPU: time.Second, Memory: 100}, {Part: "server proxy", CPU: 2 * time.Second, Memory: 50}, {Part: "idle"},
	}}
	x := expand(&fakeWorkload{}, l)
	x.Plan.Rounds = 1
	j := finished(t, x, func(o *Options) {
		o.Sampler = &besideSampler{sample: testbed.Sample{Sidecars: map[string]testbed.Usage{"proxy": {System: time.Second, MaxRSS: 7}}}}
	})
	for _, trial := range j.Trials() {
		for part, u := range trial.Used {
			u.Wall = 0
			trial.Used[part] = u
		}
		want := map[string]testbed.Usage{"sidecar:proxy": {System: time.Second, MaxRSS: 7}, "layer": {System: time.Second, MaxRSS: 7}}
		if trial.Arm == "arm" {
			want["mesh:client proxy"], want["mesh:server proxy"] = testbed.Usage{User: time.Second, MaxRSS: 100}, testbed.Usage{User: 2 * time.Second, MaxRSS: 50}
			want["layer"] = testbed.Usage{User: 3 * time.Second, System: time.Second, MaxRSS: 157}
		}
		if d := cmp.Diff(want, trial.Used); d != "" {
			t.Errorf("%s: used (-want +got):\n%s", trial.Arm, d)
		}
	}
}

package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// observation holds what was observed while a trial was measured: CPU time, conditions and resources. It covers the
// whole trial, or some of its slices.
type observation struct {
	wall    time.Duration
	used    account
	sample  testbed.Sample
	shared  []testbed.Resource
	stopped string // the interruption; "": there was none
}

// watch calls measured, which does one part of a trial, and observes this part. The context limited ends when the
// part's time is over. The wall-clock time does not include the work of observing.
func (r *run) watch(ctx, limited context.Context, p *armSite, measured func(context.Context) error) (s observation, err error) {
	before, err := p.account()
	if err != nil {
		return s, err
	}
	meter := testbed.StartMeter(limited, p.bare)
	if err := r.Sampler.Start(limited, p.bare); err != nil {
		return s, err
	}
	stopped := watchPauses()
	start := time.Now()
	measuredErr := measured(limited)
	s.wall = time.Since(start)
	after, err := p.account()
	s.stopped = stopped()
	if err != nil {
		return s, err
	}
	s.used = after.plus(before, -1)
	// Conditions are sampled even if the trial ran into its limit.
	sampled, cancel := context.WithTimeout(ctx, samplingLimit)
	defer cancel()
	s.sample, err = r.Sampler.Stop(sampled, s.used.total())
	s.shared = meter(sampled)
	return s, cmp.Or(measuredErr, err)
}

// plus joins the observations of two periods of a trial. The observation s is from the earlier period, and o from the
// later period.
func (s observation) plus(o observation) observation {
	return observation{
		wall: s.wall + o.wall, used: o.used.plus(s.used, 1),
		sample:  s.sample.Joined(o.sample, s.wall, o.wall),
		shared:  testbed.Joined(s.shared, o.shared),
		stopped: cmp.Or(s.stopped, o.stopped),
	}
}

// record writes the observation into a trial, and returns what the trial's layers cost.
func (s observation) record(t *journal.Trial) cost {
	t.Wall, t.Harness.CPU = s.wall, s.used.own
	if s.stopped != "" {
		violate(t, workload.RuleStopped, s.stopped+" during the trial")
	}
	t.Conditions, t.Resources = s.sample.Conditions, s.shared
	for name, o := range s.sample.Observed {
		values := map[string]float64{experiment.ObservedMemory(name): float64(o.Memory)}
		if o.Wall > 0 {
			values[experiment.ObservedCPU(name)] = o.CPU.Seconds() / o.Wall.Seconds()
		}
		addValues(t, values)
		if o.Quota != nil {
			if t.Quotas == nil {
				t.Quotas = map[string]testbed.Quota{}
			}
			t.Quotas[name] = *o.Quota
		}
	}
	layers := cost{parts: map[string]testbed.Usage{}, unavailable: s.sample.SidecarsUnavailable}
	for part, own := range s.used.layers {
		if own.CPU > 0 {
			layers.parts[part] = testbed.Usage{User: own.CPU, Wall: s.wall, MaxRSS: own.Memory}
		}
	}
	for name, u := range s.sample.Sidecars {
		layers.parts["sidecar:"+name] = u
	}
	return layers
}

// account is CPU time used so far: by Tare itself (own), by ended programs that Tare started (children), and by the
// layers' processes, by part.
type account struct {
	own, children time.Duration
	layers        map[string]layer.Cost
}

func (p *armSite) account() (account, error) {
	layers := map[string]layer.Cost{}
	for _, u := range p.layers {
		if u.Costs == nil {
			continue
		}
		costs, err := u.Costs()
		if err != nil {
			return account{}, &testbed.Disturbance{What: "the CPU time of layer " + u.kind + " cannot be read", Err: err}
		}
		for _, c := range costs {
			layers[u.kind+":"+c.Part] = c
		}
	}
	own, children, err := processTimes()
	for _, standing := range p.services { // children contains a service only after its end, so running services are added
		if running, ok := standing.(workload.Running); ok {
			if cpu, err := running.CPU(); err == nil {
				children += cpu
			}
		}
	}
	return account{own: own, children: children, layers: layers}, err
}

// plus returns the sum of two accounts of CPU time. With sign = -1, it subtracts the account earlier from a. The
// amounts of memory are those of a.
func (a account) plus(earlier account, sign time.Duration) account {
	sum := account{own: a.own + sign*earlier.own, children: a.children + sign*earlier.children, layers: map[string]layer.Cost{}}
	for part, c := range a.layers {
		c.CPU += sign * earlier.layers[part].CPU
		sum.layers[part] = c
	}
	return sum
}

// total returns the CPU time of Tare, its programs and the layers' processes.
func (a account) total() time.Duration {
	for _, c := range a.layers {
		a.own += c.CPU
	}
	return a.own + a.children
}

// cost is the usage of a trial's layers, by part: a process of a layer ("wireguard:client-node") or a sidecar
// ("sidecar:client-istio-proxy").
type cost struct {
	parts       map[string]testbed.Usage
	unavailable bool // set if a sidecar's usage is unknown
}

func (c cost) total() time.Duration {
	var sum time.Duration
	for _, u := range c.parts {
		sum += u.CPU()
	}
	return sum
}

// addTo adds the layers' usage to the usage of programs. Each part of a layer gets an entry, and the entry "layer" gets
// the sum of the parts.
func (c cost) addTo(programs map[string]testbed.Usage, wall time.Duration) map[string]testbed.Usage {
	if c.unavailable || len(c.parts) == 0 {
		return programs // without the sidecars the sum would be too low
	}
	all := maps.Clone(c.parts)
	sum := testbed.Usage{Wall: wall}
	for _, u := range c.parts {
		sum.User += u.User
		sum.System += u.System
		sum.MaxRSS += u.MaxRSS
	}
	all["layer"] = sum
	maps.Copy(all, programs)
	return all
}

// addCosts adds the cost metrics to the trial's values. If a cost metric is unavailable, it adds the metric's name to
// result.
func addCosts(t *journal.Trial, by experiment.Cost, result *workload.Result, layers cost) {
	result.Unavailable = append(result.Unavailable, workload.Unavailable(by, *result)...)
	values, err := workload.Price(by, *result, layers.total(), t.Conditions.Busy)
	if err != nil {
		violate(t, workload.RuleMetric, err.Error())
		return
	}
	if layers.unavailable {
		for _, name := range workload.OfLayers(by) {
			delete(values, name)
			result.Unavailable = append(result.Unavailable, name)
		}
	}
	maps.Copy(t.Values, values)
}

// signalDelay is how long a signal may take to reach a Go channel. Until then, Tare may not know that it was stopped
// during a workload.
const signalDelay = 2 * time.Millisecond

// minSuspension is the shortest suspension of the machine that is reported. Two results of asleep may differ by less
// without a suspension.
const minSuspension = 10 * time.Millisecond

// watchPauses notices if Tare was stopped (Ctrl-Z) or the machine suspended. The returned function ends the watch and
// describes the pause; "": none.
func watchPauses() func() string {
	continued, before := make(chan os.Signal, 1), asleep()
	notifyContinued(continued)
	return func() string {
		defer signal.Stop(continued)
		if d := asleep() - before; d > minSuspension {
			return fmt.Sprintf("the machine was suspended for %v", d.Round(time.Millisecond))
		}
		select {
		case <-continued:
			return "Tare was stopped and continued"
		case <-time.After(signalDelay):
			return ""
		}
	}
}

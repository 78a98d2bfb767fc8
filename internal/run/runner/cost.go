package runner

import (
	"maps"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// account is the CPU time used so far by Tare itself, by the ended programs that it started, and by the
// layers' own processes. Layers are listed by part.
type account struct {
	own, children time.Duration
	layers        map[string]layer.Cost
}

// account reads the CPU time used so far by Tare, its programs and the layers of this site.
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
	for _, standing := range p.services { // the CPU time of a service that has ended is already in children
		if running, ok := standing.(workload.Running); ok {
			if cpu, err := running.CPU(); err == nil {
				children += cpu
			}
		}
	}
	return account{own: own, children: children, layers: layers}, err
}

// since returns the CPU time between b and a. Memory is that of a.
func (a account) since(b account) account {
	used := account{own: a.own - b.own, children: a.children - b.children, layers: map[string]layer.Cost{}}
	for part, c := range a.layers {
		c.CPU -= b.layers[part].CPU
		used.layers[part] = c
	}
	return used
}

// plus returns the sum of two periods. Memory is that of the later one, o.
func (a account) plus(o account) account {
	sum := account{own: a.own + o.own, children: a.children + o.children, layers: map[string]layer.Cost{}}
	maps.Copy(sum.layers, a.layers)
	for part, c := range o.layers {
		c.CPU += a.layers[part].CPU
		sum.layers[part] = c
	}
	return sum
}

// total is the CPU time of Tare, its programs and the layers' processes.
func (a account) total() time.Duration {
	for _, c := range a.layers {
		a.own += c.CPU
	}
	return a.own + a.children
}

// cost is the usage of a trial's layers, by part: their own processes ("wireguard:client-node"), and
// sidecars beside the programs under test ("sidecar:client-istio-proxy").
type cost struct {
	parts       map[string]testbed.Usage
	unavailable bool // there are sidecars, but their usage is unknown
}

// cost returns the cost of a trial's layers.
func (s observation) cost() cost {
	c := cost{parts: map[string]testbed.Usage{}, unavailable: s.sample.SidecarsUnavailable}
	for part, own := range s.used.layers {
		if own.CPU > 0 {
			c.parts[part] = testbed.Usage{User: own.CPU, Wall: s.wall, MaxRSS: own.Memory}
		}
	}
	for name, u := range s.sample.Sidecars {
		c.parts["sidecar:"+name] = u
	}
	return c
}

func (c cost) total() time.Duration {
	var sum time.Duration
	for _, u := range c.parts {
		sum += u.CPU()
	}
	return sum
}

// addTo adds the usage of layers to the usage of programs. The sum over all layers is named "layer"; each
// part has its own name.
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

// addCosts adds the cost metrics to the trial's values. It lists the unavailable ones in result.
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

package xds

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tare/experiment"
	"tare/workload"
	"tare/workload/xds/fleet"
	"tare/workload/xds/sidecar"
)

// quantile is a place in the distribution of times, from 0 to 1.
type quantile float64

var quantiles = []quantile{0.5, 0.9, 0.99}

// supported says whether a hundred of n values lie beyond it.
func (q quantile) supported(n int) bool { return math.Round(float64(n)*(1-float64(q))*1e6)/1e6 >= 100 }

// of is the quantile of n values of which those that are known are given in order; the others are
// longer than all of them.
func (q quantile) of(sorted []time.Duration, n int) (time.Duration, bool) {
	rank := max(1, int(math.Ceil(float64(q)*float64(n)-1e-9)))
	if rank > len(sorted) {
		return 0, false
	}
	return sorted[rank-1], true
}

func (q quantile) name() string { return fmt.Sprintf("p%g", 100*float64(q)) }

// spread are the metrics of one distribution of n times: the mean, and the quantiles that n
// values support.
func spread(name string, n int) []experiment.Metric {
	names := []string{name + "-mean"}
	for _, q := range quantiles {
		if q.supported(n) {
			names = append(names, name+"-"+q.name())
		}
	}
	var list []experiment.Metric
	for _, name := range names {
		list = append(list, experiment.Metric{Name: name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true})
	}
	return list
}

// described puts the values of a distribution of n times among others. Where some are missing there is no
// mean, and no quantile that lies among them.
func described(values map[string]float64, name string, times []time.Duration, n int) {
	slices.Sort(times)
	if len(times) == n {
		sum := 0.0
		for _, t := range times {
			sum += t.Seconds()
		}
		values[name+"-mean"] = sum / float64(n)
	}
	for _, q := range quantiles {
		if t, known := q.of(times, n); known && q.supported(n) {
			values[name+"-"+q.name()] = t.Seconds()
		}
	}
}

// stage is what became of one stage of a trial, by client.
type stage struct {
	Name    string          `json:"stage"`
	Reports []*fleet.Report `json:"clients"`
	Memory  int64           `json:"serverMemory,omitempty"` // resident at its end, B; 0: not known
	Heap    int64           `json:"serverHeap,omitempty"`   // in use at its end, B; 0: not asked for, or not all came
}

// times are those of all clients.
func (s *stage) times() (list []time.Duration) {
	for _, r := range s.Reports {
		list = append(list, r.Times...)
	}
	return list
}

// late are the lags of all clients, in order.
func (s *stage) late() (list []time.Duration) {
	for _, r := range s.Reports {
		list = append(list, r.Lags...)
	}
	slices.Sort(list)
	return list
}

// sum is what happened at all clients, how many sidecars were waited for, and when the last of them came.
func (s *stage) sum() (all fleet.Counts, expected int, last time.Duration) {
	all.Ready, all.Errors, all.Examples = map[string]int{}, map[string]int{}, map[string]string{}
	for _, r := range s.Reports {
		expected += r.Expected
		last = max(last, r.Last)
		all.Attempts, all.Responses, all.Rejected, all.Bytes, all.Lost = all.Attempts+r.Attempts, all.Responses+r.Responses, all.Rejected+r.Rejected, all.Bytes+r.Bytes, all.Lost+r.Lost
		for connection, n := range r.Ready {
			all.Ready[connection] += n
		}
		for kind, n := range r.Errors {
			all.Errors[kind] += n
		}
		maps.Copy(all.Examples, r.Examples)
	}
	return all, expected, last
}

// missing says how many sidecars did not come so far, and why: "3 of 100 (unavailable 12: connection refused)".
func (s *stage) missing() string {
	counts, expected, _ := s.sum()
	var why []string
	for _, kind := range slices.Sorted(maps.Keys(counts.Errors)) {
		why = append(why, fmt.Sprintf("%s %d: %s", kind, counts.Errors[kind], counts.Examples[kind]))
	}
	if counts.Rejected > 0 {
		why = append(why, fmt.Sprintf("%d responses rejected: %s", counts.Rejected, counts.Examples["rejected"]))
	}
	text := fmt.Sprintf("%d of %d", expected-len(s.times()), expected)
	if len(why) > 0 {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	return text
}

// keep writes the stages beside the trial.
func keep(raw workload.Raw, stages []*stage) error {
	text, err := json.Marshal(stages)
	if err != nil {
		return err
	}
	return workload.Keep(raw, "sidecars.json", append(text, '\n'))
}

// result makes the values of a trial: up is the stage in which sidecars came, pushes are the changes.
func (c *Config) result(t *workload.Trial, up *stage, pushes []*stage) (workload.Result, error) {
	counts, n, last := up.sum()
	came := up.times()
	if len(came) == 0 {
		return workload.Result{}, workload.Invalidf(workload.RuleErrors, "no sidecar was ready %v after the last was due: %s", c.Ready, up.missing())
	}
	if err := c.onTime(t, up); err != nil {
		return workload.Result{}, err
	}
	r := workload.Result{Values: map[string]float64{}, Work: float64(len(came)), Sent: uint64(counts.Bytes)}
	described(r.Values, "ready", came, n)
	planned := time.Duration(float64(n) / float64(c.Rate.One()) * float64(time.Second))
	if up.Heap > 0 {
		r.Values[heapReady] = float64(up.Heap)
	}
	if i := len(pushes) - 1; i >= 0 && pushes[i].Heap > 0 {
		r.Values[heapPush] = float64(pushes[i].Heap)
	}
	r.Values[connectRate] = float64(len(came)) / max(planned, last).Seconds()
	r.Values[sidecarBytes] = float64(counts.Bytes) / float64(n)
	if len(came) == n {
		r.Values[readyLast] = last.Seconds()
	}
	tries, failed, limited := counts.Attempts, sum(counts.Errors), counts.Errors[sidecar.Limited]
	asked, missing := n, n-len(came)
	var reached []time.Duration
	var lasts, bytes float64
	waited, whole := 0, true
	for _, p := range pushes {
		counts, n, last := p.sum()
		times := p.times()
		reached, waited = append(reached, times...), waited+n
		whole = whole && len(times) == n
		lasts += last.Seconds()
		bytes += float64(counts.Bytes) / float64(max(n, 1))
		tries, failed, limited = tries+counts.Attempts, failed+sum(counts.Errors), limited+counts.Errors[sidecar.Limited]
		r.Sent += uint64(counts.Bytes)
	}
	if len(pushes) > 0 {
		described(r.Values, "push", reached, waited)
		r.Values[pushBytes] = bytes / float64(len(pushes))
		if whole {
			r.Values[pushLast] = lasts / float64(len(pushes))
		}
		asked, missing = asked+waited, missing+waited-len(reached)
	}
	r.Failed = float64(missing) / float64(asked)
	r.Values[errorShare], r.Values[limitedShare] = float64(failed)/float64(tries), float64(limited)/float64(tries)
	return r, nil
}

// onTime is an error where sidecars connected later than they were due.
func (c *Config) onTime(t *workload.Trial, up *stage) error {
	if late := up.late(); len(late) > 0 {
		if lag, _ := quantile(0.99).of(late, len(late)); t.Late(lag, c.Late.Std()) {
			return workload.Invalidf(workload.RuleLate, "sidecars were late by %v at the 99th percentile, over the limit of %v", lag.Round(time.Microsecond), c.Late)
		}
	}
	return nil
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

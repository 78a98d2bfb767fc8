package xds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/lists"
	"tare/internal/workload"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/sidecar"
)

var quantiles = []workload.Quantile{0.5, 0.9, 0.99}

// timeAt returns a quantile of n times. sorted has the known times, ascending; missing times count as longer. The
// result is false if the quantile is missing.
func timeAt(q workload.Quantile, sorted []time.Duration, n int) (time.Duration, bool) {
	rank := max(1, int(math.Ceil(float64(q)*float64(n)-1e-9)))
	if rank > len(sorted) {
		return 0, false
	}
	return sorted[rank-1], true
}

// addDistribution adds the mean and the quantiles of n times to values. Missing times count as longest: the mean and
// quantiles that need a missing time are left out.
func addDistribution(values map[string]float64, name string, times []time.Duration, n int) {
	slices.Sort(times)
	if len(times) == n {
		sum := 0.0
		for _, t := range times {
			sum += t.Seconds()
		}
		values[name+"-mean"] = sum / float64(n)
	}
	for _, q := range quantiles {
		if t, known := timeAt(q, times, n); known && q.Supported(n) {
			values[name+"-"+q.String()] = t.Seconds()
		}
	}
}

// stage is the record of one stage of a trial, with a report of each client.
type stage struct {
	Name    string          `json:"stage"`
	Reports []*fleet.Report `json:"clients"`
	Memory  int64           `json:"serverMemory,omitempty"` // resident memory of the server at the stage's end, in bytes; 0: unknown
	Heap    int64           `json:"serverHeap,omitempty"`   // heap of the server in use at the stage's end, in bytes; 0: not known
}

// times returns the sidecars' times from all clients.
func (s *stage) times() (list []time.Duration) {
	for _, r := range s.Reports {
		list = append(list, r.Times...)
	}
	return list
}

// late returns the lags of all clients in ascending order.
func (s *stage) late() (list []time.Duration) {
	for _, r := range s.Reports {
		list = append(list, r.Lags...)
	}
	slices.Sort(list)
	return list
}

// sum adds up the counts of all clients. expected is the number of sidecars that the stage waited for, and last the
// time when the last of these finished.
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

// missing describes the sidecars that have not finished the stage, with the errors seen: "3 of 100 (unavailable 12:
// connection refused)".
func (s *stage) missing() string {
	counts, expected, _ := s.sum()
	why := lists.Map(slices.Sorted(maps.Keys(counts.Errors)), func(kind string) string {
		return fmt.Sprintf("%s %d: %s", kind, counts.Errors[kind], counts.Examples[kind])
	})
	if counts.Rejected > 0 {
		why = append(why, fmt.Sprintf("%d responses rejected: %s", counts.Rejected, counts.Examples["rejected"]))
	}
	text := fmt.Sprintf("%d of %d", expected-len(s.times()), expected)
	if len(why) > 0 {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	return text
}

// result computes the metrics of a trial. The stage up is the one in which sidecars connected. The stages pushes are
// the changes of the configuration.
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
	addDistribution(r.Values, "ready", came, n)
	if up.Heap > 0 {
		r.Values[heapReady] = float64(up.Heap)
	}
	if i := len(pushes) - 1; i >= 0 && pushes[i].Heap > 0 {
		r.Values[heapPush] = float64(pushes[i].Heap)
	}
	r.Values[connectRate] = float64(len(came)) / max(c.rampTime(n), last).Seconds()
	r.Values[sidecarBytes] = float64(counts.Bytes) / float64(n)
	if len(came) == n {
		r.Values[readyLast] = last.Seconds()
	}
	tries, failed, limited := counts.Attempts, sum(counts.Errors), counts.Errors[sidecar.Limited]
	asked, missing := n, n-len(came)
	var reached []time.Duration
	var lasts, bytes float64
	waited := 0
	for _, p := range pushes {
		counts, n, last := p.sum()
		reached, waited = append(reached, p.times()...), waited+n
		lasts += last.Seconds()
		bytes += float64(counts.Bytes) / float64(max(n, 1))
		tries, failed, limited = tries+counts.Attempts, failed+sum(counts.Errors), limited+counts.Errors[sidecar.Limited]
		r.Sent += uint64(counts.Bytes)
	}
	if len(pushes) > 0 {
		addDistribution(r.Values, "push", reached, waited)
		r.Values[pushBytes] = bytes / float64(len(pushes))
		if len(reached) == waited {
			r.Values[pushLast] = lasts / float64(len(pushes))
		}
		asked, missing = asked+waited, missing+waited-len(reached)
	}
	r.Failed = float64(missing) / float64(asked)
	r.Values[errorShare], r.Values[limitedShare] = float64(failed)/float64(tries), float64(limited)/float64(tries)
	return r, nil
}

// onTime returns an error if sidecars began to connect too late: if the 99th percentile of their lags behind the due
// times exceeds the limit.
func (c *Config) onTime(t *workload.Trial, up *stage) error {
	if late := up.late(); len(late) > 0 {
		if lag, _ := timeAt(0.99, late, len(late)); t.Late(lag, c.Late.Std()) {
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

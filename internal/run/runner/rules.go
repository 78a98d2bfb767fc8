package runner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

func violate(t *journal.Trial, rule, detail string) {
	t.Invalid = append(t.Invalid, journal.Violation{Rule: rule, Detail: detail})
}

// judge applies the rules that hold for every workload: values are possible, errors are few, and the machine's
// condition is within the limits.
func judge(t *journal.Trial, result workload.Result, metrics []experiment.Metric, limits experiment.Limits) {
	for _, m := range metrics {
		v, ok := t.Values[m.Name]
		switch {
		case !ok && (m.Optional || slices.Contains(result.Unavailable, m.Name)):
		case !ok:
			violate(t, workload.RuleMetric, m.Name+" is missing")
		case math.IsNaN(v) || math.IsInf(v, 0):
			violate(t, workload.RuleMetric, m.Name+" is not a finite number")
			delete(t.Values, m.Name)
		case m.Scale == experiment.Ratio && v <= 0:
			violate(t, workload.RuleMetric, fmt.Sprintf("%s is %v; a value on a ratio scale must be positive", m.Name, v))
		}
	}
	exceeds(t, workload.RuleErrors, "failed operations", result.Failed, limits.Errors)
	conditions(t, t.Conditions, limits, "")
}

// conditions marks a trial as invalid if the machine's condition c exceeds a limit. In messages, the text when names
// the part of the trial.
func conditions(t *journal.Trial, c machine.Conditions, limits experiment.Limits, when string) {
	if exceeds(t, workload.RuleForeignCPU, "CPU time of other programs"+when, c.ForeignCPU, limits.ForeignCPU) && len(c.Programs) > 0 {
		t.Invalid[len(t.Invalid)-1].Detail += ": " + c.Busiest()
	}
	exceeds(t, workload.RuleSteal, "CPU time taken by the hypervisor"+when, c.Steal, limits.Steal)
	exceeds(t, workload.RulePressure, "time in which a task waited for a CPU"+when, c.CPUPressure, limits.CPUPressure)
	if limits.CPUPressure != nil && c.CPUPressure < 0 {
		violate(t, workload.RulePressure, fmt.Sprintf("this kernel does not report it (/proc/pressure/cpu), and the limit is %v", *limits.CPUPressure))
	}
	if limits.Throttling != nil && c.Throttled > *limits.Throttling {
		violate(t, workload.RuleThrottled, fmt.Sprintf("%d throttling events%s, over the limit of %d", c.Throttled, when, *limits.Throttling))
	}
}

// lateness returns the limit of a load generator's delay, as a multiple of what its workload allows. Without a limit,
// it is infinite.
func (r *run) lateness() float64 {
	if late := r.plan.Limits.Late; late != nil {
		return float64(*late)
	}
	return math.Inf(1)
}

// exceeds reports whether a share exceeds a limit, and records the broken rule. A negative share is unknown, and
// exceeds no limit.
func exceeds(t *journal.Trial, rule, what string, share float64, limit *quantity.Percent) bool {
	broken := limit != nil && share > float64(*limit)
	if broken {
		violate(t, rule, fmt.Sprintf("%s %.1f%%, over the limit of %v", what, share*100, *limit))
	}
	return broken
}

// lookDurations are the lengths of the samples that Look takes. Look stops at the first quiet sample, so a brief load
// is ignored.
var lookDurations = []time.Duration{300 * time.Millisecond, 2 * time.Second, 2 * time.Second}

// Look samples the machine while no program of Tare's runs. The result busy names a limit that every sample exceeds;
// "": none. The result still does so for the limits in fewer, without Tare's defaults.
func Look(ctx context.Context, s Sampler, site testbed.Site, limits, fewer experiment.Limits) (busy, still string, err error) {
	by := func(look testbed.Sample, limits experiment.Limits) string {
		var t journal.Trial
		if conditions(&t, look.Conditions, limits, ""); t.Valid() {
			return ""
		}
		return t.Invalid[0].Detail
	}
	for _, d := range lookDurations {
		if err := s.Start(ctx, site); err != nil {
			return "", "", err
		}
		if err := testbed.Pause(ctx, d); err != nil {
			return "", "", err
		}
		look, err := s.Stop(ctx, 0)
		if err != nil {
			return "", "", err
		}
		if busy, still = by(look, limits), by(look, fewer); busy == "" {
			break
		}
	}
	return busy, still, nil
}

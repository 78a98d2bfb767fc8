package load

import (
	"time"

	"tare/experiment/quantity"
	"tare/workload"
)

// leastLag is a lateness that any timer may have.
const leastLag = 50 * time.Microsecond

// LeastRate is the share of the offered rate that must be reached.
const LeastRate = 0.99

// Judge holds what was sent at a rate against the rules: the generator was late by no more than a share of
// the latency, and the rate was reached. What says what was sent: "requests".
func (r *Result) Judge(t *workload.Trial, late quantity.Percent, what string) error {
	lag, latency := r.Lag.Mean(), r.Latency.Mean()
	if lag > leastLag && t.Late(lag, time.Duration(float64(late)*float64(latency))) {
		return workload.Invalidf(workload.RuleLate, "the generator was late by %v on average, at a latency of %v: more than %v of it", lag, latency, late)
	}
	if offered := r.Offered(); r.Rate() < LeastRate*offered && r.ErrorShare() == 0 {
		return workload.Invalidf(workload.RuleRate, "%.0f of %.0f %s per second were answered", r.Rate(), offered, what)
	}
	return nil
}

package vault

import (
	"context"
	"errors"

	"tare/internal/layer/vaultserver"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/http"
	"tare/internal/workload/http/load"
)

// Prepare finds the leader of the servers, opens the connections and sends the warm-up.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	return workload.Uncut(ctx, c, t)
}

// PrepareSlices prepares a trial of n slices. The slices share the trial's duration and connections.
func (c *Config) PrepareSlices(ctx context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	return c.begin(ctx, t, n)
}

type trial struct {
	*http.Trial
	up         *servers
	before     *vaultserver.State
	operations []operation
}

func (c *Config) begin(ctx context.Context, t *workload.Trial, n int) (*trial, error) {
	up, ok := t.Standing.(*servers)
	if !ok {
		return nil, errors.New("no servers are up")
	}
	before, err := up.State(ctx)
	if err != nil {
		return nil, up.fail(ctx, err)
	}
	up.audited = 0
	if up.auditFile != "" { // the audit file grows in each trial, and must not fill its volume
		if err := up.ask(ctx, up.place(before.Leader), callLimit, request{Empty: up.auditFile}, nil); err != nil {
			return nil, up.fail(ctx, err)
		}
	}
	config := load.Config{Protocol: load.HTTP1, URL: before.Leader, Timeout: c.Timeout.Std(), Requests: c.requests(&up.prepared)}
	if c.URL != "" {
		config.URL = c.URL
	}
	if up.tls || up.authority != "" {
		config.TLS = &load.TLS{CA: up.authority}
	}
	driven, err := c.load().Drive(ctx, t, n, config, up.members)
	if err != nil {
		return nil, err
	}
	return &trial{Trial: driven, up: up, before: before, operations: c.Operations.drawn()}, nil
}

// fail returns an error that breaks the rule "server", and has the servers set up again before the next trial. It
// returns errors of a lost connection or an ended context unchanged.
func (up *servers) fail(ctx context.Context, err error) error {
	var lost *testbed.Disturbance
	if ctx.Err() != nil || errors.As(err, &lost) {
		return err
	}
	up.failure = err
	return &workload.Invalid{Rule: workload.RuleServer, Detail: err.Error()}
}

// Finish ends the clients and returns the result of the trial. The trial is invalid if the servers changed
// their leader.
func (r *trial) Finish(ctx context.Context) (workload.Result, error) {
	result, sent, err := r.End(ctx)
	if err != nil {
		return result, err
	}
	if r.up.auditFile != "" { // the size is read first, since every later request is audited too
		if err := r.up.ask(ctx, r.up.place(r.before.Leader), callLimit, request{Size: r.up.auditFile}, &r.up.audited); err != nil {
			return result, r.up.fail(ctx, err)
		}
	}
	after, err := r.up.State(ctx)
	if err != nil {
		return result, r.up.fail(ctx, err)
	}
	if after.Leader != r.before.Leader || after.Since != r.before.Since {
		return result, workload.Invalidf(workload.RuleServer, "the leader changed during the trial: %s since %s, then %s since %s", r.before.Leader, r.before.Since, after.Leader, after.Since)
	}
	result.Values, result.Unavailable = sent.Values(extra...)
	for _, o := range r.operations {
		name := o.name
		h := sent.Named[name]
		if h == nil {
			continue
		}
		result.Values[name+"-latency-mean"] = h.Mean().Seconds()
		if h.Count() >= 100*load.Beyond {
			result.Values[name+"-latency-p99"] = h.At(0.99).Seconds()
		}
	}
	return result, nil
}

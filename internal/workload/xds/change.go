package xds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/workload"
	"tare/internal/workload/http/pause"
	"tare/internal/workload/xds/fleet"
)

// changes changes the server's configuration as often as the workload asks for, and yields a stage for each change.
// Before the next change it waits until the push has reached all sidecars, or the limit has passed.
func (r *trial) changes(ctx context.Context, limit time.Duration) iter.Seq2[*stage, error] {
	return func(yield func(*stage, error) bool) {
		due := time.Now()
		for i := range r.config.times() {
			var s *stage
			err := testbed.Pause(ctx, time.Until(due))
			if err == nil {
				due = time.Now().Add(r.config.Change.every())
				s, err = r.change(ctx, i, limit)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Bounds of the time between the announcement of a change to the clients and the change.
const (
	leastLead = 20 * time.Millisecond
	mostLead  = 5 * time.Second
)

// change makes one change. The time of the push counts from the intended start of the command.
func (r *trial) change(ctx context.Context, i int, limit time.Duration) (*stage, error) {
	meter := testbed.StartMeter(ctx, r.t.Site) // the meter starts before the push, so that starting it takes no time from the push
	since, err := r.announce(ctx)
	if err != nil {
		return nil, err
	}
	pause.For(time.Until(since))
	if err := r.command(ctx, "the change", r.config.Change.Run, fmt.Sprintf("TARE_CHANGE=%d", time.Now().UnixMicro())); err != nil {
		return nil, err
	}
	return r.awaitStage(ctx, fmt.Sprintf("change-%d", i+1), limit, meter)
}

// announce tells the clients the time of the next change, by their own clocks, and returns that time by this
// machine's clock. It returns when all clients know the time.
func (r *trial) announce(ctx context.Context) (time.Time, error) {
	for lead := leastLead; lead <= mostLead; lead *= 2 {
		since := time.Now().Add(lead)
		_, err := r.sendAll(ctx, func(_ int, c *client) fleet.Request {
			return fleet.Request{Push: &fleet.Push{Since: since.Add(c.ahead), Types: r.config.Change.types()}}
		})
		if err != nil || time.Now().Before(since) {
			return since, err
		}
	}
	return time.Time{}, workload.Invalidf(workload.RuleLate, "not all clients knew the time of a change %v ahead of it", mostLead)
}

// configure makes the server's configuration for n sidecars, and then waits for the server to come to rest.
func (r *trial) configure(ctx context.Context, n int) error {
	if len(r.config.Configure) == 0 {
		return nil
	}
	if err := r.command(ctx, "the configuration", r.config.Configure, fmt.Sprintf("TARE_SIDECARS=%d", n)); err != nil {
		return err
	}
	return testbed.Pause(ctx, r.config.Settle.Std())
}

// command runs a program that changes the configuration. The program runs in the server's pod, or on this machine if the
// workload does not start the server.
func (r *trial) command(ctx context.Context, title string, run reference.Arguments, variable string) error {
	args, err := run.Resolve(ctx, nil)
	if err != nil {
		return err
	}
	limited, cmd, where := ctx, testbed.Command{Args: args, Env: []string{variable}}, testbed.Host
	if r.up.server != nil {
		cmd.Env, where = append(cmd.Env, r.up.server.Variables()...), testbed.ServerPod
		var stop context.CancelFunc
		limited, stop = testbed.Until(ctx, r.up.server.Ended()) // the command may wait for a server that has ended
		defer stop()
	}
	var why bytes.Buffer
	cmd.Stderr = &why
	_, err = testbed.Run(limited, r.t.Site, where, cmd)
	if exit, ok := errors.AsType[*testbed.ExitError](err); ok && ctx.Err() == nil {
		text := exit.Error()
		if said := safetext.Line(why.String()); said != "" && exit.Stderr == "" {
			text += ": " + said
		}
		return workload.Invalidf(workload.RuleExit, "%s: %s", title, text)
	}
	return err
}

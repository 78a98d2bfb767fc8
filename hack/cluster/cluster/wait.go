package cluster

import (
	"context"
	"fmt"
	"time"

	"tare/hack/cluster/machine"
)

// logLines of a part that failed are shown.
const logLines = 15

// part is a program on one of the machines.
type part struct {
	machine machine.Machine
	name    string
}

func (p part) tail() string {
	return fmt.Sprintf("last lines of %s:\n%s", p.machine.LogFile(p.name), machine.Tail(p.machine.LogFile(p.name), logLines))
}

// ended is an error if the part does not run any more.
func (p part) ended() error {
	list, err := p.machine.Programs()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name == p.name && !s.Running {
			return fmt.Errorf("%s on %s: %s; %s", p.name, p.machine.Hostname, s.Ended, p.tail())
		}
	}
	return nil
}

// wait asks again and again until check succeeds. It ends early when the part
// that is to make it succeed has ended, and after the limit; either error says
// what was waited for, why it has not come, and the end of the part's log.
func wait(ctx context.Context, limit time.Duration, what string, on part, check func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ended := on.ended(); ended != nil {
			return fmt.Errorf("waiting for %s: %w", what, ended)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s: %w; %s", limit, what, err, on.tail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

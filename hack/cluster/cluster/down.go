package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"

	"tare/hack/cluster/cgroup"
	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

// Down takes the cluster down, in whatever state it is, and leaves nothing of
// it. It is no error if there is no cluster.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return c.remove(ctx)
}

// remove goes on after an error: what can be removed is.
func (c *Cluster) remove(ctx context.Context) error {
	var group errgroup.Group
	for _, m := range c.machines() {
		group.Go(func() error {
			if err := m.Kill(ctx); err != nil {
				return err
			}
			return cgroup.Remove(ctx, c.cgroupName(m.Hostname))
		})
	}
	errs := []error{group.Wait()}
	switch r, err := c.read(); {
	case err == nil:
		errs = append(errs, network.Disconnect(ctx, r.Slot))
	case !errors.Is(err, fs.ErrNotExist):
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take cluster %s down: %w", c.Name, err)
	}
	if err := os.RemoveAll(c.Dir()); err != nil {
		return fmt.Errorf("remove the files of cluster %s: %w", c.Name, err)
	}
	return nil
}

// running reports whether all machines of the cluster run.
func running(machines []machine.Machine) (bool, error) {
	for _, m := range machines {
		pid, err := m.PID()
		if err != nil || pid == 0 {
			return false, err
		}
	}
	return true, nil
}

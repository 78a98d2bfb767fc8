package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/testbed/kube/cluster"
)

// cleanTimeouts are the limits where no experiment names any.
var cleanTimeouts = experiment.Timeouts{
	Ready: quantity.Duration(time.Minute), Delete: quantity.Duration(2 * time.Minute),
	Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
}

// cleanLimit is how long one Clean may take in all.
const cleanLimit = 15 * time.Minute

// Left finds what runs have left on the cluster of a context ("" for the current
// one), in a namespace, or in all with "". Those of living runs are among them.
// Records that cannot be used are an error beside what was found.
func Left(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return left(ctx, c, namespace)
}

// Clean removes what Left finds, but for what belongs to living runs, and gives
// what it has removed. It goes on where one thing cannot be removed.
func Clean(ctx context.Context, o cluster.Options, contextName, namespace string) ([]Leftover, error) {
	c, err := cluster.Connect(ctx, o, contextName, cleanTimeouts)
	if err != nil {
		return nil, err
	}
	return clean(ctx, c, namespace)
}

func clean(ctx context.Context, c *cluster.Cluster, namespace string) ([]Leftover, error) {
	limited, cancel := context.WithTimeoutCause(ctx, cleanLimit, &cluster.TimeoutError{What: "everything to be removed", Limit: cleanLimit, Now: "call tare clean again for the rest"})
	defer cancel()
	found, err := left(limited, c, namespace)
	errs := []error{err}
	var removed []Leftover
	for _, l := range found {
		if l.Alive {
			continue
		}
		if limited.Err() != nil {
			errs = append(errs, context.Cause(limited))
			break
		}
		if err := l.remove(limited, &remover{Cluster: c, owner: l.Owner, limit: cleanTimeouts.Delete.Std()}); err != nil {
			errs = append(errs, fmt.Errorf("what run %s has left: %w", l.Owner, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

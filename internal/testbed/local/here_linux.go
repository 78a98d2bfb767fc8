package local

import (
	"context"
	"fmt"
	"sync"

	"tare/internal/testbed"
)

// Here is this machine outside of all sites of experiments. Probes start programs here. These programs are
// kept, marked and guarded like the programs of sites.
var Here testbed.Site = here{}

type here struct{}

// hereBed is never closed: it ends with this process.
var hereBed = sync.OnceValues(New)

// Start starts a program on this machine.
func (here) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where != testbed.Host {
		return nil, fmt.Errorf("no %s is there outside of sites", where)
	}
	bed, err := hereBed()
	if err != nil {
		return nil, err
	}
	return bed.start(ctx, bed.host, nil, cmd)
}

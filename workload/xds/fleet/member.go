package fleet

import (
	"context"
	"math/rand/v2"
	"time"

	"tare/testbed"
	"tare/workload/xds/sidecar"
)

// member is one sidecar of a fleet, connected or not. But for ready it is the ramp's.
type member struct {
	fleet *Fleet
	index int
	ready bool               // guarded by the fleet's lock
	stop  context.CancelFunc // of one that has come
	gone  chan struct{}      // closed when what it did before it left has ended
}

// Envoy's pauses before a new try are random, below a bound that doubles.
const (
	leastWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// come has the sidecar connect, and again after each end, until it leaves.
func (m *member) come() {
	if m.stop != nil {
		return
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.fleet.ctx)
	before, gone := m.gone, make(chan struct{})
	m.gone = gone
	go func() {
		defer close(gone)
		if before != nil {
			<-before
		}
		m.live(ctx)
	}()
}

// leave has it close its connection.
func (m *member) leave() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	m.fleet.mu.Lock()
	m.ready = false
	m.fleet.mu.Unlock()
}

// live connects, and again after each end, until the context is done.
func (m *member) live(ctx context.Context) {
	f := m.fleet
	least := f.open.LeastWait
	if least <= 0 {
		least = leastWait
	}
	bound := least
	for {
		f.try()
		node, err := f.node(m.index)
		if err == nil {
			err = f.client.Run(ctx, node, m.see)
		}
		if ctx.Err() != nil {
			return
		}
		if f.failed(m, err) {
			bound = least
		}
		if testbed.Pause(ctx, rand.N(bound)) != nil {
			return
		}
		bound = min(2*bound, mostWait)
	}
}

// see is told of responses.
func (m *member) see(u sidecar.Update) { m.fleet.seen(m, u) }

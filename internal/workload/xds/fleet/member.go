package fleet

import (
	"context"
	"math/rand/v2"
	"time"

	"tare/internal/testbed"
	"tare/internal/workload/xds/sidecar"
)

// member is one sidecar of a fleet, connected or not. Only the goroutine of a ramp uses its fields, except for ready.
type member struct {
	fleet *Fleet
	index int
	ready bool               // ready is guarded by the fleet's lock
	stop  context.CancelFunc // stop disconnects a sidecar that has connected
	gone  chan struct{}      // gone is closed when the goroutine of the last connection has ended
}

// Envoy's pauses before it reconnects are random, below a bound that doubles each time.
const (
	leastWait = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// connect connects the sidecar, and reconnects it after each end of its stream, until disconnect is called.
func (m *member) connect() {
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
		m.keepConnected(ctx)
	}()
}

// disconnect closes the sidecar's connection.
func (m *member) disconnect() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	m.fleet.mu.Lock()
	m.ready = false
	m.fleet.mu.Unlock()
}

// keepConnected connects the sidecar, and reconnects it after each end of its stream, until the context ends.
func (m *member) keepConnected(ctx context.Context) {
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

// see handles a response of the server.
func (m *member) see(u sidecar.Update) { m.fleet.seen(m, u) }

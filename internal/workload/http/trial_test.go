package http

import (
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
)

// Each client gets its own part of a span: its phase, its seed, and its workers.
func TestClientSpan(t *testing.T) {
	c := New().(*Config)
	r := &Trial{config: c, t: &workload.Trial{Round: 3}, clients: make([]*client, 4)}
	seeds := map[uint64]bool{}
	for i := range r.clients {
		span := r.clientSpan(load.Span{Duration: time.Second}, 1000, 2, i)
		seeds[span.Seed] = true
		if span.Rate != 250 || span.Phase != float64(i)/4 || span.Workers != 0 || span.Duration != time.Second {
			t.Errorf("client %d: %+v", i, span)
		}
	}
	if len(seeds) != 4 {
		t.Errorf("the clients have %d seeds", len(seeds))
	}
	c.Workers = factor.Of(10)
	workers := 0
	for i := range r.clients {
		workers += r.clientSpan(load.Span{}, 0, 1, i).Workers
	}
	if workers != 10 {
		t.Errorf("%d workers in all", workers)
	}
}

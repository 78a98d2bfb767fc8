package testbed

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counters is a site that returns the given readings, one at each call.
type counters struct {
	Site
	readings [][]Resource
}

func (c *counters) Meter(context.Context) ([]Resource, error) {
	if len(c.readings) == 0 {
		return nil, errors.New("broken")
	}
	now := c.readings[0]
	c.readings = c.readings[1:]
	return now, nil
}

func TestStartMeter(t *testing.T) {
	wire := func(used float64, packets uint64) Resource {
		return Resource{Name: ResourceWire, Of: 1, Used: used, Packets: packets}
	}
	begun := []Resource{wire(10, 100), wire(20, 7)}
	for _, c := range []struct {
		name     string
		readings [][]Resource
		want     []Resource
	}{
		// Each use is nothing or far above the capacity: its share is 0 or 1, whatever the duration.
		{"two directions are one wire", [][]Resource{begun, {wire(10, 103), wire(1e12, 9)}}, []Resource{wire(1, 5)}},
		{"a counter that begins anew", [][]Resource{begun, {wire(0, 0), wire(0, 8)}}, []Resource{wire(0, 1)}},
		{"what a table holds in the end", [][]Resource{{{Name: ResourceConnections, Held: 10, Of: 1000}}, {{Name: ResourceConnections, Held: 950, Of: 1000}}},
			[]Resource{{Name: ResourceConnections, Used: 0.95, Of: 1000}}},
		{"the second reading fails", [][]Resource{begun}, nil},
		{"both fail", nil, nil},
		{"something is gone", [][]Resource{begun, begun[:1]}, nil},
	} {
		stop := StartMeter(t.Context(), &counters{readings: c.readings})
		if diff := cmp.Diff(c.want, stop(t.Context())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

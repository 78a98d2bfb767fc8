package main

import (
	"math"
	"testing"
	"time"
)

// What a server carries in truth agrees with what follows from its rate and its burst, to a request in a try.
func TestCapacity(t *testing.T) {
	const probe = 200 * time.Millisecond
	for _, k := range kinds {
		want := k.cells / 0.99 // the rate that must be answered is what binds
		if !k.delays {
			want = (k.cells*(probe+k.burst).Seconds() + 1) / probe.Seconds() / (1 - k.errors)
		}
		if got := k.capacity(probe); math.Abs(got/want-1) > 1.5/(k.cells*probe.Seconds()) {
			t.Errorf("a server that %s carries %.1f, not %.1f", k.name, got, want)
		}
	}
	patient := kinds[1] // of which the latency binds
	patient.latency = 500 * time.Microsecond
	if got, want := patient.capacity(probe), patient.cells*(1+2*patient.latency.Seconds()/probe.Seconds()); math.Abs(got/want-1) > 0.004 {
		t.Errorf("it carries %.1f, not %.1f", got, want)
	}
}

package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// Metrics of an unknown part are missing. The sum is missing too, since it would lack the part.
func TestCost(t *testing.T) {
	cost := experiment.Cost{Prefix: "tcp", Unit: "Gbit", Parts: []string{"client", "server"}}
	client := testbed.Usage{User: time.Second, System: time.Second, MaxRSS: 10}
	for _, c := range []struct {
		name        string
		used        map[string]testbed.Usage
		work        float64
		want        map[string]float64
		unavailable []string
		err         string
	}{
		{"all told", map[string]testbed.Usage{"client": client, "server": {User: 4 * time.Second, MaxRSS: 20}}, 2, map[string]float64{
			"tcp-cpu": 3.5, "tcp-cpu-client": 1, "tcp-cpu-server": 2, "tcp-cpu-layer": 0.5, "tcp-cpu-machine": 5, "tcp-memory-client": 10, "tcp-memory-server": 20}, nil, ""},
		{"one part in a sandbox", map[string]testbed.Usage{"client": client, "server": {Wall: time.Second, Unavailable: true}}, 2, map[string]float64{
			"tcp-cpu-client": 1, "tcp-cpu-layer": 0.5, "tcp-cpu-machine": 5, "tcp-memory-client": 10}, []string{"tcp-cpu-server", "tcp-memory-server", "tcp-cpu"}, ""},
		{"memory that nobody saw", map[string]testbed.Usage{"client": client, "server": {User: 4 * time.Second}}, 2, map[string]float64{
			"tcp-cpu": 3.5, "tcp-cpu-client": 1, "tcp-cpu-server": 2, "tcp-cpu-layer": 0.5, "tcp-cpu-machine": 5, "tcp-memory-client": 10}, []string{"tcp-memory-server"}, ""},
		{"a part is missing", map[string]testbed.Usage{"client": client}, 2, nil, nil, "no usage of the server"},
		{"no work", nil, 0, nil, nil, "no work done: 0 Gbit"},
	} {
		r := Result{Used: c.used, Work: c.work}
		got, err := Price(cost, r, time.Second, 10*time.Second)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.unavailable, Unavailable(cost, r)); diff != "" {
			t.Errorf("%s: unavailable: -want +got\n%s", c.name, diff)
		}
		if (err != nil) != (c.err != "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

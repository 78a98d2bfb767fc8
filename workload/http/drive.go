package http

import (
	"context"

	"tare/workload"
	"tare/workload/http/load"
	"tare/workload/service"
)

// Driven is the load of another workload's trial under way.
type Driven struct{ *trial }

// Drive begins a trial of a workload that has servers and requests of its own: it opens the
// connections to where config says, and sends the warm-up. Rate, workers, connections, clients
// and times are those of c, which has one level of each. The use of the servers together is
// the part "server". A trial is cut into n slices.
func (c *Config) Drive(ctx context.Context, t *workload.Trial, n int, config load.Config, servers []*service.Running) (*Driven, error) {
	r, err := c.start(ctx, t, n, config, servers)
	if err != nil {
		return nil, err
	}
	return &Driven{r}, nil
}

// End ends the clients, and gives beside the values of this package's metrics what was sent.
func (d *Driven) End(ctx context.Context) (workload.Result, *load.Result, error) {
	return d.finish(ctx)
}

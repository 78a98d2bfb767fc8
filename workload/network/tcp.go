package network

import (
	"context"

	"tare/testbed"
	"tare/workload"
)

func (c *Config) measureTCP(ctx context.Context, p pair) (workload.Result, error) {
	order := order{name: "iperf3", duration: c.Duration.Std(), omit: c.Omit.Std(), direction: c.Direction.One(), streams: c.Streams.One()}
	if c.Congestion != "" {
		order.args = []string{"-C", c.Congestion}
	}
	o, err := p.run(ctx, order)
	if err != nil {
		return workload.Result{}, err
	}
	r := o.result(map[string]float64{"tcp-bandwidth": o.received}, 0)
	if o.retransmits >= 0 {
		r.Values["tcp-retransmits"] = o.retransmits
	} else {
		r.Unavailable = []string{"tcp-retransmits"}
	}
	if o.rtt > 0 {
		r.Values["tcp-rtt"] = o.rtt
	}
	return r, nil
}

// result completes the values with what the run cost. before is the payload
// moved by earlier runs of the trial, in bytes.
func (o *outcome) result(values map[string]float64, before float64) workload.Result {
	return workload.Result{
		Values: values,
		Used:   map[string]testbed.Usage{"client": o.client, "server": o.server},
		Work:   o.moved * 8 / 1e9,
		Sent:   uint64(before + o.moved),
	}
}

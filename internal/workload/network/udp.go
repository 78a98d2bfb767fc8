package network

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/toolformat/iperf3"
	"tare/internal/workload"
)

// If a measurement loses more than the limit, although the search found its rate, Tare repeats the
// measurement: first at the same rate, then at a rate lower by backOff. Each further repetition doubles the
// reduction. In all, there are at most measureAttempts measurements.
const (
	backOff         = 0.03
	measureAttempts = 6
)

// iperf3 keeps a rate by sending one burst in each period of its pacing timer, by default 1000 µs. At 1 Gbit/s a
// burst has 125 kB, about half of what the smallest buffer holds with the kernel's overhead for each packet. At
// higher rates the timer is shortened so that bursts do not grow, down to the shortest period with which iperf3 still
// keeps a rate.
const (
	burst        = 125_000 // bytes
	shortestTick = 20      // µs
)

func (c *Config) prepareUDP(ctx context.Context, p pair, linkRate float64) (workload.Measured, error) {
	if p.buffer = int64(c.Buffer); p.buffer == 0 {
		var err error
		if p.buffer, err = p.buffers(ctx); err != nil {
			return nil, err
		}
	}
	moved := 0.0
	s := search{limit: float64(c.LossLimit), try: func(ctx context.Context, n int, offered float64) (step, error) {
		o, err := p.run(ctx, c.udpOptions(p, fmt.Sprintf("search-%02d", n), offered, c.Probe.Std()-c.probeOmit(), c.probeOmit()))
		if err != nil {
			return step{}, err
		}
		moved += o.moved
		ways := 1.0
		if c.Direction.One() == both {
			ways = 2
		}
		return step{Sent: o.sent / ways, Received: o.received / ways, Loss: o.loss}, nil
	}}
	rate, err := s.find(ctx, linkRate)
	steps, keepErr := json.MarshalIndent(s.steps, "", "  ")
	if keepErr == nil {
		keepErr = workload.Keep(p.raw, "search.json", append(steps, '\n'))
	}
	if err := cmp.Or(err, keepErr); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return c.measureUDP(ctx, p, rate, moved) }, nil
}

// probeOmit returns the warm-up of a step: its first quarter.
func (c *Config) probeOmit() time.Duration { return c.Probe.Std() / 4 }

// measureUDP measures at the rate that the search found, or at a lower rate if this rate loses too much.
// before is the payload of the search, in bytes.
func (c *Config) measureUDP(ctx context.Context, p pair, rate, before float64) (workload.Result, error) {
	total, loss, back := runResult{}, 0.0, backOff
	for attempt := 1; attempt <= measureAttempts; attempt++ {
		name := "iperf3"
		if attempt > 1 {
			name = fmt.Sprintf("iperf3-again-%d", attempt)
		}
		if attempt > 2 {
			rate *= 1 - back
			back *= 2
		}
		o, err := p.run(ctx, c.udpOptions(p, name, rate, c.Duration.Std(), c.Omit.Std()))
		if err != nil {
			return workload.Result{}, err
		}
		// The layers' CPU time covers all measurements, so the other sums must cover all measurements too.
		total.client, total.server = add(total.client, o.client), add(total.server, o.server)
		total.moved += o.moved
		if loss = o.loss; loss <= float64(c.LossLimit) {
			return total.result(udpValues(o.figures), before), nil
		}
	}
	return workload.Result{}, workload.Invalidf(workload.RuleRate,
		"the rate found by the search did not hold: after %d measurements, the last at %v, %.3g%% are lost; at most %v may be",
		measureAttempts, quantity.Rate(math.Round(rate)), 100*loss, c.LossLimit)
}

// udpValues returns the metrics of a measurement. A jitter of zero is a missing value.
func udpValues(f figures) map[string]float64 {
	values := map[string]float64{"udp-bandwidth": f.received, "udp-loss": max(0, f.loss)}
	if f.jitter > 0 {
		values["udp-jitter"] = f.jitter
	}
	return values
}

func add(a, b testbed.Usage) testbed.Usage {
	return testbed.Usage{User: a.User + b.User, System: a.System + b.System, Wall: a.Wall + b.Wall, MaxRSS: max(a.MaxRSS, b.MaxRSS), Unavailable: a.Unavailable || b.Unavailable}
}

// udpOptions describes a UDP run. Without a size, iperf3 uses the segment size of its TCP control connection, which
// fits the path's MTU in every arm: start.test_start.blksize in its JSON. iperf3 takes the rate of each stream; 0 is
// as much as the sender can send.
func (c *Config) udpOptions(p pair, name string, rate float64, duration, omit time.Duration) runOptions {
	o := runOptions{name: name, duration: duration, omit: omit, direction: c.Direction.One(), streams: c.Streams.One()}
	each := math.Round(rate / float64(o.streams))
	o.args = []string{"-u", "-b", decimal(each)}
	if tick := math.Round(burst * 8e6 / each); each > 0 && tick < 1000 {
		o.args = append(o.args, "--pacing-timer", decimal(max(shortestTick, tick)))
	}
	size := c.Datagram.One()
	o.fits = size == 0
	if size > 0 {
		o.args = append(o.args, "-l", strconv.FormatInt(int64(size), 10))
	}
	o.args = append(o.args, "-w", strconv.FormatInt(p.buffer, 10))
	return o
}

// defaultSegment is the segment size that TCP assumes if the path's MTU is unknown (RFC 9293).
const defaultSegment = 536

// sized returns an error if datagrams are small because the system does not know the path's MTU, as in gVisor. Other
// arms would send larger datagrams, and would be faster.
func (o runOptions) sized(client *iperf3.Report) error {
	if !o.fits || client.Start.TestStart.Block != defaultSegment {
		return nil
	}
	return fmt.Errorf("the client's system (%.80q) does not give the largest datagram that the path takes: "+
		"set one size for all arms, such as datagram: 1400B", client.Start.SystemInfo)
}

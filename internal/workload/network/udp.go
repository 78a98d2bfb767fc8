package network

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/toolformat/iperf3"
	"tare/internal/workload"
)

// If a measurement loses more packets than the limit, Tare measures again, measureAttempts times in all. The third
// lowers the rate by the share backOff, and each later one by twice the share before.
const (
	backOff         = 0.03
	measureAttempts = 6
)

// iperf3 sends one burst in each period of its pacing timer, by default 1000 µs. At more than 1 Gbit/s, shorter periods
// keep bursts at 125 kB; the smallest buffer holds about two. With periods below shortestTick, iperf3 cannot keep a
// rate.
const (
	burst        = 125_000 // size of a burst, in bytes
	shortestTick = 20      // shortest period of the pacing timer, in µs
)

func (c *Config) prepareUDP(ctx context.Context, p peers, linkRate float64) (workload.Measured, error) {
	if p.buffer = int64(c.Buffer); p.buffer == 0 {
		var err error
		if p.buffer, err = p.buffers(ctx); err != nil {
			return nil, err
		}
	}
	moved, omit := 0.0, c.Probe.Std()/4 // the first quarter of each step's time is its warm-up
	s := search{limit: float64(c.LossLimit), try: func(ctx context.Context, n int, offered float64) (step, error) {
		o, err := p.run(ctx, c.udpOptions(p, fmt.Sprintf("search-%02d", n), offered, c.Probe.Std()-omit, omit))
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
	if err := cmp.Or(err, workload.KeepIndented(p.raw, "search.json", s.steps)); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return c.measureUDP(ctx, p, rate, moved) }, nil
}

// measureUDP measures at the rate that the search found. After too much loss it measures again, at last at lower rates.
// before is the payload, in bytes, that the search has sent.
func (c *Config) measureUDP(ctx context.Context, p peers, rate, before float64) (workload.Result, error) {
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
		// The layers' CPU time covers all measurements, so the usage and the traffic must cover all measurements.
		total.client, total.server = total.client.Plus(o.client), total.server.Plus(o.server)
		total.moved += o.moved
		if loss = o.loss; loss <= float64(c.LossLimit) {
			values := map[string]float64{"udp-bandwidth": o.received, "udp-loss": max(0, o.loss)}
			if o.jitter > 0 {
				values["udp-jitter"] = o.jitter
			}
			return total.result(values, before), nil
		}
	}
	return workload.Result{}, workload.Invalidf(workload.RuleRate,
		"the rate found by the search did not hold: after %d measurements, the last at %v, %.3g%% are lost; at most %v may be",
		measureAttempts, quantity.Rate(math.Round(rate)), 100*loss, c.LossLimit)
}

// udpOptions describes a UDP run; rate 0: as much as the sender can send. Without a datagram size, iperf3 takes its TCP
// connection's segment size (start.test_start.blksize), which fits the path's MTU.
func (c *Config) udpOptions(p peers, name string, rate float64, duration, omit time.Duration) runOptions {
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

// sized returns an error if datagrams are small because the system does not know the path's MTU, as in gVisor. Arms
// with larger datagrams would look faster.
func (o runOptions) sized(client *iperf3.Report) error {
	if !o.fits || client.Start.TestStart.Block != 536 { // TCP's segment size for a path with an unknown MTU (RFC 9293)
		return nil
	}
	return fmt.Errorf("the client's system (%.80q) does not give the largest datagram that the path takes: "+
		"set one size for all arms, such as datagram: 1400B", client.Start.SystemInfo)
}

// The search for the highest UDP rate within a loss limit is a binary search as in RFC 2544, section 26.1, with a limit
// above zero. Steps whose loss may be temporary are repeated, as in ETSI GS NFV-TST 009, section 12.3.3:
//
//   - The first step offers the link's rate, or as much as the sender can send. If the loss is within the limit, this
//     rate is the result. If the loss is higher, the rate is the upper end of a bracket around the result. The next
//     step tries the rate that was received, which may be the link's capacity.
//   - Each further step takes a quarter off the rate until the loss is within the limit. Then each step tries the
//     geometric mean of the bracket's ends, until they differ by no more than resolution. The lower end is the result.
//   - A step whose loss is at most passing times the limit is repeated once: a pause of the receiver's CPU can lose
//     this many packets.
//   - If the sender clearly misses the offered rate in a step within the limit, the search ends: the sender cannot send
//     more.
const (
	resolution = 0.01 // relative width of the bracket at which the search ends
	quarter    = 0.75 // each step offers this share of the rate before, until the loss is within the limit
	passing    = 20   // a step is repeated if its loss is at most this many times the limit
	reached    = 0.97 // the sender must send at least this share of the offered rate
	usualSteps = 8    // typical number of steps, for estimates of time
	maxSteps   = 30   // largest number of steps; a search without a result after these steps makes the trial fail
)

// step is one test of the search, at one offered rate. Rates are in bit/s of payload, in each direction.
type step struct {
	Offered  float64 `json:"offered"` // offered rate; 0: as much as the sender can send
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
	Loss     float64 `json:"loss"` // share of packets that were lost
	Within   bool    `json:"within"`
}

type search struct {
	limit float64 // largest share of packets that may be lost at the rate that is searched
	try   func(ctx context.Context, n int, offered float64) (step, error)
	steps []step
}

// find returns the highest rate whose loss is within the limit. It tries no rate above the ceiling; 0: no ceiling.
func (s *search) find(ctx context.Context, ceiling float64) (float64, error) {
	first, err := s.step(ctx, ceiling)
	if err != nil || first.Within {
		return first.Offered, err
	}
	lower, upper, next := 0.0, first.Sent, first.Received
	for lower == 0 || upper/lower > 1+resolution {
		offered := min(next, upper*0.999)
		at, err := s.step(ctx, offered)
		if err == nil && !at.Within && at.Loss <= passing*s.limit { // little more loss than the limit, perhaps temporary: try the same rate again
			at, err = s.step(ctx, offered)
		}
		switch {
		case err != nil:
			return 0, err
		case at.Within && at.Sent < reached*offered:
			return offered, nil
		case at.Within:
			lower = offered
		default:
			upper = offered
		}
		if next = math.Sqrt(lower * upper); lower == 0 {
			next = quarter * upper
		}
	}
	return lower, nil
}

func (s *search) step(ctx context.Context, offered float64) (step, error) {
	if len(s.steps) == maxSteps {
		last := s.steps[maxSteps-1]
		return step{}, workload.Invalidf(workload.RuleRate,
			"no rate found in %d steps of which at most %v is lost; the last, %v, lost %.3g%%",
			maxSteps, quantity.Percent(s.limit), quantity.Rate(math.Round(last.Offered)), 100*last.Loss)
	}
	at, err := s.try(ctx, len(s.steps)+1, offered)
	if err != nil {
		return step{}, err
	}
	at.Offered = offered
	at.Within = at.Loss <= s.limit
	s.steps = append(s.steps, at)
	return at, nil
}

// Packets that arrive while the receiver is off the CPU must fit the socket's buffer. With 208 KiB, the kernels'
// default, three milliseconds off the CPU lose packets at 1 Gbit/s. On a busy machine, the search found 385 to 563
// Mbit/s with 208 KiB, and 905 to 965 Mbit/s with 2 MiB.
const (
	wantedBuffer  = 2 << 20   // size that Tare asks for, in bytes
	grantedBuffer = 208 << 10 // size that every kernel grants, in bytes; default of rmem_max and wmem_max
)

// buffers returns the size, in bytes, of the UDP socket buffers that the pods' kernels grant, at most wantedBuffer.
// Older kernels show their limits outside of pods only.
func (p peers) buffers(ctx context.Context) (int64, error) {
	places := []testbed.Place{p.server}
	if _, here := testbed.As[testbed.Nodes](p.site); here {
		places = append(places, testbed.ServerNode, testbed.Host)
	}
	for _, where := range places {
		var stdout bytes.Buffer
		process, err := p.site.Start(ctx, where, testbed.Command{
			Args: []string{"cat", "/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"}, Stdout: &stdout,
		})
		if err != nil {
			return 0, err
		}
		if _, err := process.Wait(); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			continue
		}
		if size, ok := granted(stdout.String()); ok {
			return size, nil
		}
	}
	return grantedBuffer, nil
}

func granted(text string) (int64, bool) {
	limits := strings.Fields(text)
	size := int64(wantedBuffer)
	for _, limit := range limits {
		n, err := strconv.ParseInt(limit, 10, 64)
		if err != nil || n <= 0 {
			return 0, false
		}
		size = min(size, n)
	}
	return size, len(limits) == 2
}

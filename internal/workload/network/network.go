// Package network measures the path between two pods with iperf3 (3.12 and later), one protocol on one path in each
// trial.
//
// A trial starts a server in the server's pod and a client in the client's pod. The JSON of both is kept unchanged. A
// value that iperf3 does not give is missing, and never zero. A failed run makes the trial invalid.
//
// TCP is one run of the given duration after the warm-up. The metrics are the bandwidth at the receiver, retransmits,
// and the mean of the round-trip times that the sender's kernel reported.
//
// UDP has no flow control: a sender at full speed (iperf3 -b 0) would measure how an overloaded receiver drops packets.
// A search therefore finds the highest offered rate at which the loss stays within the limit (see udp.go). One run of
// the full duration at this rate is the measurement.
package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload"
)

type protocol string

const (
	tcp protocol = "tcp"
	udp protocol = "udp"
)

type direction string

// The directions of the data, as the client sees them: upload goes to the server.
const (
	upload   direction = "upload"   // client to server
	download direction = "download" // server to client
	both     direction = "both"     // both directions at the same time; their bandwidths are added
)

// Config is the parameters of the workload. Durations are in whole seconds, since iperf3 takes no fractions.
type Config struct {
	Protocols  factor.Levels[protocol]      `yaml:"protocols" factor:"protocol" json:"protocols" enum:"tcp,udp" doc:"transport protocols, each measured in separate trials"`
	Paths      factor.Levels[testbed.Path]  `yaml:"paths" factor:"path" json:"paths" doc:"paths from the client pod to the server pod"`
	Direction  factor.Levels[direction]     `yaml:"direction" json:"direction" enum:"upload,download,both" doc:"direction of the data, as the client sees it"`
	Streams    factor.Levels[int]           `yaml:"streams" json:"streams" doc:"parallel streams, 1 to 128"`
	Duration   quantity.Duration            `yaml:"duration" json:"duration" doc:"length of the measurement, in whole seconds"`
	Omit       quantity.Duration            `yaml:"omit" json:"omit" doc:"warm-up before the measurement, in whole seconds; it does not count"`
	Congestion string                       `yaml:"congestion" json:"congestion,omitempty" doc:"TCP congestion control; the kernel's default if absent"`
	LossLimit  quantity.Percent             `yaml:"lossLimit" json:"lossLimit" doc:"largest share of UDP packets that may be lost at the reported rate"`
	Probe      quantity.Duration            `yaml:"probe" json:"probe" doc:"length of one step of the UDP search, in whole seconds"`
	Datagram   factor.Levels[quantity.Size] `yaml:"datagram" json:"datagram" doc:"payload of a UDP packet; 0B for the largest that the path takes unfragmented"`
	Buffer     quantity.Size                `yaml:"buffer" json:"buffer" doc:"socket buffers of UDP; 0B for the size that the kernel grants, up to 2MiB"`
}

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Protocols: factor.Of(tcp, udp),
		Paths:     factor.Of(testbed.PodToPod, testbed.PodToService),
		Direction: factor.Of(upload),
		Streams:   factor.Of(1),
		Duration:  quantity.Duration(3 * time.Second),
		Omit:      quantity.Duration(time.Second),
		LossLimit: 0.01,
		Probe:     quantity.Duration(time.Second),
		Datagram:  factor.Of(quantity.Size(0)),
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    "network",
	Summary: "TCP and UDP between two pods: bandwidth, retransmits, loss, CPU per gigabit (iperf3)",
	New:     New,
	Probe:   probe,
}

// Declare lists the needs of the workload: two pods, and iperf3.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate: c.validate,
		Tests:    experiment.TestsNetwork,
		Needs:    experiment.Needs{Network: true, AppProtocol: "tcp", HostNetwork: slices.Contains(c.Paths, testbed.NodeToNode)},
		Tools:    []experiment.Tool{{Name: "iperf3", Version: []string{"--version"}}},
	}
}

// Measures returns the metrics of a trial, and its expected duration. A UDP trial first searches for its rate, which
// takes most of the trial's time.
func (c *Config) Measures() experiment.Measures {
	one := runOptions{duration: c.Duration.Std(), omit: c.Omit.Std()}.limit()
	m := experiment.Measures{
		Metrics:  c.measured(),
		Cost:     &experiment.Cost{Prefix: string(c.Protocols.One()), Unit: "Gbit", Parts: []string{"client", "server"}}, // per received Gbit
		Expected: (c.Omit + c.Duration).Std() + startUp,
		Limit:    one,
	}
	if c.Protocols.One() == udp {
		m.Searches = true
		m.Expected += usualSteps * (c.Probe.Std() + startUp)
		m.Limit = maxSteps*runOptions{duration: c.Probe.Std()}.limit() + measureAttempts*one
	}
	return m
}

func (c *Config) measured() []experiment.Metric {
	p, lost, time := c.Protocols.One(), "-retransmits", "-rtt"
	if p == udp {
		lost, time = "-loss", "-jitter"
	}
	return []experiment.Metric{
		{Name: string(p) + "-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio},
		{Name: string(p) + lost, Better: experiment.Lower, Scale: experiment.Difference},
		{Name: string(p) + time, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
	}
}

// startUp is the time that starting and ending a client and a server takes.
const startUp = 150 * time.Millisecond

var congestionName = regexp.MustCompile(`^[a-z0-9_-]*$`)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	seconds := func(field string, d quantity.Duration, least, most time.Duration) {
		if d.Std() < least || d.Std() > most || d.Std()%time.Second != 0 {
			errs.Add(field, "%v is not a number of whole seconds from %v to %v, which is what iperf3 takes", d, quantity.Duration(least), quantity.Duration(most))
		}
	}
	seconds("duration", c.Duration, time.Second, time.Hour)
	seconds("omit", c.Omit, 0, time.Minute)
	seconds("probe", c.Probe, time.Second, time.Minute)
	workload.CheckNumbers(&errs, "streams", c.Streams, 128, "streams")
	for i, size := range c.Datagram {
		if size != 0 && (size < 16 || size > 65507) {
			errs.Add(fmt.Sprintf("datagram[%d]", i), "%v is not 0B (as large as the path takes) or a size from 16B to 65507B", size)
		}
	}
	if c.LossLimit >= 1 {
		errs.Add("lossLimit", "%v is not less than 100%%", c.LossLimit)
	}
	if !congestionName.MatchString(c.Congestion) {
		errs.Add("congestion", "%q is not the name of a congestion control such as cubic or bbr", c.Congestion)
	}
	return errs
}

// Prepare does the search for the UDP rate. TCP needs no preparation.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	network, ok := testbed.As[testbed.Network](t.Site)
	if !ok {
		return nil, fmt.Errorf("the site has no network to measure")
	}
	ports := network.Ports()
	if len(ports) == 0 {
		return nil, fmt.Errorf("the service of the site forwards no ports")
	}
	client, server := c.Paths.One().Ends()
	p := peers{site: t.Site, raw: t.Raw, client: client, server: server, address: network.Address(c.Paths.One()), port: ports[0]}
	if c.Protocols.One() == udp {
		rate, err := wireRate(t.Site, network)
		if err != nil {
			return nil, err
		}
		return c.prepareUDP(ctx, p, rate)
	}
	return func(ctx context.Context) (workload.Result, error) { return c.measureTCP(ctx, p) }, nil
}

// wireRate returns the rate of the wire in bit/s; 0: unlimited. The rate includes a limit that a layer has set, if the
// site can read the shaper.
func wireRate(site testbed.Site, network testbed.Network) (float64, error) {
	shaper, ok := testbed.As[testbed.Shaper](site)
	if !ok {
		return network.LinkRate(), nil
	}
	now, err := shaper.Shaped()
	if err != nil {
		return 0, fmt.Errorf("read the rate of the wire: %w", err)
	}
	return now.Rate, nil
}

func (c *Config) measureTCP(ctx context.Context, p peers) (workload.Result, error) {
	options := runOptions{name: "iperf3", duration: c.Duration.Std(), omit: c.Omit.Std(), direction: c.Direction.One(), streams: c.Streams.One()}
	if c.Congestion != "" {
		options.args = []string{"-C", c.Congestion}
	}
	o, err := p.run(ctx, options)
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

// result returns a trial's result: values, usage, and the traffic of this run. before is the payload of the trial's
// earlier runs, in bytes, and counts in Sent.
func (o *runResult) result(values map[string]float64, before float64) workload.Result {
	return workload.Result{
		Values: values,
		Used:   map[string]testbed.Usage{"client": o.client, "server": o.server},
		Work:   o.moved * 8 / 1e9,
		Sent:   uint64(before + o.moved),
	}
}

var tool = workload.Tool{Name: "iperf3", Version: regexp.MustCompile(`(?m)^iperf (\d+)\.(\d+)`), Oldest: [2]int{3, 12}}

func probe(ctx context.Context) []testbed.Finding {
	f := tool.Probe(ctx, tryLoopback)
	if f.Status != testbed.Works {
		return []testbed.Finding{f}
	}
	if size, err := (peers{site: loopback{}}).buffers(ctx); err == nil && size < wantedBuffer {
		f.Detail += fmt.Sprintf("; UDP socket buffers of %v at most, which makes UDP noisy", quantity.Size(size))
		f.Hint = fmt.Sprintf("sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d", wantedBuffer, wantedBuffer)
	}
	return []testbed.Finding{f}
}

// tryLoopback measures TCP from this machine to itself for a second.
func tryLoopback(ctx context.Context) error {
	site, err := openLoopback(0)
	if err != nil {
		return err
	}
	c := New().(*Config)
	c.Protocols, c.Paths = factor.Of(tcp), factor.Of(testbed.PodToPod)
	c.Duration, c.Omit = quantity.Duration(time.Second), 0
	measure, err := c.Prepare(ctx, &workload.Trial{Site: site, Raw: workload.Discard})
	if err != nil {
		return err
	}
	_, err = measure(ctx)
	return err
}

type loopback struct {
	port uint16
	rate float64 // highest rate that the UDP search offers, in bit/s
}

func openLoopback(rate float64) (loopback, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return loopback{}, err
	}
	defer listener.Close()
	return loopback{port: uint16(listener.Addr().(*net.TCPAddr).Port), rate: rate}, nil
}

func (loopback) Address(testbed.Path) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
func (l loopback) Ports() []uint16               { return []uint16{l.port} }
func (l loopback) LinkRate() float64             { return l.rate }

func (loopback) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return local.Here.Start(ctx, testbed.Host, cmd)
}

var _ testbed.Network = loopback{}

package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload"
)

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

// loopback is a site on this machine's loopback interface, for the probe.
type loopback struct {
	port uint16
	rate float64 // highest rate that the UDP search offers, in bit/s
}

// openLoopback makes the site on a free port.
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

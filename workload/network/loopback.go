package network

import (
	"context"
	"net"
	"net/netip"

	"tare/testbed"
	"tare/testbed/bare"
)

// loopback is a site on this machine's loopback interface, for the probe.
type loopback struct {
	port uint16
	rate float64 // bit/s, the most that UDP is to offer
}

// openLoopback makes the site on a port that is free now.
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
	return bare.Start(ctx, cmd)
}

var _ testbed.Network = loopback{}

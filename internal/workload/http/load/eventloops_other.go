//go:build !linux

package load

import "net"

// eventLoops exist on Linux only. Elsewhere each connection has a goroutine that reads.
type eventLoops struct{}

func newEventLoops(*session) (*eventLoops, error)            { return nil, nil }
func (l *eventLoops) close()                                 {}
func (l *eventLoops) read(*http1) (ok bool, err error)       { return false, nil }
func (l *eventLoops) detach(conn net.Conn) (net.Conn, error) { return conn, nil }

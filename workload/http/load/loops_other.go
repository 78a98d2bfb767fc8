//go:build !linux

package load

import "net"

// loops are there on Linux only; elsewhere each connection has a goroutine.
type loops struct{}

func newLoops(*Session) (*loops, error)                 { return nil, nil }
func (l *loops) close()                                 {}
func (l *loops) read(*http1) (ok bool, err error)       { return false, nil }
func (l *loops) detach(conn net.Conn) (net.Conn, error) { return conn, nil }

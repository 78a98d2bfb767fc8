//go:build unix

package cluster

import "syscall"

// What the system says of a server that cannot be reached.
const (
	errRefused   = syscall.ECONNREFUSED
	errNoHost    = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
)

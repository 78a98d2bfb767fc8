//go:build unix

package cluster

import "syscall"

// These are errors of the operating system for a server that cannot be reached.
const (
	errRefused   = syscall.ECONNREFUSED
	errNoHost    = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
)

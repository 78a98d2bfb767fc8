//go:build unix

package cluster

import "syscall"

// These are the operating system's errors if a server cannot be reached.
const (
	errRefused   = syscall.ECONNREFUSED
	errNoHost    = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
)

//go:build unix

package cluster

import "syscall"

// Errors of the operating system for an unreachable server.
const (
	errRefused   = syscall.ECONNREFUSED
	errNoHost    = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
)

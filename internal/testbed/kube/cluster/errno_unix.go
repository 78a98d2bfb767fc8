//go:build unix

package cluster

import "syscall"

const (
	errRefused   = syscall.ECONNREFUSED
	errNoHost    = syscall.EHOSTUNREACH
	errNoNetwork = syscall.ENETUNREACH
)

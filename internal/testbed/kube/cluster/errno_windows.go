package cluster

import "golang.org/x/sys/windows"

// Errors of the operating system for an unreachable server.
const (
	errRefused   = windows.WSAECONNREFUSED
	errNoHost    = windows.WSAEHOSTUNREACH
	errNoNetwork = windows.WSAENETUNREACH
)

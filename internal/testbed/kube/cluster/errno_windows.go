package cluster

import "golang.org/x/sys/windows"

// These are errors of the operating system for a server that cannot be reached.
const (
	errRefused   = windows.WSAECONNREFUSED
	errNoHost    = windows.WSAEHOSTUNREACH
	errNoNetwork = windows.WSAENETUNREACH
)

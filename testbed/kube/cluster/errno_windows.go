package cluster

import "golang.org/x/sys/windows"

// What the system says of a server that cannot be reached.
const (
	errRefused   = windows.WSAECONNREFUSED
	errNoHost    = windows.WSAEHOSTUNREACH
	errNoNetwork = windows.WSAENETUNREACH
)

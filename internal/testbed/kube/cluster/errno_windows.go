package cluster

import "golang.org/x/sys/windows"

const (
	errRefused   = windows.WSAECONNREFUSED
	errNoHost    = windows.WSAEHOSTUNREACH
	errNoNetwork = windows.WSAENETUNREACH
)

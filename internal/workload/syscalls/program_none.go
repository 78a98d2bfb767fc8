//go:build linux && !amd64 && !arm64

package syscalls

// program is empty: there is no probe for this architecture.
var program []byte

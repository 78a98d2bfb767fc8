//go:build linux && !amd64 && !arm64

package syscalls

// program is empty, since no probe exists for this architecture.
var program []byte

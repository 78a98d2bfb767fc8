//go:build linux && !amd64 && !arm64

package syscalls

// program is the probe, which no other processor has.
var program []byte

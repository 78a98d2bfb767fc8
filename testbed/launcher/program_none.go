//go:build linux && !amd64 && !arm64

package launcher

// program is the launcher, which no other processor has.
var program []byte

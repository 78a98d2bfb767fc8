//go:build linux && !amd64 && !arm64

package launcher

// program is empty: the launcher does not exist for this processor.
var program []byte

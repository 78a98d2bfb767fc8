//go:build !linux || (!amd64 && !arm64)

package launcher

// Program is empty, since the launcher does not exist for this system or processor.
var Program []byte

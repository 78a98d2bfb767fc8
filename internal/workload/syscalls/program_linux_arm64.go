package syscalls

import _ "embed"

// program is the probe for arm64, compiled by probe/build.
//
//go:embed probe/probe-arm64
var program []byte

package syscalls

import _ "embed"

// program is the probe for x86-64, compiled by probe/build.
//
//go:embed probe/probe-amd64
var program []byte

package launcher

import _ "embed"

// program is the launcher, compiled by native/build.
//
//go:embed native/launcher-amd64
var program []byte

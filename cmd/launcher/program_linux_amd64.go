package launcher

import _ "embed"

// Program is the launcher, compiled by native/build.
//
//go:embed native/launcher-amd64
var Program []byte

package launcher

import _ "embed"

// Program is the launcher, compiled by build.
//
//go:embed launcher-arm64
var Program []byte

package launcher

import _ "embed"

// Program is the launcher, compiled by build.
//
//go:embed launcher-amd64
var Program []byte

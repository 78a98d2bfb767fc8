// Package examples holds one experiment per published study, and the quickstart.
package examples

import "embed"

// Files are the experiment files, by base name.
//
//go:embed *.yaml
var Files embed.FS

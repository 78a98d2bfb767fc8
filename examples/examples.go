// Package examples holds one experiment per published study, the quickstart, and
// one per security layer of clusters.
package examples

import "embed"

// Files are the experiment files, by name; those in kubernetes are documented
// arms for clusters (docs/presets.md).
//
//go:embed *.yaml kubernetes/*.yaml
var Files embed.FS

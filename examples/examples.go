// Package examples holds Tare's experiments: the quickstart, published studies, security layers of clusters, and
// workloads that compute.
package examples

import (
	"embed"
	"io/fs"
	"slices"
)

// Files holds the experiment files by name. Those in kubernetes are arms for clusters (docs/presets.md). Those in
// compute are programs for the workload command (docs/compute.md).
//
//go:embed *.yaml compute/*.yaml kubernetes/*.yaml
var Files embed.FS

// Names lists the experiment files: first those in no directory, which run on one machine, then those in compute and
// in kubernetes.
func Names() ([]string, error) {
	var names []string
	for _, pattern := range []string{"*.yaml", "compute/*.yaml", "kubernetes/*.yaml"} {
		some, err := fs.Glob(Files, pattern)
		if err != nil {
			return nil, err
		}
		names = slices.Concat(names, some)
	}
	return names, nil
}

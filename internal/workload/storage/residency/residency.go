// Package residency measures how much of a volume's files is in the page cache, and can drop the files from it. A
// program that asks for direct I/O (O_DIRECT) may silently get the page cache. O_DIRECT is ignored by encrypted files
// of ext4 (fscrypt) without inline encryption, by gVisor, and by file systems outside of the kernel (FUSE). The page
// cache after a trial shows whether O_DIRECT worked.
//
// The package uses cachestat(2), which Linux has since 6.5, and otherwise mincore(2). Both give wrong values to a user
// who may not write to the file (https://lwn.net/Articles/776801/): mincore reports the complete file as cached. For
// such a user the helper returns an error.
//
// The helper of this package examines the files in the client's pod, where the volume is mounted.
package residency

import (
	"context"
	"fmt"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Helper is a process that examines files in a pod. It reads a Request, and prints a Report.
var Helper = testbed.Helper{Name: "storage-residency", Run: helperrpc.Answering("the request", look)}

// Request is a request to the helper.
type Request struct {
	// Paths lists files, block devices and directories. The helper examines all files of a directory.
	Paths []string `json:"paths"`
	// Drop asks the helper to drop the files from the page cache before it counts pages. Data that is not on the
	// disk yet is first written to it.
	Drop bool `json:"drop,omitempty"`
}

// Report lists the files and their cached parts.
type Report struct {
	Files []file `json:"files"`
}

// file describes a file and its part in the page cache.
type file struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`   // size of the file in bytes
	Cached int64  `json:"cached"` // bytes in the page cache
	Method string `json:"method"` // "cachestat" or "mincore"
}

// Most returns the file with the most cached bytes.
func (r *Report) Most() (most file) {
	for _, f := range r.Files {
		if f.Cached > most.Cached {
			most = f
		}
	}
	return most
}

// Look sends a request to the helper at a place of a site.
func Look(ctx context.Context, site testbed.Site, where testbed.Place, o Request) (*Report, error) {
	r := new(Report)
	if err := helperrpc.Once(ctx, site, where, Helper.Name, o, r); err != nil {
		return nil, fmt.Errorf("look at the page cache: %w", err)
	}
	return r, nil
}

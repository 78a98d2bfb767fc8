// Package residency says how much of a volume's files the page cache holds, and empties it of
// them. A program that asks for direct I/O (O_DIRECT) may get it, or be given the page cache all the
// same: encrypted files of ext4 (fscrypt) without inline encryption, gVisor, and file systems
// outside of the kernel (FUSE) drop it without a word. After a trial the cache tells.
//
// It is asked by cachestat(2), which Linux has since 6.5, else by mincore(2). Neither answers who
// may not write to the file (https://lwn.net/Articles/776801/ says why); that is an error here, since
// mincore would then claim that all of it is cached.
//
// The helper of this package looks where the volume is seen, in the client's pod.
package residency

import (
	"context"
	"fmt"

	"tare/testbed"
	"tare/testbed/orders"
)

// Helper looks at files in a pod. It takes an Order, and prints a Report.
var Helper = testbed.Helper{Name: "storage-residency", Run: orders.Answering("the order", look)}

// Order is what is asked for.
type Order struct {
	// Paths are files, block devices, and directories, whose files are meant.
	Paths []string `json:"paths"`
	// Drop has what is cached written out and dropped before it is counted.
	Drop bool `json:"drop,omitempty"`
}

// Report says what the page cache holds.
type Report struct {
	Files []File `json:"files"`
}

// File is what the page cache holds of one file.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`   // bytes
	Cached int64  `json:"cached"` // bytes of it in the page cache
	Method string `json:"method"` // "cachestat" or "mincore"
}

// Most is the file of which most is cached.
func (r *Report) Most() (most File) {
	for _, f := range r.Files {
		if f.Cached > most.Cached {
			most = f
		}
	}
	return most
}

// Look has the helper look at files at a place of a site.
func Look(ctx context.Context, site testbed.Site, where testbed.Place, o Order) (*Report, error) {
	r := new(Report)
	if err := orders.Once(ctx, site, where, Helper.Name, o, r); err != nil {
		return nil, fmt.Errorf("look at the page cache: %w", err)
	}
	return r, nil
}

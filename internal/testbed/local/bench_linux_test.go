package local

import (
	"fmt"
	"testing"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// BenchmarkOpen sets up a site with a network and takes it down.
func BenchmarkOpen(b *testing.B) {
	if NeedsUserNamespace() {
		b.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	bed, err := New()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = bed.Close() }()
	for _, members := range []int{1, 5} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			for b.Loop() {
				site, err := bed.Open(b.Context(), testbed.Request{Name: "bench", Needs: experiment.Needs{Network: true, Members: members}, Level: link(1e9, 1500)})
				if err != nil {
					b.Fatal(err)
				}
				if err := site.(testbed.Closer).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package link

import (
	"context"
	"tare/testbed"

	"tare/testbed/local"
)

// probe passes on what the local testbed finds about shaping.
func probe(ctx context.Context) []testbed.Finding {
	for _, f := range local.Probe(ctx) {
		if f.Name == local.Shaping {
			return []testbed.Finding{f}
		}
	}
	return nil
}

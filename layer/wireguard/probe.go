package wireguard

import (
	"context"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

// probe puts both implementations around a site of the local testbed that is
// thrown away, with all their proofs.
func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{find(ctx, Kernel), find(ctx, Userspace)}
}

func find(ctx context.Context, which Implementation) testbed.Finding {
	f := testbed.Finding{Name: string(which), Status: testbed.Works}
	checks, err := layer.Try(ctx, experiment.Needs{Network: true}, (&Config{Implementation: which}).onNodes)
	for _, c := range checks {
		if c.Name == implementationCheck {
			f.Detail = c.Observed
		}
	}
	f.Hint = hint(err)
	return f.Tried(err)
}

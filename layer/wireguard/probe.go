package wireguard

import (
	"context"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/local"
)

// probe puts both implementations around a site of the local testbed that is
// thrown away, with all their proofs.
func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{find(ctx, Kernel), find(ctx, Userspace)}
}

func find(ctx context.Context, which Implementation) testbed.Finding {
	f := testbed.Finding{Name: string(which), Status: testbed.Works}
	err := local.Try(ctx, experiment.Needs{Network: true}, func(site testbed.Site) error {
		checks, err := layer.Try(ctx, site, (&Config{Implementation: which}).onNodes)
		for _, c := range checks {
			if c.Name == implementationCheck {
				f.Detail = c.Observed
			}
		}
		return err
	})
	if err != nil {
		f.Status, f.Detail, f.Hint = testbed.Refused, err.Error(), hint(err)
	}
	return f
}

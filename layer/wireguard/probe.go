package wireguard

import (
	"context"
	"errors"

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
	detail, err := try(ctx, which)
	if err != nil {
		return testbed.Finding{Name: string(which), Status: testbed.Refused, Detail: err.Error(), Hint: hint(err)}
	}
	return testbed.Finding{Name: string(which), Status: testbed.Works, Detail: detail}
}

// try puts the tunnel up and takes it down again, and says what it was.
func try(ctx context.Context, which Implementation) (description string, err error) {
	err = local.Try(ctx, experiment.Needs{Network: true}, func(site testbed.Site) (err error) {
		up, err := (&Config{Implementation: which}).up(ctx, site)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, up.down(ctx)) }()
		checks, err := up.prove(ctx, site)
		for _, c := range up.proofs {
			if c.Name == implementationCheck {
				description = c.Observed
			}
		}
		return errors.Join(err, layer.Failed(append(up.proofs, checks...)))
	})
	return description, err
}

package layer

import (
	"context"
	"errors"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Try puts a layer up at a temporary site on this machine, gathers the proofs that it is on, and takes it
// down. The error names the failed checks.
func Try(ctx context.Context, needs experiment.Needs, up func(context.Context, *Session) (*Active, error)) (checks []Check, err error) {
	err = local.Try(ctx, needs, func(site testbed.Site) (err error) {
		checks, err = try(ctx, site, up)
		return err
	})
	return checks, err
}

func try(ctx context.Context, site testbed.Site, up func(context.Context, *Session) (*Active, error)) (checks []Check, err error) {
	a, err := up(ctx, new(Run).At(site))
	if err != nil {
		return nil, err
	}
	if a.Down != nil {
		defer func() { err = errors.Join(err, a.Down(context.WithoutCancel(ctx))) }()
	}
	if staged, ok := testbed.As[testbed.Staged](site); ok {
		if err := staged.Ready(ctx); err != nil {
			return nil, err
		}
	}
	checks = a.Proofs
	if a.Settle != nil {
		settled, err := a.Settle(ctx)
		if checks = append(checks, settled...); err != nil {
			return checks, err
		}
	}
	if err := failed(checks); err != nil {
		return checks, err
	}
	if a.Switch != nil {
		if err := a.Switch.On(ctx); err != nil {
			return checks, err
		}
	}
	before, err := a.Before(ctx, site)
	return append(checks, before...), errors.Join(err, failed(before))
}

package mtls

import (
	"context"
	"errors"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/local"
)

// probe puts the layer around a site of the local testbed that is thrown away, with either
// program and all proofs.
func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{find(ctx, Envoy), find(ctx, HAProxy)}
}

func find(ctx context.Context, p Program) testbed.Finding {
	f := testbed.Finding{Name: string(p), Status: testbed.Works}
	if _, err := p.implementation().find(); err != nil {
		f.Status, f.Detail, f.Hint = testbed.Missing, err.Error(), p.implementation().hint
		return f
	}
	var err error
	if f.Detail, err = try(ctx, p); err != nil {
		f.Status, f.Detail = testbed.Refused, err.Error()
	}
	return f
}

// try puts the layer up and takes it down again, and says which proxy it was.
func try(ctx context.Context, p Program) (description string, err error) {
	err = local.Try(ctx, experiment.Needs{Network: true}, func(site testbed.Site) (err error) {
		c := New().(*Config)
		c.Proxy = factor.Of(p)
		up, err := c.up(ctx, site)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, up.down(ctx)) }()
		checks, err := up.prove(ctx, site)
		description = up.proofs[serverSide].Observed
		return errors.Join(err, layer.Failed(append(up.proofs, checks...)))
	})
	return description, err
}

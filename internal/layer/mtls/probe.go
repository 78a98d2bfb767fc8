package mtls

import (
	"context"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed"
)

// probe puts the layer around a temporary site of the local testbed, once for each proxy program. It makes
// all proofs there.
func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{find(ctx, Envoy), find(ctx, haProxy)}
}

func find(ctx context.Context, p program) testbed.Finding {
	f := testbed.Finding{Name: string(p), Status: testbed.Works}
	if _, err := p.implementation().find(); err != nil {
		f.Status, f.Detail, f.Hint = testbed.Missing, err.Error(), p.implementation().hint
		return f
	}
	c := New().(*Config)
	c.Proxy = factor.Of(p)
	checks, err := layer.Try(ctx, experiment.Needs{Network: true}, c.Up)
	if len(checks) > 0 {
		f.Detail = checks[serverSide].Observed
	}
	return f.Tried(err)
}

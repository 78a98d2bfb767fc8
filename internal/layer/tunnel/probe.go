package tunnel

import (
	"context"

	"tare/internal/layer"
	"tare/internal/testbed"
)

// Probe puts the layer around a temporary site of the local testbed, once with each implementation. It makes
// all proofs there.
func (p *Protocol) Probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{p.find(ctx, Kernel), p.find(ctx, Userspace)}
}

func (p *Protocol) find(ctx context.Context, which Implementation) testbed.Finding {
	f := testbed.Finding{Name: string(which), Status: testbed.Works}
	t := &Tunnels{Protocol: p}
	checks, err := layer.Try(ctx, p.Declare().Needs, func(ctx context.Context, s *layer.Session) (*layer.Active, error) {
		t, err := p.onNodes(ctx, s.Site, which)
		if err != nil {
			return nil, err
		}
		return t.active(), nil
	})
	for _, c := range checks {
		if c.Name == implementationCheck {
			f.Detail = c.Observed
		}
	}
	f.Hint = t.hint(err)
	return f.Tried(err)
}

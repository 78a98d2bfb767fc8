package mtls

import (
	"context"
	"errors"
	"fmt"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
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
	bed, err := local.New()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	link := experiment.Link{Rate: factor.Of[quantity.Rate](0), MTU: factor.Of(1500)}
	site, err := bed.Open(ctx, testbed.Request{Name: "probe", Needs: experiment.Needs{Network: true}, Level: &experiment.Local{Link: link}})
	if err != nil {
		return "", err
	}
	c := New().(*Config)
	c.Proxy = factor.Of(p)
	up, err := c.up(ctx, site)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, up.down(ctx)) }()
	checks, err := up.prove(ctx, site)
	if err != nil {
		return "", err
	}
	for _, k := range append(up.proofs, checks...) {
		if !k.OK {
			return "", fmt.Errorf("%s: expected %s, observed %s", k.Name, k.Expected, k.Observed)
		}
	}
	return up.proofs[serverSide].Observed, nil
}

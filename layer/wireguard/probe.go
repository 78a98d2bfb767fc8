package wireguard

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
	up, err := (&Config{Implementation: which}).up(ctx, site)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, up.down(ctx)) }()
	checks, err := up.prove(ctx, site)
	if err != nil {
		return "", err
	}
	for _, c := range append(up.proofs, checks...) {
		if c.Name == implementationCheck {
			description = c.Observed
		}
		if !c.OK {
			return "", fmt.Errorf("%s: expected %s, observed %s", c.Name, c.Expected, c.Observed)
		}
	}
	return description, nil
}

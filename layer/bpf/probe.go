package bpf

import (
	"context"
	"errors"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/local"
)

// Elsewhere says what does the like on a cluster.
const Elsewhere = "on a cluster, policies of vArmor and its like are applied by the layer manifests, as examples/kubernetes/varmor.yaml does"

// Failed are the checks that failed: what Settle gives, so that a run which cannot be ends before its first
// trial.
func Failed(checks []layer.Check, err error) (failed []layer.Check, _ error) {
	for _, c := range checks {
		if !c.OK {
			failed = append(failed, c)
		}
	}
	return failed, err
}

// Works tries a layer on this machine: it is put up, shown to be on, and taken away.
func Works(ctx context.Context, name string, l layer.Layer) testbed.Finding {
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "the kernel takes its programs, and what they deny is denied"}
	if err := works(ctx, l); err != nil {
		f.Status, f.Detail = testbed.Refused, err.Error()
	}
	return f
}

func works(ctx context.Context, l layer.Layer) error {
	return local.Try(ctx, experiment.Needs{}, func(site testbed.Site) (err error) {
		up, err := l.Up(ctx, new(layer.Run).At(site))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, up.Down(context.WithoutCancel(ctx))) }()
		checks, err := up.Settle(ctx)
		return errors.Join(err, layer.Failed(checks))
	})
}

package bpf

import (
	"context"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
)

// Elsewhere names the alternative on a cluster.
const Elsewhere = "on a cluster, apply policies of vArmor and similar programs by the layer manifests, as examples/kubernetes/varmor.yaml does"

// Works returns the probe of a layer, which puts the layer up on this machine, checks it, and takes it away.
func Works(name string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "the kernel loads its programs, and the programs deny the actions of the rules"}
		_, err := layer.Try(ctx, experiment.Needs{}, l.Up)
		return []testbed.Finding{f.Tried(err)}
	}
}

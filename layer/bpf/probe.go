package bpf

import (
	"context"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
)

// Elsewhere says what does the like on a cluster.
const Elsewhere = "on a cluster, policies of vArmor and its like are applied by the layer manifests, as examples/kubernetes/varmor.yaml does"

// Works is the probe of a layer: it is put up on this machine, shown to be on, and taken away.
func Works(name string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "the kernel takes its programs, and what they deny is denied"}
		_, err := layer.Try(ctx, experiment.Needs{}, l.Up)
		return []testbed.Finding{f.Tried(err)}
	}
}

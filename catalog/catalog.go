// Package catalog lists all layers, workloads and formats of Tare. A new layer or workload is a package of its
// own and one line here.
package catalog

import (
	"context"
	"fmt"
	"slices"

	"tare/experiment"
	"tare/layer"
	"tare/layer/apparmor"
	"tare/layer/bpflsm"
	"tare/layer/cgroupbpf"
	"tare/layer/dnstransport"
	"tare/layer/env"
	"tare/layer/fscrypt"
	"tare/layer/fusepassthrough"
	"tare/layer/gocryptfs"
	"tare/layer/gvisor"
	"tare/layer/ipsec"
	"tare/layer/kubecontext"
	"tare/layer/landlock"
	"tare/layer/link"
	"tare/layer/luks"
	"tare/layer/manifests"
	"tare/layer/mtls"
	"tare/layer/namespace"
	"tare/layer/pod"
	"tare/layer/privileges"
	"tare/layer/program"
	"tare/layer/proof"
	"tare/layer/sandbox"
	"tare/layer/seccomp"
	"tare/layer/storageclass"
	"tare/layer/toggle"
	"tare/layer/vaultserver"
	"tare/layer/wireguard"
	"tare/layer/wrap"
	"tare/layer/xdstransport"
	"tare/workload"
	"tare/workload/churn"
	"tare/workload/command"
	"tare/workload/dns"
	"tare/workload/http"
	"tare/workload/network"
	"tare/workload/startup"
	"tare/workload/storage"
	"tare/workload/syscalls"
	"tare/workload/vault"
	"tare/workload/xds"
)

// Layers lists the kinds of layers.
var Layers = slices.Concat([]layer.Kind{
	apparmor.Kind,
	bpflsm.Kind,
	cgroupbpf.Kind,
	kubecontext.Kind,
	dnstransport.Kind,
	env.Kind,
	fscrypt.Kind,
	fusepassthrough.Kind,
	gocryptfs.Kind,
	gvisor.Kind,
	landlock.Kind,
	link.Kind,
	luks.Kind,
	manifests.Kind,
	mtls.Kind,
	namespace.Kind,
	pod.Kind,
	program.Kind,
	proof.Kind,
	seccomp.Kind,
	storageclass.Kind,
	toggle.Kind,
	vaultserver.Kind,
	wireguard.Kind,
	ipsec.Kind,
	wrap.Kind,
	xdstransport.Kind,
}, privileges.Kinds, sandbox.Kinds())

// Workloads lists the kinds of workloads.
var Workloads = []workload.Kind{
	churn.Kind,
	command.Kind,
	dns.Kind,
	http.Kind,
	network.Kind,
	startup.Kind,
	storage.Kind,
	syscalls.Kind,
	vault.Kind,
	xds.Kind,
}

// Kinds returns the catalog in the form that package experiment uses to load files.
func Kinds() experiment.Kinds {
	k := experiment.Kinds{
		Layers:    map[string]func() experiment.LayerConfig{},
		Workloads: map[string]func() experiment.WorkloadConfig{},
		Elsewhere: elsewhere,
	}
	for _, l := range Layers {
		k.Layers[l.Name] = func() experiment.LayerConfig { return l.New() }
	}
	for _, w := range Workloads {
		k.Workloads[w.Name] = func() experiment.WorkloadConfig { return w.New() }
	}
	return k
}

// RunHelper runs the named process of a layer or workload (see testbed.Helper).
func RunHelper(ctx context.Context, name string) error {
	for _, l := range Layers {
		if l.Name == name && l.Helper != nil {
			return l.Helper(ctx)
		}
	}
	for _, w := range Workloads {
		for _, h := range w.Helpers {
			if h.Name == name {
				return h.Run(ctx)
			}
		}
	}
	return fmt.Errorf("no layer or workload has a process %q of its own", name)
}

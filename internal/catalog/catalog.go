// Package catalog lists all layers, workloads and formats of Tare. A new layer or workload is a package of its
// own and one line here.
package catalog

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/apparmor"
	"tare/internal/layer/bpflsm"
	"tare/internal/layer/cgroupbpf"
	"tare/internal/layer/dnstransport"
	"tare/internal/layer/env"
	"tare/internal/layer/fscrypt"
	"tare/internal/layer/fusepassthrough"
	"tare/internal/layer/gocryptfs"
	"tare/internal/layer/gvisor"
	"tare/internal/layer/ipsec"
	"tare/internal/layer/kubecontext"
	"tare/internal/layer/landlock"
	"tare/internal/layer/link"
	"tare/internal/layer/luks"
	"tare/internal/layer/manifests"
	"tare/internal/layer/mtls"
	"tare/internal/layer/namespace"
	"tare/internal/layer/pod"
	"tare/internal/layer/privileges"
	"tare/internal/layer/program"
	"tare/internal/layer/proof"
	"tare/internal/layer/sandbox"
	"tare/internal/layer/seccomp"
	"tare/internal/layer/storageclass"
	"tare/internal/layer/toggle"
	"tare/internal/layer/vaultserver"
	"tare/internal/layer/wireguard"
	"tare/internal/layer/wrap"
	"tare/internal/layer/xdstransport"
	"tare/internal/workload"
	"tare/internal/workload/churn"
	"tare/internal/workload/command"
	"tare/internal/workload/dns"
	"tare/internal/workload/http"
	"tare/internal/workload/network"
	"tare/internal/workload/startup"
	"tare/internal/workload/storage"
	"tare/internal/workload/syscalls"
	"tare/internal/workload/vault"
	"tare/internal/workload/xds"
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

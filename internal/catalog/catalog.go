// Package catalog lists all layers, workloads and formats of Tare. A new layer or workload is a package of its
// own and one line here.
package catalog

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tare/examples"
	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
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
	ipsec.Kind,
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

// Kinds returns all layers and workloads, for package experiment, which reads experiment files.
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

// elsewhere returns a hint on an unknown name: a layer or workload with such a parameter or program, or an example
// file; "": there is none.
func elsewhere(what, name string) string {
	name = strings.ToLower(name)
	if len(name) < 3 {
		return ""
	}
	configs := map[string]interface{ Declare() experiment.Declaration }{}
	switch what {
	case "layer":
		for _, l := range Layers {
			configs[l.Name] = l.New()
		}
	case "workload":
		for _, w := range Workloads {
			configs[w.Name] = w.New()
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(configs)) {
		if text := has(what, kind, configs[kind], name); text != "" {
			return text
		}
	}
	files, _ := examples.Names() // after an error there are no names, and so no hint
	for _, file := range files {
		if strings.Contains(file, name) {
			return fmt.Sprintf("tare list examples %s shows how %s is measured", file, name)
		}
	}
	return ""
}

// has returns a sentence if the kind has a parameter, or runs a program, with this name. Otherwise it returns "".
func has(what, kind string, config interface{ Declare() experiment.Declaration }, name string) string {
	for _, f := range strictyaml.Fields(reflect.TypeOf(config).Elem()) {
		if strings.EqualFold(f.Name, name) || strings.EqualFold(f.Also, name) {
			return fmt.Sprintf("%s is a parameter of the %s %s: write %s: {%s: …}", f.Name, what, kind, kind, f.Name)
		}
	}
	if slices.ContainsFunc(config.Declare().Tools, func(t experiment.Tool) bool { return t.Name == name }) {
		return fmt.Sprintf("the %s %s runs %s", what, kind, name)
	}
	return ""
}

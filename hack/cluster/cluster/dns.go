package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

// dnsService is where CoreDNS is found by name, as on other clusters.
const dnsService = "kube-dns"

// corefile: the cluster's names, and none beside. What asks for a name outside, to
// which there is no way either, is told so at once.
const corefile = `.:53 {
	errors
	kubernetes cluster.local in-addr.arpa {
		kubeconfig %s
	}
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`

// startDNS starts CoreDNS on the control plane's machine. A pod of its own would need
// an image and a node before any other pod had names.
func (c *Cluster) startDNS(m machine.Machine, bin string) error {
	config := filepath.Join(m.Dir, "Corefile")
	if err := os.WriteFile(config, fmt.Appendf(nil, corefile, c.files().kubeconfig("admin")), 0o644); err != nil {
		return err
	}
	return m.Start(machine.Program{
		Name: "coredns",
		Args: []string{filepath.Join(bin, "coredns"), "-conf", config},
		Env:  environment(bin),
	})
}

// dnsAnswers is an error unless CoreDNS knows the cluster's names. It is asked over
// the cable to the host.
func dnsAnswers(ctx context.Context, slot int) error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, proto, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, proto, net.JoinHostPort(network.API(slot).String(), "53"))
	}}
	got, err := r.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	if err == nil && !slices.Contains(got, network.APIService.String()) {
		err = fmt.Errorf("it says that the API is at %q", got)
	}
	return err
}

// dnsObjects are the Service that pods ask and what is behind it.
func dnsObjects() []creation {
	const namespace = "/namespaces/kube-system/"
	return []creation{
		{"/api/v1" + namespace + "services", object{
			"metadata": object{"name": dnsService, "labels": object{"k8s-app": dnsService}},
			"spec": object{"clusterIP": network.DNSService.String(), "ports": []object{
				{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "dns-tcp", "protocol": "TCP", "port": 53},
			}},
		}},
		{"/apis/discovery.k8s.io/v1" + namespace + "endpointslices", object{
			"metadata":    object{"name": dnsService, "labels": object{"kubernetes.io/service-name": dnsService}},
			"addressType": "IPv4",
			"endpoints":   []object{{"addresses": []string{network.ControlPlane.String()}}},
			"ports":       []object{{"name": "dns", "protocol": "UDP", "port": 53}, {"name": "dns-tcp", "protocol": "TCP", "port": 53}},
		}},
	}
}

package cluster

import (
	"net"
	"os"

	"tare/hack/cluster/network"
	"tare/hack/cluster/pki"
)

// makeCredentials writes every part's certificates and kubeconfigs, and returns
// the means of the host's own access.
func (c *Cluster) makeCredentials(slot int) (*api, error) {
	f := c.files()
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return nil, err
	}
	ca, err := pki.NewAuthority("tare-cluster-" + c.Name)
	if err != nil {
		return nil, err
	}
	caKey, err := ca.Key()
	if err != nil {
		return nil, err
	}
	serviceAccounts, err := pki.SigningKey()
	if err != nil {
		return nil, err
	}
	pairs := map[string]pki.Pair{"ca": {Cert: ca.PEM, Key: caKey}, "serviceaccounts": serviceAccounts}

	inside := "https://" + net.JoinHostPort(network.ControlPlane.String(), "6443")
	outside := "https://" + net.JoinHostPort(network.API(slot).String(), "6443")
	subjects := map[string]pki.Subject{
		"apiserver": {
			Name: "kube-apiserver",
			Hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc.cluster.local"},
			IPs: []net.IP{network.ControlPlane.AsSlice(), network.API(slot).AsSlice(), network.APIService.AsSlice(), net.IPv4(127, 0, 0, 1)},
		},
		"kubelet-client": {Name: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		"admin":          {Name: "admin", Groups: []string{"system:masters"}},
	}
	for _, component := range []string{"kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		subjects[component] = pki.Subject{Name: "system:" + component}
	}
	for n := 1; n <= Nodes; n++ {
		subjects[nodeName(n)] = pki.Subject{
			Name: "system:node:" + nodeName(n), Groups: []string{"system:nodes"},
			Hosts: []string{nodeName(n)}, IPs: []net.IP{network.Node(n).AsSlice()},
		}
	}
	for name, subject := range subjects {
		if pairs[name], err = ca.Issue(subject); err != nil {
			return nil, err
		}
		config, err := pki.Kubeconfig("tare-"+c.Name, inside, subject.Name, ca.PEM, pairs[name])
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(f.kubeconfig(name), config, 0o600); err != nil {
			return nil, err
		}
	}
	for name, pair := range pairs {
		if err := os.WriteFile(f.cert(name), pair.Cert, 0o644); err != nil {
			return nil, err
		}
		if err := os.WriteFile(f.key(name), pair.Key, 0o600); err != nil {
			return nil, err
		}
	}
	config, err := pki.Kubeconfig("tare-"+c.Name, outside, "admin", ca.PEM, pairs["admin"])
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.Kubeconfig(), config, 0o600); err != nil {
		return nil, err
	}
	return newAPI(outside, ca.PEM, pairs["admin"])
}

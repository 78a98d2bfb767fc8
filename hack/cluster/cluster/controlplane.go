package cluster

import (
	"os"
	"path/filepath"

	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

// kk is a program that runs a part of Kubernetes.
func kk(bin, name string, flags ...string) machine.Program {
	return machine.Program{
		Name: name,
		Args: append([]string{filepath.Join(bin, "kk"), name}, flags...),
		Env:  environment(bin),
	}
}

// environment puts the compiled programs before the host's.
func environment(bin string) []string {
	return []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=/root"}
}

// datastore is etcd, listening inside the control plane's machine only. It does
// not wait for the disk: the cluster does not outlive the machine.
func (c *Cluster) datastore(bin string) machine.Program {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return kk(bin, "etcd",
		"--name=etcd", "--data-dir="+filepath.Join(c.Dir(), controlPlane, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=etcd="+peer)
}

// apiServer listens on the bridge for the cluster and on the cable for the host.
func (c *Cluster) apiServer(bin string, more []string) machine.Program {
	f := c.files()
	return kk(bin, "kube-apiserver", append([]string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + network.ControlPlane.String(), "--bind-address=0.0.0.0", "--secure-port=6443",
		"--tls-cert-file=" + f.cert("apiserver"), "--tls-private-key-file=" + f.key("apiserver"),
		"--client-ca-file=" + f.cert("ca"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + f.cert("serviceaccounts"), "--service-account-signing-key-file=" + f.key("serviceaccounts"),
		"--service-cluster-ip-range=" + network.Services.String(),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--kubelet-client-certificate=" + f.cert("kubelet-client"), "--kubelet-client-key=" + f.key("kubelet-client"),
		"--kubelet-certificate-authority=" + f.cert("ca"), "--kubelet-preferred-address-types=InternalIP",
		// Admission webhooks are called at their pods' addresses: this machine has routes to
		// pods, and no kube-proxy.
		"--enable-aggregator-routing=true",
	}, more...)...)
}

// controllers include the hostpath provisioner, which makes every volume a
// directory of the same path on all nodes: see Setup.Binds.
func (c *Cluster) controllers(bin string) machine.Program {
	f := c.files()
	return kk(bin, "kube-controller-manager",
		"--kubeconfig="+f.kubeconfig("kube-controller-manager"),
		"--authentication-kubeconfig="+f.kubeconfig("kube-controller-manager"),
		"--authorization-kubeconfig="+f.kubeconfig("kube-controller-manager"),
		"--bind-address=127.0.0.1", "--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+f.key("serviceaccounts"), "--root-ca-file="+f.cert("ca"),
		"--cluster-signing-cert-file="+f.cert("ca"), "--cluster-signing-key-file="+f.key("ca"),
		"--cluster-cidr="+network.Pods.String(), "--allocate-node-cidrs=false",
		"--enable-hostpath-provisioner=true", "--kube-api-qps=200", "--kube-api-burst=400")
}

func (c *Cluster) scheduler(bin string) machine.Program {
	f := c.files()
	return kk(bin, "kube-scheduler",
		"--kubeconfig="+f.kubeconfig("kube-scheduler"),
		"--authentication-kubeconfig="+f.kubeconfig("kube-scheduler"),
		"--authorization-kubeconfig="+f.kubeconfig("kube-scheduler"),
		"--bind-address=127.0.0.1", "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400")
}

// credentials names the files that the parts prove themselves with.
type credentials struct{ dir string }

func (c *Cluster) files() credentials { return credentials{filepath.Join(c.Dir(), "pki")} }

func (f credentials) cert(of string) string       { return filepath.Join(f.dir, of+".crt") }
func (f credentials) key(of string) string        { return filepath.Join(f.dir, of+".key") }
func (f credentials) kubeconfig(of string) string { return filepath.Join(f.dir, of+".kubeconfig") }

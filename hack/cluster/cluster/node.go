package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"tare/hack/cluster/image"
	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

type object = map[string]any

// node is one of the nodes with the files of its parts.
type node struct {
	cluster *Cluster
	n       int
	bin     string
	gvisor  bool
}

func (d node) name() string             { return nodeName(d.n) }
func (d node) file(name string) string  { return filepath.Join(d.cluster.Dir(), d.name(), name) }
func (d node) containerdSocket() string { return d.file("containerd.sock") }

// binds are the node's directories that must not be in its overlay: the
// kubelet's, because volumes are mounted in it, and the hostpath volumes,
// because the nodes and the provisioner share them.
func (d node) binds() []machine.Bind {
	return []machine.Bind{
		{From: d.file("kubelet"), To: "/var/lib/kubelet"},
		{From: d.cluster.hostpathDir(), To: "/tmp/hostpath_pv"},
	}
}

// hostpathDir holds the volumes that the hostpath provisioner makes in
// /tmp/hostpath_pv, as it sees it.
func (c *Cluster) hostpathDir() string { return filepath.Join(c.Dir(), "hostpath") }

// localVolume is the directory of the ith static volume of the node.
func (d node) localVolume(i int) string { return d.file(filepath.Join("volumes", fmt.Sprint(i))) }

// prepare writes the configuration of the node's parts.
func (d node) prepare() error {
	for _, dir := range []string{"kubelet", "cni", "containerd", "pod-logs", "volumes"} {
		if err := os.MkdirAll(d.file(dir), 0o755); err != nil {
			return err
		}
	}
	for i := range localVolumes {
		if err := os.Mkdir(d.localVolume(i), 0o700); err != nil {
			return err
		}
		// Any user of a pod may write there, as on a scratch disk.
		if err := os.Chmod(d.localVolume(i), 0o777); err != nil {
			return err
		}
	}
	for name, config := range map[string]object{
		"kubelet.json":           d.kubeletConfig(),
		"kube-proxy.json":        d.proxyConfig(),
		"cni/10-bridge.conflist": d.cniConfig(),
	} {
		if err := writeJSON(d.file(name), config); err != nil {
			return err
		}
	}
	if err := os.WriteFile(d.file("runsc.toml"), []byte(runscConfig), 0o644); err != nil {
		return err
	}
	out, err := os.Create(d.file("containerd.toml"))
	if err != nil {
		return err
	}
	defer out.Close()
	return containerdConfig.Execute(out, object{
		"Root": d.file("containerd"), "Socket": d.containerdSocket(),
		"Pause": image.PauseReference, "CNIBin": cniDir(), "CNIConf": d.file("cni"),
		"GVisor": d.gvisor, "RunscConfig": d.file("runsc.toml"),
	})
}

// runscConfig: systrap is the platform that needs nothing of the CPU, and so
// works inside virtual machines.
const runscConfig = `[runsc_config]
platform = "systrap"
`

// containerdConfig: restrict_oom_score_adj, because root without
// CAP_SYS_RESOURCE, as in many virtual machines and containers, may not lower
// an OOM score, and runc then starts nothing.
var containerdConfig = template.Must(template.New("containerd.toml").Parse(`version = 2
root = "{{.Root}}"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "{{.Socket}}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{{.Root}}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{{.Pause}}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{{.CNIBin}}"
    conf_dir = "{{.CNIConf}}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
{{- if .GVisor}}
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
      runtime_type = "io.containerd.runsc.v1"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc.options]
        TypeUrl = "io.containerd.runsc.v1.options"
        ConfigPath = "{{.RunscConfig}}"
{{- end}}
`))

// kubeletConfig: images are never collected, because they could not be pulled
// again; pods are evicted only when the host itself is nearly full.
func (d node) kubeletConfig() object {
	f := d.cluster.files()
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": object{
			"x509":      object{"clientCAFile": f.cert("ca")},
			"webhook":   object{"enabled": true},
			"anonymous": object{"enabled": false},
		},
		"authorization":               object{"mode": "Webhook"},
		"tlsCertFile":                 f.cert(d.name()),
		"tlsPrivateKeyFile":           f.key(d.name()),
		"containerRuntimeEndpoint":    "unix://" + d.containerdSocket(),
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + d.cluster.cgroupName(d.name()),
		"failCgroupV1":                false,
		"failSwapOn":                  false,
		"imageGCHighThresholdPercent": 100,
		"evictionHard": object{
			"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
		},
		"podLogsDir":                d.file("pod-logs"),
		"volumePluginDir":           d.file("volume-plugins"),
		"resolvConf":                "",
		"clusterDomain":             "cluster.local",
		"clusterDNS":                []string{network.DNSService.String()},
		"nodeStatusUpdateFrequency": "5s",
	}
}

// proxyConfig: the limits on connection tracking are the whole kernel's, and
// are left alone.
func (d node) proxyConfig() object {
	return object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"clientConnection":   object{"kubeconfig": d.cluster.files().kubeconfig("kube-proxy")},
		"hostnameOverride":   d.name(),
		"mode":               "iptables",
		"clusterCIDR":        network.Pods.String(),
		"healthzBindAddress": fmt.Sprintf("%s:%d", network.Node(d.n), proxyHealthPort),
		"conntrack":          object{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	}
}

const proxyHealthPort = 10256

// cniConfig: pods hang on a bridge of their node, and reach the other node's
// by route, without address translation.
func (d node) cniConfig() object {
	return object{
		"cniVersion": "0.4.0",
		"name":       "tare",
		"plugins": []object{
			{
				"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
				"ipam": object{
					"type": "host-local", "dataDir": d.file("addresses"),
					"ranges": [][]object{{{"subnet": network.NodePods(d.n).String()}}},
					"routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

func (d node) containerd() (machine.Program, error) {
	program, err := exec.LookPath("containerd")
	return machine.Program{
		Name: "containerd",
		Args: []string{program, "--config=" + d.file("containerd.toml")},
		Env:  environment(d.bin),
	}, err
}

// kubelet labels its node with a zone of its own, as a cloud's would be.
func (d node) kubelet() machine.Program {
	return kk(d.bin, "kubelet",
		"--config="+d.file("kubelet.json"), "--kubeconfig="+d.cluster.files().kubeconfig(d.name()),
		"--hostname-override="+d.name(), "--node-ip="+network.Node(d.n).String(),
		"--node-labels="+strings.Join([]string{
			"topology.kubernetes.io/region=tare",
			fmt.Sprintf("topology.kubernetes.io/zone=tare-%d", d.n),
		}, ","))
}

func (d node) proxy() machine.Program {
	return kk(d.bin, "kube-proxy", "--config="+d.file("kube-proxy.json"))
}

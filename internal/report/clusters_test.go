package report

import (
	"strings"
	"testing"

	"tare/internal/run/machine"
)

func TestClusters(t *testing.T) {
	r := wireguard().run()
	r.Environment.Clusters = []machine.Cluster{{
		Context: "prod <b>|\x1b[31m", UID: "u-1", Version: "v1.34.4", Platform: "linux/amd64",
		Components: map[string]string{"cilium": "quay.io/cilium/cilium:v1.17.1", "hostile|name": "<img src=x>"},
		Nodes: []machine.Node{
			{Name: "node-1", Zone: "eu-1a", Region: "eu-1", Instance: "n2d-standard-4", Confidential: "SEV-SNP", CPU: "EPYC 7763", CPUs: "4", Memory: "16Gi",
				Kernel: "6.8.0", OS: "Ubuntu 24.04", Architecture: "amd64", Runtime: "containerd://1.7.27", Kubelet: "v1.34.4", Images: map[string]string{"tare": "sha256:1"}},
			{Name: "node-2", Kernel: "6.8.0", Images: map[string]string{"tare": "sha256:1"}},
		},
	}}
	page := render(t, r, RunOptions{})
	checkPage(t, "clusters", page)
	md := asMarkdown(t, Run(r, RunOptions{}))
	for name, text := range map[string]string{"page": page, "markdown": md} {
		says(t, name, text, "v1.34.4", "quay.io/cilium/cilium:v1.17.1", "node-1", "node-2", "eu-1, eu-1a", "n2d-standard-4, SEV-SNP", "EPYC 7763, 4 CPUs, 16Gi memory", "sha256:1")
		for _, forbidden := range []string{"<img", "<b>|", "\x1b", "sha256:1, sha256:1"} {
			if strings.Contains(text, forbidden) {
				t.Errorf("%s has %q", name, forbidden)
			}
		}
	}
	says(t, "Markdown", md, `| hostile\|name | `) // a bar does not end the cell
	if page := render(t, wireguard().run(), RunOptions{}); strings.Contains(page, "<h3>Cluster") || strings.Contains(page, "tare run was called") {
		t.Error("a run on this machine speaks of clusters")
	}
}

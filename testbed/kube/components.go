package kube

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// relevant are beginnings of the names of workloads that matter for what
// is measured: network plug-ins, service meshes, policy engines, sandboxes and
// storage drivers. A version of theirs is worth more in a record than a list of
// all that runs on the cluster.
var relevant = []string{
	"antrea", "aws-node", "azure-cni", "azure-ip-masq", "calico", "canal", "cilium", "flannel", "kube-flannel", "kube-ovn", "kube-proxy", "kube-router", "weave-net", "netd", "tigera-operator",
	"istio", "ztunnel", "linkerd", "kuma", "consul", "envoy-gateway",
	"kubearmor", "varmor", "falco", "tetragon", "tracee", "gatekeeper", "kyverno", "neuvector", "spire",
	"coredns", "node-local-dns", "nodelocaldns",
	"csi-", "ebs-csi", "efs-csi", "azuredisk", "csi-azuredisk", "pdcsi", "longhorn", "rook-ceph", "openebs", "local-path-provisioner", "local-volume-provisioner",
	"constellation", "kata-deploy", "cert-manager", "vault", "openbao",
}

// componentLimit bounds the workloads that are looked at.
const componentLimit = 2000

// components gives the images of the components that matter, by the name of their
// workload. Whoever may not list workloads gets none.
func (on *clusterRun) components(ctx context.Context) map[string]string {
	found := map[string]string{}
	add := func(name string, spec *corev1.PodSpec) {
		if !isRelevant(name) || len(spec.Containers) == 0 {
			return
		}
		image := short(spec.Containers[0].Image)
		if before := found[name]; before != "" && before != image {
			image = before + ", " + image
		}
		found[short(name)] = image
	}
	o := metav1.ListOptions{Limit: componentLimit}
	if list, err := on.Client.AppsV1().DaemonSets("").List(ctx, o); err == nil {
		for i := range list.Items {
			add(list.Items[i].Name, &list.Items[i].Spec.Template.Spec)
		}
	}
	if list, err := on.Client.AppsV1().Deployments("").List(ctx, o); err == nil {
		for i := range list.Items {
			add(list.Items[i].Name, &list.Items[i].Spec.Template.Spec)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

func isRelevant(name string) bool {
	return slices.ContainsFunc(relevant, func(begins string) bool { return strings.HasPrefix(name, begins) })
}

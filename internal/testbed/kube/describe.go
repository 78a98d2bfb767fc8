package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/run/machine"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/placement"
)

// sitesOf holds what Inspect has found at the sites of one cluster. It outlives the sites, which may be up in turn.
type sitesOf struct {
	arms   []machine.ArmNodes
	nodes  []string                     // nodes of pods, with duplicates
	images map[string]map[string]string // image digests, by node and container
	notes  []string
}

// Inspect inspects the ready sites, makes their accounting pods, and finds the missing counters.
func (t *Testbed) Inspect(ctx context.Context) error {
	t.mu.Lock()
	if t.missing == nil {
		t.missing = &accounting.Missing{}
	}
	t.mu.Unlock()
	for _, s := range t.opened() {
		if len(s.podList()) == 0 {
			continue // no trial runs at a site without pods
		}
		on, err := s.cluster(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(t.used, on) {
			t.used = append(t.used, on)
		}
		if err := on.inspect(ctx, s); err != nil {
			return fmt.Errorf("describe the cluster of context %s: %w", on.Context, err)
		}
		if err := on.counter.Inspect(ctx, s.accountingSite(on), t.missing); err != nil {
			return err
		}
	}
	return nil
}

// Describe inspects the ready sites, and describes the clusters of all sites that were inspected since the testbed was
// made.
func (t *Testbed) Describe(ctx context.Context) (list []machine.Cluster, err error) {
	if err := t.Inspect(ctx); err != nil {
		return nil, err
	}
	for _, on := range t.used {
		c, err := on.describe(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe the cluster of context %s: %w", on.Context, err)
		}
		list = append(list, c)
	}
	if len(list) > 0 {
		list[0].Notes = append(list[0].Notes, append(placement.OtherUplinks(list), t.missing.Notes()...)...)
	}
	return list, nil
}

func (on *clusterRun) inspect(ctx context.Context, s *Site) error {
	if _, err := on.counter.Prepare(ctx, s.accountingSite(on)); err != nil {
		return err
	}
	of := &on.inspected
	if of.images == nil {
		of.images = map[string]map[string]string{}
	}
	of.nodes = append(of.nodes, s.nodes()...)
	of.arms = placement.AddNodes(of.arms, shorten(s.arm), s.nodes())
	arm := slices.IndexFunc(of.arms, func(a machine.ArmNodes) bool { return a.Arm == shorten(s.arm) })
	for _, p := range s.podList() {
		addDigests(of.images, p.Seen())
		facts, err := p.Facts(ctx)
		if err != nil {
			return err
		}
		of.arms[arm].AddUplink(facts.Uplink)
	}
	usage, err := s.usageNote(ctx)
	if err != nil {
		return err
	}
	for _, note := range []string{usage, s.memberNote(), s.clientNote()} {
		if note != "" && !slices.Contains(of.notes, note) {
			of.notes = append(of.notes, note)
		}
	}
	return nil
}

func (on *clusterRun) describe(ctx context.Context) (machine.Cluster, error) {
	version, err := on.Client.Discovery().ServerVersion()
	if err != nil {
		return machine.Cluster{}, fmt.Errorf("version of the API server: %w", cluster.Explain(err))
	}
	c := machine.Cluster{
		Context: on.Context, UID: on.UID, Version: shorten(version.GitVersion), Platform: shorten(version.Platform),
		Arms: on.inspected.arms, Notes: slices.Clone(on.inspected.notes),
	}
	names := slices.Clone(on.inspected.nodes)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n, err := on.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return c, fmt.Errorf("node %s: %w", name, cluster.Explain(err))
		}
		counts := on.counter.NodePod(name)
		facts, err := counts.Agent().Facts(ctx)
		if err != nil {
			return c, counts.Disturbed(ctx, err)
		}
		described := describeNode(n, facts)
		described.Images = on.inspected.images[name]
		c.Nodes = append(c.Nodes, described)
	}
	c.Notes = append(c.Notes, sharedKernels(c.Nodes)...)
	c.Notes = append(c.Notes, placement.OtherNodes(c.Arms)...)
	c.Components, c.StandIns = on.components(ctx)
	return c, nil
}

func (s *Site) usageNote(ctx context.Context) (string, error) {
	if s.level.Accounting == experiment.OnNode {
		return "", nil
	}
	for _, p := range s.podList() {
		switch sandbox, err := p.Sandbox(ctx); {
		case err != nil:
			return "", err
		case sandbox != "":
			return fmt.Sprintf("arm %s: metrics of CPU time and memory of its programs are missing, "+
				"because a sandbox, %s, counts by a clock of its own; accounting: %s measures them",
				shorten(s.arm), shorten(sandbox), experiment.OnNode), nil
		}
	}
	return "", nil
}

func describeNode(n *corev1.Node, facts agent.Facts) machine.Node {
	info := n.Status.NodeInfo
	return machine.Node{
		Name: shorten(n.Name), Kernel: shorten(info.KernelVersion),
		OS: shorten(info.OSImage), Architecture: shorten(info.Architecture),
		Runtime: shorten(info.ContainerRuntimeVersion), Kubelet: shorten(info.KubeletVersion),
		Zone: shorten(n.Labels[corev1.LabelTopologyZone]), Region: shorten(n.Labels[corev1.LabelTopologyRegion]),
		Instance: shorten(n.Labels[corev1.LabelInstanceTypeStable]), CPU: shorten(facts.CPUModel),
		CPUs: n.Status.Capacity.Cpu().String(), Memory: n.Status.Capacity.Memory().String(),
		Confidential: shorten(facts.Confidential), BootID: shorten(cmp.Or(facts.BootID, info.BootID)),
	}
}

// addDigests adds the image digests of a pod's containers. For an image without a digest, it adds the id.
func addDigests(images map[string]map[string]string, p *corev1.Pod) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.ImageID != "" {
			images[p.Spec.NodeName] = addText(images[p.Spec.NodeName], c.Name, c.ImageID)
		}
	}
}

// sharedKernels returns a note for each group of nodes that share one kernel, such as containers of one machine.
func sharedKernels(nodes []machine.Node) []string {
	byKernel := map[string][]string{}
	for _, n := range nodes {
		if n.BootID != "" {
			byKernel[n.BootID] = append(byKernel[n.BootID], n.Name)
		}
	}
	var notes []string
	for _, id := range slices.Sorted(maps.Keys(byKernel)) {
		if names := byKernel[id]; len(names) > 1 {
			notes = append(notes, "nodes "+strings.Join(names, ", ")+" share one kernel: "+
				"traffic between them is on no wire, and their processors are the same")
		}
	}
	return notes
}

// relevant lists name prefixes of the DaemonSets and Deployments that can influence a measurement. They are recorded.
var relevant = []string{
	"antrea", "aws-node", "azure-cni", "azure-ip-masq", "calico", "canal", "cilium", "flannel", "kube-flannel",
	"kube-ovn", "kube-proxy", "kube-router", "weave-net", "netd", "tigera-operator",
	"istio", "ztunnel", "linkerd", "kuma", "consul", "envoy-gateway",
	"kubearmor", "varmor", "falco", "tetragon", "tracee", "gatekeeper", "kyverno", "neuvector", "spire",
	"coredns", "node-local-dns", "nodelocaldns",
	"csi-", "ebs-csi", "efs-csi", "azuredisk", "csi-azuredisk", "pdcsi", "longhorn", "rook-ceph", "openebs",
	"local-path-provisioner", "local-volume-provisioner",
	"constellation", "kata-deploy", "cert-manager", "vault", "openbao",
}

// standInAnnotation is an annotation of pods that replace something real, such as a device. Its value is a warning.
const standInAnnotation = "tare/stand-in"

// components returns, by name, the images of relevant DaemonSets and Deployments, and the warnings of stand-ins.
// Unreadable lists are left out.
func (on *clusterRun) components(ctx context.Context) (images, standIns map[string]string) {
	add := func(name string, pods *corev1.PodTemplateSpec) {
		standIns = addText(standIns, name, pods.Annotations[standInAnnotation])
		isPrefix := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.ContainsFunc(relevant, isPrefix) && len(pods.Spec.Containers) > 0 {
			images = addText(images, name, pods.Spec.Containers[0].Image)
		}
	}
	o := metav1.ListOptions{Limit: 2000}
	if list, err := on.Client.AppsV1().DaemonSets("").List(ctx, o); err == nil {
		for _, d := range list.Items {
			add(d.Name, &d.Spec.Template)
		}
	}
	if list, err := on.Client.AppsV1().Deployments("").List(ctx, o); err == nil {
		for _, d := range list.Items {
			add(d.Name, &d.Spec.Template)
		}
	}
	return images, standIns
}

// addText adds a text under a name. Different texts under one name are joined by commas.
func addText(texts map[string]string, name, text string) map[string]string {
	name, text = shorten(name), shorten(text)
	before := texts[name]
	if text == "" || strings.Contains(", "+before+", ", ", "+text+", ") {
		return texts
	}
	if texts == nil {
		texts = map[string]string{}
	}
	if before != "" {
		text = before + ", " + text
	}
	texts[name] = text
	return texts
}

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

	"tare/experiment"
	"tare/machine"
	"tare/safetext"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/placement"
)

// textLimit bounds what is taken over from the API server into the record.
const textLimit = 300

// Describe describes the clusters that the sites are on, once they are ready. It
// makes the pods that count on the nodes, so that the first trial need not.
func (t *Testbed) Describe(ctx context.Context) ([]machine.Cluster, error) {
	var order []*presence
	sites := map[*presence][]*Site{}
	for _, s := range t.opened() {
		if len(s.all()) == 0 {
			continue // nothing runs there
		}
		on, err := s.presence(ctx)
		if err != nil {
			return nil, err
		}
		if sites[on] == nil {
			order = append(order, on)
		}
		sites[on] = append(sites[on], s)
	}
	var list []machine.Cluster
	for _, on := range order {
		c, err := on.describe(ctx, sites[on])
		if err != nil {
			return nil, fmt.Errorf("describe the cluster of context %s: %w", on.Context, err)
		}
		list = append(list, c)
	}
	var all []*Site
	for _, on := range order {
		all = append(all, sites[on]...)
	}
	missing, err := t.missing(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		list[0].Notes = append(list[0].Notes, missing.notes()...)
	}
	return list, nil
}

// describe describes one cluster with the nodes that sites are on.
func (on *presence) describe(ctx context.Context, sites []*Site) (machine.Cluster, error) {
	version, err := on.Client.Discovery().ServerVersion()
	if err != nil {
		return machine.Cluster{}, fmt.Errorf("version of the API server: %w", cluster.Explain(err))
	}
	c := machine.Cluster{Context: on.Context, UID: on.UID, Version: told(version.GitVersion), Platform: told(version.Platform)}
	a, err := sites[0].accounting(ctx)
	if err != nil {
		return c, err
	}
	images := map[string]map[string]string{} // by node and container
	var names []string
	for _, s := range sites {
		if _, err := a.prepare(ctx, s); err != nil {
			return c, err
		}
		names = append(names, s.nodes()...)
		c.Arms = placement.Add(c.Arms, told(s.arm), s.nodes())
		for _, p := range s.all() {
			digests(images, p.seen())
		}
		notes, err := s.untold(ctx)
		if err != nil {
			return c, err
		}
		for _, note := range notes {
			if !slices.Contains(c.Notes, note) {
				c.Notes = append(c.Notes, note)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n, err := on.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return c, fmt.Errorf("node %s: %w", name, cluster.Explain(err))
		}
		helper := a.helperOn(name)
		facts, err := helper.session.Facts(ctx)
		if err != nil {
			return c, helper.disturbed(ctx, err)
		}
		described := describeNode(n, facts)
		described.Images = images[name]
		c.Nodes = append(c.Nodes, described)
	}
	c.Notes = append(c.Notes, sharedKernels(c.Nodes)...)
	c.Notes = append(c.Notes, placement.Apart(c.Arms)...)
	c.Components = on.components(ctx)
	return c, nil
}

// describeNode puts together what the API server and an agent on the node tell.
func describeNode(n *corev1.Node, facts agent.Facts) machine.Node {
	info := n.Status.NodeInfo
	return machine.Node{
		Name: told(n.Name), Kernel: told(info.KernelVersion), OS: told(info.OSImage), Architecture: told(info.Architecture),
		Runtime: told(info.ContainerRuntimeVersion), Kubelet: told(info.KubeletVersion),
		Zone: told(n.Labels[corev1.LabelTopologyZone]), Region: told(n.Labels[corev1.LabelTopologyRegion]), Instance: told(n.Labels[corev1.LabelInstanceTypeStable]),
		CPU: told(facts.CPUModel), CPUs: n.Status.Capacity.Cpu().String(), Memory: n.Status.Capacity.Memory().String(),
		Confidential: told(facts.Confidential), BootID: told(cmp.Or(facts.BootID, info.BootID)),
	}
}

func told(text string) string { return safetext.Head(text, textLimit) }

// digests notes the digests of the images of a pod's containers. An image that
// was loaded by hand may have none: then it is the id.
func digests(images map[string]map[string]string, p *corev1.Pod) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.ImageID == "" {
			continue
		}
		on := images[p.Spec.NodeName]
		if on == nil {
			on = map[string]string{}
			images[p.Spec.NodeName] = on
		}
		name, image := told(c.Name), told(c.ImageID)
		if before := on[name]; before != "" && !slices.Contains(strings.Split(before, ", "), image) {
			image = before + ", " + image
		} else if before != "" {
			image = before
		}
		on[name] = image
	}
}

// sharedKernels notes nodes that are one machine.
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
			notes = append(notes, "nodes "+strings.Join(names, ", ")+" share one kernel: what is between them is no wire, and their processors are the same")
		}
	}
	return notes
}

// untold says that what the programs of a site use will not be told. It is noted
// here, in the record, and not with every trial.
func (s *Site) untold(ctx context.Context) ([]string, error) {
	if s.level.Accounting == experiment.OnNode {
		return nil, nil
	}
	for _, p := range s.all() {
		sandbox, err := p.sandboxed(ctx)
		if err != nil {
			return nil, err
		}
		if sandbox != "" {
			return []string{fmt.Sprintf("arm %s: what its programs use is not told (a sandbox, %s, counts by a clock of its own): their metrics of CPU time and memory are missing; accounting: %s counts it",
				told(s.arm), told(sandbox), experiment.OnNode)}, nil
		}
	}
	return nil, nil
}

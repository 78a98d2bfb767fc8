package kube

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/machine"
	"tare/safetext"
	"tare/testbed/kube/agent"
)

// short bounds a text that is taken over from the API server into the record.
func short(text string) string { return safetext.Head(text, 300) }

// describeNode puts together what the API server and an agent on the node tell.
func describeNode(n *corev1.Node, facts agent.Facts) machine.Node {
	info := n.Status.NodeInfo
	return machine.Node{
		Name: short(n.Name), Kernel: short(info.KernelVersion), OS: short(info.OSImage), Architecture: short(info.Architecture),
		Runtime: short(info.ContainerRuntimeVersion), Kubelet: short(info.KubeletVersion),
		Zone: short(n.Labels[corev1.LabelTopologyZone]), Region: short(n.Labels[corev1.LabelTopologyRegion]), Instance: short(n.Labels[corev1.LabelInstanceTypeStable]),
		CPU: short(facts.CPUModel), CPUs: n.Status.Capacity.Cpu().String(), Memory: n.Status.Capacity.Memory().String(),
		Confidential: short(facts.Confidential), BootID: short(cmp.Or(facts.BootID, info.BootID)),
	}
}

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
		name, image := short(c.Name), short(c.ImageID)
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

package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tare/internal/experiment/reference"
	"tare/internal/layer/evidence"
	"tare/internal/layer/placeholder"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const maxPods = 50 // the largest number of pods that one check may have

// target is where the program of a check runs: a place of the site or a container.
type target struct {
	title   string
	missing string // why the program cannot run in the target; the mechanism then counts as off there
	run     func(ctx context.Context, args reference.Arguments) (string, error)
}

func (i Item) targets(ctx context.Context, site testbed.Site) ([]target, error) {
	values, err := placeholder.At(ctx, site)
	if err != nil {
		return nil, err
	}
	if n, ok := testbed.As[testbed.Network](site); ok && n.Address(testbed.PodToPod).IsValid() {
		values[placeholder.Server] = n.Address(testbed.PodToPod).String()
	}
	if i.Pods == nil && i.Container == "" {
		return []target{{title: string(i.In), run: func(ctx context.Context, args reference.Arguments) (string, error) {
			filled, err := args.Resolve(ctx, values.Fill)
			if err != nil {
				return "", err
			}
			// The program runs in the arm's wrappers, like a program of the workload.
			return evidence.Output(ctx, site, i.In, testbed.Command{Args: filled, Subject: true}, evidence.Limit)
		}}}, nil
	}
	s, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	pods, err := i.pods(ctx, s)
	if err != nil {
		return nil, err
	}
	return lists.Map(pods, func(pod corev1.Pod) target { return i.inContainer(s, pod, values) }), nil
}

func (i Item) inContainer(s *kube.Site, pod corev1.Pod, values placeholder.Values) target {
	t := target{title: pod.Name}
	container := i.Container
	if container == "" && len(pod.Spec.Containers) > 0 {
		container = pod.Spec.Containers[0].Name
	}
	if !has(pod, container) {
		t.missing = fmt.Sprintf("the pod has no container %s", container)
		return t
	}
	t.run = func(ctx context.Context, args reference.Arguments) (string, error) {
		filled, err := args.Resolve(ctx, values.Fill)
		if err != nil {
			return "", err
		}
		limited, cancel := context.WithTimeout(ctx, evidence.Limit)
		defer cancel()
		stdout, _, err := s.Exec(limited, pod.Namespace, pod.Name, container, filled)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s in pod %s: not finished within %v", testbed.Quote(filled), pod.Name, evidence.Limit)
		}
		return string(stdout), err
	}
	return t
}

// has reports whether a pod has a container with the given name. The container may be an init container, as native
// sidecars are.
func has(pod corev1.Pod, container string) bool {
	named := func(c corev1.Container) bool { return c.Name == container }
	return slices.ContainsFunc(pod.Spec.Containers, named) || slices.ContainsFunc(pod.Spec.InitContainers, named)
}

// pods returns the pods of the check: the site's own pod at a place, or other pods of the cluster.
func (i Item) pods(ctx context.Context, s *kube.Site) ([]corev1.Pod, error) {
	own, err := s.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if i.Pods == nil {
		pod := own[i.In]
		if pod == nil {
			return nil, fmt.Errorf("check %q runs in the %s, but the site has none", i.Name, i.In)
		}
		return []corev1.Pod{*pod}, nil
	}
	nodes, err := i.Pods.nodes(own)
	if err != nil {
		return nil, fmt.Errorf("check %q: %w", i.Name, err)
	}
	c, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	namespace, selector := cmp.Or(i.Pods.Namespace, s.Namespace()), labels.Set(i.Pods.Labels).String()
	list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("check %q: list pods with %s in namespace %s: %w", i.Name, selector, namespace, err)
	}
	return i.Pods.choose(list.Items, nodes)
}

// nodes returns the nodes on which the check's pods must run; nil: any nodes.
func (p *Pods) nodes(own map[testbed.Place]*corev1.Pod) ([]string, error) {
	both := []testbed.Place{testbed.ClientPod, testbed.ServerPod}
	for i := 2; own[testbed.Member(i)] != nil; i++ {
		both = append(both, testbed.Member(i))
	}
	places := map[node][]testbed.Place{client: both[:1], server: both[1:], Both: both, "": both}
	var nodes []string
	for _, place := range places[p.Node] {
		pod := own[place]
		if pod == nil && place == testbed.ServerPod && (p.Node == Both || p.Node == "") {
			continue // the site has no server: a workload with a volume has only a client
		}
		if pod == nil || pod.Spec.NodeName == "" {
			return nil, fmt.Errorf("the check needs pods on the node of the %s, but the site has none", place)
		}
		nodes = append(nodes, pod.Spec.NodeName)
	}
	return nodes, nil
}

// choose returns the running pods on the nodes, sorted by name. If only some nodes have one, it returns an error: the
// mechanism is neither on nor off.
func (p *Pods) choose(pods []corev1.Pod, nodes []string) ([]corev1.Pod, error) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	})
	if p.Node == Any && len(pods) > 1 {
		pods = pods[:1]
	}
	if nodes != nil {
		pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !slices.Contains(nodes, pod.Spec.NodeName) })
		for _, node := range nodes {
			if len(pods) > 0 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node }) {
				return nil, fmt.Errorf("no pod with %s runs on node %s, but one runs on the other node", labels.Set(p.Labels), node)
			}
		}
	}
	if len(pods) > maxPods {
		return nil, fmt.Errorf("%d pods with %s: the limit is %d; node: any takes only one of them", len(pods), labels.Set(p.Labels), maxPods)
	}
	return pods, nil
}

// podsOf returns a key that identifies the site's pods; "" if it has none.
func podsOf(ctx context.Context, site testbed.Site) (string, error) {
	s, err := kube.Of(site)
	if err != nil {
		return "", nil // sites on this machine have no pods
	}
	pods, err := s.Pods(ctx)
	if err != nil {
		return "", err
	}
	uids := lists.Map(slices.Collect(maps.Values(pods)), func(pod *corev1.Pod) string { return string(pod.UID) })
	slices.Sort(uids)
	return strings.Join(uids, " "), nil
}

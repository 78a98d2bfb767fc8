package pod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/agent"
)

// podView is the evidence about one pod: its object in the API server, the facts that a process in the pod
// sees, and its node.
type podView struct {
	place testbed.Place
	pod   *corev1.Pod
	facts agent.Facts
	node  *corev1.Node // set if the proof compares the pod with its node
}

// split returns the pods that the layer shapes. beside is set if there are other pods, on the nodes' network: no layer
// is put around these.
func split(pods map[testbed.Place]*corev1.Pod) (shaped map[testbed.Place]*corev1.Pod, beside bool) {
	shaped = maps.Clone(pods)
	maps.DeleteFunc(shaped, func(p testbed.Place, _ *corev1.Pod) bool { return p == testbed.ClientNode || p == testbed.ServerNode })
	return shaped, len(shaped) < len(pods)
}

// look gathers the evidence about the pods that layers shape. It adds the nodes that it reads to the map nodes.
func (c *Config) look(ctx context.Context, s *kube.Site, nodes map[string]*corev1.Node) ([]podView, error) {
	pods, err := s.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if pods, _ = split(pods); len(pods) == 0 {
		return nil, fmt.Errorf("the workload has no pods at this site that the layer could be put around")
	}
	var views []podView
	for _, place := range slices.Sorted(maps.Keys(pods)) {
		v := podView{place: place, pod: pods[place]}
		if v.facts, err = s.Facts(ctx, place); err != nil {
			return nil, fmt.Errorf("read the facts that the pod %s sees: %w", v.pod.Name, err)
		}
		if len(c.NodeSelector) > 0 || len(c.RuntimeClass) > 0 { // the proofs compare the pod with its node
			if v.node, err = node(ctx, s, v.pod.Spec.NodeName, nodes); err != nil {
				return nil, err
			}
		}
		views = append(views, v)
	}
	return views, nil
}

func node(ctx context.Context, s *kube.Site, name string, known map[string]*corev1.Node) (*corev1.Node, error) {
	if n := known[name]; n != nil {
		return n, nil
	}
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	n, err := cluster.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	known[name] = n
	return n, nil
}

// sandboxOf finds the sandbox of a RuntimeClass by the names of the class and its handler; "" if neither names a
// sandbox.
func sandboxOf(class, handler string) string {
	for _, word := range []string{handler, class} {
		word = strings.ToLower(word)
		switch {
		case strings.Contains(word, "gvisor"), strings.Contains(word, "runsc"):
			return gvisor
		case strings.Contains(word, "kata"):
			return kata
		}
	}
	return ""
}

// These are sandboxes that a program can detect from inside.
const (
	gvisor = "gvisor"
	kata   = "kata"
)

// sandbox returns the sandbox of the layer's RuntimeClass. A missing class is an error. If Tare may not read
// the class, its name alone decides.
func (c *Config) sandbox(ctx context.Context, s *kube.Site) (string, error) {
	class := c.RuntimeClass.OrZero()
	if class == "" {
		return "", nil
	}
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return "", err
	}
	found, err := cluster.Client.NodeV1().RuntimeClasses().Get(ctx, class, metav1.GetOptions{})
	switch {
	case errors.IsNotFound(err):
		return "", fmt.Errorf("the cluster of context %s has no RuntimeClass %s: list its classes with kubectl get runtimeclasses", cluster.Context, class)
	case errors.IsForbidden(err):
		return sandboxOf(class, ""), nil
	case err != nil:
		return "", fmt.Errorf("read RuntimeClass %s: %w", class, err)
	}
	return sandboxOf(class, found.Handler), nil
}

// aspect is one setting of a layer, with the check that shows the setting in a pod.
type aspect struct {
	name     string
	expected string
	spec     bool // set if the evidence is the specification of the pod, which never changes
	show     func(podView) shown
}

// shown is the result of an aspect's check in one pod.
type shown struct {
	observed string
	ok       bool
	caveat   string
}

func (a aspect) check(views []podView) layer.Check {
	k := layer.Check{Layer: name, Name: a.name, Expected: a.expected, OK: true}
	var all, each, caveats []string
	for _, s := range views {
		got := a.show(s)
		all, each = append(all, got.observed), append(each, fmt.Sprintf("%s: %s", s.place, got.observed))
		k.OK = k.OK && got.ok
		if got.caveat != "" && !slices.Contains(caveats, got.caveat) {
			caveats = append(caveats, got.caveat)
		}
	}
	k.Observed, k.Caveat = strings.Join(each, "; "), strings.Join(caveats, "; ")
	if same := slices.Compact(all); len(same) == 1 {
		k.Observed = same[0]
	}
	return k
}

// checks makes the checks of those aspects whose field spec has the given value.
func checks(aspects []aspect, views []podView, spec bool) []layer.Check {
	aspects = slices.DeleteFunc(slices.Clone(aspects), func(a aspect) bool { return a.spec != spec })
	return testbed.Each(aspects, func(a aspect) layer.Check { return a.check(views) })
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/kube/pods"
)

// PodTemplate makes the pods that a workload starts in its trials. A node selector binds them, so that each start
// includes the scheduler's work.
type PodTemplate struct {
	site *Site
	on   *clusterRun
	role string
	node *corev1.Node
}

// PodTemplate returns a template of pods with this role.
func (s *Site) PodTemplate(ctx context.Context, role string) (*PodTemplate, error) {
	if n := len(s.shapes.sidecars); n > 0 {
		return nil, fmt.Errorf("arm %s has a layer that works by sidecars of Tare's, such as %s: "+
			"sidecars work in the arm's own pods only, and pods that a workload starts would be without the layer",
			shorten(s.arm), s.shapes.sidecars[0].sidecar.Name)
	}
	client, err := s.pod(testbed.ClientPod)
	if err != nil {
		return nil, err
	}
	if err := s.Record(ctx, corev1.SchemeGroupVersion.WithResource("pods")); err != nil {
		return nil, err
	}
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	node, err := on.Client.CoreV1().Nodes().Get(ctx, client.Node(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", client.Node(), cluster.Explain(err))
	}
	return &PodTemplate{site: s, on: on, role: role, node: node}, nil
}

func (l *PodTemplate) selector() string {
	return labels.Set{
		siteLabel: l.site.unique, inventory.RoleLabel: l.role, inventory.OwnerLabel: string(l.on.owner),
	}.String()
}

// Plan returns a pod's manifest. run turns the path of Tare's agent into the main container's arguments and
// environment. The container requests little, so that many pods fit on a node.
func (l *PodTemplate) Plan(name string, run func(agent string) (args, env []string)) (*corev1.Pod, error) {
	s := l.site
	pod := s.planPod(l.role)
	pod.Name = s.name(name)
	for _, shape := range s.shapes.pods {
		if err := shape(pod); err != nil {
			return nil, fmt.Errorf("shape the pod %s: %w", name, err)
		}
	}
	placement.Pin(pod, l.node)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != pods.Container {
			continue
		}
		args, env := run(pods.ProgramIn(pod, c.Name))
		c.Command, c.Args = args, nil
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
		}
		c.Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("8Mi"),
		}
	}
	return pod, nil
}

// Make makes a pod that Plan returned.
func (l *PodTemplate) Make(ctx context.Context, plan *corev1.Pod) (*corev1.Pod, error) {
	made, err := inventory.Make(ctx, l.on.record, l.on.Client.CoreV1().Pods(plan.Namespace), plan)
	if err != nil {
		return nil, fmt.Errorf("make pod %s: %w", plan.Name, cluster.Explain(err))
	}
	return made, nil
}

// Delete deletes pods and waits until they are gone. It ignores names of pods that do not exist.
func (l *PodTemplate) Delete(ctx context.Context, names ...string) error {
	return l.on.record.Remove(ctx, lists.Map(names, func(name string) inventory.Item {
		return inventory.Core("pods", l.site.Namespace(), name)
	})...)
}

// Watch begins a watch of the template's pods, which ends with the context. It calls the function see for each change,
// one call after another.
func (l *PodTemplate) Watch(ctx context.Context, see func(pod *corev1.Pod, gone bool)) error {
	informer := cluster.PodInformer(l.on.Client, l.site.Namespace(), l.selector())
	call := func(object any, gone bool) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			see(pod, gone)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(o, false) },
		UpdateFunc: func(_, o any) { call(o, false) },
		DeleteFunc: func(o any) { call(o, true) },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	limited, cancel := context.WithTimeout(ctx, l.site.level.Timeouts.Ready.Std())
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
		return errors.Join(ctx.Err(), fmt.Errorf("the API server gave no list of the pods %s in namespace %s",
			l.selector(), l.site.Namespace()))
	}
	return nil
}

// Used returns the usage of the pods' cgroups, by pod UID. Without "accounting: node", known is false.
func (l *PodTemplate) Used(ctx context.Context, uids []string) (used map[string]cgroup.Usage, known bool, err error) {
	if l.site.level.Accounting != experiment.OnNode {
		return nil, false, nil
	}
	list, err := l.on.counter.Cgroups(ctx, l.site.accountingSite(l.on), l.node.Name, uids)
	if err != nil {
		return nil, true, err
	}
	used = map[string]cgroup.Usage{}
	for _, u := range list {
		used[u.Pod] = u
	}
	return used, true, nil
}

// Why returns err, the error of a pod that does not start, together with the cluster's events about the pod.
func (l *PodTemplate) Why(ctx context.Context, name string, err error) error {
	return &cluster.DiagnosedError{Err: err, Events: l.on.Events(ctx, l.site.Namespace(), name, "")}
}

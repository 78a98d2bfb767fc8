package accounting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"tare/experiment"
	"tare/testbed/kube/cluster"
)

// component is a group of pods that the experiment observes. A watch keeps the
// list of them, so that no trial asks the API server, and a pod that is made
// again in the middle of one is known when it ends.
type component struct {
	experiment.Observe
	store cache.Store
}

// watchComponent begins to watch the pods of a component until stop is closed.
func watchComponent(ctx context.Context, client kubernetes.Interface, o experiment.Observe, limit time.Duration, stop <-chan struct{}) (*component, error) {
	selector := labels.SelectorFromSet(o.Labels).String()
	// A watch that is refused is tried again for ever, and says nothing. So the pods are
	// listed once, for the reason.
	if _, err := client.CoreV1().Pods(o.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: 1}); err != nil {
		return nil, fmt.Errorf("observe %s: pods %s in namespace %s: %w", o.Name, selector, o.Namespace, cluster.Explain(err))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(o.Namespace),
		informers.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = selector }),
		informers.WithTransform(slim))
	informer := factory.Core().V1().Pods().Informer()
	factory.Start(stop)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("observe %s: the API server gave no list of the pods %s in namespace %s in %v", o.Name, selector, o.Namespace, limit)
	}
	return &component{Observe: o, store: informer.GetStore()}, nil
}

// slim keeps of a pod only what pods looks at: there may be many.
func slim(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	s := &corev1.Pod{Status: corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime}}
	s.Name, s.Namespace, s.UID, s.ResourceVersion = p.Name, p.Namespace, p.UID, p.ResourceVersion
	s.DeletionTimestamp = p.DeletionTimestamp
	s.Spec.NodeName = p.Spec.NodeName
	for _, key := range []string{corev1.MirrorPodAnnotationKey, staticHash} {
		if v, ok := p.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, v)
		}
	}
	return s, nil
}

// staticHash is the UID that the kubelet gives to a static pod, after which its
// cgroups are named: the API server knows only its mirror, under another UID.
const staticHash = "kubernetes.io/config.hash"

// pods lists the component's pods that are on a node, or on one of the trial's
// nodes where only those are observed.
func (c *component) pods(trial []string) []placed {
	var list []placed
	for _, object := range c.store.List() {
		p, ok := object.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if c.Nodes != experiment.AllNodes && !slices.Contains(trial, p.Spec.NodeName) {
			continue
		}
		one := placed{uid: string(p.UID), node: p.Spec.NodeName, ending: p.DeletionTimestamp != nil}
		if hash := p.Annotations[staticHash]; hash != "" && p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
			one.uid = hash
		}
		if p.Status.StartTime != nil {
			one.started = p.Status.StartTime.Time
		}
		one.waiting = p.Status.Phase == corev1.PodPending
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b placed) int { return strings.Compare(a.node+" "+a.uid, b.node+" "+b.uid) })
	return list
}

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
	"k8s.io/client-go/tools/cache"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/toolformat/promtext"
)

// component is a group of pods that the experiment observes. A watch keeps the list of these pods up to date,
// so that trials send no requests to the API server.
type component struct {
	experiment.Observe
	store cache.Store
}

// watchComponent watches the pods of a component until stop is closed. It waits for the first list of pods, at most
// for limit.
func watchComponent(
	ctx context.Context, client cluster.Client, o experiment.Observe, limit time.Duration, stop <-chan struct{},
) (*component, error) {
	selector := labels.SelectorFromSet(o.Labels).String()
	// An informer does not report that the API server refuses a watch. A direct request shows the error.
	one := metav1.ListOptions{LabelSelector: selector, Limit: 1}
	if _, err := client.CoreV1().Pods(o.Namespace).List(ctx, one); err != nil {
		return nil, fmt.Errorf("observe %s: pods %s in namespace %s: %w", o.Name, selector, o.Namespace, cluster.Explain(err))
	}
	informer := cluster.PodInformer(client, o.Namespace, selector)
	if err := informer.SetTransform(slimPod); err != nil {
		return nil, err
	}
	go informer.Run(stop)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("observe %s: the API server gave no list of the pods %s in namespace %s in %v",
			o.Name, selector, o.Namespace, limit)
	}
	return &component{Observe: o, store: informer.GetStore()}, nil
}

// slimPod drops all fields of a pod that component.pods does not read. This saves memory.
func slimPod(object any) (any, error) {
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

// staticHash is the annotation of a static pod with the UID that names its cgroups. The API server only knows the
// pod's mirror pod, which has another UID.
const staticHash = "kubernetes.io/config.hash"

// pods lists the component's pods on the trial's nodes. If the experiment says AllNodes, it lists the pods on all
// nodes.
func (c *component) pods(trial []string) []podRef {
	var list []podRef
	for _, object := range c.store.List() {
		p, ok := object.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if c.Nodes != experiment.AllNodes && !slices.Contains(trial, p.Spec.NodeName) {
			continue
		}
		ref := podRef{
			uid: string(p.UID), node: p.Spec.NodeName,
			waiting: p.Status.Phase == corev1.PodPending, ending: p.DeletionTimestamp != nil,
		}
		if hash := p.Annotations[staticHash]; hash != "" && p.Annotations[corev1.MirrorPodAnnotationKey] != "" {
			ref.uid = hash
		}
		if p.Status.StartTime != nil {
			ref.started = p.Status.StartTime.Time
		}
		list = append(list, ref)
	}
	slices.SortFunc(list, func(a, b podRef) int { return strings.Compare(a.node+" "+a.uid, b.node+" "+b.uid) })
	return list
}

// An API server often runs outside of pods, on a machine that is not a node. Its usage is read from the
// counters that the API server serves (Prometheus' process collector).

type serverProcess struct {
	started float64 // start time in seconds since 1970, which identifies the process
	cpu     time.Duration
	memory  int64
	at      time.Time
}

// readServer reads the counters of an API server's process. If there are several API servers, any of them may
// respond.
func readServer(ctx context.Context, client cluster.Client) (*serverProcess, error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(limited)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", cluster.Explain(err))
	}
	p, err := parseProcess(text)
	if p != nil {
		p.at = time.Now()
	}
	return p, err
}

// These are the names of counters in Prometheus' process collector.
const (
	startTime = "process_start_time_seconds"
	usedTime  = "process_cpu_seconds_total"
	resident  = "process_resident_memory_bytes"
)

func parseProcess(text []byte) (*serverProcess, error) {
	values, err := promtext.Values(text, startTime, usedTime, resident)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", err)
	}
	return &serverProcess{started: values[startTime], memory: int64(values[resident]),
		cpu: time.Duration(min(values[usedTime], 1e9) * float64(time.Second))}, nil
}

// since returns the usage of an API server between two readings. It returns false if a reading failed, or if
// the readings are of two processes.
func (p *serverProcess) since(before *serverProcess) (testbed.Observed, bool) {
	if p == nil || before == nil || p.started != before.started || p.cpu < before.cpu {
		return testbed.Observed{}, false
	}
	return testbed.Observed{CPU: p.cpu - before.cpu, Wall: p.at.Sub(before.at), Memory: p.memory}, true
}

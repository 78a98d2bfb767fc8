package accounting

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
)

// podOn is a pod on a node, in the namespace mesh, whose UID is its name.
func podOn(name, app, node string, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase, StartTime: &metav1.Time{Time: epoch}}}
	p.Name, p.Namespace, p.UID, p.Labels = name, "mesh", types.UID(name), map[string]string{"app": app}
	p.Spec.NodeName = node
	return p
}

func listed(list []podRef) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s@%s", p.uid, p.node)
		if p.waiting {
			b.WriteString(" waits")
		}
		if p.ending {
			b.WriteString(" ends")
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestComponentPods(t *testing.T) {
	static := podOn("mirror", "istiod", "n1", corev1.PodRunning)
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "h", staticHash: "hash"}
	ending := podOn("ending", "istiod", "n2", corev1.PodRunning)
	ending.DeletionTimestamp, ending.Finalizers = &metav1.Time{Time: epoch}, []string{"x/y"}
	client := fake.NewClientset(podOn("a", "istiod", "n1", corev1.PodRunning), podOn("b", "istiod", "n3", corev1.PodRunning), static, ending,
		podOn("other", "else", "n1", corev1.PodRunning), podOn("done", "istiod", "n1", corev1.PodSucceeded),
		podOn("unplaced", "istiod", "", corev1.PodPending), podOn("pulls", "istiod", "n2", corev1.PodPending))
	for _, c := range []struct {
		nodes experiment.ObserveNodes
		want  string
	}{
		{experiment.TrialNodes, "a@n1; hash@n1; ending@n2 ends; pulls@n2 waits; "},
		{"", "a@n1; hash@n1; ending@n2 ends; pulls@n2 waits; "},
		{experiment.AllNodes, "a@n1; hash@n1; ending@n2 ends; pulls@n2 waits; b@n3; "},
	} {
		o := experiment.Observe{Name: "istiod", Namespace: "mesh", Labels: map[string]string{"app": "istiod"}, Nodes: c.nodes}
		got, err := watchComponent(t.Context(), client, o, time.Minute, t.Context().Done())
		if err != nil {
			t.Fatal(err)
		}
		list := got.pods([]string{"n1", "n2"})
		if listed(list) != c.want || !list[0].started.Equal(epoch) {
			t.Errorf("%q: %s, want %s", c.nodes, listed(list), c.want)
		}
	}
}

// A pod that is made again during a trial is known at the trial's end, without another request.
func TestComponentFollows(t *testing.T) {
	client := fake.NewClientset(podOn("a", "istiod", "n1", corev1.PodRunning))
	o := experiment.Observe{Name: "istiod", Namespace: "mesh", Labels: map[string]string{"app": "istiod"}}
	c, err := watchComponent(t.Context(), client, o, time.Minute, t.Context().Done())
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("mesh")
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Create(t.Context(), podOn("a2", "istiod", "n1", corev1.PodRunning), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = (&cluster.Cluster{}).Await(t.Context(), "the watch to tell of the new pod", time.Minute, func(context.Context) (bool, string, error) {
		now := listed(c.pods([]string{"n1"}))
		return now == "a2@n1; ", now, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestComponentRefused(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", fmt.Errorf(`User "jane" cannot list resource "pods"`))
	})
	o := experiment.Observe{Name: "istiod", Namespace: "mesh", Labels: map[string]string{"app": "istiod"}}
	_, err := watchComponent(t.Context(), client, o, time.Minute, t.Context().Done())
	if err == nil || !strings.Contains(err.Error(), "observe istiod: pods app=istiod in namespace mesh:") || !strings.Contains(err.Error(), "tare doctor says which rights are missing") {
		t.Error(err)
	}
}

package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"tare/internal/run/machine"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
)

func TestDescribeNode(t *testing.T) {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{corev1.LabelTopologyZone: "eu-1a", corev1.LabelTopologyRegion: "eu-1", corev1.LabelInstanceTypeStable: "n2d-standard-4"}},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{KernelVersion: "6.8.0", OSImage: "Ubuntu\x1b[31m", Architecture: "amd64", ContainerRuntimeVersion: "containerd://1.7.27", KubeletVersion: "v1.34.4", BootID: "of the API"},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
		},
	}
	want := machine.Node{Name: "node-1", Kernel: "6.8.0", OS: "Ubuntu", Architecture: "amd64", Runtime: "containerd://1.7.27", Kubelet: "v1.34.4",
		Zone: "eu-1a", Region: "eu-1", Instance: "n2d-standard-4", CPU: "EPYC", CPUs: "4", Memory: "16Gi", Confidential: "SEV-SNP", BootID: "of the agent"}
	if d := cmp.Diff(want, describeNode(n, agent.Facts{CPUModel: "EPYC", BootID: "of the agent", Confidential: "SEV-SNP"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := describeNode(n, agent.Facts{}).BootID; got != "of the API" {
		t.Errorf("boot id %q where the agent tells none", got)
	}
}

func TestSharedKernels(t *testing.T) {
	node := func(name, boot string) machine.Node { return machine.Node{Name: name, BootID: boot} }
	got := sharedKernels([]machine.Node{node("a", "1"), node("b", "2"), node("c", "1"), node("d", ""), node("e", "")})
	if len(got) != 1 || !strings.HasPrefix(got[0], "nodes a, c share one kernel") {
		t.Errorf("%q", got)
	}
}

func TestDigests(t *testing.T) {
	images := map[string]map[string]string{}
	p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "install", ImageID: "sha256:1"}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "tare", ImageID: "sha256:2"}, {Name: "istio-proxy"}}}}
	addDigests(images, p)
	addDigests(images, p)
	p.Status.ContainerStatuses[0].ImageID = "sha256:3"
	addDigests(images, p)
	want := map[string]map[string]string{"n1": {"install": "sha256:1", "tare": "sha256:2, sha256:3"}}
	if d := cmp.Diff(want, images); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestComponents(t *testing.T) {
	spec := func(image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}, {Name: "beside", Image: "x"}}}}
	}
	daemon := func(namespace, name, image string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DaemonSetSpec{Template: spec(image)}}
	}
	deployment := func(namespace, name, image string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Template: spec(image)}}
	}
	web := daemon("other", "web", "web:1")
	web.Spec.Template.Annotations = map[string]string{standInAnnotation: "no server\x1b is in it"}
	client := fake.NewClientset(daemon("kube-system", "cilium", "cilium:1.17"), web, deployment("istio-system", "istiod", "pilot:1.25\x1b"),
		deployment("canary", "istiod", "pilot:1.26"), deployment("kube-system", "coredns", "coredns:1.12"))
	on := &clusterRun{Cluster: &cluster.Cluster{Client: client}}
	got, standIns := on.components(t.Context())
	if images := strings.Split(got["istiod"], ", "); len(images) != 2 {
		t.Errorf("istiod: %q", got["istiod"])
	}
	delete(got, "istiod")
	if says := standIns["web"]; len(standIns) != 1 || !strings.HasPrefix(says, "no server") || strings.Contains(says, "\x1b") {
		t.Errorf("stand-ins: %q", standIns)
	}
	if d := cmp.Diff(map[string]string{"cilium": "cilium:1.17", "coredns": "coredns:1.12"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	client.PrependReactor("list", "*", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, fmt.Errorf("forbidden") })
	if got, standIns := on.components(t.Context()); got != nil || standIns != nil {
		t.Errorf("without the right to list: %v %v", got, standIns)
	}
}

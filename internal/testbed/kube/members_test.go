package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// onNodes is a site of a fake cluster with these nodes.
func onNodes(t *testing.T, needs experiment.Needs, level *experiment.Kubernetes, nodes ...string) (*Site, *clusterRun) {
	t.Helper()
	var objects []runtime.Object
	for _, name := range nodes {
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
			Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}},
		})
	}
	bed, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster.Cluster{Context: "test", Client: fake.NewClientset(objects...)}
	s := open(t, bed, "plain", needs, level)
	return s, newClusterRun(c, bed.session, "", level.Timeouts)
}

// Each member has its own pod, with the role server and the member's number. The service leads to the first member. A
// layer changes all these pods.
func TestPlanMembers(t *testing.T) {
	for _, c := range []struct {
		needs experiment.Needs
		nodes int // that are asked for
		want  string
	}{
		{experiment.Needs{Volume: &experiment.Volume{Size: 1}}, 0, "client-pod: client on a"},
		{experiment.Needs{Network: true}, 0, "client-pod: client on a; server-pod: server on b, served"},
		{experiment.Needs{Network: true, Members: 3}, 0, "client-pod: client on a; server-pod: server 1 on b, served; server-pod-2: server 2 on c; server-pod-3: server 3 on d"},
		{experiment.Needs{Network: true, Members: 3}, 2, "client-pod: client on a; server-pod: server 1 on b, served; server-pod-2: server 2 on c; server-pod-3: server 3 on b"},
		{experiment.Needs{Network: true, Clients: 3}, 0, "client-pod: client on a; client-pod-2: client 2 on c; client-pod-3: client 3 on d; server-pod: server on b, served"},
		{experiment.Needs{Network: true, Clients: 3, Members: 2}, 0, "client-pod: client on a; client-pod-2: client 2 on d; client-pod-3: client 3 on a; server-pod: server 1 on b, served; server-pod-2: server 2 on c"},
	} {
		level := parameters()
		if c.nodes > 0 {
			level.Nodes = factor.Of(c.nodes)
		}
		s, on := onNodes(t, c.needs, level, "a", "b", "c", "d")
		shaped := 0
		s.ShapePods(func(*corev1.Pod) error { shaped++; return nil })
		plans, err := s.plans(t.Context(), on)
		if err != nil {
			t.Errorf("%+v: %v", c.needs, err)
			continue
		}
		selector := labels.SelectorFromSet(s.planService().Spec.Selector)
		names := map[string]bool{}
		var got []string
		for _, where := range s.places() {
			plan := plans[where]
			if plan == nil {
				continue
			}
			names[plan.Name] = true
			one := fmt.Sprintf("%s: %s", where, plan.Labels[inventory.RoleLabel])
			if n := plan.Labels[memberLabel]; n != "" {
				one += " " + n
			}
			one += " on " + plan.Spec.NodeSelector[corev1.LabelHostname]
			if selector.Matches(labels.Set(plan.Labels)) {
				one += ", served"
			}
			got = append(got, one)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.needs, got, c.want)
		}
		if len(names) != len(plans) || shaped != len(plans) {
			t.Errorf("%+v: %d pods, of them %d shaped, with %d names", c.needs, len(plans), shaped, len(names))
		}
	}
}

// In a namespace that arms share, the pods' names are different, too.
func TestMemberNames(t *testing.T) {
	level := parameters()
	level.Namespace = "given"
	s, _ := onNodes(t, experiment.Needs{Network: true, Members: 2}, level, "a", "b")
	first, second := s.planAt(testbed.Member(1), roleServer, 1), s.planAt(testbed.Member(2), roleServer, 2)
	if podTitle(first) != "server" || podTitle(second) != "server-2" || !strings.HasPrefix(second.Name, s.unique) || !strings.HasSuffix(second.Name, "-server-2") || !strings.HasSuffix(first.Name, "-server") {
		t.Errorf("pods %s and %s of %s", first.Name, second.Name, s.unique)
	}
	if s.Members() != nil || s.Self(testbed.Member(2)) == "" {
		t.Errorf("members %v before the site is ready", s.Members())
	}
}

// Each member has its own claim, which layers change. The claim is mounted only in the member's pod.
func TestMemberClaims(t *testing.T) {
	for _, c := range []struct {
		needs experiment.Needs
		want  string
	}{
		{experiment.Needs{Network: true, Members: 2}, ""},
		{experiment.Needs{Volume: &experiment.Volume{Size: 5}}, "volume of 5 at /volume in client-pod"},
		{experiment.Needs{Network: true, MemberVolume: 7}, "server-volume of 7 at /volume in server-pod"},
		{experiment.Needs{Network: true, Members: 2, MemberVolume: 7, Volume: &experiment.Volume{Size: 5, Block: true}},
			"volume of 5 at /dev/tare-volume in client-pod; server-volume of 7 at /volume in server-pod; server-2-volume of 7 at /volume in server-pod-2"},
	} {
		s, on := onNodes(t, c.needs, parameters(), "a", "b", "c")
		s.ShapeVolume(func(p *corev1.PersistentVolumeClaim) { p.Spec.StorageClassName = new("fast") })
		plans, err := s.plans(t.Context(), on)
		if err != nil {
			t.Errorf("%+v: %v", c.needs, err)
			continue
		}
		var got []string
		for _, v := range s.volumes() {
			claim := s.planClaim(v)
			if *claim.Spec.StorageClassName != "fast" {
				t.Errorf("%s is not shaped", claim.Name)
			}
			size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
			one := fmt.Sprintf("%s of %s", claim.Name, size.String())
			for _, where := range s.places() {
				if plan := plans[where]; plan != nil {
					one += mounted(plan, claim.Name, where)
				}
			}
			got = append(got, one)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.needs, got, c.want)
		}
		want := map[bool]string{true: "/volume", false: ""}[c.needs.MemberVolume > 0]
		if got := s.MemberVolume(max(c.needs.Members, 1)); got != want || s.MemberVolume(9) != "" {
			t.Errorf("%+v: a member's volume is at %q, want %q", c.needs, got, want)
		}
	}
}

// mounted returns where a pod mounts the volume of a claim.
func mounted(pod *corev1.Pod, claim string, where testbed.Place) (said string) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != claim {
			continue
		}
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if m.Name == v.Name {
				said += fmt.Sprintf(" at %s in %s", m.MountPath, where)
			}
		}
		for _, d := range pod.Spec.Containers[0].VolumeDevices {
			if d.Name == v.Name {
				said += fmt.Sprintf(" at %s in %s", d.DevicePath, where)
			}
		}
	}
	return said
}

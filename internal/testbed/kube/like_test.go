package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// A pod that a workload makes has the layers' changes like the pods of the arm, and runs the given program on the
// node of the client's pod. It does not belong to the service.
func TestPlanLike(t *testing.T) {
	for image, agent := range map[string]string{"": pods.Program, "example.test/other:1": "/var/run/tare/bin/tare-agent"} {
		s, on := onNodes(t, experiment.Needs{OwnPod: true, Image: image}, parameters(), "a", "b")
		s.ShapePods(func(p *corev1.Pod) error {
			p.Spec.RuntimeClassName = new("gvisor")
			p.Spec.Containers[0].Args = []string{"of a patch"}
			return nil
		})
		node, err := on.Client.CoreV1().Nodes().Get(t.Context(), "b", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l := &PodTemplate{site: s, on: on, role: "start", node: node}
		var self string
		plan, err := l.Plan("start-1", func(agent string) (args, env []string) {
			self = agent
			return []string{agent, "call"}, []string{"A=b=c"}
		})
		if err != nil {
			t.Fatal(err)
		}
		c := plan.Spec.Containers[0]
		got := fmt.Sprint(plan.Name, plan.Labels[inventory.RoleLabel], *plan.Spec.RuntimeClassName, plan.Spec.NodeSelector[corev1.LabelHostname], c.Command, c.Args, c.Env, len(plan.Spec.InitContainers))
		want := fmt.Sprint("start-1", "start", "gvisor", "b", []string{agent, "call"}, []string(nil), []corev1.EnvVar{{Name: "A", Value: "b=c"}}, map[bool]int{true: 1}[image != ""])
		if got != want || self != agent {
			t.Errorf("%s\nwant\n%s (%s)", got, want, self)
		}
		if limit, request := c.Resources.Limits.Cpu().String(), c.Resources.Requests.Cpu().String(); limit != "100m" || request != "1m" {
			t.Errorf("limit %s, request %s", limit, request)
		}
		if !strings.Contains(l.selector(), plan.Labels[siteLabel]) {
			t.Errorf("%s does not find %v", l.selector(), plan.Labels)
		}
	}
}

// Tare's own sidecars work only in the arm's own pods. Other pods would be without the layer.
func TestLikeWithSidecars(t *testing.T) {
	s, _ := onNodes(t, experiment.Needs{OwnPod: true}, parameters(), "a")
	if _, err := s.AddSidecar(testbed.ClientPod, testbed.Sidecar{Name: "wireguard"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PodTemplate(t.Context(), "start"); err == nil || !strings.Contains(err.Error(), "works by sidecars of Tare's, such as wireguard") {
		t.Errorf("got %v", err)
	}
}

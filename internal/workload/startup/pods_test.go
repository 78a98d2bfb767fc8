package startup

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment/reference"
)

// A phase has the time of the watcher's clock when the watch shows it for the first time.
func TestPhases(t *testing.T) {
	begun := time.Now()
	p := &progress{begun: begun, phases: map[string]float64{}, change: make(chan struct{})}
	pod := &corev1.Pod{}
	condition := func(kind corev1.PodConditionType) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	container := func(s corev1.ContainerState) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "other", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "tare", State: s}}
	}
	for i, step := range []func(){
		func() {},
		func() { condition(corev1.PodScheduled) },
		func() { container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}) },
		func() { container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}) },
		func() { condition(corev1.PodReady) },
		func() {},
	} {
		step()
		changed := p.change
		p.see(pod, false, begun.Add(time.Duration(i)*time.Second))
		select {
		case <-changed:
		default:
			t.Error("nobody is told")
		}
	}
	if want := (map[string]float64{"pod-scheduled": 1, "pod-started": 3, "pod-ready": 4}); !maps.Equal(p.phases, want) || p.failed != "" || p.gone {
		t.Errorf("got %v, want %v; failed %q", p.phases, want, p.failed)
	}
	pod.Status.Phase = corev1.PodFailed
	container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7, Message: "why"}})
	p.see(pod, false, begun)
	if p.failed != "it ended with exit status 7 why" {
		t.Errorf("failed %q", p.failed)
	}
	if p.see(pod, true, begun); !p.gone {
		t.Error("it is there")
	}
}

// The arguments of a program in a pod are in the pod's specification, and must contain no secret.
func TestNoSecretsInPods(t *testing.T) {
	c := New().(*Config)
	c.Command = reference.Arguments{"server", "--token=$TARE_TEST_TOKEN"}
	if _, err := c.inPods(nil); err == nil || !strings.Contains(err.Error(), "TARE_TEST_TOKEN") {
		t.Errorf("got %v", err)
	}
	c.Command = nil
	if p, err := c.inPods(nil); err != nil || p.Args[0] != inPod || len(p.Args) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

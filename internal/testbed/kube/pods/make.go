package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/lists"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// Launch records pods, makes them, and waits until they are ready.
func (m *Maker) Launch(ctx context.Context, pods ...*Pod) error {
	if err := m.Record.Add(ctx, lists.Map(pods, (*Pod).Item)...); err != nil {
		return err
	}
	for _, p := range pods {
		if err := p.create(ctx); err != nil {
			return err
		}
	}
	for _, p := range pods {
		if err := p.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// create makes the pod. It first waits until the controller manager has made the namespace's default service account.
func (p *Pod) create(ctx context.Context) error {
	if err := p.maker.Record.Add(ctx, p.Item()); err != nil {
		return err // for example, the record is gone: then no object may be made
	}
	var made *corev1.Pod
	var err error
	client := p.maker.On.Client.CoreV1().Pods(p.plan.Namespace)
	account := "the default service account of namespace " + p.plan.Namespace
	waited := p.maker.On.Await(ctx, account, p.maker.Limits.Ready.Std(), func(ctx context.Context) (bool, string, error) {
		made, err = inventory.Make(ctx, p.maker.Record, client, p.plan)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
			return false, "not made by the controller manager yet", nil
		}
		return true, "", nil
	})
	if waited != nil {
		return fmt.Errorf("make %s: %w", p, waited)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", p, cluster.Explain(err))
	}
	p.mu.Lock()
	p.now = made
	p.mu.Unlock()
	return nil
}

func (p *Pod) awaitReady(ctx context.Context) error {
	check := readyCheck{pod: p, since: map[string]time.Time{}}
	if err := p.maker.On.Await(ctx, p.String(), p.maker.Limits.Ready.Std(), check.poll); err != nil {
		return p.diagnosed(ctx, err)
	}
	limited, cancel := context.WithTimeout(ctx, p.maker.Limits.Ready.Std())
	defer cancel()
	if err := p.ping(limited); err != nil {
		return p.diagnosed(ctx, fmt.Errorf("%s runs, but the agent in it does not answer: %w", p, err))
	}
	return nil
}

// readyCheck polls a pod until the pod is ready, or stays too long in a state from which pods seldom recover.
type readyCheck struct {
	pod   *Pod
	since map[string]time.Time // by state: time at which the pod was first seen in this state
}

func (w readyCheck) poll(ctx context.Context) (bool, string, error) {
	got, err := w.pod.Get(ctx)
	if apierrors.IsNotFound(err) {
		return false, "", errors.New("it was deleted before it was ready")
	}
	if err != nil {
		return false, "", err
	}
	if isReady(got) {
		w.pod.mu.Lock()
		w.pod.now, w.pod.node = got, got.Spec.NodeName
		w.pod.mu.Unlock()
		return true, "", nil
	}
	state, grace := stuck(got)
	if w.since[state].IsZero() {
		w.since[state] = time.Now()
	}
	if state != "" && time.Since(w.since[state]) >= grace {
		return false, "", errors.New(state)
	}
	return false, summary(got), nil
}

func isReady(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func summary(p *corev1.Pod) string {
	parts := []string{"phase " + string(p.Status.Phase) + statusReason(p)}
	if p.Spec.NodeName != "" {
		parts = append(parts, "on node "+p.Spec.NodeName)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			parts = append(parts, "not scheduled: "+safetext.Head(c.Message, cluster.LineLimit))
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil:
			why := reason(c.State.Waiting.Reason, c.State.Waiting.Message)
			parts = append(parts, fmt.Sprintf("container %s waits: %s", c.Name, why))
		case c.State.Terminated != nil && (c.State.Terminated.ExitCode != 0 || c.Name == Container):
			parts = append(parts, fmt.Sprintf("container %s ended: %s", c.Name, terminated(c.State.Terminated)))
		case c.State.Running != nil && !c.Ready:
			parts = append(parts, fmt.Sprintf("container %s runs and is not ready", c.Name))
		}
	}
	return strings.Join(parts, "; ")
}

func statusReason(p *corev1.Pod) string {
	if text := reason(p.Status.Reason, p.Status.Message); text != "" {
		return ": " + text
	}
	return ""
}

func reason(short, long string) string {
	if short == "" || long == "" {
		return safetext.Head(short+long, cluster.LineLimit)
	}
	return safetext.Head(short+": "+long, cluster.LineLimit)
}

func terminated(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit status %d", t.ExitCode)
	if t.Signal != 0 {
		text = fmt.Sprintf("signal %d", t.Signal)
	}
	if why := reason(t.Reason, t.Message); why != "" {
		text += ", " + why
	}
	return text
}

// These are the longest times that a pod may stay in a state from which pods seldom recover. The comments name causes
// that pass in time.
const (
	imageGrace    = 20 * time.Second // an image cannot be pulled: the registry may have failed only once
	scheduleGrace = 15 * time.Second // the scheduler's cache is stale, or volumes are being bound
	configGrace   = 10 * time.Second // a secret may be made shortly after the pod
	crashGrace    = 30 * time.Second // a sidecar may crash until its control plane is ready
)

// stuck returns a state that a pod seldom leaves, such as "it cannot be scheduled", and how long the pod may stay in
// it. "" means no such state.
func stuck(p *corev1.Pod) (state string, grace time.Duration) {
	switch {
	case p.DeletionTimestamp != nil:
		return "it is being deleted", 0
	case p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return "it has ended" + shortage(p.Status.Reason), 0
	}
	for _, c := range p.Status.Conditions {
		unschedulable := c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		if unschedulable && !strings.Contains(c.Message, "unbound immediate PersistentVolumeClaims") {
			message := safetext.Head(c.Message, cluster.LineLimit)
			return "it cannot be scheduled: " + message + shortage(c.Message), scheduleGrace
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Terminated != nil && c.Name == Container {
			return "container " + c.Name + " has ended: " + terminated(c.State.Terminated), 0
		}
		if c.State.Waiting == nil {
			continue
		}
		why := "container " + c.Name + " cannot start: "
		switch w := c.State.Waiting; w.Reason {
		case "ImagePullBackOff", "ErrImagePull", "RegistryUnavailable":
			return why + "the image " + safetext.Head(c.Image, 200) + " cannot be pulled", imageGrace
		case "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
			return why + reason(w.Reason, w.Message), 0
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return why + w.Reason, configGrace
		case "CrashLoopBackOff":
			return why + w.Reason, crashGrace
		}
	}
	return "", 0
}

// shortage returns a hint if a message tells that a node has too little CPU or memory left; otherwise "".
func shortage(message string) string {
	for _, name := range []string{"cpu", "memory"} {
		if strings.Contains(message, "Insufficient "+name) || strings.HasPrefix(message, "OutOf"+name) {
			return "; the pods of all arms are up at the same time, unless design.setups is every-trial: set it, lower " + name +
				"Request under testbed.kubernetes.resources, or choose other nodes"
		}
	}
	return ""
}

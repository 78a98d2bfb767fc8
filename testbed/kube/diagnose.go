package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How much of a pod's story goes into an error.
const (
	eventsTold   = 5
	logLinesTold = 5
	lineLimit    = 300
	// telltale bounds the time that gathering it may take.
	telltale = 10 * time.Second
)

// DiagnosedError is an error with what the cluster says about the pod that it is about.
type DiagnosedError struct {
	Err    error
	Events []string // the newest last
	Log    []string // last lines of the container
}

// Error tells it all, on a few lines.
func (e *DiagnosedError) Error() string {
	text := e.Err.Error()
	if len(e.Events) > 0 {
		text += "\n  events:\n    " + strings.Join(e.Events, "\n    ")
	}
	if len(e.Log) > 0 {
		text += "\n  last log lines:\n    " + strings.Join(e.Log, "\n    ")
	}
	return text
}

// Unwrap gives the error.
func (e *DiagnosedError) Unwrap() error { return e.Err }

// diagnosed adds what the cluster says about the pod. It works within a limit of
// its own, also when the context is done, and adds nothing that it cannot get.
func (p *pod) diagnosed(ctx context.Context, err error) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), telltale)
	defer cancel()
	d := &DiagnosedError{Err: err}
	if got, now := p.get(limited); now == nil {
		if timeout := (*TimeoutError)(nil); !errors.As(err, &timeout) {
			d.Err = fmt.Errorf("%w (%s)", err, summary(got))
		}
		d.Log = p.on.lastLines(limited, got)
	} else if apierrors.IsNotFound(now) {
		d.Err = fmt.Errorf("%w (the pod is gone)", err)
	}
	d.Events = p.on.events(limited, p.plan.Namespace, p.plan.Name, p.uid())
	return d
}

// events gives the newest events about an object, oldest first.
func (on *presence) events(ctx context.Context, namespace, name, uid string) []string {
	selector := "involvedObject.name=" + name
	if uid != "" {
		selector += ",involvedObject.uid=" + uid
	}
	list, err := on.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: 500})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return happened(&a).Compare(happened(&b)) })
	var told []string
	for _, e := range list.Items[max(0, len(list.Items)-eventsTold):] {
		line := printable(fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message), lineLimit)
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		told = append(told, line)
	}
	return told
}

// happened is when an event was last seen; event series fill in different fields.
func happened(e *corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// lastLines gives the end of the log of a pod's containers that have one.
func (on *presence) lastLines(ctx context.Context, p *corev1.Pod) []string {
	var lines []string
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.LastTerminationState.Terminated == nil || c.Ready && c.Name != Container {
			continue
		}
		stream, err := on.Client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{
			Container: c.Name, TailLines: new(int64(logLinesTold)), LimitBytes: new(int64(logLinesTold * lineLimit)),
		}).Stream(ctx)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(stream, logLinesTold*lineLimit))
		stream.Close()
		for line := range strings.Lines(string(text)) {
			if line = printable(line, lineLimit); line != "" {
				lines = append(lines, c.Name+": "+line)
			}
		}
	}
	return lines
}

// summary says on one line how a pod stands.
func summary(p *corev1.Pod) string {
	parts := []string{"phase " + string(p.Status.Phase) + because(p)}
	if p.Spec.NodeName != "" {
		parts = append(parts, "on node "+p.Spec.NodeName)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			parts = append(parts, "not scheduled: "+printable(c.Message, lineLimit))
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil:
			parts = append(parts, fmt.Sprintf("container %s waits: %s", c.Name, reason(c.State.Waiting.Reason, c.State.Waiting.Message)))
		case c.State.Terminated != nil && (c.State.Terminated.ExitCode != 0 || c.Name == Container):
			parts = append(parts, fmt.Sprintf("container %s ended: %s", c.Name, terminated(c.State.Terminated)))
		case c.State.Running != nil && !c.Ready:
			parts = append(parts, fmt.Sprintf("container %s runs and is not ready", c.Name))
		}
	}
	return strings.Join(parts, "; ")
}

// because is the reason that the status of a pod gives, with a colon before it.
func because(p *corev1.Pod) string {
	if text := reason(p.Status.Reason, p.Status.Message); text != "" {
		return ": " + text
	}
	return ""
}

func reason(short, long string) string {
	if short == "" || long == "" {
		return printable(short+long, lineLimit)
	}
	return printable(short+": "+long, lineLimit)
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

// How long states are borne that seldom pass by themselves.
const (
	imageGrace    = 20 * time.Second // a registry that answers badly once
	scheduleGrace = 15 * time.Second // caches of the scheduler, and volumes that are being bound
	configGrace   = 10 * time.Second // secrets that come a moment later
	crashGrace    = 30 * time.Second // sidecars that wait for their control plane
)

// stuck says that a pod is in a state from which it will not become ready, unless
// it leaves that within the grace; "" if it is not.
func stuck(p *corev1.Pod) (state string, grace time.Duration) {
	switch {
	case p.DeletionTimestamp != nil:
		return "it is being deleted", 0
	case p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return "it has ended" + roomFor(p.Status.Reason), 0
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && !strings.Contains(c.Message, "unbound immediate PersistentVolumeClaims") {
			return "it cannot be scheduled: " + printable(c.Message, lineLimit) + roomFor(c.Message), scheduleGrace
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
			return why + "the image " + printable(c.Image, 200) + " cannot be pulled", imageGrace
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

// roomFor is a hint where the scheduler, or the kubelet that has the last word, says
// that a node has too little left; "" otherwise.
func roomFor(said string) string {
	for _, what := range []string{"cpu", "memory"} {
		if strings.Contains(said, "Insufficient "+what) || strings.HasPrefix(said, "OutOf"+what) {
			return "; the pods of all arms are up at the same time: lower " + what + "Request under testbed.kubernetes.resources, or choose other nodes"
		}
	}
	return ""
}

// explain turns what admission, quota and rights say into something that says
// what to do; other errors stay as they are.
func explain(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	message := printable(status.Status().Message, 1500)
	hint := ""
	switch {
	case strings.Contains(message, "violates PodSecurity"):
		hint = "; the namespace's Pod Security does not allow it: leave testbed.kubernetes.namespace out, or label it " + enforceLabel + " accordingly"
	case strings.Contains(message, "exceeded quota"):
		hint = "; a quota of the namespace does not allow it: see kubectl describe quota, or lower testbed.kubernetes.resources"
	case strings.Contains(message, "admission webhook"):
		hint = "; an admission webhook of the cluster refuses it"
	case apierrors.IsForbidden(err) && strings.Contains(message, "cannot "):
		hint = "; tare doctor says which rights are missing, and how to grant them"
	}
	return &refusedError{text: message + hint, err: err}
}

// refusedError is an answer of the API server, printable and with a hint.
type refusedError struct {
	text string
	err  error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.err }

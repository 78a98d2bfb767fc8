package cluster

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

	"tare/internal/text/safetext"
)

const (
	eventsShown = 5
	linesShown  = 5
	LineLimit   = 300 // maximum characters of a line
	// DiagnosisLimit is how long Tare may take to collect an object's events and logs.
	DiagnosisLimit = 10 * time.Second
)

// DiagnosedError is an error about an object, with the cluster's events and logs about the object.
type DiagnosedError struct {
	Err    error
	Events []string // events about the object, the newest last
	Log    []string // last lines of the container's log
}

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

func (e *DiagnosedError) Unwrap() error { return e.Err }

// Events returns the events about an object, the newest last. With uid = "", these are the events about all objects of
// this name.
func (c *Cluster) Events(ctx context.Context, namespace, name, uid string) []string {
	selector := "involvedObject.name=" + name
	if uid != "" {
		selector += ",involvedObject.uid=" + uid
	}
	list, err := c.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: 500})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return eventTime(&a).Compare(eventTime(&b)) })
	var lines []string
	for _, e := range list.Items[max(0, len(list.Items)-eventsShown):] {
		line := safetext.Head(fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message), LineLimit)
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		lines = append(lines, line)
	}
	return lines
}

// eventTime returns the time when an event last occurred. Single events and series have different fields for it.
func eventTime(e *corev1.Event) time.Time {
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

// LastLines returns the last log lines of a pod's containers. It skips ready containers, except the named container.
func (c *Cluster) LastLines(ctx context.Context, p *corev1.Pod, container string) []string {
	var lines []string
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil && s.LastTerminationState.Terminated == nil || s.Ready && s.Name != container {
			continue
		}
		stream, err := c.Client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{
			Container: s.Name, TailLines: new(int64(linesShown)), LimitBytes: new(int64(linesShown * LineLimit)),
		}).Stream(ctx)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(stream, linesShown*LineLimit))
		stream.Close()
		for line := range strings.Lines(string(text)) {
			if line = safetext.Head(line, LineLimit); line != "" {
				lines = append(lines, s.Name+": "+line)
			}
		}
	}
	return lines
}

// EnforceLabel is a namespace's label with the level of Pod Security that the namespace's pods must meet.
const EnforceLabel = "pod-security.kubernetes.io/enforce"

const exempt = "have namespaces with the label app.kubernetes.io/managed-by=tare left out of it, " +
	"or name one that it does not concern by testbed.kubernetes.namespace"

// Explain adds a hint to errors about admission, quotas and missing rights. It returns other errors unchanged.
func Explain(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	message := safetext.Head(status.Status().Message, 1500)
	hint := ""
	switch {
	case strings.Contains(message, "violates PodSecurity"):
		hint = "; the namespace's Pod Security does not allow it: " +
			"leave testbed.kubernetes.namespace out, or label it " + EnforceLabel + " accordingly"
	case strings.Contains(message, "exceeded quota"):
		hint = "; a quota of the namespace does not allow it: " +
			"see kubectl describe quota, or lower testbed.kubernetes.resources"
	case strings.Contains(message, "admission webhook") || strings.Contains(message, "ValidatingAdmissionPolicy"):
		hint = "; that is a policy of the cluster: meet what it asks for, " + exempt
	case strings.Contains(message, "failed calling webhook"):
		hint = "; the API server cannot ask that webhook, and may not do without it (failurePolicy: Fail): have it mended " +
			"(kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations), " + exempt
	case apierrors.IsForbidden(err) && strings.Contains(message, "cannot "):
		hint = "; tare doctor says which rights are missing, and how to grant them"
	}
	return &refusedError{text: message + hint, err: err}
}

type refusedError struct {
	text string // the API server's message with a hint, safe to print
	err  error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.err }

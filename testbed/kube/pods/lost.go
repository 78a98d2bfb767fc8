package pods

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
)

// goneError says why the pod's agent will never answer again.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }

// gone says why the pod as it is now is no longer the one that was ready; nil if it is.
func (p *Pod) gone(now *corev1.Pod) error {
	switch {
	case string(now.UID) != p.UID():
		return &goneError{"the pod was replaced by another of its name"}
	case now.DeletionTimestamp != nil:
		return &goneError{"the pod is being deleted" + because(now)}
	case now.Status.Phase == corev1.PodFailed, now.Status.Phase == corev1.PodSucceeded:
		return &goneError{"the pod has ended" + because(now)}
	}
	for _, c := range now.Status.ContainerStatuses {
		if Own(c.Name) && c.State.Terminated != nil {
			return &goneError{"the container " + c.Name + " has ended: " + terminated(c.State.Terminated)}
		}
	}
	return nil
}

// alive says why the agent will never answer again: its pod is gone, or another
// one has its name.
func (p *Pod) alive(ctx context.Context) error {
	got, err := p.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return &goneError{"the pod is gone"}
	case err != nil:
		return nil // nobody knows: it may well live
	}
	return p.gone(got)
}

// diagnosed adds what the cluster says about the pod. It works within a limit of
// its own, also when the context is done, and adds nothing that it cannot get.
func (p *Pod) diagnosed(ctx context.Context, err error) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), cluster.DiagnosisLimit)
	defer cancel()
	d := &cluster.DiagnosedError{Err: err}
	if got, now := p.Get(limited); now == nil {
		if timeout := (*cluster.TimeoutError)(nil); !errors.As(err, &timeout) {
			d.Err = fmt.Errorf("%w (%s)", err, summary(got))
		}
		d.Log = p.maker.On.LastLines(limited, got, Container)
	} else if apierrors.IsNotFound(now) {
		d.Err = fmt.Errorf("%w (the pod is gone)", err)
	}
	d.Events = p.maker.On.Events(limited, p.plan.Namespace, p.plan.Name, p.UID())
	return d
}

// Disturbed makes a *testbed.Disturbance of the error that the agent of the pod was
// lost, and says why it was; other errors stay as they are.
func (p *Pod) Disturbed(ctx context.Context, err error) error {
	var lost *agent.LostError
	var gone *goneError
	if err == nil || ctx.Err() != nil || !errors.As(err, &lost) && !errors.As(err, &gone) && !errors.Is(err, agent.ErrForgotten) {
		return err
	}
	return &testbed.Disturbance{What: p.String() + " on node " + p.Node() + " is lost", Err: p.diagnosed(ctx, err)}
}

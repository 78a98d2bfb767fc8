package pods

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
)

// goneError means that the pod is lost: its agent will never answer again.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }

// gone returns a *goneError if the pod's state now shows that the pod is lost, and otherwise nil.
func (p *Pod) gone(now *corev1.Pod) error {
	switch {
	case string(now.UID) != p.UID():
		return &goneError{"the pod was replaced by another of its name"}
	case now.DeletionTimestamp != nil:
		return &goneError{"the pod is being deleted" + statusReason(now)}
	case now.Status.Phase == corev1.PodFailed, now.Status.Phase == corev1.PodSucceeded:
		return &goneError{"the pod has ended" + statusReason(now)}
	}
	for _, c := range now.Status.ContainerStatuses {
		if HasAgent(c.Name) && c.State.Terminated != nil {
			return &goneError{"the container " + c.Name + " has ended: " + terminated(c.State.Terminated)}
		}
	}
	return nil
}

// alive reads the pod. If the pod is lost, it returns a *goneError, and otherwise nil.
func (p *Pod) alive(ctx context.Context) error {
	got, err := p.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return &goneError{"the pod is gone"}
	case err != nil:
		return nil // the state is unknown, and the pod may be alive
	}
	return p.gone(got)
}

// diagnosed adds to an error the pod's state, events and last log lines, as far as it can get them. It has a
// time limit of its own. It therefore also works when the context is done.
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

// Disturbed turns the error of a lost agent into a *testbed.Disturbance that contains the reason. It returns
// other errors unchanged.
func (p *Pod) Disturbed(ctx context.Context, err error) error {
	var lost *agent.LostError
	var gone *goneError
	isLost := errors.As(err, &lost) || errors.As(err, &gone) || errors.Is(err, agent.ErrForgotten)
	if err == nil || ctx.Err() != nil || !isLost {
		return err
	}
	return &testbed.Disturbance{What: p.String() + " on node " + p.Node() + " is lost", Err: p.diagnosed(ctx, err)}
}

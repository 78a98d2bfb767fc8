package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// Mend calls Pod.Mend for several pods at the same time.
func Mend(ctx context.Context, list []*Pod) error {
	return cluster.Each(list, func(_ int, p *Pod) error { return p.Mend(ctx) })
}

// Mend pings the pod's agents. It makes a lost pod again on the same node, since values differ between nodes.
func (p *Pod) Mend(ctx context.Context) error {
	err := p.ping(ctx)
	switch {
	case ctx.Err() != nil:
		return err
	case err == nil && isReady(p.Seen()):
		return nil
	case err == nil: // the pod exists but is not ready: an earlier Mend made it, and stopped waiting for it
		err = errors.New("it was not ready")
	}
	p.maker.On.Say(fmt.Sprintf("%s is lost (%s): mending it", p, safetext.Head(err.Error(), cluster.LineLimit)))
	node := p.Node()
	_, nodeErr := p.maker.On.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(nodeErr) {
		return fmt.Errorf("%s is lost, and so is its node %s: arms can only be compared on the same nodes; "+
			"start a new run, or resume this one when the node is back: %w", p, node, err)
	}
	if failed := p.restore(ctx); errors.Is(failed, inventory.ErrCleaned) {
		return failed
	} else if failed != nil {
		return &testbed.Disturbance{
			What: fmt.Sprintf("%s on node %s is lost (%s) and could not be mended",
				p, node, safetext.Head(err.Error(), cluster.LineLimit)),
			Err: failed,
		}
	}
	p.maker.On.Say(p.String() + " is mended")
	return nil
}

func (p *Pod) ping(ctx context.Context) error {
	for _, a := range p.Agents() {
		if _, err := a.RoundTrip(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restore waits until the pod responds again. If the pod no longer exists, restore makes it again.
func (p *Pod) restore(ctx context.Context) error {
	limit := p.maker.Limits.Ready.Std()
	lost, check := false, readyCheck{pod: p, since: map[string]time.Time{}}
	err := p.maker.On.Await(ctx, p.String()+" to be back", limit, func(ctx context.Context) (bool, string, error) {
		got, err := p.Get(ctx)
		switch {
		case apierrors.IsNotFound(err):
			lost = true
			return true, "", nil
		case err != nil:
			return false, "", err
		}
		p.adopt(got)
		if why := p.gone(got); why != nil {
			if string(got.UID) != p.UID() {
				return false, "", errors.New("another pod has its name")
			}
			if got.DeletionTimestamp != nil {
				return false, why.Error() + "; waiting until it is gone", nil
			}
			err := p.maker.On.Client.CoreV1().Pods(got.Namespace).Delete(ctx, got.Name,
				metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &got.UID}})
			if apierrors.IsNotFound(err) {
				err = nil
			}
			return false, why.Error(), err
		}
		if ok, now, err := check.poll(ctx); !ok || err != nil {
			return false, now, err
		}
		if err := p.ping(ctx); err != nil {
			return false, safetext.Head(err.Error(), cluster.LineLimit), nil
		}
		return true, "", nil
	})
	if err != nil {
		return p.diagnosed(ctx, err)
	}
	if !lost {
		return nil
	}
	p.Disconnect()
	p.mu.Lock()
	p.now, p.facts, p.agents = nil, nil, p.connect()
	p.mu.Unlock()
	if err := p.create(ctx); err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// adopt takes over a pod that this run has made. It is for a pod whose creation got no response because the connection
// failed.
func (p *Pod) adopt(got *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil && p.maker.Owner.Owns(got) {
		p.now = got
	}
}

// goneError means that the pod is lost, and its agent will never respond again.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }

// gone returns a *goneError if the pod's present state (the argument now) shows that the pod is lost. Otherwise it
// returns nil.
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

func (p *Pod) alive(ctx context.Context) error {
	got, err := p.Get(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return &goneError{"the pod is gone"}
	case err != nil:
		return nil // the state is unknown: the pod may be alive
	}
	return p.gone(got)
}

// diagnosed adds the pod's state, events and last log lines to an error. It works even if the context is done.
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

// Disturbed turns an error that means a lost agent into a *testbed.Disturbance. It returns other errors unchanged.
func (p *Pod) Disturbed(ctx context.Context, err error) error {
	var lost *agent.LostError
	var gone *goneError
	isLost := errors.As(err, &lost) || errors.As(err, &gone) || errors.Is(err, agent.ErrForgotten)
	if err == nil || ctx.Err() != nil || !isLost {
		return err
	}
	return &testbed.Disturbance{What: p.String() + " on node " + p.Node() + " is lost", Err: p.diagnosed(ctx, err)}
}

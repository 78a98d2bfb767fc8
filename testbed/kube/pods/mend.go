package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Mend asks the agent for a sign of life, and makes the pod again if it is lost: on
// the same node, since on another one its numbers could not be compared.
func (p *Pod) Mend(ctx context.Context) error {
	err := p.round(ctx)
	switch {
	case ctx.Err() != nil:
		return err
	case err == nil && isReady(p.Seen()):
		return nil
	case err == nil: // made again by an earlier try that gave up too early
		err = errors.New("it was not ready")
	}
	p.maker.On.Say(fmt.Sprintf("%s is lost (%s): mending it", p, safetext.Head(err.Error(), cluster.LineLimit)))
	node := p.Node()
	if _, bad := p.maker.On.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); apierrors.IsNotFound(bad) {
		return fmt.Errorf("%s is lost, and so is its node %s: arms can only be compared on the same nodes; start a new run, or resume this one when the node is back: %w", p, node, err)
	}
	if again := p.again(ctx); errors.Is(again, inventory.ErrCleaned) {
		return again
	} else if again != nil {
		return &testbed.Disturbance{What: fmt.Sprintf("%s on node %s is lost (%s) and could not be mended", p, node, safetext.Head(err.Error(), cluster.LineLimit)), Err: again}
	}
	p.maker.On.Say(p.String() + " is mended")
	return nil
}

// round asks all agents in the pod for a sign of life.
func (p *Pod) round(ctx context.Context) error {
	for _, a := range p.Agents() {
		if _, err := a.RoundTrip(ctx); err != nil {
			return err
		}
	}
	return nil
}

// again waits until the pod answers again, or makes it again when it is gone.
func (p *Pod) again(ctx context.Context) error {
	limit := p.maker.Limits.Ready.Std()
	lost, watch := false, watched{pod: p, since: map[string]time.Time{}}
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
				return false, "", fmt.Errorf("another pod has its name")
			}
			if got.DeletionTimestamp == nil {
				return false, why.Error(), p.discard(ctx, got)
			}
			return false, why.Error() + "; waiting until it is gone", nil
		}
		if ok, now, err := watch.look(ctx); !ok || err != nil {
			return false, now, err
		}
		if err := p.round(ctx); err != nil {
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
	p.Disconnect() // from the pod that is gone
	p.renew()
	if err := p.create(ctx); err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// renew begins a connection to a pod that is yet to be made.
func (p *Pod) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.sandbox, p.sessions = nil, nil, p.connect()
}

// adopt notes a pod that this run asked for without seeing the answer.
func (p *Pod) adopt(got *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil && p.maker.Owner.Owns(got) {
		p.now = got
	}
}

// discard deletes a pod that has ended.
func (p *Pod) discard(ctx context.Context, got *corev1.Pod) error {
	err := p.maker.On.Client.CoreV1().Pods(got.Namespace).Delete(ctx, got.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &got.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

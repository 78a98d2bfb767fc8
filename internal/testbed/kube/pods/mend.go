package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// Mend calls Pod.Mend for several pods at the same time.
func Mend(ctx context.Context, list []*Pod) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { errs[i] = p.Mend(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Mend pings the pod's agents. If the pod is lost, it makes the pod again, on the same node. Numbers from
// another node could not be compared.
func (p *Pod) Mend(ctx context.Context) error {
	err := p.ping(ctx)
	switch {
	case ctx.Err() != nil:
		return err
	case err == nil && isReady(p.Seen()):
		return nil
	case err == nil: // an earlier Mend made the pod again, but did not wait until it was ready
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

// restore waits until the pod answers again. If the pod no longer exists, it makes the pod again.
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
			if got.DeletionTimestamp == nil {
				return false, why.Error(), p.delete(ctx, got)
			}
			return false, why.Error() + "; waiting until it is gone", nil
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
	p.Disconnect() // these connections are to the lost pod
	p.mu.Lock()
	p.now, p.sandbox, p.agents = nil, nil, p.connect()
	p.mu.Unlock()
	if err := p.create(ctx); err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// adopt keeps a pod that this run has made but whose response was lost.
func (p *Pod) adopt(got *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil && p.maker.Owner.Owns(got) {
		p.now = got
	}
}

func (p *Pod) delete(ctx context.Context, got *corev1.Pod) error {
	err := p.maker.On.Client.CoreV1().Pods(got.Namespace).Delete(ctx, got.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &got.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

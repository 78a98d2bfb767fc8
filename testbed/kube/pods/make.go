package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Launch writes pods down, asks for them, and waits until they can be used.
func (m *Maker) Launch(ctx context.Context, pods ...*Pod) error {
	var items []inventory.Item
	for _, p := range pods {
		items = append(items, inventory.Core("pods", p.plan.Namespace, p.plan.Name))
	}
	if err := m.Record.Add(ctx, items...); err != nil {
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

// create asks for the pod. It waits for the controller manager to put the default
// service account into a new namespace: before that the namespace takes no pods.
func (p *Pod) create(ctx context.Context) error {
	if err := p.maker.Record.Add(ctx, inventory.Core("pods", p.plan.Namespace, p.plan.Name)); err != nil {
		return err // the record may be gone by now
	}
	var made *corev1.Pod
	var err error
	early := p.maker.On.Await(ctx, "the default service account of namespace "+p.plan.Namespace, p.maker.Limits.Ready.Std(), func(ctx context.Context) (bool, string, error) {
		made, err = inventory.Make(ctx, p.maker.Record, p.maker.On.Client.CoreV1().Pods(p.plan.Namespace), p.plan)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
			return false, "not made by the controller manager yet", nil
		}
		return true, "", nil
	})
	if early != nil {
		return fmt.Errorf("make %s: %w", p, early)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", p, cluster.Explain(err))
	}
	p.mu.Lock()
	p.now = made
	p.mu.Unlock()
	return nil
}

// awaitReady waits until the pod is ready and its agent answers.
func (p *Pod) awaitReady(ctx context.Context) error {
	watch := watched{pod: p, since: map[string]time.Time{}}
	if err := p.maker.On.Await(ctx, p.String(), p.maker.Limits.Ready.Std(), watch.look); err != nil {
		return p.diagnosed(ctx, err)
	}
	answer, cancel := context.WithTimeout(ctx, p.maker.Limits.Ready.Std())
	defer cancel()
	if err := p.round(answer); err != nil {
		return p.diagnosed(ctx, fmt.Errorf("%s runs, but the agent in it does not answer: %w", p, err))
	}
	return nil
}

// watched looks at a pod until it is ready, and remembers how long it has been in
// states that seldom pass.
type watched struct {
	pod   *Pod
	since map[string]time.Time
}

func (w watched) look(ctx context.Context) (bool, string, error) {
	got, err := w.pod.Get(ctx)
	if apierrors.IsNotFound(err) {
		return false, "", errors.New("it was deleted while it was waited for")
	}
	if err != nil {
		return false, "", err
	}
	if isReady(got) {
		w.pod.mu.Lock()
		w.pod.now, w.pod.home = got, got.Spec.NodeName
		w.pod.mu.Unlock()
		return true, "", nil
	}
	state, grace := stuck(got)
	if state != "" {
		if w.since[state].IsZero() {
			w.since[state] = time.Now()
		}
		if time.Since(w.since[state]) >= grace {
			return false, "", errors.New(state)
		}
	}
	return false, summary(got), nil
}

package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// Launch records pods, makes them, and waits until they are ready.
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

// create makes the pod. In a new namespace, no pod can be made before the controller manager has made the
// default service account. create waits for this.
func (p *Pod) create(ctx context.Context) error {
	if err := p.maker.Record.Add(ctx, inventory.Core("pods", p.plan.Namespace, p.plan.Name)); err != nil {
		return err // the record may be gone, and then no object may be made
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

// readyCheck polls a pod until the pod is ready. If the pod stays in a state from which pods seldom recover,
// it gives up.
type readyCheck struct {
	pod   *Pod
	since map[string]time.Time // when the pod was first seen in each state
}

// poll reads the pod's state. Await calls it.
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

package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Levels of Pod Security, as the labels of namespaces have them.
const (
	restricted = "restricted"
	baseline   = "baseline"
	privileged = "privileged"
)

// makeNamespace makes a namespace of Tare's.
func (on *clusterRun) makeNamespace(ctx context.Context, ns *corev1.Namespace) (*corev1.Namespace, error) {
	on.record.Sign(ns)
	if err := on.record.Add(ctx, inventory.Namespace(ns.Name)); err != nil {
		return nil, err
	}
	made, err := on.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		// The answer to an earlier try may have been lost.
		if made, err = on.Client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{}); err == nil && !on.owner.Owns(made) {
			err = fmt.Errorf("it exists already, and is not of this run")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", ns.Name, cluster.Explain(err))
	}
	if err := on.record.Begin(ctx, ns.Name); err != nil {
		return nil, err
	}
	return made, nil
}

// enter begins to use a namespace that is not Tare's.
func (on *clusterRun) enter(ctx context.Context, namespace string) error {
	if on.record.Begun() {
		return nil
	}
	if _, err := on.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s, which testbed.kubernetes.namespace names, does not exist in context %s", namespace, on.Context)
	} else if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return on.record.Begin(ctx, namespace)
}

// makeNodesNamespace makes the namespace of pods that are about nodes and need a
// level of Pod Security, once per cluster; where a namespace is given they are
// there too.
func (on *clusterRun) makeNodesNamespace(ctx context.Context, given, level string) (string, error) {
	if given != "" {
		return given, on.enter(ctx, given)
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if made := on.nodesNamespaces[level]; made != "" {
		return made, nil
	}
	name := "nodes"
	if level != privileged {
		name = "counting"
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Label("tare-"+string(on.owner)+"-"+name, cluster.NameLimit), Labels: on.owner.Labels("", "")}}
	ns.Labels[cluster.EnforceLabel] = level
	if _, err := on.makeNamespace(ctx, ns); err != nil {
		return "", err
	}
	if on.nodesNamespaces == nil {
		on.nodesNamespaces = map[string]string{}
	}
	on.nodesNamespaces[level] = ns.Name
	return ns.Name, nil
}

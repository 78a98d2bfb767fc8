package kube

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// These are the levels of Pod Security, as namespaces' labels contain them.
const (
	restricted = "restricted"
	baseline   = "baseline"
	privileged = "privileged"
)

// makeNamespace records a namespace and then makes it. image is the image of the namespace's pods.
func (on *clusterRun) makeNamespace(ctx context.Context, ns *corev1.Namespace, image string) (*corev1.Namespace, error) {
	on.record.SetHolder(ns)
	if err := on.record.Add(ctx, inventory.Namespace(ns.Name)); err != nil {
		return nil, err
	}
	made, err := inventory.Make(ctx, on.record, on.Client.CoreV1().Namespaces(), ns)
	if err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", ns.Name, cluster.Explain(err))
	}
	if err := on.record.Begin(ctx, ns.Name); err != nil {
		return nil, err
	}
	return made, on.record.AddDeadline(ctx, ns.Name, image)
}

// useNamespace starts to use a namespace that the experiment names. Tare has not made this namespace.
func (on *clusterRun) useNamespace(ctx context.Context, namespace, image string) error {
	if !on.record.Begun() {
		_, err := on.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("namespace %s, which testbed.kubernetes.namespace names, does not exist in context %s",
				namespace, on.Context)
		case err != nil && !apierrors.IsForbidden(err):
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
		if err := on.record.Begin(ctx, namespace); err != nil {
			return err
		}
	}
	return on.record.AddDeadline(ctx, namespace, image)
}

// makeNodesNamespace returns the namespace for pods that serve a node and not an arm. It returns given, if the
// experiment names a namespace. Otherwise it makes one namespace per cluster and level of Pod Security.
func (on *clusterRun) makeNodesNamespace(ctx context.Context, given, level, image string) (string, error) {
	if given != "" {
		return given, on.useNamespace(ctx, given, image)
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
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   cluster.Label("tare-"+string(on.owner)+"-"+name, cluster.NameLimit),
		Labels: on.owner.Labels("", ""),
	}}
	ns.Labels[cluster.EnforceLabel] = level
	if _, err := on.makeNamespace(ctx, ns, image); err != nil {
		return "", err
	}
	if on.nodesNamespaces == nil {
		on.nodesNamespaces = map[string]string{}
	}
	on.nodesNamespaces[level] = ns.Name
	return ns.Name, nil
}

const armAnnotation = "tare/arm"

func (s *Site) planNamespace() *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.unique, Labels: s.Labels(), Annotations: map[string]string{armAnnotation: s.arm},
	}}
	ns.Labels[cluster.EnforceLabel] = s.podSecurity()
	return ns
}

// ensureNamespace makes the site's namespace. If the namespace exists and layers have registered new changes, it
// updates the namespace.
func (s *Site) ensureNamespace(ctx context.Context) (*clusterRun, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if s.bed.options.Resumed {
		on.record.RemoveEarlier(ctx, s.level.Namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sharesNamespace() {
		return on, on.useNamespace(ctx, s.level.Namespace, s.level.Image)
	}
	if s.namespace != nil && len(s.shapes.namespace) == 0 {
		return on, nil
	}
	ns := s.namespace.DeepCopy()
	if ns == nil {
		ns = s.planNamespace()
	}
	bare := ns.DeepCopy()
	for _, shape := range s.shapes.namespace {
		shape(ns)
	}
	s.shapes.namespace = nil
	maps.Copy(ns.Labels, s.Labels()) // layers must not change the owner's labels
	ns.Name = s.unique
	if s.namespace != nil {
		ns.ResourceVersion = ""
		if s.namespace, err = on.Client.CoreV1().Namespaces().Update(ctx, ns, metav1.UpdateOptions{}); err != nil {
			return nil, fmt.Errorf("change namespace %s: %w", ns.Name, cluster.Explain(err))
		}
		return on, nil
	}
	s.bed.options.Say("making namespace " + ns.Name)
	if s.namespace, err = on.makeNamespace(ctx, ns, s.level.Image); err != nil {
		return on, err
	}
	s.bare = s.namespace.DeepCopy()
	s.bare.Labels, s.bare.Annotations = bare.Labels, bare.Annotations
	return on, nil
}

func (s *Site) podSecurity() string {
	level := restricted
	for _, why := range s.needs.PodSecurity {
		if why.Level == privileged || why.Level == baseline && level == restricted {
			level = why.Level
		}
		s.bed.options.Say(fmt.Sprintf("pods need Pod Security %s: %s", why.Level, why.Why))
	}
	return level
}

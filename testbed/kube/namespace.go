package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/testbed/kube/cluster"
)

// armAnnotation, on namespaces, is the arm as the experiment names it.
const armAnnotation = "tare/arm"

// ensureNamespace makes the namespace of the site unless it is there: the first
// who needs it makes it.
func (s *Site) ensureNamespace(ctx context.Context) (*clusterRun, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if s.run.options.Resumed {
		on.record.RemoveEarlier(ctx, s.level.Namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given() {
		return on, on.enter(ctx, s.level.Namespace)
	}
	if s.namespace != nil && len(s.shapes.namespace) == 0 {
		return on, nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.unique, Labels: s.run.session.Owner.Labels(s.arm, ""), Annotations: map[string]string{armAnnotation: s.arm}}}
	if s.namespace != nil {
		ns = s.namespace.DeepCopy()
	} else {
		ns.Labels[cluster.EnforceLabel] = s.podSecurity()
	}
	for _, shape := range s.shapes.namespace {
		shape(ns)
	}
	s.shapes.namespace = nil
	for k, v := range s.run.session.Owner.Labels(s.arm, "") {
		ns.Labels[k] = v // whatever a layer did: they say whose it is
	}
	ns.Name = s.unique
	if s.namespace != nil {
		ns.ResourceVersion = ""
		if s.namespace, err = on.Client.CoreV1().Namespaces().Update(ctx, ns, metav1.UpdateOptions{}); err != nil {
			return nil, fmt.Errorf("change namespace %s: %w", ns.Name, cluster.Explain(err))
		}
		return on, nil
	}
	s.run.options.Say("making namespace " + ns.Name)
	s.namespace, err = on.makeNamespace(ctx, ns)
	return on, err
}

// podSecurity is the level of Pod Security that the site's workload pods need.
func (s *Site) podSecurity() string {
	level := restricted
	for _, why := range s.needs.PodSecurity {
		if why.Level == privileged || why.Level == baseline && level == restricted {
			level = why.Level
		}
		s.run.options.Say(fmt.Sprintf("pods need Pod Security %s: %s", why.Level, why.Why))
	}
	return level
}

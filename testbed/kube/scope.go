package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Namespaced says whether objects of a kind are in namespaces. That the cluster has
// no such kind is an error that meta.IsNoMatchError knows.
func (s *Site) Namespaced(ctx context.Context, like *unstructured.Unstructured) (bool, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return false, err
	}
	mapping, err := on.Mapping(like.GroupVersionKind())
	if err != nil {
		return false, fmt.Errorf("context %s: %w", on.Context, err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

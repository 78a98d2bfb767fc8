package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

const fieldManager = "tare"

var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

var errUnknownKind = errors.New("the cluster does not know it: is its CustomResourceDefinition installed?")

type target struct {
	object *unstructured.Unstructured
	client dynamic.ResourceInterface
	item   inventory.Item // entry for the object in the inventory
}

func (t target) String() string {
	name := t.object.GetKind() + " " + safetext.Head(t.object.GetName(), 253)
	if t.item.Namespace != "" {
		name += " in namespace " + t.item.Namespace
	}
	return name
}

// target finds the resource of an object. An object without a namespace gets the site's namespace.
func (s *Site) target(ctx context.Context, on *clusterRun, like *unstructured.Unstructured) (target, error) {
	gvk := like.GroupVersionKind()
	if like.GetName() == "" {
		return target{}, fmt.Errorf("a %s without a name cannot be applied", safetext.Head(gvk.Kind, 100))
	}
	var mapping *meta.RESTMapping
	what := fmt.Sprintf("the kind %s of %s", safetext.Head(gvk.Kind, 100), safetext.Head(gvk.GroupVersion().String(), 100))
	// If a definition has just been applied, the API server may serve its kind only some seconds later.
	err := on.Await(ctx, what, 10*time.Second, func(context.Context) (bool, string, error) {
		var err error
		mapping, err = on.Mapping(gvk)
		if !meta.IsNoMatchError(err) {
			return err == nil, "", err
		}
		if !on.record.Lists(definitions) {
			return false, "", errUnknownKind
		}
		return false, errUnknownKind.Error(), nil
	})
	if err != nil {
		return target{}, err
	}
	object := like.DeepCopy()
	kind := mapping.Resource
	t := target{object: object, item: inventory.Item{
		Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Name: object.GetName(),
	}}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		t.client = on.Dynamic.Resource(kind)
		return t, nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(s.Namespace())
	}
	t.item.Namespace = object.GetNamespace()
	t.client = on.Dynamic.Resource(kind).Namespace(t.item.Namespace)
	return t, nil
}

// Apply makes or changes objects by server-side apply, and returns them as stored. It records them first, and refuses
// another owner's objects. The site's namespace is the default.
func (s *Site) Apply(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	var applied []*unstructured.Unstructured
	for _, o := range objects {
		t, err := s.target(ctx, on, o) // an object that has just been applied may define the kind of this object
		if err != nil {
			return applied, err
		}
		t.object.SetLabels(labels.Merge(t.object.GetLabels(), s.Labels()))
		on.record.SetOwner(t.object)
		now, err := on.apply(ctx, t)
		if err != nil {
			return applied, fmt.Errorf("apply %s: %w", t, cluster.Explain(err))
		}
		applied = append(applied, now)
	}
	return applied, nil
}

var errForeign = errors.New("it exists already and is not of this run; " +
	"Tare changes and deletes only what it made: give it another name, or delete it first")

// apply creates an object, or changes an existing object of this run. It first checks the owner: server-side apply
// would also change objects of other owners.
func (on *clusterRun) apply(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	there, err := t.client.Get(ctx, t.object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if err := on.record.Add(ctx, t.item); err != nil {
			return nil, err
		}
		made, err := t.client.Create(ctx, t.object, metav1.CreateOptions{FieldManager: fieldManager})
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		there, err = t.client.Get(ctx, t.object.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
	}
	if err != nil && there == nil {
		return nil, err
	}
	if !on.owner.Owns(there) {
		return nil, errForeign
	}
	// Apply can remove only a field that was set by apply. This patch makes the fields of the create request count as
	// set by apply.
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(there, sets.New(fieldManager), fieldManager)
	if err == nil && patch != nil {
		if _, err := t.client.Patch(ctx, t.object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(t.object)
	if err != nil {
		return nil, err
	}
	return t.client.Patch(ctx, t.object.GetName(), types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
}

// Get reads an object from the API server. If the object is gone, apierrors.IsNotFound is true for the error.
func (s *Site) Get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.target(ctx, on, like)
	if err != nil {
		return nil, err
	}
	return t.client.Get(ctx, like.GetName(), metav1.GetOptions{})
}

// Delete deletes objects that Apply made, in reverse order, and waits until they are gone.
func (s *Site) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	var items []inventory.Item
	for _, o := range objects {
		t, err := s.target(ctx, on, o)
		if err != nil {
			return err
		}
		items = append(items, t.item)
	}
	slices.Reverse(items)
	return on.record.Remove(ctx, items...)
}

// Record writes into the cluster record that objects of these kinds will be made with the site's labels. Close and
// Clean then remove the objects.
func (s *Site) Record(ctx context.Context, kinds ...schema.GroupVersionResource) error {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	var items []inventory.Item
	for _, k := range kinds {
		items = append(items, inventory.Item{
			Group: k.Group, Version: k.Version, Resource: k.Resource, Namespace: s.Namespace(),
		})
	}
	return on.record.Add(ctx, items...)
}

// Namespaced reports whether objects of a kind are in namespaces. For an unknown kind it returns an IsNoMatchError.
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

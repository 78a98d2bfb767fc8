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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"tare/safetext"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// fieldManager is who Tare is in the managed fields of objects.
const fieldManager = "tare"

// kindPatience is how long a kind may be unknown: a definition that has just been
// applied takes a moment to be served.
const kindPatience = 10 * time.Second

// definitions is the resource that defines kinds.
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

var errUnknownKind = errors.New("the cluster does not know it: is its CustomResourceDefinition installed?")

// target is an object with where requests about it go.
type target struct {
	object *unstructured.Unstructured
	at     dynamic.ResourceInterface
	item   inventory.Item
}

// String names the object in messages.
func (t target) String() string {
	name := t.object.GetKind() + " " + safetext.Head(t.object.GetName(), 253)
	if t.item.Namespace != "" {
		name += " in namespace " + t.item.Namespace
	}
	return name
}

// target finds the resource of an object, and its namespace: the site's where the
// object names none.
func (s *Site) target(ctx context.Context, on *clusterRun, like *unstructured.Unstructured) (target, error) {
	gvk := like.GroupVersionKind()
	if like.GetName() == "" {
		return target{}, fmt.Errorf("a %s without a name cannot be applied", safetext.Head(gvk.Kind, 100))
	}
	var mapping *meta.RESTMapping
	what := fmt.Sprintf("the kind %s of %s", safetext.Head(gvk.Kind, 100), safetext.Head(gvk.GroupVersion().String(), 100))
	err := on.Await(ctx, what, kindPatience, func(context.Context) (bool, string, error) {
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
	t := target{object: object, item: inventory.Item{Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource, Name: object.GetName()}}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		t.at = on.Dynamic.Resource(mapping.Resource)
		return t, nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(s.Namespace())
	}
	t.item.Namespace = object.GetNamespace()
	t.at = on.Dynamic.Resource(mapping.Resource).Namespace(t.item.Namespace)
	return t, nil
}

// targets finds those of several objects, when the site's namespace is there.
func (s *Site) targets(ctx context.Context, objects []*unstructured.Unstructured) (*clusterRun, []target, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, nil, err
	}
	var found []target
	for _, o := range objects {
		t, err := s.target(ctx, on, o)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, t)
	}
	return on, found, nil
}

// Apply makes or changes objects by server-side apply, in the site's namespace
// where they name none, and records them before. It gives them as they are then.
// An object that exists and is not of this run is refused.
func (s *Site) Apply(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	var applied []*unstructured.Unstructured
	for _, o := range objects {
		t, err := s.target(ctx, on, o) // one by one: an earlier one may define the kind
		if err != nil {
			return applied, err
		}
		labels := t.object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		for k, v := range s.run.session.Owner.Labels(s.arm, "") {
			labels[k] = v
		}
		t.object.SetLabels(labels)
		on.record.Own(t.object)
		now, err := on.apply(ctx, t)
		if err != nil {
			return applied, fmt.Errorf("apply %s: %w", t, cluster.Explain(err))
		}
		applied = append(applied, now)
	}
	return applied, nil
}

// errForeign says that something has the name that is not this run's.
var errForeign = errors.New("it exists already and is not of this run; Tare changes and deletes only what it made: give it another name, or delete it first")

// apply makes the object, or changes it where this run has made it before. It is
// made by create, which fails where something has the name, even when that came
// to be a moment ago.
func (on *clusterRun) apply(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	there, err := t.at.Get(ctx, t.object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if err := on.record.Add(ctx, t.item); err != nil {
			return nil, err
		}
		made, err := t.at.Create(ctx, t.object, metav1.CreateOptions{FieldManager: fieldManager})
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		there, err = t.at.Get(ctx, t.object.GetName(), metav1.GetOptions{})
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
	// From the fields that create has set, to the set of fields that apply owns: so
	// that what the object has no more is taken away.
	if patch, err := csaupgrade.UpgradeManagedFieldsPatch(there, sets.New(fieldManager), fieldManager); err == nil && patch != nil {
		if _, err := t.at.Patch(ctx, t.object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(t.object)
	if err != nil {
		return nil, err
	}
	return t.at.Patch(ctx, t.object.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
}

// Get reads an object as it is now; the error is of apierrors where it is gone.
func (s *Site) Get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.target(ctx, on, like)
	if err != nil {
		return nil, err
	}
	return t.at.Get(ctx, like.GetName(), metav1.GetOptions{})
}

// Delete deletes objects that Apply made and waits until they are gone.
func (s *Site) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	on, found, err := s.targets(ctx, objects)
	if err != nil {
		return err
	}
	var items []inventory.Item
	for _, t := range slices.Backward(found) {
		items = append(items, t.item)
	}
	return on.record.Remove(ctx, items...)
}

// Record writes down that a workload makes objects of these kinds with the
// site's labels in the site's namespace, so that Close and Clean remove them
// there even where the namespace is given and stays. It comes before they are made.
func (s *Site) Record(ctx context.Context, kinds ...schema.GroupVersionResource) error {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	var items []inventory.Item
	for _, k := range kinds {
		items = append(items, inventory.Item{Group: k.Group, Version: k.Version, Resource: k.Resource, Namespace: s.Namespace()})
	}
	return on.record.Add(ctx, items...)
}

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

package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/layer"
	"tare/internal/layer/placeholder"
	"tare/internal/lists"
	"tare/internal/testbed"
)

// cluster is the part of a site (*kube.Site) that the layer uses.
type cluster interface {
	Namespace() string
	// Namespaced reports whether a kind's objects belong to namespaces. The argument like is an object of the kind.
	Namespaced(ctx context.Context, like *unstructured.Unstructured) (bool, error)
	Apply(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)
	Get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, objects []*unstructured.Unstructured) error
	Await(ctx context.Context, what string, done func(context.Context) (bool, string, error)) error
}

type active struct {
	config  *config
	on      cluster
	objects []*unstructured.Unstructured // objects for this site, with their placeholders replaced
	applied bool
}

// placement is an object for a site. The field shared is the reason why the object would affect other arms; "" if it
// would not.
type placement struct {
	*unstructured.Unstructured
	shared string
}

// placed returns the layer's objects with their places at a site. With given = true, the experiment names one namespace
// for all arms.
func (c *config) placed(ctx context.Context, on cluster, given bool) (objects []placement, err error) {
	all, problems := c.objects()
	for field, p := range problems {
		return nil, fmt.Errorf("%s: %s", field, summary(p)) // not possible after Validate
	}
	values := placeholder.Values{placeholder.Namespace: on.Namespace()}
	for _, o := range all {
		namespaced, err := on.Namespaced(ctx, &o.Unstructured)
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("the cluster does not know the kind %s of %s: is its CustomResourceDefinition installed? %w", o.GetKind(), o.GetAPIVersion(), err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title(&o.Unstructured), err)
		}
		u, err := o.placed(values, namespaced)
		if err != nil {
			return nil, err
		}
		objects = append(objects, placement{u, shared(namespaced, u.GetNamespace(), on.Namespace(), given)})
	}
	return objects, nil
}

func bare(objects []placement) []*unstructured.Unstructured {
	return lists.Map(objects, func(p placement) *unstructured.Unstructured { return p.Unstructured })
}

func (a *active) up(ctx context.Context, given bool) error {
	objects, err := a.config.placed(ctx, a.on, given)
	if err != nil {
		return err
	}
	a.objects = bare(objects)
	for _, p := range objects {
		if p.shared != "" && !a.config.Exclusive && a.config.Scope != OwnArm {
			return fmt.Errorf("%s: %s, so that other arms would get it too: "+
				"set exclusive: true to have it in the cluster during the trials of this arm only, or scope: arm if it affects only this arm", title(p.Unstructured), p.shared)
		}
	}
	if !a.config.Exclusive {
		if a.config.When == beforePods {
			return a.apply(ctx)
		}
		return nil
	}
	for _, u := range a.objects { // the layer refuses objects that exist already: they do not belong to Tare
		_, there, err := look(ctx, a.on, u)
		if err != nil {
			return err
		}
		if there {
			return fmt.Errorf("%s exists already, and this run has not created it: delete it first; tare clean --context deletes it if it is a leftover of an earlier run", title(u))
		}
	}
	return nil
}

// look reads an object from the cluster, by the kind and name of the given one. exists is false if the cluster lacks
// the object or its kind.
func look(ctx context.Context, on cluster, like *unstructured.Unstructured) (got *unstructured.Unstructured, exists bool, err error) {
	got, err = on.Get(ctx, like)
	switch {
	case err == nil:
		return got, true, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("read %s: %w", title(like), err)
}

// apply applies the objects and waits for the conditions. If it fails, it deletes the objects again.
func (a *active) apply(ctx context.Context) error {
	if a.applied {
		return nil
	}
	got, err := a.on.Apply(ctx, a.objects)
	if err != nil {
		return err // no deletion: old objects may be somebody else's, and the site deletes its own
	}
	a.applied = true
	err = a.accepted(got)
	for _, w := range a.config.Wait {
		if err == nil {
			err = a.on.Await(ctx, fmt.Sprintf("%s of %s %s", w.Condition, w.Kind, w.Name), func(ctx context.Context) (bool, string, error) { return a.holds(ctx, w) })
		}
	}
	if err != nil {
		return errors.Join(err, a.down(context.WithoutCancel(ctx)))
	}
	return nil
}

// accepted returns an error if the cluster has changed an applied object. The error names the first such object and its
// changed fields.
func (a *active) accepted(got []*unstructured.Unstructured) error {
	for i, u := range a.objects[:min(len(got), len(a.objects))] {
		if found := differences("", u.Object, got[i].Object); found != nil {
			return fmt.Errorf("the cluster changed %s when it was applied: %s (is the field unknown to its kind? does a webhook change it?)", title(u), summary(found))
		}
	}
	return nil
}

func (a *active) holds(ctx context.Context, w wait) (ok bool, now string, err error) {
	values := placeholder.Values{placeholder.Namespace: a.on.Namespace()}
	like, err := w.object(a.config, a.objects, values)
	if err != nil {
		return false, "", err
	}
	c, err := parseCondition(w.Condition)
	if err != nil {
		return false, "", err
	}
	got, there, err := look(ctx, a.on, like)
	if err != nil || !there {
		return false, "it does not exist", err
	}
	ok, now = c.holds(got, values)
	return ok, now, nil
}

// object returns the object of a condition: one that the layer has applied, or another object of the cluster.
func (w wait) object(c *config, applied []*unstructured.Unstructured, values placeholder.Values) (*unstructured.Unstructured, error) {
	all, _ := c.objects()
	if i := w.find(all); i >= 0 {
		return applied[i], nil
	}
	name, errName := values.Fill(w.Name)
	namespace, errNamespace := values.Fill(w.Namespace)
	if err := errors.Join(errName, errNamespace); err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(w.APIVersion)
	u.SetKind(w.Kind)
	u.SetName(name)
	u.SetNamespace(namespace)
	return u, nil
}

func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	if a.config.When == afterPods && !a.config.Exclusive {
		return nil, a.apply(ctx)
	}
	return nil, nil
}

func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	check, err := a.present(ctx)
	if err != nil {
		return nil, err
	}
	checks := []layer.Check{check}
	for _, w := range a.config.Wait {
		ok, now, err := a.holds(ctx, w)
		if err != nil {
			return checks, err
		}
		checks = append(checks, layer.Check{Layer: name, Name: w.Kind + " " + w.Name, Expected: w.Condition, Observed: now, OK: ok})
	}
	return checks, nil
}

func (a *active) present(ctx context.Context) (layer.Check, error) {
	check := layer.Check{Layer: name, Name: titles(a.objects), Expected: "exists as applied"}
	var wrong []string
	for _, u := range a.objects {
		got, there, err := look(ctx, a.on, u)
		if err != nil {
			return check, err
		}
		if !there {
			wrong = append(wrong, title(u)+" does not exist")
			continue
		}
		for _, d := range differences("", u.Object, got.Object) {
			wrong = append(wrong, title(u)+": "+d)
		}
		if behind, now := stale(got); behind {
			wrong = append(wrong, title(u)+": "+now)
		}
	}
	check.OK, check.Observed = len(wrong) == 0, "exists as applied"
	if !check.OK {
		check.Observed = summary(wrong)
	}
	return check, nil
}

func titles(objects []*unstructured.Unstructured) string {
	if len(objects) == 0 {
		return "objects"
	}
	text := objects[0].GetKind() + " " + objects[0].GetName()
	if more := len(objects) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (a *active) down(ctx context.Context) error {
	if !a.applied {
		return nil
	}
	if err := a.on.Delete(ctx, a.objects); err != nil {
		return err
	}
	a.applied = false
	return nil
}

// absent checks that the site of another arm lacks this layer's objects. Objects that own, that arm's layer of this
// kind, makes are left out; if none remain, the check has no name. With "scope: arm", objects that other arms could see
// are not looked for.
func (c *config) absent(ctx context.Context, on cluster, given bool, own *config) (layer.Check, error) {
	check := layer.Check{Layer: name, Expected: "not there", Observed: "not there", OK: true}
	objects, err := c.placed(ctx, on, given)
	if meta.IsNoMatchError(err) {
		check.Name, check.Observed = "objects", "the cluster does not know their kind"
		return check, nil
	}
	if err != nil {
		return check, err
	}
	if own != nil {
		mine, err := own.placed(ctx, on, given)
		objects = slices.DeleteFunc(objects, func(p placement) bool { return slices.ContainsFunc(mine, p.same) })
		if err != nil || len(objects) == 0 {
			return check, err
		}
	}
	check.Name = titles(bare(objects))
	var found, declared []string
	for _, p := range objects {
		if c.Scope == OwnArm && p.shared != "" {
			declared = append(declared, p.GetKind())
			continue
		}
		_, there, err := look(ctx, on, p.Unstructured)
		if err != nil {
			return check, err
		}
		if there {
			found = append(found, title(p.Unstructured))
		}
	}
	if declared != nil {
		slices.Sort(declared) // lists only kinds, since names and numbers of objects may differ between arms
		check.Caveat = "the experiment declares that " + strings.Join(slices.Compact(declared), ", ") + " affects this arm only (scope: arm); Tare does not check that"
	}
	if found != nil {
		check.OK, check.Observed = false, summary(found)+" there"
	}
	return check, nil
}

func (p placement) same(q placement) bool {
	return p.GroupVersionKind().GroupKind() == q.GroupVersionKind().GroupKind() && p.GetNamespace() == q.GetNamespace() && p.GetName() == q.GetName()
}

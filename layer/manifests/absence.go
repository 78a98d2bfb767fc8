package manifests

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/layer"
)

// absent shows that the objects are not there at another arm's site. Objects outside of
// the arm's namespace that the experiment declares to concern this arm only (scope: arm)
// stay, and a caveat says so. Objects that the other arm's own layer applies are left
// out; if there are no others, the check has no name.
func (c *Config) absent(ctx context.Context, on cluster, given bool, own *Config) (layer.Check, error) {
	check := layer.Check{Layer: name, Expected: "not there", Observed: "not there", OK: true}
	objects, outside, err := c.placed(ctx, on, given)
	if meta.IsNoMatchError(err) {
		check.Name, check.Observed = "objects", "the cluster does not have their kind"
		return check, nil
	}
	if err != nil {
		return check, err
	}
	if own != nil {
		if objects, outside, err = without(ctx, on, given, objects, outside, own); err != nil || len(objects) == 0 {
			return check, err
		}
	}
	check.Name = titles(objects)
	var found, declared []string
	for i, u := range objects {
		if c.Scope == OwnArm && outside[i] != "" {
			declared = append(declared, title(u))
			continue
		}
		_, there, err := look(ctx, on, u)
		if err != nil {
			return check, err
		}
		if there {
			found = append(found, title(u))
		}
	}
	if declared != nil {
		check.Caveat = "that the other arms get nothing of " + strings.Join(declared, ", ") + " is what the experiment says (scope: arm), and not shown"
	}
	if found != nil {
		check.OK, check.Observed = false, summary(found)+" there"
	}
	return check, nil
}

// without leaves out the objects that another layer applies at the same site.
func without(ctx context.Context, on cluster, given bool, objects []*unstructured.Unstructured, outside []string, own *Config) (left []*unstructured.Unstructured, why []string, err error) {
	mine, _, err := own.placed(ctx, on, given)
	if err != nil {
		return nil, nil, err
	}
	for i, u := range objects {
		if !slices.ContainsFunc(mine, func(m *unstructured.Unstructured) bool {
			return m.GroupVersionKind().GroupKind() == u.GroupVersionKind().GroupKind() && m.GetNamespace() == u.GetNamespace() && m.GetName() == u.GetName()
		}) {
			left, why = append(left, u), append(why, outside[i])
		}
	}
	return left, why, nil
}

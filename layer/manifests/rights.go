package manifests

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/experiment"
)

// rights are those to apply, read and delete the objects, and to read what is
// waited for. Which resource a kind is, and whether it has namespaces, is known
// to the cluster only: it is guessed by the rule that nearly all kinds follow.
func (c *Config) rights(namespace string) []experiment.Right {
	var list []experiment.Right
	add := func(apiVersion, kind, ns string, verbs ...string) {
		if ns == "" || ns != placeholdersGone(ns) {
			ns = namespace
		}
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return
		}
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
		list = append(list, experiment.Right{Group: plural.Group, Resource: plural.Resource, Verbs: verbs, Namespace: ns, Why: "the layer manifests applies " + kind})
	}
	objects, _ := c.objects()
	for _, o := range objects {
		add(o.apiVersion(), o.kind(), o.namespace(), "create", "delete", "get", "patch")
	}
	for _, w := range c.Wait {
		if w.APIVersion != "" {
			add(w.APIVersion, w.Kind, w.Namespace, "get")
		}
	}
	return list
}

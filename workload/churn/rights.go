package churn

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/testbed/kube"
)

// Rights are those to make, change, watch and delete the objects. Which resource
// a kind is, the cluster knows for certain: it is guessed by the rule that nearly
// all kinds follow.
func (c *Config) Rights(namespace string) []kube.Right {
	var list []kube.Right
	for _, t := range c.Templates {
		s, err := t.compile()
		if err != nil {
			continue // the file is refused for it
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.kind.group, Version: s.kind.version, Kind: s.kind.name})
		list = append(list, kube.Right{Group: plural.Group, Resource: plural.Resource, Namespace: namespace,
			Verbs: []string{"create", "delete", "list", "patch", "watch"}, Why: "the workload churn makes objects of the kind " + s.kind.name})
	}
	return list
}

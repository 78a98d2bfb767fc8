package churn

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/experiment"
	"tare/testbed/kube/inventory"
)

// rights are those to make, change, watch and delete the objects, and to remove
// at its end what a run has left. Which resource a kind is, the cluster knows for
// certain: it is guessed by the rule that nearly all kinds follow.
func (c *Config) rights(namespace string) []experiment.Right {
	verbs := append([]string{"create", "delete", "list", "patch", "watch"}, inventory.RemovalVerbs...)
	slices.Sort(verbs)
	verbs = slices.Compact(verbs)
	var list []experiment.Right
	for _, t := range c.Templates {
		s, err := t.compile()
		if err != nil {
			continue // the file is refused for it
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.kind.group, Version: s.kind.version, Kind: s.kind.name})
		list = append(list, experiment.Right{Group: plural.Group, Resource: plural.Resource, Namespace: namespace,
			Verbs: verbs, Why: "the workload churn makes objects of the kind " + s.kind.name})
	}
	return list
}
